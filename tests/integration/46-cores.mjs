// SPDX-License-Identifier: ISC
// Where core_pattern is a pipe the kernel dumps whatever the limit says, and to
// a program outside of every sandbox. What it gets of a client holds nothing
// that was said. Changes the machine's core_pattern: for the guest of tests/vm.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Model, Olpd, assert, equal, finish, sleep, test, until } from '../lib/olp.mjs';

if (!process.env.OLP_IN_VM) throw new Error('only in a guest: tests/vm');
const file = '/proc/sys/kernel/core_pattern';
const model = await Model.start();
const d = await Olpd.start({ model });
const got = path.join(d.dir, 'cores');
const catcher = path.join(d.dir, 'catch');
fs.mkdirSync(got);
fs.writeFileSync(catcher, `#!/bin/sh\ncat >${got}/tmp.$1 && mv ${got}/tmp.$1 ${got}/core.$1\n`, { mode: 0o755 });
fs.writeFileSync(file, `|${catcher} %P`);
equal(fs.readFileSync(file, 'latin1').trim(), `|${catcher} %P`);
const cores = () => fs.readdirSync(got).filter((f) => f.startsWith('core.')).map((f) => fs.readFileSync(path.join(got, f)));

await test('a process that is nobody\'s leaves a core with all it held', async () => {
  spawnSync('sh', ['-c', 'ulimit -c 0; kill -SEGV $$'], { env: { ...process.env, MARK: 'MARKCONTROL' } });
  await until('its core', () => cores().length === 1);
  assert(cores()[0].includes('MARKCONTROL'), 'the mark is not in it: this shows nothing');
});

await test('a client\'s core holds no word of prompt or answer, and no placeholder', async () => {
  const token = d.key('alice');
  for (const sig of [11, 6, 3, 4, 7, 8]) {
    const n = cores().length;
    const c = d.chat(token, `no-MARKPROMPT say:MARKANSWER env signal:${sig}`, { stream: true });
    await c.end;
    assert(/MARKANSWER/.test(c.text) && !c.finish, c.text);
    const placeholder = /ANTHROPIC_API_KEY=(\S+)/.exec(c.text)[1];
    await until(`the core of signal ${sig}`, () => cores().length > n);
    for (const all of cores().filter((b) => !b.includes('MARKCONTROL')))
      for (const mark of ['MARKPROMPT', 'MARKANSWER', placeholder, token])
        assert(!all.includes(mark), `${mark.slice(0, 12)} in a core of ${all.length} bytes`);
    console.log(`#   signal ${sig}: ${cores().length - 1} cores, ${cores().map((b) => b.length).join(' ')} bytes`);
  }
});

await test('nor does a worker leave one at all', async () => {
  await sleep(500);
  const n = cores().length;
  // olpd-spawn, the first of its process namespace, takes no such signal.
  for (const name of ['olpd-http', 'olpd-egress']) {
    const pid = d.worker(name);
    process.kill(pid, 'SIGSEGV');
    await until(`${name} is replaced`, () => d.worker(name) !== pid, 10000);
  }
  await sleep(1000);
  const later = fs.readdirSync(got).filter((f) => f.startsWith('core.'));
  equal(later.length, n, `cores of workers: ${later}:`);
});
await d.stop();
await finish();
