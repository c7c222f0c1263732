// SPDX-License-Identifier: ISC
// Each patch of laws.tsv is put on a copy of the tree; the test it names must
// then fail.  A test that does not is none, a patch that does not apply or
// build is a failure too.  One copy, one build directory, patch by patch.
//
//	node tests/laws/mutants.mjs [NAME]     only patches with NAME in theirs
//
// OLP_MUTANTS names a copy with a build to use again; it is kept then.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root, tempDir } from '../lib/olp.mjs';
import { rows } from './suites.mjs';

const only = process.argv[2] ?? '';
const keep = process.env.OLP_MUTANTS;
process.removeAllListeners('SIGTERM'); // nothing here waits in node
const work = keep ?? tempDir('mutants');
const tree = path.join(work, 'tree');
const build = path.join(work, 'build');
const jobs = String(os.cpus().length);
const started = Date.now();
const seconds = (t) => ((Date.now() - t) / 1000).toFixed(1);

function run(program, args, o = {}) {
  const r = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28, timeout: 120000, ...o });
  return { ok: r.status === 0, out: `${r.stdout ?? ''}${r.stderr ?? ''}`, timedOut: r.error?.code === 'ETIMEDOUT' };
}
function must(program, args, o) {
  const r = run(program, args, o);
  if (!r.ok) throw new Error(`${program} ${args.slice(-3).join(' ')}: ${r.out.slice(-1500)}`);
}
const ninja = (targets) => run('ninja', ['-C', build, `-j${jobs}`, ...targets], { timeout: 600000 });
const patch = (file, ...o) => run('patch', ['-p1', '-s', '-d', tree, '-i', file, ...o]);

// One run of a suite: of these tests alone, where it can.
function answer(suite, names) {
  if (suite.startsWith('unit/')) return run(path.join(build, 'tests', `test_${suite.slice(5)}`), []);
  return run(process.execPath, [path.join(tree, 'tests', `${suite}.mjs`), names.join('|')], { env: { ...process.env, OLP_BUILD: build } });
}
// What it said of one test: 'passed', 'failed' or why there is no answer.
function verdict(suite, name, r) {
  if (suite.startsWith('unit/')) {
    if (new RegExp(`:[FE]:[^:]*:${name}:`).test(r.out)) return 'failed';
    return /^\d+%: Checks: /m.test(r.out) ? 'passed' : 'no answer';
  }
  if (r.out.includes(`not ok - ${name}: `)) return 'failed';
  if (`\n${r.out}`.includes(`\nok - ${name} (`)) return 'passed';
  return r.timedOut ? 'no end' : `no answer: ${r.out.trim().split('\n').pop()?.slice(0, 100)}`;
}

let failed = 0;
let passed = 0;
try {
  const mutants = rows('tests/laws/laws.tsv').filter((r) => r[1] === 'mutant' && r[2].includes(only))
    .map((r) => ({ law: r[0], patch: r[2], targets: r[3].split(' '), suite: r[4], name: r[5] }));
  if (!fs.existsSync(tree)) {
    fs.mkdirSync(tree, { recursive: true });
    // All but builds and caches, times kept: only what a patch touches is built again.
    for (const e of fs.readdirSync(root)) if (!/^(\.git|build.*)$/.test(e)) must('cp', ['-a', path.join(root, e), tree]);
    fs.rmSync(path.join(tree, 'tests/.cache'), { recursive: true, force: true });
    must('cmake', ['-S', tree, '-B', build, '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Debug']);
  }
  const units = [...new Set(mutants.filter((m) => m.suite.startsWith('unit/')).map((m) => `test_${m.suite.slice(5)}`))];
  const programs = ['olpd', 'olpctl', 'olpd-http', 'olpd-spawn', 'olpd-egress', 'olp-shim', 'olp-demo', 'olp-probe', 'fake-cli',
    'as-http', 'in-http', 'in-egress', 'in-spawn'];
  const b = ninja([...programs, ...units]);
  if (!b.ok) throw new Error(`the tree does not build: ${b.out.slice(-1500)}`);
  console.log(`#   built in ${seconds(started)} s`);
  // A test that fails without a patch proves nothing: each is seen to pass first.
  const sound = new Map();
  for (const suite of new Set(mutants.map((m) => m.suite))) {
    const names = [...new Set(mutants.filter((m) => m.suite === suite).map((m) => m.name))];
    const said = answer(suite, names);
    for (const n of names) sound.set(`${suite}: ${n}`, verdict(suite, n, said));
  }
  console.log(`#   ${sound.size} tests pass without a patch after ${seconds(started)} s`);
  console.log(`#   ${'patch'.padEnd(32)} law  ${'test'.padEnd(60)} caught   s`);
  let before = []; // what the patch before has left built
  for (const m of mutants) {
    const t0 = Date.now();
    const file = path.join(root, 'tests/laws', m.patch);
    const k = `${m.suite}: ${m.name}`;
    let result = sound.get(k) === 'passed' ? '' : `without it: ${sound.get(k)}`;
    if (!result && !patch(file).ok) {
      patch(file, '-R', '-f');
      result = 'does not apply';
    } else if (!result) {
      const made = ninja([...new Set([...before, ...m.targets])]);
      before = m.targets;
      result = made.ok ? verdict(m.suite, m.name, answer(m.suite, [m.name])) : `does not build: ${/error: .*/.exec(made.out)?.[0] ?? made.out.slice(-200)}`;
      if (!patch(file, '-R').ok) throw new Error(`${m.patch} cannot be taken back`);
    }
    const caught = result === 'failed';
    if (caught) passed++; else failed++;
    console.log(`#   ${m.patch.replace('.patch', '').padEnd(32)} ${m.law.padStart(3)}  ${k.slice(0, 60).padEnd(60)} ${caught ? 'yes' : 'NO '} ${seconds(t0).padStart(6)}`);
    if (!caught) console.log(`not ok - ${m.patch}: ${k}: ${result}`);
  }
} catch (e) {
  failed++;
  console.log(`not ok - mutants: ${e.message}`);
} finally {
  if (!keep) fs.rmSync(work, { recursive: true, force: true });
}
console.log(`#   ${seconds(started)} s in all`);
console.log(`# ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
