// SPDX-License-Identifier: ISC
// A hostile client as key A's user asks the kernel for everything it should
// not have. Each answer is printed; none may be OPEN.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { Model, Olpd, asRoot, assert, equal, fakeCli, finish, test, until } from '../lib/olp.mjs';
import { limit } from '../lib/hostile.mjs';

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

// What the kernel counts for a user or for the machine: none at all, or so
// many that another key and this machine's root have theirs as before.
await test('what is the machine\'s cannot be taken from others', async () => {
  const abi = Number(/landlock=(\d+)/.exec((await run('say:x')).headers['x-olp-enforcement'])?.[1] ?? 0);
  const has = (text) => Object.fromEntries([...text.matchAll(/(\w+)=(\d+) errno=(\w+)/g)].map((m) => [m[1], [Number(m[2]), m[3]]]));
  const host = (words) => {
    const out = spawnSync(fakeCli, [], { input: words, encoding: 'utf8', timeout: 10000 }).stdout;
    return has([...out.matchAll(/"text":"([^"]*)"/g)].map((m) => m[1]).join(''));
  };
  const none = { aio: 'ENOSYS', pty: null, filter: 'EPERM', reuseport: 'EPERM', seccomp: 'EPERM', prctl: 'EPERM', udp: null };
  if (abi >= 4) none.server = 'EACCES';
  const some = { inotify: limit('LIM_KEY_INOTIFY'), watch: limit('LIM_KEY_WATCHES'), timer: limit('LIM_RUN_SIGPENDING') };
  const rows = [];
  for (const k of Object.keys(none)) {
    const got = has((await run(`hog:${k}:100`)).text)[k];
    rows.push([k, `${got[0]} ${got[1]}`]);
    equal(got[0], 0, `${k}:`);
    if (none[k]) equal(got[1], none[k], `${k}:`);
  }
  // More than one run of a key together, while another key and root try.
  for (const [k, most] of Object.entries(some)) {
    if (!asRoot && k !== 'timer') continue; // the ordinary user's own
    const cs = [0, 1].map(() => d.chat(a, `hog:${k}:${most * 2 + 10} say:have sleep:3000`, { stream: true }));
    await until('they have theirs', () => cs.every((c) => /have/.test(c.text)), 30000);
    const total = cs.map((c) => has(c.text)[k][0]).reduce((x, y) => x + y);
    const other = has((await run(`hog:${k}:5`, b)).text)[k];
    const root = host(`hog:${k}:5`)[k];
    rows.push([k, `${total} in two runs of one key (most ${most}); another key ${other}; root ${root}`]);
    for (const c of cs) c.sock.destroy();
    assert(total <= most, `${k}: ${total}`);
    equal([other, root], [[5, '0'], [5, '0']], `${k}: another key, root:`);
    await until('gone', () => d.clients().length === 0, 5000);
  }
  const families = pairs((await run('families')).text);
  rows.push(['sockets', JSON.stringify(families)]);
  equal(Object.keys(families).filter((f) => families[f] === 'OPEN'), ['tcp', 'tcp6', 'unix']);
  console.log(rows.map(([k, v]) => `#   ${k.padEnd(20)} ${v}`).join('\n'));
}, 120000);

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
