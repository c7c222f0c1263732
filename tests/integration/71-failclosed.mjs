// SPDX-License-Identifier: ISC
// Fail closed: each step on the way to a client is made to fail in turn, by
// the kernel's answer to one system call (tests/failing/refuse.c), at the place
// of bwrap, of olpd-spawn and of olpd itself; bwrap is taken away. The client
// never starts, 503 sandbox_unavailable, the journal names the step. Under
// `enforcement allow partial` only what can be partial passes, and is told.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Model, Olpd, asRoot, assert, build, equal, finish, sleep, tempDir, test, until } from '../lib/olp.mjs';

if (!asRoot) {
  console.log('# 0 passed, 0 failed');
  process.exit(0); // takes mount namespaces; an ordinary user's olpd is 80-user.mjs
}
const refuse = path.join(build, 'tests/failing/refuse');
const model = await Model.start();
const dirs = [];

// The wrapper with what it shall do written into it, at a path that keeps its inode.
const blank = fs.readFileSync(refuse);
const slot = blank.indexOf('REFUSE-WHAT');
function set(file, what) {
  const b = Buffer.from(blank);
  b.write(what.padEnd(200), slot, 'latin1');
  const fd = fs.openSync(file, fs.existsSync(file) ? 'r+' : 'w', 0o755);
  fs.writeSync(fd, b, 0, b.length, 0);
  fs.ftruncateSync(fd, b.length);
  fs.closeSync(fd);
  fs.chmodSync(file, 0o755);
}

// A program tree of its own, whose bwrap and olpd-spawn are wrappers, started
// in a mount namespace where /usr/bin/bwrap is ours.
function tree() {
  const dir = tempDir('tree');
  dirs.push(dir);
  for (const s of ['sbin', 'libexec']) execFileSync('cp', ['-a', path.join(build, s), dir]);
  const at = (f) => path.join(dir, 'libexec/olpd', f);
  fs.copyFileSync('/usr/bin/bwrap', at('bwrap-real'));
  fs.chmodSync(at('bwrap-real'), 0o755);
  fs.renameSync(at('olpd-spawn'), at('olpd-spawn-real'));
  const t = { dir, bwrap: path.join(dir, 'bwrap'), spawn: at('olpd-spawn'), olpd: path.join(dir, 'sbin/olpd'), program: path.join(dir, 'run') };
  t.inBwrap = (call, error) => set(t.bwrap, `${call} ${error} /run/olpd/libexec/bwrap-real`);
  t.inSpawn = (call, error) => set(t.spawn, `${call} ${error} /run/olpd/libexec/olpd-spawn-real`);
  t.inBwrap('none', 0);
  t.inSpawn('none', 0);
  fs.writeFileSync(t.program, `#!/bin/sh\nexec unshare -m sh -c 'mount --bind ${t.bwrap} /usr/bin/bwrap && exec ${t.olpd} "$@"' olpd "$@"\n`, { mode: 0o755 });
  return t;
}

async function instance(t, o = {}) {
  const d = new Olpd({ model, ...o });
  await d.prepare();
  await d.launch({ program: t.program, ready: '/health', ...o.launch });
  d.owner = d.key('owner', '--tier', 'owner');
  d.member = d.key('member');
  d.strict = d.key('strict', '--require-full');
  return d;
}

const ask = async (d, token, prompt = 'say:MARK', o = {}) => { const c = d.chat(token, prompt, { ms: 30000, ...o }); await c.end; return c; };
const sandbox = async (d) => (await d.request({ path: '/health', token: d.owner })).json?.sandbox;
// A reload makes the probe run again; until it says what is expected.
async function posture(d, want) {
  equal(d.ctl('reload').code, 0, 'reload');
  let s;
  await until(`posture ${want}`, async () => want.test(JSON.stringify(s = await sandbox(d))), 40000, 50).catch((e) => {
    throw new Error(`${e.message}: ${JSON.stringify({ ...s, providers: undefined })}`);
  });
  return s;
}
// What a request must show when no client may start.
async function closed(d, token, what) {
  const n = (await model.requests()).length;
  const t0 = performance.now();
  const c = await ask(d, token);
  const ms = performance.now() - t0;
  equal([c.status, c.json?.error?.code, c.text], [503, 'sandbox_unavailable', ''], `${what}: ${c.body}`);
  equal((await model.requests()).length, n, `${what}: requests of a client:`);
  assert(!/\/run\/olpd|\/tmp\/|uid/.test(String(c.body)), `${what}: ${c.body}`);
  return ms;
}
async function open(d, what) {
  await posture(d, /"active":true/);
  const c = await ask(d, d.member);
  equal([c.status, c.text], [200, 'MARK'], `afterwards, ${what}: ${c.body}`);
  assert(c.headers['x-olp-enforcement'].startsWith('full'), c.headers['x-olp-enforcement']);
}

