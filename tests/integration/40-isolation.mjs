// SPDX-License-Identifier: ISC
// A hostile client as key A's user asks the kernel for everything it should
// not have. Each answer is printed; none may be OPEN.
import fs from 'node:fs';
import { Model, Olpd, asRoot, assert, equal, finish, test, until } from '../lib/olp.mjs';

const model = await Model.start();
const d = await Olpd.start({ model, global: 'home size 8MB inodes 200' });
const a = d.key('alice', '--runs', '4');
const b = d.key('bob');
const run = async (prompt, t = a, o = {}) => { const c = d.chat(t, prompt, o); await c.end; return c; };
const pairs = (text) => Object.fromEntries(text.trim().split(/\s+/).map((w) => w.split('=')));

await test('every attack is refused', async () => {
  fs.writeFileSync('/dev/shm/olpd-test-mark', 'x');
  const c = await run('attack');
  fs.rmSync('/dev/shm/olpd-test-mark');
  equal(c.status, 200, c.body?.toString());
  const got = pairs(c.text);
  console.log(Object.entries(got).map(([k, v]) => `#   ${k.padEnd(20)} ${v}`).join('\n'));
  assert(Object.keys(got).length > 60, c.text);
  const open = Object.entries(got).filter(([, v]) => v === 'OPEN').map(([k]) => k);
  // Without ids of their own these are the ordinary user's.
  equal(open, []);
});

await test('what a client sees: its fds, its environment, its files', async () => {
  const fds = (await run('fds')).text.trim();
  equal(fds, 'fd0 fd1 fd2');
  const env = (await run('env')).text.split('\n').map((l) => l.split('=')[0]).filter(Boolean);
  for (const k of env) assert(/^(HOME|PATH|LANG|TMPDIR|TERM|ANTHROPIC_|CLAUDE_CODE_|DISABLE_|ENABLE_)/.test(k), `variable ${k}`);
  const etc = (await run('files:/etc')).text.trim().split(' ').sort();
  equal(etc.filter((f) => !['passwd', 'group', 'ld.so.cache'].includes(f)), []);
  const top = (await run('files:/')).text.trim().split(' ').sort();
  console.log(`#   / holds: ${top.join(' ')}`);
  for (const f of top) assert(['bin', 'dev', 'etc', 'home', 'lib', 'lib64', 'opt', 'proc', 'run', 'tmp', 'usr'].includes(f), `/${f}`);
  for (const dir of ['/usr/bin', '/bin', '/usr/sbin', '/usr/local']) {
    const t = (await run(`files:${dir}`)).text.trim();
    assert(/ENOENT|EACCES/.test(t) || t === '', `${dir}: ${t.slice(0, 80)}`);
  }
  const argv = (await run('argv no-MARK')).text;
  assert(!argv.includes('MARK'), 'the prompt is in argv');
});

await test('each key has its user; two runs of one key do not see each other', async () => {
  if (!asRoot) return;
  const ua = /uid=(\d+)/.exec((await run('uid')).text)[1];
  const ub = /uid=(\d+)/.exec((await run('uid', b)).text)[1];
  assert(ua !== ub && Number(ua) >= d.lo + 2, `${ua} ${ub}`);
  const one = d.chat(a, 'write:/home/olp/mine write:/tmp/mine say:up sleep:1500', { stream: true });
  await one.first;
  const two = await run('files:/home/olp files:/tmp say:.');
  assert(!two.text.includes('mine'), two.text);
  await one.end;
  assert(one.text.includes('written'), one.text);
  const three = await run('files:/home/olp say:.');
  assert(!three.text.includes('mine'), 'a home outlived its run');
});

await test('disk, inodes, processes are bounded, and the next run starts clean', async () => {
  let t = (await run('fill-home')).text;
  assert(/errno=(ENOSPC|0)/.test(t) && Number(/bytes=(\d+)/.exec(t)[1]) <= 8 << 20, t);
  t = (await run('fill-tmp')).text;
  assert(Number(/bytes=(\d+)/.exec(t)[1]) <= 8 << 20, t);
  t = (await run('fill-inodes')).text;
  assert(/ENOSPC/.test(t) && Number(/files=(\d+)/.exec(t)[1]) <= 200, t);
  t = (await run('fork-bomb')).text;
  assert(/EAGAIN/.test(t) && Number(/forks=(\d+)/.exec(t)[1]) <= 1024, t);
  await until('all gone', () => d.clients().length === 0, 3000);
  equal((await run('say:clean')).text, 'clean');
});

await test('processes that outlive their run do not', async () => {
  for (const p of ['setsid:60000 say:x', 'grandchild:60000 say:x', 'ignore-term setsid:60000 say:x stop result hang']) {
    const c = await run(p);
    equal(c.status, 200, p);
    await until('gone', () => d.clients().length === 0, 1000);
  }
});

await test('the broker: placeholder in, credential out, one request, the run\'s model only', async () => {
  await model.reset();
  let c = await run('http:1 say:.');
  assert(c.text.startsWith('status=200'), c.text);
  equal((await model.requests()).length, 1);
  c = await run('http:3 say:.');
  equal((await model.requests()).length, 2, 'a second request went out:');
  equal([c.status, c.text], [200, 'status=200 status=400 status=400 .'], 'further requests are answered here:');
  await until('told in the log', () => d.lines('more requests').length > 0, 2000);
});

await test('nothing of a run is left', async () => {
  await until('no client', () => d.clients().length === 0, 2000);
  const mounts = fs.readFileSync('/proc/self/mounts', 'utf8');
  assert(!mounts.includes(d.dir), 'a mount is left');
  const e = await d.stop();
  equal(e, { code: 0, signal: null });
  if (fs.existsSync('/run/userdb')) equal(fs.readdirSync('/run/userdb').filter((f) => f.includes(`t${d.port}`)), []);
});

await finish();
