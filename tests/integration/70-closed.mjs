// SPDX-License-Identifier: ISC
// Fail closed: what a run needs is taken away; the client never starts, the
// answer says what it is, and the daemon goes on.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Olpd, asRoot, assert, build, equal, finish, tempDir, test, until } from '../lib/olp.mjs';

const ask = async (d, t, o = {}) => { const c = d.chat(t, 'say:x', o); await c.end; return c; };

await test('the client is missing or not executable: provider_not_installed', async () => {
  const dir = tempDir('client');
  const p = path.join(dir, 'client');
  fs.writeFileSync(p, 'not a program', { mode: 0o644 });
  for (const client of [path.join(dir, 'nothing'), p]) {
    const d = await Olpd.start({ client });
    const c = await ask(d, d.key('a'));
    equal([c.status, c.json?.error?.code], [503, 'provider_not_installed'], client);
    const demo = await ask(d, d.key('b'), { model: 'demo' });
    equal(demo.status, 200);
    await d.stop();
  }
  fs.rmSync(dir, { recursive: true });
});

await test('no credential file: credential_missing, also when others could read it', async () => {
  const d = await Olpd.start();
  const t = d.key('a');
  fs.rmSync(path.join(d.dir, 'cred'));
  let c = await ask(d, t);
  equal([c.status, c.json?.error?.code], [503, 'credential_missing'], c.body);
  assert(!c.body.toString().includes(d.dir), 'a host path is told');
  fs.writeFileSync(path.join(d.dir, 'cred'), 'sk-ant-dummy-late\n', { mode: 0o644 });
  fs.chmodSync(path.join(d.dir, 'cred'), 0o644);
  c = await ask(d, t);
  equal([c.status, c.json?.error?.code], [503, 'credential_missing']);
  fs.chmodSync(path.join(d.dir, 'cred'), 0o600);
  c = await ask(d, t);
  equal(c.text, 'x');
  await d.stop();
});

await test('a shim that is gone or cannot run: sandbox_unavailable, named in the journal', async () => {
  // A copy of the program tree, so that nothing else is touched.
  const dir = tempDir('tree');
  for (const s of ['sbin', 'libexec']) execFileSync('cp', ['-a', path.join(build, s), dir]);
  const shim = path.join(dir, 'libexec/olpd/olp-shim');
  for (const broken of ['gone', 'not a program', 'exit 1']) {
    if (broken === 'gone') fs.rmSync(shim, { force: true });
    else fs.writeFileSync(shim, broken === 'exit 1' ? '#!/bin/false\n' : 'garbage', { mode: 0o755 });
    const d = new Olpd();
    await d.prepare();
    await d.launch({ program: path.join(dir, 'sbin/olpd'), ready: '/health' });
    equal((await d.request({ path: '/ready' })).status, 503);
    const c = await ask(d, d.key('a'), { model: 'demo' });
    equal([c.status, c.json?.error?.code], [503, 'sandbox_unavailable'], `${broken}: ${c.body}`);
    assert(d.lines('sandbox').length > 0, 'nothing in the log');
    await d.stop();
  }
  fs.rmSync(dir, { recursive: true });
});

await test('two instances side by side; the same key numbers are refused', async () => {
  const a = await Olpd.start();
  const b = await Olpd.start();
  const [ta, tb] = [a.key('x'), b.key('x')];
  equal([(await ask(a, ta)).text, (await ask(b, tb)).text, (await ask(a, tb)).status], ['x', 'x', 401]);
  if (asRoot) {
    const c = new Olpd();
    await c.prepare();
    c.writeConf(c.text().replace(/uid-range .*/, `uid-range ${a.lo + 50} to ${a.lo + 149}`));
    await c.launch({ wait: false });
    await until('it ends', () => c.exited);
    assert(c.exited.code !== 0 && c.log.join().includes('uid-range'), c.log.join());
    fs.rmSync(c.dir, { recursive: true });
  }
  const e = new Olpd();
  await e.prepare();
  e.writeConf(a.text());
  await e.launch({ wait: false });
  await until('it ends', () => e.exited);
  assert(e.exited.code !== 0, 'a second instance with the same directories started');
  fs.rmSync(e.dir, { recursive: true });
  equal((await ask(a, ta)).text, 'x');
  await a.stop(); await b.stop();
});

await test('a bad configuration at start: exit 78 and every line named', async () => {
  const d = new Olpd();
  await d.prepare();
  const n = d.text().split('\n').length;
  d.writeConf(`${d.text()}\nlisten on 0.0.0.0 port 80\nnonsense\n`);
  await d.launch({ wait: false });
  await until('it ends', () => d.exited);
  equal(d.exited.code, 78);
  for (const l of [n + 1, n + 2]) assert(d.log.some((x) => x.includes(`olpd.conf:${l}:`)), `line ${l}: ${d.log.join(' | ')}`);
  fs.rmSync(d.dir, { recursive: true });
});

await finish();
