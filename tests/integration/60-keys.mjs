// SPDX-License-Identifier: ISC
// Keys while the daemon runs: revoked, deleted, rotated, limited; bad files beside them.
import fs from 'node:fs';
import path from 'node:path';
import { Olpd, assert, equal, finish, sleep, test, until } from '../lib/olp.mjs';

const d = await Olpd.start();
const ask = async (t, prompt = 'say:ok', o = {}) => { const c = d.chat(t, prompt, o); await c.end; return c; };
const file = (id) => path.join(d.dir, 'keys.d', `${id}.conf`);

await test('a key works as soon as key add is back; revoked at once, running ones too', async () => {
  const t = d.key('carol');
  equal((await ask(t)).text, 'ok');
  const plain = d.chat(t, 'hang');
  const stream = d.chat(t, 'say:up hang', { stream: true });
  await stream.first;
  await until('both run', () => d.clients().length >= 2);
  const t0 = Date.now();
  const r = d.ctl('key', 'revoke', 'carol');
  equal(r.code, 0, r.err + r.out);
  await Promise.all([plain.end, stream.end]);
  console.log(`#   ended ${Date.now() - t0} ms after revoke began`);
  equal([plain.status, plain.json?.error?.code], [401, 'key_revoked']);
  assert(stream.fault && !stream.finish, 'the stream ended as if complete');
  await until('no client', () => d.clients().length === 0, 1000);
  equal((await ask(t)).status, 401);
});

await test('queued jobs of a revoked key end', async () => {
  const t = d.key('dave', '--runs', '1');
  const one = d.chat(t, 'say:up hang', { stream: true });
  await one.first;
  const two = d.chat(t, 'say:x');
  await sleep(100);
  equal(d.ctl('key', 'revoke', 'dave').code, 0);
  await two.end; await one.end;
  equal(two.status, 401);
});

await test('a typo in olpd.conf does not keep a revoked key alive', async () => {
  const t = d.key('erin');
  const good = fs.readFileSync(d.conf, 'utf8');
  fs.writeFileSync(d.conf, `${good}\nlisten on nowhere at all\nwibble 5\n`);
  const r = d.ctl('key', 'revoke', 'erin');
  equal((await ask(t)).status, 401, r.err);
  fs.writeFileSync(d.conf, good);
  equal(d.ctl('reload').code, 0);
});

await test('a bad file of another key takes nobody down and is told', async () => {
  const t = d.key('frank');
  fs.writeFileSync(file('bad'), 'key "bad" { token sha256 "zz" }\n', { mode: 0o600 });
  const r = d.ctl('reload');
  assert((r.out + r.err).includes('bad.conf'), r.out + r.err);
  equal((await ask(t)).text, 'ok');
  fs.rmSync(file('bad'));
  fs.chmodSync(file('frank'), 0o644);
  d.ctl('reload');
  equal((await ask(t)).status, 401);
  fs.chmodSync(file('frank'), 0o600);
  equal(d.ctl('reload').code, 0);
  equal((await ask(t)).text, 'ok');
});

await test('a bad olpd.conf on reload keeps the old one and names the lines', async () => {
  const t = d.key('gina');
  const good = fs.readFileSync(d.conf, 'utf8');
  fs.writeFileSync(d.conf, `${good}\nmemory-budget 5 MB x\nheartbeat fast\n`);
  const r = d.ctl('reload');
  assert(r.code !== 0, 'reload said ok');
  const n = good.split('\n').length;
  for (const l of [n + 1, n + 2]) assert((r.out + r.err).includes(`olpd.conf:${l}:`), `line ${l}: ${r.out}${r.err}`);
  equal((await ask(t)).text, 'ok');
  fs.writeFileSync(d.conf, good);
  equal(d.ctl('reload').code, 0);
});

await test('rotation: both tokens, then only the new one', async () => {
  const t = d.key('hugo');
  const r = d.ctl('key', 'rotate', 'hugo', '--json');
  equal(r.code, 0, r.err);
  const t2 = JSON.parse(r.out).token;
  equal([(await ask(t)).text, (await ask(t2)).text], ['ok', 'ok']);
  equal(d.ctl('key', 'rotate', 'hugo', '--finish').code, 0);
  equal([(await ask(t)).status, (await ask(t2)).status], [401, 200]);
});

await test('limits: starts per minute, runs at once', async () => {
  const t = d.key('ivy', '--starts-per-minute', '3');
  const cs = [];
  for (let i = 0; i < 5; i++) cs.push(await ask(t));
  equal(cs.map((c) => c.status), [200, 200, 200, 429, 429]);
  equal(cs[4].json.error.code, 'rate_limit_exceeded');
  assert(Number(cs[4].headers['retry-after']) > 0);
  const u = d.key('jack', '--runs', '1');
  const two = [d.chat(u, 'sleep:300 say:1'), d.chat(u, 'say:2')];
  await Promise.all(two.map((c) => c.end));
  equal(two.map((c) => c.text), ['1', '2']);
  assert(two[1].ms > 250, 'the second did not wait');
});

await test('hours and expiry', async () => {
  const now = new Date();
  const hm = (h) => `${String((now.getHours() + h + 24) % 24).padStart(2, '0')}:00`;
  const t = d.key('kim', '--hours', `${hm(2)}-${hm(3)}`);
  const c = await ask(t);
  assert(c.status !== 200 && /outside_hours|clock_unsynchronised/.test(c.body), `${c.status} ${c.body}`);
  assert(d.ctl('key', 'add', 'old', '--expires', '2020-01-01').code !== 0, 'a day that is past was taken');
  const u = d.key('leo', '--expires', '2099-01-01');
  fs.writeFileSync(file('leo'), fs.readFileSync(file('leo'), 'utf8').replace('2099', '2020'), { mode: 0o600 });
  d.ctl('reload');
  const e = await ask(u);
  assert(/key_expired|clock_unsynchronised/.test(e.body), e.body);
});

await test('delete: gone, and its number is not given again', async () => {
  const t = d.key('mia');
  const uid = JSON.parse(d.ctl('key', 'show', 'mia', '--json').out).uid;
  equal(d.ctl('key', 'delete', 'mia').code, 0);
  equal((await ask(t)).status, 401);
  d.key('nina');
  assert(JSON.parse(d.ctl('key', 'show', 'nina', '--json').out).uid > uid);
});

await test('status and doctor', async () => {
  const s = d.ctl('status', '--json');
  equal(s.code, 0, s.err);
  const j = JSON.parse(s.out);
  assert(JSON.stringify(j).includes('olpd-spawn'), s.out.slice(0, 300));
  const h = d.ctl('status');
  equal(h.code, 0);
  const doc = d.ctl('doctor', '--json');
  const list = JSON.parse(doc.out);
  assert(list.length > 10 && list.every((x) => ['ok', 'warn', 'fail', 'note'].includes(x.result)), doc.out.slice(0, 300));
});

await d.stop();

await test('olpctl without a daemon', async () => {
  const e = new Olpd();
  await e.prepare();
  const r = e.ctl('key', 'add', 'zoe', '--providers', 'demo', '--json');
  equal(r.code, 0, r.err);
  equal(e.ctl('status').code, 4);
  equal(e.ctl('key', 'revoke', 'zoe').code, 0);
  fs.rmSync(e.dir, { recursive: true });
});

await finish();