// Step, call, errno, what the journal says of it. Errno 0: claimed done, not done.
const steps = [
  ['namespaces', 'clone', 1, /bwrap: .*(namespace|clone)/i],
  ['pid namespace', 'newpid', 28, /bwrap: .*(namespace|clone)/i],
  ['network namespace', 'newnet', 1, /bwrap: .*(namespace|clone)/i],
  ['network namespace set up', 'netlink', 97, /bwrap: loopback/],
  ['mounts', 'mount', 1, /bwrap: /],
  ['pivot', 'pivot_root', 1, /bwrap: pivot_root/],
  ['old root', 'umount', 1, /bwrap: /],
  ['host name', 'sethostname', 1, /bwrap: .*hostname/i],
  ['session', 'setsid', 1, /bwrap: .*setsid/i],
  ['capabilities of bwrap', 'capset', 1, /bwrap: .*cap|drop capabilities: /i],
  ['listener: socket', 'socket', 97, /listener: Address family|bwrap: loopback/],
  ['listener: bind', 'bind', 13, /listener: Permission denied|bwrap: loopback/],
  ['listener: listen', 'listen', 13, /listener: Permission denied/],
  ['descriptors', 'close_range', 1, /close descriptors: /],
  ['id drop: groups', 'setgroups', 1, /drop ids: /],
  ['id drop: gid', 'setresgid', 1, /drop ids: /],
  ['id drop: uid', 'setresuid', 1, /drop ids: |bwrap: /],
  ['id drop claimed, not done', 'setresuid', 0, /check ids: |drop capabilities|bwrap: /],
  ['limits', 'nproc', 1, /limit processes: /],
  ['limits: cores', 'core', 1, /limit cores: /],
  ['no_new_privs', 'nnp', 1, /bwrap: .*NO_NEW_PRIVS/],
  ['Landlock: rules', 'landlock_rule', 1, /landlock: path rule: /],
  ['Landlock: create', 'landlock_create', 1, /landlock: /],
  ['Landlock: gone since start', 'landlock_create', 38, /landlock: less than/],
  ['Landlock: restrict', 'landlock_self', 1, /landlock: restrict: /],
  ['Landlock claimed, not done', 'landlock_self', 0, null, ['landlock']],
  ['seccomp', 'seccomp', 22, /seccomp: /],
  ['seccomp claimed, not done', 'seccomp', 0, null, ['seccomp']],
  ['network namespace claimed, not made', 'newnet', 0, /bwrap|listener|./],
];

const tree1 = tree();
const full = await instance(tree1);
await open(full, 'before all');
const tree2 = tree();
const partial = await instance(tree2, { global: 'enforcement allow partial' });
await open(partial, 'before all');

for (const [name, call, error, said, missing] of steps)
  await test(`${name}: no client, sandbox_unavailable, the journal names it`, async () => {
    for (const [t, d] of [[tree1, full], [tree2, partial]]) {
      const lax = d === partial;
      t.inBwrap(call, error);
      if (said && !lax && error !== 0) {
        // First under a posture that is still full: the run itself fails.
        const mark = d.log.length;
        const ms = await closed(d, d.member, 'at the run');
        const l = await until('its line', () => d.log.slice(mark).find((x) => /run \d+: member: claude ended: sandbox_unavailable|not begun/.test(x)), 2000);
        assert(said.test(l), `journal: ${l}`);
        console.log(`#   ${name.padEnd(34)} ${call} ${error}: ${ms.toFixed(0)} ms: ${/unavailable: ([^[]*)/.exec(l)?.[1]}`);
      }
      const mark = d.log.length;
      if (said) {
        const s = await posture(d, /"available":false.*|"active":false/);
        if (!s.available) assert(said.test(s.message), `message: ${s.message}`);
        await closed(d, d.member, 'after the probe');
        assert(d.log.slice(mark).some((x) => x.includes('sandbox: ') && said.test(x)), 'the probe\'s line');
        equal((await d.request({ path: '/ready' })).status, 503, '/ready');
      } else {
        const s = await posture(d, /"active":false/);
        equal([s.available, missing.every((m) => s.missing.includes(m))], [true, true], s.missing.join());
        console.log(`#   ${name.padEnd(34)} ${call} ${error}: missing ${s.missing}`);
        await closed(d, d.strict, 'a key that requires full');
        if (!lax) await closed(d, d.member, 'enforcement require full');
        else {
          const c = await ask(d, d.member);
          equal([c.status, c.text], [200, 'MARK'], `partial: ${c.body}`);
          const h = c.headers['x-olp-enforcement'];
          assert(h.startsWith(`partial; missing=${s.missing.join(',')};`), `header ${h}`);
          for (const m of missing) assert(!new RegExp(`; ${m}[=;]`).test(h), `${m} is told as enforced: ${h}`);
          const began = d.lines('began [', c.headers['x-olp-request-id'])[0];
          assert(began.includes(`OLP_ENFORCEMENT=${h}`), `journal: ${began}`);
          const ended = await until('outcome', () => d.lines('OLP_OUTCOME=', c.headers['x-olp-request-id'])[0]);
          assert(ended.includes(`OLP_ENFORCEMENT=${h}`), `journal: ${ended}`);
          equal(s.providers.claude?.enforcement ?? s.providers.find?.((p) => p.name === 'claude')?.enforcement, 'partial', '/health, provider:');
        }
      }
      t.inBwrap('none', 0);
      await open(d, name);
    }
  }, 90000);

