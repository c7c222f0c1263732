// SPDX-License-Identifier: ISC
// Cases from the field (tests/cases) that no other suite has.
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { Olpd, assert, equal, finish, head, rss, sleep, slow, test, until } from '../lib/olp.mjs';

// What the one who starts olpd has in the environment must not matter.
process.env.ANTHROPIC_API_KEY = 'sk-ant-poison';
process.env.ANTHROPIC_AUTH_TOKEN = 'poison';
process.env.OLP_TOKEN = 'poison';
const d = await Olpd.start({ global: 'limit runs 8\nlimit body 4KB\ntimeout head 1s, body 1s, first-byte 2s, idle 1s', provider: '\tlimit runs 8' });
const a = d.key('alice', '--runs', '8');
const boss = d.key('boss', '--tier', 'owner');
const ask = async (prompt, o = {}, t = a) => { const c = d.chat(t, prompt, o); await c.end; return c; };
const began = () => d.lines(' began ').length;
const post = (body, headers = {}) => d.request({ method: 'POST', path: '/v1/chat/completions', token: a,
  headers: { 'Content-Type': 'application/json', ...headers }, body });
const chatBody = (content) => JSON.stringify({ model: 'sonnet', messages: [{ role: 'user', content }] });

await test('a bad body starts no client', async () => {
  const n = began();
  for (const b of ['null', '1', '"x"', '[]', '{}', '{"model":"sonnet"}', '']) equal((await post(b)).status, 400, b);
  for (const t of ['text/plain', 'multipart/form-data; boundary=x', ''])
    equal((await post(chatBody('say:x'), { 'Content-Type': t })).status, 415, t);
  for (const o of ['http://evil.example', 'http://127.evil.com', 'http://localhost.attacker'])
    equal((await post(chatBody('say:x'), { Origin: o })).status, 403, o);
  await sleep(100);
  equal(began(), n);
});

await test('the body\'s limit is in bytes, to the byte, with a length or chunked', async () => {
  for (const [name, ch] of [['ASCII', 'x'], ['three-byte characters', '日']]) {
    for (const [over, want] of [[-1, 200], [0, 200], [1, 413]]) {
      const room = 4096 + over - Buffer.byteLength(chatBody('say:ok no-'));
      const n = Math.floor(room / Buffer.byteLength(ch));
      const body = Buffer.from(chatBody(`say:ok no-${ch.repeat(n)}${'x'.repeat(room - n * Buffer.byteLength(ch))}`));
      equal(body.length, 4096 + over);
      equal((await post(body)).status, want, `${name}, ${body.length} bytes`);
      const chunked = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
      const r = await d.request({ raw: Buffer.concat([Buffer.from('POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n'
        + `Authorization: Bearer ${a}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`), chunked]) });
      equal(r.status, want, `${name}, ${body.length} bytes, chunked`);
    }
  }
});

await test('Expect: 100-continue is answered at once', async () => {
  const body = Buffer.from(chatBody(`say:ok no-${'x'.repeat(2000)}`));
  const t0 = performance.now();
  const { cont, text } = await new Promise((yes, no) => {
    const s = net.connect(d.port, '127.0.0.1'); let seen = ''; let at = 0;
    s.on('data', (b) => {
      seen += b.toString('latin1');
      if (!at && seen.startsWith('HTTP/1.1 100')) { at = performance.now() - t0; s.write(body); }
    }).on('close', () => yes({ cont: at, text: seen })).on('error', no);
    s.write(head('POST', '/v1/chat/completions', { Authorization: `Bearer ${a}`, 'Content-Type': 'application/json',
      Expect: '100-continue', 'Content-Length': body.length }));
  });
  assert(cont > 0 && cont < 200, `100 after ${cont} ms`);
  assert(/\r\n\r\nHTTP\/1.1 200 /.test(text), text.slice(0, 120));
});

await test('every form of a forced tool call is refused by name', async () => {
  for (const [k, v] of [['tool_choice', 'required'], ['tool_choice', { type: 'function', function: { name: 'f' } }],
    ['tool_choice', { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [] } }], ['function_call', { name: 'f' }]]) {
    const r = await post(JSON.stringify({ ...JSON.parse(chatBody('say:x')), [k]: v }));
    equal([r.status, r.json?.error?.param], [400, k], JSON.stringify(v));
  }
});

