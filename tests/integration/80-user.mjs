// SPDX-License-Identifier: ISC
// An ordinary user runs the same in the foreground: tier shared-os-user, told
// as partial; the operator's own home is neither readable nor written.
// As root this starts itself again as a user that it makes and removes.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Olpd, asRoot, assert, build, equal, finish, root, tempDir, test, until } from '../lib/olp.mjs';

if (asRoot) {
  const name = 'olpd-test-user';
  spawnSync('userdel', ['-r', name], { stdio: 'ignore' });
  execFileSync('useradd', ['-m', '-s', '/bin/sh', name]);
  // The tree may be where nobody else can look: /root, for instance.
  const copy = tempDir('user');
  fs.mkdirSync(path.join(copy, 'build/tests'), { recursive: true });
  for (const what of ['lib', 'integration', 'modelapi']) fs.cpSync(path.join(root, 'tests', what), path.join(copy, 'tests', what), { recursive: true });
  for (const what of ['sbin', 'libexec', 'tests/fake-cli']) execFileSync('cp', ['-a', path.join(build, what), path.join(copy, 'build', what)]);
  const self = path.join(copy, 'tests/integration', path.basename(fileURLToPath(import.meta.url)));
  const r = spawnSync('setpriv', ['--reuid', name, '--regid', name, '--init-groups', process.execPath, self], { stdio: 'inherit',
    env: { ...process.env, HOME: `/home/${name}`, TMPDIR: '/tmp', OLP_BUILD: path.join(copy, 'build') }, cwd: '/' });
  fs.rmSync(copy, { recursive: true, force: true });
  execFileSync('userdel', ['-r', name], { stdio: 'ignore' });
  process.exit(r.status ?? 1);
}

fs.writeFileSync(path.join(os.homedir(), '.secret'), 'home secret', { mode: 0o600 });
const before = fs.readdirSync(os.homedir()).sort();
const d = await Olpd.start();
const token = d.key('me', '--tier', 'owner');

await test('demo and a client answer; enforcement is told as partial, with what is missing', async () => {
  const c = d.chat(token, 'hello', { model: 'demo' });
  await c.end;
  equal(c.status, 200, c.body?.toString());
  assert(/^partial/.test(c.headers['x-olp-enforcement']), c.headers['x-olp-enforcement']);
  const h = (await d.request({ path: '/health', token })).json;
  equal(h.sandbox.active, false);
  assert(h.sandbox.missing.length > 0, JSON.stringify(h.sandbox));
  console.log(`#   ${c.headers['x-olp-enforcement']}; missing: ${h.sandbox.missing}`);
});

await test('the operator\'s home is not there for the client', async () => {
  for (const p of [os.homedir(), '/home', '/root', d.dir]) {
    const c = d.chat(token, `files:${p} say:.`);
    await c.end;
    assert(!c.text.includes('.secret') && !c.text.includes('.bashrc') && !c.text.includes('olpd.conf'), `${p}: ${c.text}`);
  }
  const c = d.chat(token, 'attack');
  await c.end;
  const open = c.text.trim().split(/\s+/).filter((w) => w.endsWith('=OPEN'));
  equal(open, []);
  equal(fs.readdirSync(os.homedir()).sort(), before);
});

await test('without allow partial it refuses runs', async () => {
  const e = new Olpd();
  await e.prepare();
  e.writeConf(e.text().replace('enforcement allow partial', 'enforcement require full'));
  await e.launch();
  const t = e.key('x');
  const c = e.chat(t, 'say:x');
  await c.end;
  equal([c.status, c.json?.error?.code], [503, 'sandbox_unavailable']);
  await e.stop();
});

await test('nothing left', async () => {
  const all = d.all();
  equal((await d.stop()).code, 0);
  await until('gone', () => all.every((p) => !fs.existsSync(`/proc/${p}`)), 2000);
});

await finish();