await test('bwrap empty, not executable: no client, sandbox_unavailable', async () => {
  for (const [text, mode] of [['', 0o755], ['garbage', 0o755], ['', 0o644]]) {
    fs.truncateSync(tree1.bwrap);
    fs.writeFileSync(tree1.bwrap, text);
    fs.chmodSync(tree1.bwrap, mode);
    const mark = full.log.length;
    await closed(full, full.member, 'at the run');
    const s = await posture(full, /"available":false/);
    assert(/exec \/run\/olpd\/bwrap: /.test(s.message), s.message);
    assert(full.log.slice(mark).some((x) => /sandbox: none: .*exec \/run\/olpd\/bwrap/.test(x)), 'the journal');
    console.log(`#   ${mode.toString(8)} "${text}": ${s.message}`);
    tree1.inBwrap('none', 0);
    await open(full, 'bwrap');
  }
}, 60000);

// worker-spawn's own position: it is killed, so that its successor meets the refusal.
const inSpawn = [
  ['clone3', 1, /clone3: Operation not permitted/],
  ['mount', 1, /private mounts: Operation not permitted/],
  ['core', 1, /limit cores: Operation not permitted/],
  ['memfd_create', 1, /memfd: Operation not permitted/],
  // Its own cage: it never becomes ready, and nobody is kept waiting for it.
  ['capset', 1, /olpd-spawn: capset: /],
  ['seccomp2', 1, /olpd-spawn: seccomp/],
  ['nnp', 1, /olpd-spawn: no_new_privs: /],
];
for (const [call, error, said] of inSpawn)
  await test(`worker-spawn: ${call} refused: no client, sandbox_unavailable, the journal names it`, async () => {
    const mark = full.log.length;
    const pid = full.worker('olpd-spawn-real');
    tree1.inSpawn(call, error);
    process.kill(pid, 'SIGKILL');
    await until('told', () => full.log.slice(mark).some((l) => said.test(l) && !l.includes('signal 9')), 15000);
    const ms = await closed(full, full.member, call);
    assert(ms < 8000, `answered after ${ms}`);
    const l = full.log.slice(mark).filter((x) => said.test(x) && !x.includes('signal 9'));
    console.log(`#   ${call}: ${ms.toFixed(0)} ms: ${l[0].slice(0, 150)}`);
    tree1.inSpawn('none', 0);
    if (full.worker('olpd-spawn-real')) process.kill(full.worker('olpd-spawn-real'), 'SIGKILL'); // its filter stays with it
    await until('back', async () => (await full.request({ path: '/ready' })).status === 200, 45000, 100);
    await open(full, call);
  }, 90000);
await full.stop();
await partial.stop();