await test('every route by every caller', async () => {
  const callers = [['none', undefined], ['bad', `olp_${'A'.repeat(43)}`], ['member', a], ['owner', boss]];
  const routes = [['GET', '/health'], ['GET', '/ready'], ['GET', '/v1/models'], ['GET', '/v1/models/sonnet'], ['GET', '/v1/olp/parameters'],
    ['POST', '/v1/keys'], ['POST', '/v0/management/keys'], ['GET', '/v0/management/usage'], ['GET', '/metrics'], ['GET', '/dashboard']];
  const keys = () => fs.readdirSync(path.join(d.dir, 'keys.d')).sort();
  const before = keys();
  for (const [m, p] of routes) {
    const got = {};
    for (const [who, token] of callers) {
      const r = await d.request({ method: m, path: p, token, headers: m === 'POST' ? { 'Content-Type': 'application/json' } : {}, body: m === 'POST' ? '{"id":"x"}' : undefined });
      got[who] = r.status;
      if (who !== 'owner' && r.status === 200 && p === '/health') equal(Object.keys(r.json), ['status'], who);
    }
    console.log(`#   ${m.padEnd(4)} ${p.padEnd(24)} ${JSON.stringify(got)}`);
    if (p.startsWith('/v1/') && m === 'GET') equal([got.none, got.bad, got.member], [401, 401, 200], p);
    if (m === 'POST') for (const s of Object.values(got)) assert([401, 404, 405].includes(s), `${p}: ${s}`);
  }
  equal(keys(), before, 'HTTP made a key:');
});

await test('separators in the text stay in one data line a frame; half a character fails the answer', async () => {
  const c = await ask('say:a\u2028\u2029\u0085\\n say:"z', { stream: true });
  equal([c.status, c.finish], [200, 'stop']);
  assert(c.events.every((e) => !e.bad), 'a frame is not one line of JSON');
  equal(c.text, 'a\u2028\u2029\u0085\\n"z');
  const e = await ask('say:a half-utf8 say:z', { stream: true });
  assert(e.fault && !e.finish && e.events.every((x) => !x.bad), 'half a character passed');
});

await test('a caller that shuts its sending side has left', async () => {
  const c = d.chat(a, 'say:up sleep:60000', { stream: true });
  await c.first;
  c.sock.end();
  await until('its client is gone', () => d.clients().length === 0, 2000);
});

await test('clients that fall silent end by a deadline; the others do not notice', async () => {
  // In mid-answer (also a client that waits for a permission), and before a word.
  const cs = ['say:part hang', 'say:part hang', 'say:1', 'say:2', 'sleep:300 say:3', 'words:20 pace:20'].map((p) => d.chat(a, p));
  const mute = d.chat(a, 'hang');
  await Promise.all([...cs, mute].map((c) => c.end));
  equal(cs.map((c) => c.status), [504, 504, 200, 200, 200, 200]);
  equal([cs[0].json.error.code, mute.status, mute.json.error.code], ['idle_timeout', 504, 'first_byte_timeout']);
  await until('none is left', () => d.clients().length === 0, 1000);
  equal((await ask('say:free')).text, 'free');
});

await test('a client that buffers all it says is no silent one', async () => {
  const c = await ask('sleep:1500 words:50 say:end', { stream: true });
  equal([c.status, c.finish, c.text.endsWith('end')], [200, 'stop', true]);
});

await test('a last line without its newline counts', async () => {
  const c = await ask('say:ok no-stop nonewline');
  assert([200, 502].includes(c.status), c.status);
  const e = await ask('say:ok stop nonewline');
  equal([e.status, e.text], [200, 'ok']);
});

await test('a line over the limit is skipped, counted and costs no memory', async () => {
  const http = d.worker('olpd-http');
  await ask('say:warm');
  const before = rss(http);
  const c = await ask('bigline:70000000 say:after', { ms: 30000 });
  equal([c.status, c.text], [200, 'after']);
  await until('told in the log', () => d.lines('lines over the limit').length > 0, 2000);
  const grown = rss(http) - before;
  console.log(`#   olpd-http grew by ${grown} KB`);
  assert(grown < 24 * 1024, `${grown} KB`);
}, 60000);

await test('50 at once whose client ends before it reads: each fails alone', async () => {
  const t = d.key('crowd', '--runs', '8');
  const cs = [...Array(50)].map(() => d.chat(t, `no-${'x'.repeat(3000)}`, { model: 'die-early' }));
  await Promise.all(cs.map((c) => c.end));
  for (const c of cs) assert([502, 429].includes(c.status), `${c.status} ${c.body}`);
  equal((await ask('say:alive')).text, 'alive');
}, 60000);

