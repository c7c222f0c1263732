// SPDX-License-Identifier: ISC
// A key revoked while a job of its is in each state it can be in: ended
// within 100 ms of olpctl's confirmation, its client too; the next request is
// 401; another key's runs go on.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Olpd, assert, build, equal, finish, pids, sleep, stat, tempDir, test, uidOf, until } from '../lib/olp.mjs';

// The program tree with an egress that takes its time to come.
const tree = tempDir('tree');
for (const s of ['sbin', 'libexec']) execFileSync('cp', ['-a', path.join(build, s), tree]);
const egress = path.join(tree, 'libexec/olpd/olpd-egress');
const slow = (on) => {
  if (!fs.existsSync(`${egress}-real`)) fs.renameSync(egress, `${egress}-real`);
  fs.rmSync(egress, { force: true });
  if (on) fs.writeFileSync(egress, `#!/bin/sh\nsleep 4\nexec ${egress}-real "$@"\n`, { mode: 0o755 });
  else fs.copyFileSync(`${egress}-real`, egress);
};
slow(false);

const d = new Olpd({ global: 'limit runs 4', provider: '\tlimit runs 4' });
await d.prepare();
await d.launch({ program: path.join(tree, 'sbin/olpd') });
const ally = d.key('ally', '--runs', '3');
const bystander = d.chat(ally, 'say:up hang', { stream: true });
await bystander.first;
let n = 0;
// A key's processes: a change of keys makes the probe run again, under ids of its own.
const uidOfKey = (id) => JSON.parse(d.ctl('key', 'show', id, '--json').out).uid;
const of = (uid) => pids().filter((p) => uidOf(p) === uid);

const bad = { revoke: ['key', 'revoke'], delete: ['key', 'delete'] };

// begin(token) gives the requests that are under way; ready() waits until they are.
async function state(name, begin, { how = 'revoke', runs = '2' } = {}) {
  await test(`${name}: ended within 100 ms of ${how}, its client too; then 401`, async () => {
    const id = `k${++n}`;
    const token = d.key(id, '--runs', runs);
    const uid = uidOfKey(id);
    const cs = await begin(token, uid);
    const mine = of(uid);
    const r = d.ctl(...bad[how], id);
    const t0 = performance.now();
    equal(r.code, 0, r.err + r.out);
    await Promise.race([Promise.all(cs.map((c) => c.end)), sleep(3000)]);
    const answered = performance.now() - t0;
    await until('its clients are gone', () => !mine.some((p) => stat(p)), 3000, 2);
    const gone = performance.now() - t0;
    console.log(`#   ${name}: answered ${answered.toFixed(0)} ms, its ${mine.length} processes gone ${gone.toFixed(0)} ms after olpctl was back`);
    for (const c of cs) {
      if (c.status === 200) assert(c.fault?.code === 'key_revoked' && !c.finish, `stream ended with ${JSON.stringify(c.fault)} ${c.finish}`);
      else equal([c.status, c.json?.error?.code], [401, 'key_revoked'], c.body?.toString());
    }
    assert(answered <= 100 && gone <= 100, `${answered} ${gone}`);
    const c = d.chat(token, 'say:x');
    await c.end;
    equal(c.status, 401);
    equal([bystander.closed, of(uid).length], [false, 0], 'another key goes on:');
    const outcomes = d.lines('OLP_OUTCOME=', `OLP_KEY_ID=${id} `);
    equal(outcomes.length, cs.length, 'outcome lines:');
  });
}

await state('body still arriving', async (token) => {
  const c = d.chat(token, 'say:x', { headers: { 'Content-Length': 5000 } });
  await sleep(150);
  return [c];
});
await state('queued', async (token) => {
  const one = d.chat(token, 'say:up hang', { stream: true });
  await one.first;
  const more = [0, 1, 2].map((i) => d.chat(token, 'say:late', { stream: i === 1 }));
  await sleep(200);
  return [one, ...more];
}, { runs: '1' });
await state('started, no word yet', async (token, uid) => {
  const c = d.chat(token, 'hang', { stream: true });
  await until('it runs', () => of(uid).length > 0);
  return [c];
});
await state('streaming', async (token) => {
  const c = d.chat(token, 'say:up words:5 hang', { stream: true });
  await c.first;
  return [c];
});
await state('plain', async (token, uid) => {
  const c = d.chat(token, 'say:up hang');
  await until('it runs', () => of(uid).length > 0);
  await sleep(100);
  return [c];
});
await state('streaming, a client that ignores signals and has daemons', async (token) => {
  const c = d.chat(token, 'ignore-term setsid:60000 grandchild:60000 say:up hang', { stream: true });
  await c.first;
  return [c];
});
await state('deleted while streaming', async (token) => {
  const c = d.chat(token, 'say:up hang', { stream: true });
  await c.first;
  return [c];
}, { how: 'delete' });

await test('a typo in olpd.conf and in another key\'s file: revoked all the same, nobody else goes down', async () => {
  const token = d.key('typo');
  const file = path.join(d.dir, 'keys.d/broken.conf');
  const good = fs.readFileSync(d.conf, 'utf8');
  const c = d.chat(token, 'say:up hang', { stream: true });
  await c.first;
  fs.writeFileSync(file, 'key "broken" { tokn }\n', { mode: 0o600 });
  fs.writeFileSync(d.conf, `${good}\nwibble 5\n`);
  const r = d.ctl('key', 'revoke', 'typo');
  const t0 = performance.now();
  await c.end;
  console.log(`#   ended ${(performance.now() - t0).toFixed(0)} ms after; olpctl said ${r.code}`);
  equal(c.fault?.code, 'key_revoked');
  const next = d.chat(token, 'say:x');
  await next.end;
  equal(next.status, 401);
  const mine = d.chat(ally, 'say:mine');
  await mine.end;
  equal([mine.text, bystander.closed], ['mine', false]);
  fs.rmSync(file);
  fs.writeFileSync(d.conf, good);
  equal(d.ctl('reload').code, 0);
});

// From here on no egress is there; a bystander would hold one.
bystander.sock.destroy();
await until('nobody runs', () => d.clients().length === 0);
await test('waiting for egress: ended within 100 ms, no client ever', async () => {
  slow(true);
  const pid = d.worker('olpd-egress');
  process.kill(pid, 'SIGKILL');
  await until('egress is gone', () => d.worker('olpd-egress') !== pid);
  const token = d.key('parked');
  const cs = [d.chat(token, 'say:x'), d.chat(token, 'say:x', { stream: true })];
  await until('an egress is on its way', () => Object.keys(d.children()).length >= 3, 3000);
  await sleep(300);
  equal(of(uidOfKey('parked')).length, 0, 'parked:');
  const r = d.ctl('key', 'revoke', 'parked');
  const t0 = performance.now();
  equal(r.code, 0, r.err);
  await Promise.all(cs.map((c) => c.end));
  const ms = performance.now() - t0;
  console.log(`#   waiting for egress: answered ${ms.toFixed(0)} ms after olpctl was back`);
  for (const c of cs) equal([c.status, c.json?.error?.code], [401, 'key_revoked']);
  assert(ms <= 100, `${ms}`);
  equal(d.lines('began [', 'OLP_KEY_ID=parked').length, 0, 'runs begun:');
  const c = d.chat(token, 'say:x');
  await c.end;
  equal(c.status, 401);
  slow(false);
  const ok = d.chat(ally, 'say:on', { ms: 15000 });
  await ok.end;
  equal(ok.text, 'on');
}, 30000);

await d.stop();
fs.rmSync(tree, { recursive: true });
await finish();
