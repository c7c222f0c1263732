// SPDX-License-Identifier: ISC
// The maps are true: each law has tests and a patch that breaks it, each case
// a test or the work that will bring it, each sentence of the security page a
// test, each limit a line on the limits page.  Nothing is run here.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { assert, equal, finish, root, test } from '../lib/olp.mjs';
import { missing, missingRef, read, rows } from './suites.mjs';

const patches = fs.readdirSync(path.join(root, 'tests/laws')).filter((f) => f.endsWith('.patch')).sort();
const laws = rows('tests/laws/laws.tsv');

await test('each law has a test and a patch that breaks it, and all of them exist', () => {
  const bad = [];
  const count = {};
  for (const r of laws) {
    const [law, kind, ...f] = r;
    const c = (count[law] ??= { test: 0, mutant: 0 });
    if (!(kind in c)) { bad.push(`${r.at}: "${kind}" is neither test nor mutant`); continue; }
    c[kind]++;
    const [suite, name] = kind === 'test' ? f : f.slice(2);
    const why = missing(suite, name);
    if (why) bad.push(`${r.at}: ${why}`);
    if (kind !== 'mutant') continue;
    if (!patches.includes(f[0])) bad.push(`${r.at}: no patch ${f[0]}`);
    else if (!f[0].startsWith(law.padStart(2, '0'))) bad.push(`${r.at}: ${f[0]} is not named after law ${law}`);
    if (!laws.some((t) => t[0] === law && t[1] === 'test' && t[2] === suite && t[3] === name))
      bad.push(`${r.at}: "${name}" is not among the tests of law ${law}`);
  }
  for (const p of patches) if (!laws.some((r) => r[1] === 'mutant' && r[2] === p)) bad.push(`${p} is not in laws.tsv`);
  for (let i = 1; i <= 10; i++) {
    const c = count[i] ?? { test: 0, mutant: 0 };
    console.log(`#   law ${String(i).padStart(2)}: ${String(c.test).padStart(3)} tests, ${c.mutant} patches`);
    if (!c.test || !c.mutant) bad.push(`law ${i} has ${c.test} tests and ${c.mutant} patches`);
  }
  equal(Object.keys(count).filter((l) => !(l >= 1 && l <= 10)), [], 'laws that there are not:');
  equal(bad, []);
});

await test('each patch applies to the tree as it is', () => {
  const bad = patches.filter((f) => spawnSync('patch', ['-p1', '-s', '-f', '--dry-run', '-d', root, '-i', path.join(root, 'tests/laws', f)]).status !== 0);
  equal(bad, []);
});

await test('each case has a test, or names the work that brings it', () => {
  const later = ['http', 'sessions', 'debian'];
  const ids = read('tests/cases/ids').split('\n').map((l) => l.trim()).filter((l) => l && !l.startsWith('#'));
  const bad = [];
  const seen = new Set();
  const count = { here: 0, http: 0, sessions: 0, debian: 0 };
  for (const r of rows('tests/cases/cases.tsv')) {
    const [id, where, name] = r;
    if (!ids.includes(id)) bad.push(`${r.at}: no case ${id}`);
    if (later.includes(where)) {
      if (!name) bad.push(`${r.at}: ${id}: why later?`);
      count[where]++;
    } else {
      const why = missing(where, name ?? '');
      if (why) bad.push(`${r.at}: ${id}: ${why}`);
      if (!seen.has(id)) count.here++;
    }
    seen.add(id);
  }
  for (const id of ids) if (!seen.has(id)) bad.push(`case ${id} is not in cases.tsv`);
  console.log(`#   ${ids.length} cases: ${Object.entries(count).map(([k, v]) => `${k} ${v}`).join(', ')}`);
  equal(bad, []);
});

// "(`suite: test`, `suite: test`)" in running text.
const refs = (text) => [...text.matchAll(/`([a-z]+(?:\/[\w-]+)?: [^`]+)`/g)].map((m) => m[1]);

await test('each sentence of the security page names a test that exists', () => {
  const text = read('packaging/doc/security.md');
  const items = text.split('\n').reduce((a, l) => {
    if (/^- /.test(l)) a.push(l); else if (/^ {2}\S/.test(l) && a.length) a[a.length - 1] += ` ${l.trim()}`; else if (l === '') a.push('');
    return a;
  }, []).filter((l) => l.startsWith('- '));
  assert(items.length >= 30, `${items.length} sentences`);
  const bad = [];
  for (const i of items) {
    const list = refs(i);
    if (!list.length && !/ — a limit of what is promised\.$/.test(i)) bad.push(`no test: ${i.slice(0, 90)}`);
    for (const r of list) { const why = missingRef(r); if (why) bad.push(why); }
  }
  equal(bad, []);
});

await test('README and the security page tell of the same processes and laws', () => {
  const readme = read('README.md');
  const page = read('packaging/doc/security.md');
  const takes = (t) => t.slice(t.indexOf('| who takes over')).split('\n\n')[0].split('\n').slice(2).map((l) => l.trim());
  const a = takes(readme);
  assert(a.length >= 5, 'README has no table');
  const b = takes(page);
  equal(b, a, 'the tables differ:');
  assert(readme.includes('packaging/doc/security.md') && readme.includes('packaging/doc/limits.md'), 'README names neither page');
  equal((readme.match(/^\d+\. .*/gm) ?? []).length, 10, 'laws in README:');
});

await finish();