await test('20,000 deltas inflate neither memory nor log', async () => {
  const http = d.worker('olpd-http');
  const before = rss(http);
  const lines = d.log.length;
  const c = await ask('words:20000 say:end', { stream: true, ms: 30000 });
  assert(c.text.endsWith('end') && c.events.length > 20000, `${c.events.length}`);
  assert(d.log.length - lines < 10, `${d.log.length - lines} log lines`);
  assert(rss(http) - before < 4096, `${rss(http) - before} KB`);
});

await test('the client\'s environment is built from nothing, its home holds no credential', async () => {
  const env = (await ask('env')).text;
  assert(!/poison/.test(env), env);
  assert(!/poison/.test((await ask('argv')).text));
  const home = (await ask('files:/home/olp files:/home/olp/.claude say:.')).text;
  assert(!/credential|auth|token/i.test(home), home);
});

await test('a credential that is replaced is used from the next request on', async () => {
  const { model } = d.o;
  await model.reset();
  await ask('http:1 say:x');
  fs.writeFileSync(path.join(d.dir, 'cred.new'), 'sk-ant-dummy-the-second-one\n', { mode: 0o600 });
  fs.renameSync(path.join(d.dir, 'cred.new'), path.join(d.dir, 'cred'));
  equal(d.ctl('reload').code, 0);
  await ask('http:1 say:x');
  const seen = (await model.requests()).map((r) => r.auth?.sha256);
  equal(seen.length, 2);
  assert(seen[0] && seen[1] && seen[0] !== seen[1], 'the old one went out');
});

await test('state is closed to others', async () => {
  const bad = [];
  const look = (dir) => { for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
    const f = path.join(dir, e.name); const s = fs.lstatSync(f);
    if (e.isDirectory()) look(f);
    if (!s.isSymbolicLink() && !e.isSocket() && s.mode & 0o007 && e.isFile()) bad.push(`${f.slice(d.dir.length)} ${(s.mode & 0o777).toString(8)}`);
    if (s.mode & 0o002 && !s.isSymbolicLink()) bad.push(`${f.slice(d.dir.length)} may be written by all`);
  } };
  look(path.join(d.dir, 'state')); look(path.join(d.dir, 'keys.d')); look(path.join(d.dir, 'run'));
  equal(bad, []);
});

await test('slow and idle connections do not keep others out', async () => {
  const slow = [...Array(200)].map(() => { const s = net.connect(d.port, '127.0.0.1'); s.on('error', () => {}).write('POST /v1/chat/com'); return s; });
  const closed = slow.map((s) => new Promise((yes) => { s.on('close', yes); s.resume(); }));
  const t0 = performance.now();
  equal((await d.request({ path: '/health' })).status, 200);
  const ms = performance.now() - t0;
  assert(ms < 100 * slow, `health after ${ms} ms`);
  await Promise.race([Promise.all(closed), sleep(4000).then(() => { throw new Error('slow heads are not ended'); })]);
  const line = await d.request({ raw: `GET /health HTTP/1.1\r\nHost: localhost\r\nX: ${'y'.repeat(65536)}\r\n\r\n` }).catch((e) => ({ status: 431, e }));
  assert([400, 431].includes(line.status), line.status);
});

await test('after kill -9 of the master it starts again; a number in a file means nothing', async () => {
  process.kill(d.proc.pid, 'SIGKILL');
  await until('gone', () => d.exited);
  for (const f of ['olpd.pid', 'lock']) {
    const p = path.join(d.dir, 'run', f);
    if (!fs.existsSync(p)) fs.writeFileSync(p, `${process.pid}\n`);
  }
  await d.launch();
  equal((await ask('say:back')).text, 'back');
});

await test('a setting that is no number is refused by its name', async () => {
  const e = new Olpd();
  await e.prepare();
  for (const [l, what] of [['limit body 5', 'limit body'], ['limit body 5 MB', 'limit body'], ['limit runs 1M', 'limit runs'], ['limit runs ""', 'limit runs'],
    ['timeout idle 5', 'timeout idle'], ['limit runs 1e3', 'limit runs'], ['limit queue -1', 'limit queue']]) {
    e.writeConf(`${e.text()}\n${l}\n`);
    await e.launch({ wait: false });
    await until('it ends', () => e.exited);
    equal(e.exited.code, 78, l);
    assert(e.log.some((x) => x.includes(what)), `${l}: ${e.log.join(' | ')}`);
  }
  fs.rmSync(e.dir, { recursive: true });
});

await d.stop();
await finish();
