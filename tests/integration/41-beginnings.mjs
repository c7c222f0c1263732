// SPDX-License-Identifier: ISC
// A client's beginnings, as seen from inside, with an olpd that was itself
// started oddly: signals, masks, nice, limits, terminal, groups, cores, /dev/shm;
// and that one key's processes never limit another's.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Model, Olpd, asRoot, assert, equal, finish, build, sleep, test, until } from '../lib/olp.mjs';

const model = await Model.start();
const pairs = (text) => Object.fromEntries(text.trim().split(/\s+/).filter((w) => w.includes('=')).map((w) => w.split('=')));

// As unkind as a parent can be, of what this machine lets root do.
const limits = asRoot ? ['nice=40', 'rtprio=99', 'core=unlimited', 'stack=unlimited', 'msgqueue=99999999', 'memlock=unlimited', 'nofile=4096']
  .filter((l) => spawnSync('prlimit', [`--${l}`, 'true']).status === 0).map((l) => `--${l}`) : [];
console.log(`#   started with ${limits.join(' ')}`);

async function odd() {
  const d = new Olpd({ model });
  await d.prepare();
  const program = path.join(d.dir, 'odd');
  fs.writeFileSync(program, `#!/bin/sh
umask 0
exec 7</etc/hostname 8>/dev/null
export LD_LIBRARY_PATH=/nowhere PROMPT_MARK=from-the-parent HOME=/root
exec ${limits.length ? `prlimit ${limits.join(' ')} ` : ''}\\
  nice -n 5 env --ignore-signal=PIPE,CHLD,HUP,USR1,QUIT --block-signal=TERM,INT,USR1,USR2,CHLD,PIPE,HUP,ALRM "${build}/sbin/olpd" "$@"
`, { mode: 0o755 });
  await d.launch({ program });
  return d;
}

let d;
await test('an olpd that was started oddly starts, serves, reloads and stops', async () => {
  d = await odd();
  const t = d.key('a');
  let c = d.chat(t, 'say:x'); await c.end;
  equal(c.text, 'x');
  // Worker-spawn and the others began cleanly too.
  for (const name of ['olpd-http', 'olpd-spawn', 'olpd-egress']) {
    const pid = d.worker(name);
    const st = fs.readFileSync(`/proc/${pid}/status`, 'latin1');
    const of = (f) => new RegExp(`^${f}:\\s+(\\S+)`, 'm').exec(st)[1];
    console.log(`#   ${name}: SigBlk ${of('SigBlk')} SigIgn ${of('SigIgn')} Umask ${of('Umask')}`);
    equal(of('SigBlk'), '0000000000000000', `${name}: signals blocked`);
    assert((BigInt(`0x${of('SigIgn')}`) & ~0x1003n) === 0n, `${name}: ignores more than HUP, INT and PIPE`);
    const env = fs.readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').map((v) => v.split('=')[0]).filter(Boolean);
    equal(env.filter((v) => !/^(PATH|LANG|TZ|[AUL]SAN_OPTIONS|LLVM_PROFILE_FILE)$/.test(v)), [], `${name}: environment`);
  }
}, 30000);

await test('what a client began with', async () => {
  const c = d.chat(d.key('b'), 'begin say:.'); await c.end;
  const got = pairs(c.text);
  console.log(Object.entries(got).map(([k, v]) => `#   ${k.padEnd(14)} ${v}`).join('\n'));
  const zero = '0000000000000000';
  equal(got.sigblk, zero, 'mask'); equal(got.sigign, zero, 'ignored'); equal(got.sigcgt, zero, 'caught');
  equal(got.umask, '0022'); equal(got.nice, '0', 'nice');
  equal([got.nnp, got.seccomp], ['1', '2']);
  for (const k of ['capeff', 'capprm', 'capinh', 'capamb']) equal(got[k], zero, k);
  equal(got['rl-core'], '0,0'); equal(got.corefilter, '00000000');
  equal(got['rl-nofile'], '1024,1024'); equal(got['rl-fsize'], '1073741824,1073741824');
  assert(Number(got['rl-nproc'].split(',')[0]) <= 1024, got['rl-nproc']);
  equal([got['rl-nice'], got['rl-rtprio']], ['0,0', '0,0'], 'may not raise its priority:');
  equal(got['rl-stack'].split(',')[0], '8388608', 'stack, and with it the layout of memory:');
  for (const k of ['rl-msgqueue', 'rl-memlock']) assert(Number(got[k].split(',')[1]) >= 0 && Number(got[k].split(',')[1]) <= 8388608, `${k} ${got[k]}`);
  if (asRoot) {
    equal(got.groups, 'none');
    equal(got.oom, '800');
    equal(new Set(got.uids.split(',')).size, 1); equal(got.uids, got.gids);
  }
  assert(got.tty !== 'OPEN', 'a terminal'); equal(got.sid, 'own', 'session');
  equal([got.fd0, got.fd1, got.fd2], ['file,block', 'pipe,block', 'pipe,block']);
  assert(got['in-write'] !== 'OPEN', 'its standard input can be written to');
});