// The master's position, and a machine without a thing: a daemon each, side by side.
async function machine(name, script, said, started = async () => {}) {
  const t = tree();
  fs.renameSync(t.olpd, `${t.olpd}-real`);
  set(t.olpd, `none 0 ${t.olpd}-real`);
  fs.writeFileSync(t.program, script(t), { mode: 0o755 });
  fs.renameSync(path.join(t.dir, 'libexec/olpd/olpd-spawn-real'), path.join(t.dir, 'libexec/olpd/olpd-spawn'));
  const d = new Olpd({ model });
  await d.prepare();
  const token = d.key('member');
  await d.launch({ program: t.program, wait: false });
  try {
    d.end = await started(d);
    await until('it answers or ends', async () => d.exited || (await d.request({ path: '/health', ms: 1000 }).catch(() => null))?.status === 200, 15000, 50);
    if (!d.exited) {
      const ms = await closed(d, token, name);
      assert(ms < 8000, `answered after ${ms}`);
    }
    const l = await until('the journal names it', () => d.log.find((x) => said.test(x)), 10000);
    console.log(`#   ${name}: ${l.slice(0, 170)}`);
  } catch (e) { throw new Error(`${name}: ${e.message} ${d.log.slice(-4).join(' | ')}`); }
  d.end?.();
  await d.stop();
}
const wrapped = (call, error) => (t) => { set(t.olpd, `${call} ${error} ${t.olpd}-real`); return `#!/bin/sh\nexec ${t.olpd} "$@"\n`; };
// In a user namespace of its own, whose limit is ours to set; its process
// namespace, too, so that proc can be mounted below it.
await test('no user namespaces on this machine', () => machine('max_user_namespaces 0', (t) => `#!/bin/sh
exec unshare -m sh -c 'mount -t proc proc /proc && exec "$0" "$@"' unshare -U -m -p --fork --kill-child=TERM sh -c 'until grep -q . /proc/self/uid_map; do sleep 0.02; done
exec sh -c "mount -t proc proc /proc && echo 0 >/proc/sys/user/max_user_namespaces && exec ${t.olpd} \\"\\$@\\"" olpd "$@"' olpd "$@"
`, /olpd-spawn.*(clone|namespace)/, async (d) => {
  const own = fs.readlinkSync('/proc/self/ns/user');
  await until('its user namespace', () => fs.readlinkSync(`/proc/${d.proc.pid}/ns/user`) !== own, 5000);
  for (const m of ['gid_map', 'uid_map']) fs.writeFileSync(`/proc/${d.proc.pid}/${m}`, '0 0 4294967295');
  return () => d.proc.kill('SIGKILL'); // which is unshare: olpd gets its SIGTERM from that
}), 60000);
await test('no bwrap on this machine', () => machine('bwrap missing', (t) => {
  fs.mkdirSync(path.join(t.dir, 'top'));
  execFileSync('mknod', [path.join(t.dir, 'top/bwrap'), 'c', '0', '0']);
  return `#!/bin/sh\nexec unshare -m sh -c 'mount -t overlay -o lowerdir=${t.dir}/top:/usr/bin olp /usr/bin && exec ${t.olpd} "$@"' olpd "$@"\n`;
}, /sandbox: none: .*exec \/run\/olpd\/bwrap: No such file/), 60000);
for (const [call, error, said] of [
  ['mount', 1, /olpd-spawn.*: view: make private/],
  ['pivot_root', 1, /olpd-spawn.*: view: pivot/],
  ['unshare', 1, /olpd-spawn.*unshare/],
  
])
  await test(`olpd itself: ${call} refused`, () => machine(`${call} ${error}`, wrapped(call, error), said), 60000);

await test('a probe that is slow, or has no room, as on a busy machine, takes nobody\'s service: what was found stands', async () => {
  const d = await Olpd.start({ model });
  d.owner = d.key('owner', '--tier', 'owner');
  await sleep(1000); // the reload's own probe
  const spawn = d.worker('olpd-spawn');
  const children = () => fs.readFileSync(`/proc/${spawn}/task/${spawn}/children`, 'latin1').split(' ').filter(Boolean).map(Number);
  const stopped = [];
  for (let i = 0; i < 20 && !stopped.length; i++) {
    process.kill(d.proc.pid, 'SIGHUP');
    for (const end = performance.now() + 500; performance.now() < end && !stopped.length;)
      for (const pid of children())
        try { process.kill(pid, 'SIGSTOP'); stopped.push(pid); } catch { /* it was quicker */ }
  }
  assert(stopped.length, 'no probe was seen');
  const t0 = performance.now();
  let n = 0;
  for (; performance.now() - t0 < 7000; n++) {
    const c = await ask(d, d.owner);
    equal([c.status, c.text], [200, 'MARK'], `while it goes on: ${c.body}`);
  }
  assert(children().includes(stopped[0]), 'the probe was ended');
  process.kill(stopped[0], 'SIGCONT');
  await until('the probe is over', () => children().length === 0, 5000);
  console.log(`#   ${n} requests were answered during a probe of 7 s`);
  // No room for its processes, nor for a run's.
  const room = (n) => execFileSync('prlimit', ['--pid', String(spawn), `--nproc=${n}:`]);
  const before = /^Max processes\s+(\S+)/m.exec(fs.readFileSync(`/proc/${spawn}/limits`, 'latin1'))[1];
  room(1);
  equal(d.ctl('reload').code, 0, 'reload');
  await until('it is told', () => d.log.some((l) => /probe: .*: what was found before stands/.test(l)), 5000);
  let c = await ask(d, d.owner);
  equal([c.status, c.json?.error?.code], [503, 'overloaded']);
  assert(Number(c.headers['retry-after']) > 0, JSON.stringify(c.headers));
  assert((await sandbox(d)).active, 'the posture');
  room(before);
  c = await ask(d, d.owner);
  equal([c.status, c.text], [200, 'MARK'], 'afterwards');
  equal(d.log.filter((l) => /sandbox: /.test(l)).length, 1, 'postures told:');
  await d.stop();
}, 60000);

for (const dir of dirs) fs.rmSync(dir, { recursive: true, force: true });
await model.stop();
await finish();
