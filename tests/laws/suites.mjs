// SPDX-License-Identifier: ISC
// What tests there are, by suite: read from the sources, so that a map that
// names one which does not exist is found without running anything.
//
//   unit/NAME            START_TEST(...) of tests/unit/test_NAME.c
//   DIR/NAME             test('...') of tests/DIR/NAME.mjs, or check "..." of tests/DIR/NAME.sh
//   conf                 NAME of tests/conf/NAME.in
//   fuzz                 NAME of tests/fuzz/fuzz_NAME.c
//   check                NAME of a stage: do_NAME() of tests/check
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../lib/olp.mjs';

export const read = (p) => fs.readFileSync(path.join(root, p), 'utf8');
const there = (p) => fs.existsSync(path.join(root, p));
const cache = new Map();

// Names as patterns: what is ${...} in the source may be anything.
const pattern = (s) => new RegExp(`^${s.split(/\$\{[^}]*\}/).map((p) => p.replace(/\\(.)/g, '$1')
  .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.+')}$`);

function load(suite) {
  if (suite.startsWith('unit/')) {
    const f = `tests/unit/test_${suite.slice(5)}.c`;
    return there(f) ? [...read(f).matchAll(/START_TEST\((\w+)\)/g)].map((m) => pattern(m[1])) : null;
  }
  if (suite === 'conf') return fs.readdirSync(path.join(root, 'tests/conf')).filter((f) => f.endsWith('.in')).map((f) => pattern(f.slice(0, -3)));
  if (suite === 'fuzz') return fs.readdirSync(path.join(root, 'tests/fuzz')).map((f) => /^fuzz_(\w+)\.c$/.exec(f)?.[1]).filter(Boolean).map(pattern);
  if (suite === 'check') return [...read('tests/check').matchAll(/^do_(\w+)\(\)/gm)].map((m) => pattern(m[1]));
  if (there(`tests/${suite}.mjs`)) {
    const text = read(`tests/${suite}.mjs`);
    const names = [...text.matchAll(/\btest\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g)].map((m) => m[2]);
    // A table of a suite's own: does('name', ...) for function does(name, ...) { return test(name, ...
    for (const f of text.matchAll(/^(?:async )?function (\w+)\(name\b[^\n]*\n(?:.*\n){0,3}? *(?:return|await) test\(name,/gm))
      names.push(...[...text.matchAll(new RegExp(`\\b${f[1]}\\(\\s*(['"\`])((?:\\\\.|(?!\\1).)*)\\1`, 'g'))].map((m) => m[2]));
    return names.map(pattern);
  }
  if (there(`tests/${suite}.sh`)) return [...read(`tests/${suite}.sh`).matchAll(/^\s*(?:check|ok) "([^"]*)"/gm)].map((m) => pattern(m[1]));
  return null;
}

// '' when the test is there, else what is wrong.
export function missing(suite, name) {
  if (!cache.has(suite)) cache.set(suite, load(suite));
  const names = cache.get(suite);
  if (!names) return `no suite ${suite}`;
  return names.some((p) => p.test(name)) ? '' : `${suite} has no test "${name}"`;
}

// "suite: test name"
export function missingRef(ref) {
  const at = ref.indexOf(': ');
  return at < 0 ? `"${ref}" is not "suite: test"` : missing(ref.slice(0, at), ref.slice(at + 2));
}

// Rows of a file of tab-separated fields; # begins a comment.
export function rows(p) {
  return read(p).split('\n').map((l, i) => ({ n: i + 1, f: l.split('\t').map((x) => x.trim()) }))
    .filter(({ f }) => f[0] !== '' && !f[0].startsWith('#')).map(({ n, f }) => Object.assign(f, { at: `${p}:${n}` }));
}