await test('a client that crashes leaves no core, and no marker anywhere', async () => {
  const pattern = fs.readFileSync('/proc/sys/kernel/core_pattern', 'utf8');
  const mark = `MARK${process.pid}MARK`;
  const t = d.key('c');
  for (const sig of [11, 6, 3, 4]) {
    const c = d.chat(t, `no-${mark} say:up signal:${sig}`); await c.end;
    assert(c.status !== 200, `signal ${sig}: ${c.status} ${c.body}`);
  }
  await until('gone', () => d.clients().length === 0, 3000);
  const found = spawnSync('find', ['/', '/var/crash', '/var/lib/systemd/coredump', d.dir, '/tmp', '/dev/shm', '-maxdepth', '2', '-xdev',
    '-name', 'core*', '-newer', d.conf, '-type', 'f'], { encoding: 'utf8' }).stdout.trim();
  equal(found, '', 'cores:');
  equal(fs.readFileSync('/proc/sys/kernel/core_pattern', 'utf8'), pattern, 'core_pattern was touched:');
  assert(!d.log.some((l) => l.includes(mark)), 'the marker is in the log');
  const grep = spawnSync('grep', ['-rl', mark, d.dir], { encoding: 'utf8' }).stdout.trim();
  equal(grep, '', 'files with the marker:');
  // Its life: no process shows it in argv or environment while it runs.
  const c = d.chat(t, `no-${mark} say:up hang`, { stream: true });
  await c.first;
  for (const pid of d.all())
    for (const f of ['cmdline', 'environ'])
      try { assert(!fs.readFileSync(`/proc/${pid}/${f}`, 'latin1').includes(mark), `${f} of ${pid}`); } catch (e) { if (!e.code) throw e; }
  c.sock.destroy();
});

await test('the host\'s /dev/shm is out of reach, and theirs is nobody else\'s', async () => {
  const f = `/dev/shm/olpd-test-${process.pid}`;
  fs.writeFileSync(f, 'x', { mode: 0o666 });
  try {
    const t = d.key('e');
    let c = d.chat(t, 'files:/dev/shm say:.'); await c.end;
    assert(!c.text.includes('olpd-test'), c.text);
    c = d.chat(t, 'write:/dev/shm/olpd-from-inside say:.'); await c.end;
    console.log(`#   ${c.text}`);
    assert(!fs.existsSync('/dev/shm/olpd-from-inside'), 'written to the host');
    c = d.chat(t, 'files:/dev/shm say:.'); await c.end;
    assert(!c.text.includes('from-inside'), 'outlived its run');
  } finally { fs.rmSync(f); }
});
await test('and it stops when told to', async () => {
  equal(await d.stop(), { code: 0, signal: null });
}, 40000);

await test('NPROC of one key never limits another: 500 runs over 5 keys at once, each with 5 processes', async () => {
  const e = await Olpd.start({ model, global: 'limit runs 500\nlimit queue 512 per-key 256\nhome size 1MB inodes 64\ntimeout first-byte 120s',
    provider: '\tlimit runs 500\n\tmemory 1MB' });
  const keys = [...Array(5).keys()].map((i) => e.key(`k${i}`, '--runs', '100'));
  let most = 0;
  const watch = setInterval(() => { most = Math.max(most, e.clients().length); }, 500);
  const cs = [...Array(500).keys()].map((i) => e.chat(keys[i % 5], 'forks:5 say:.', { ms: 140000 }));
  await Promise.all(cs.map((c) => c.end));
  clearInterval(watch);
  const made = cs.map((c) => (c.status === 200 ? `forks=${/forks=(\d+ errno=\S+)/.exec(c.text)?.[1]}` : `${c.status} ${c.body} ${c.error ?? ''}`));
  const t = {};
  for (const m of made) t[m] = (t[m] ?? 0) + 1;
  console.log(`#   ${JSON.stringify(t)}; at most ${most} processes of clients at once`);
  equal(t, { 'forks=5 errno=0': 500 });
  // One key at its own limit: the others fork as before.
  const bomb = e.chat(e.key('bomber', '--runs', '2'), 'fork-bomb say:.', { ms: 60000 });
  await sleep(500);
  const c = e.chat(keys[1], 'forks:20 say:.'); await c.end;
  assert(/forks=20 errno=0/.test(c.text), c.text);
  await bomb.end;
  console.log(`#   the bomb: ${bomb.text.replace(/^status=\d+ /, '')}`);
  assert(/errno=EAGAIN/.test(bomb.text), `${bomb.status} ${bomb.body} ${bomb.error}`);
  await until('gone', () => e.clients().length === 0, 5000);
  await e.stop();
}, 200000);

await finish();
