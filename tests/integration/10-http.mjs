// SPDX-License-Identifier: ISC
// The way a caller sees olpd: keys, models, errors, framing, demo's answer.
import http from 'node:http';
import net from 'node:net';
import { Olpd, assert, equal, finish, head, parseAnswer, sleep, test, until } from '../lib/olp.mjs';

const d = await Olpd.start({ provider: '\tlimit runs 4', more: 'model "m2" { chain claude "claude-opus-4-8" }\n' });
const token = d.key('alice');
const owner = d.key('boss', '--tier', 'owner');
const demoOnly = d.key('kid', '--providers', 'demo');

const post = (body, o = {}) => d.request({ method: 'POST', path: '/v1/chat/completions', token,
  headers: { 'Content-Type': 'application/json', ...o.headers }, body: typeof body === 'string' || Buffer.isBuffer(body)
    ? body : JSON.stringify(body), ...o });
const user = (content) => ({ model: 'sonnet', messages: [{ role: 'user', content }] });
const bytes = (b) => new Promise((yes, no) => {
  const s = net.connect(d.port, '127.0.0.1'); const parts = [];
  s.on('data', (x) => parts.push(x)).on('error', no).on('close', () => yes(Buffer.concat(parts)));
  s.write(b);
  setTimeout(() => s.destroy(), 5000).unref();
});

await test('demo answers without any account', async () => {
  const c = d.chat(token, 'What is this?', { model: 'demo' });
  await c.end;
  equal(c.status, 200);
  assert(c.text.length > 20, c.text);
  equal(c.finish, 'stop');
  assert(c.usage.total_tokens === c.usage.prompt_tokens + c.usage.completion_tokens);
  for (const h of ['x-olp-request-id', 'x-olp-provider-used', 'x-olp-model-used', 'x-olp-latency-ms', 'x-olp-enforcement'])
    assert(c.headers[h], `no ${h}`);
  equal(c.headers['x-olp-provider-used'], 'demo');
});

await test('a stream has a role, deltas, one finish_reason, [DONE], and no empty choices', async () => {
  const c = d.chat(token, 'words:5', { stream: true });
  await c.end;
  equal(c.status, 200);
  equal(c.text, 'word0 word1 word2 word3 word4 ');
  assert(c.done && c.complete);
  assert(c.events.every((e) => !e.bad), 'a frame is not one data: line of JSON');
  equal(c.events[0].json.choices[0].delta.role, 'assistant');
  equal(c.events.filter((e) => e.json?.choices?.[0]?.finish_reason).length, 1);
  assert(c.events.filter((e) => e.json).every((e) => e.json.choices.length === 1), 'a chunk without choices');
});

await test('include_usage gives one last chunk with usage', async () => {
  const c = d.chat(token, 'words:2', { stream: true, extra: { stream_options: { include_usage: true } } });
  await c.end;
  const u = c.events.filter((e) => e.json?.choices?.length === 0);
  equal(u.length, 1);
  assert(u[0].json.usage.completion_tokens > 0);
  equal(c.events.indexOf(u[0]), c.events.length - 2);
});

await test('no key, a wrong one, and one over a Unix socket too', async () => {
  for (const t of [undefined, 'x', `olp_${'A'.repeat(43)}`, 'sk-1234']) {
    const r = await post(user('hi'), { token: t });
    equal(r.status, 401, String(t));
    equal(r.json.error.code, t ? 'invalid_api_key' : 'missing_api_key');
  }
  const r = await post(user('say:ok'), { token: undefined, headers: { 'Content-Type': 'application/json', 'x-api-key': token } });
  equal(r.status, 200);
});

await test('models are those of the key', async () => {
  const ids = async (t) => (await d.request({ path: '/v1/models', token: t })).json.data.map((m) => m.id).sort();
  equal(await ids(token), ['demo', 'die-early', 'm2', 'sonnet']);
  equal(await ids(demoOnly), ['demo']);
  equal((await d.request({ path: '/v1/models/sonnet', token })).json.id, 'sonnet');
  equal((await d.request({ path: '/v1/models/sonnet', token: demoOnly })).status, 404);
  equal((await d.request({ path: '/v1/models' })).status, 401);
  const r = await post({ ...user('hi'), model: 'no-such' });
  equal(r.status, 404);
  equal(r.json.error.code, 'model_not_found');
  equal((await post(user('hi'), { token: demoOnly })).status, 404);
});

await test('health: liveness for anyone, the rest for owners', async () => {
  const r = await d.request({ path: '/health' });
  equal(r.status, 200);
  equal(Object.keys(r.json).sort().join(), 'status');
  const m = await d.request({ path: '/health', token });
  assert(!m.body.includes('worker'), 'a member sees workers');
  const o = await d.request({ path: '/health', token: owner });
  assert(o.json.sandbox.available === true, o.body);
  for (const k of ['active', 'missing', 'message', 'providers']) assert(k in o.json.sandbox, k);
  const p = o.json.sandbox.providers.claude;
  equal(p.read_protection, 'no-tools');
  for (const k of ['recommended_tier', 'layers', 'enforcement']) assert(k in p, k);
  equal((await d.request({ path: '/ready' })).status, 200);
});

await test('bodies that are no request: 400 at once', async () => {
  for (const b of ['null', '1', '"x"', '[]', '{}', '', '{', '{"model":"sonnet"}', '{"model":"sonnet","messages":{}}',
    '{"model":"sonnet","messages":"hi"}', '{"model":"sonnet","messages":[]}', '{"model":"sonnet","model":"m2","messages":[]}',
    '{"model":"sonnet","messages":[{"role":"user","content":"a","content":"b"}]}', '{"model":1,"messages":[]}',
    '{"model":"sonnet","messages":[{"role":"wizard","content":"a"}]}', '{"model":"sonnet","messages":[{"role":"user","content":""}]}',
    '{"model":"sonnet","messages":[{"role":"assistant","content":"a"}]}', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])]) {
    const t0 = Date.now();
    const r = await post(b);
    equal(r.status, 400, String(b));
    assert(r.json.error.message && r.json.error.type, r.body);
    assert(Date.now() - t0 < 500, 'slow');
  }
});

await test('numbers out of range name the field', async () => {
  for (const [k, v] of [['max_tokens', '1e308'], ['max_tokens', '-1'], ['max_tokens', '0'], ['max_tokens', `1${'0'.repeat(399)}`],
    ['temperature', '3'], ['temperature', '-0.1'], ['temperature', '1e999'], ['top_p', '1.5'], ['n', '2'], ['max_tokens', '"5"']]) {
    const r = await post(`{"model":"sonnet","messages":[{"role":"user","content":"hi"}],"${k}":${v}}`);
    equal(r.status, 400, `${k}=${v.slice(0, 20)}`);
    if (!/1e999|0{30}/.test(v)) equal(r.json.error.param, k);
  }
});

await test('what cannot be honoured is refused by name; what can be ignored is noted', async () => {
  for (const [k, v] of [['tool_choice', 'required'], ['tool_choice', { type: 'function', function: { name: 'x' } }],
    ['tools', [{ type: 'function', function: { name: 'x' } }]], ['function_call', { name: 'x' }], ['logprobs', true],
    ['response_format', { type: 'json_schema', json_schema: { name: 'x', schema: {} } }]]) {
    const r = await post({ ...user('hi'), [k]: v });
    equal(r.status, 400, k);
    equal(r.json.error.param, k);
    equal(r.json.error.code, 'unsupported_parameter');
  }
  for (const v of ['none', 'auto']) equal((await post({ ...user('say:x'), tool_choice: v })).status, 200, v);
  const r = await post({ ...user('say:x'), user: 'me', seed: 4 });
  equal(r.status, 200);
  assert(/seed/.test(r.headers['x-olp-ignored']), JSON.stringify(r.headers));
  const img = await post(user([{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }]));
  equal(img.status, 400);
});

await test('content type, origin, host', async () => {
  for (const t of ['text/plain', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded', ''])
    equal((await post(user('say:x'), { headers: { 'Content-Type': t } })).status, 415, t);
  equal((await post(user('say:x'), { headers: { 'Content-Type': 'application/json; charset=utf-8' } })).status, 200);
  for (const o of ['http://evil.example', 'http://localhost.evil.example', 'null', `http://127.0.0.1.evil.example:${d.port}`])
    equal((await post(user('say:x'), { headers: { 'Content-Type': 'application/json', Origin: o } })).status, 403, o);
});

await test('unknown paths and methods', async () => {
  equal((await d.request({ path: '/nope', token })).status, 404);
  const r = await d.request({ path: '/v1/chat/completions', token });
  equal(r.status, 405);
  equal((await d.request({ path: '/../etc/passwd', token })).status, 404);
});

await test('ambiguous framing is refused and what hides behind it never runs', async () => {
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n';
  const forms = ['Content-Length: 5\r\nTransfer-Encoding: chunked', 'Content-Length: 0\r\nTransfer-Encoding: chunked',
    'Content-Length: 5\r\nContent-Length: 5', 'Content-Length: 5\r\nContent-Length: 6', 'Transfer-Encoding: chunked, gzip',
    'Transfer-Encoding: gzip, chunked', 'Transfer-Encoding: xchunked', 'Content-Length: +5', 'Content-Length: 5,5',
    'Content-Length: 0x5', 'Content-Length: 99999999999999999999', 'Content-Length : 5', 'X: a\r\n b', 'Content-Length: 5\rX: y'];
  for (const f of forms) {
    const a = await bytes(`POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n${f}\r\n\r\n0\r\n\r\n${hidden}`);
    const s = a.toString('latin1');
    assert(/^HTTP\/1\.1 (400|413|501) /.test(s), `${f}: ${s.slice(0, 40)}`);
    equal(s.match(/HTTP\/1\.1 /g).length, 1, f);
  }
  assert(!d.lines('/hidden').length);
});

await test('a body over the limit: 413, also chunked, also with Expect', async () => {
  const r = await bytes(`POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n`
    + 'Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n');
  const s = r.toString();
  assert(/^HTTP\/1\.1 413 /.test(s), s.slice(0, 60));
});

await test('an error sent while the body still arrives reaches the caller', async () => {
  const big = Buffer.alloc(4 << 20, 0x20);
  const a = await new Promise((yes, no) => {
    const s = net.connect(d.port, '127.0.0.1'); const parts = [];
    s.on('data', (b) => parts.push(b)).on('error', () => {}).on('close', () => yes(Buffer.concat(parts)));
    s.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer nope\r\n`
      + `Content-Type: application/json\r\nContent-Length: ${big.length}\r\n\r\n`);
    let at = 0;
    const push = () => { if (at >= big.length || s.destroyed) return; s.write(big.subarray(at, at += 65536), () => setTimeout(push, 2)); };
    push();
    setTimeout(() => no(new Error('no answer')), 10000).unref();
  });
  equal(parseAnswer(a).status, 401);
});

await test('characters cut between writes arrive whole', async () => {
  const prompt = 'say:héß日本語😀';
  const b = head('POST', '/v1/chat/completions', { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    JSON.stringify(user(prompt)));
  for (const step of [1, 3]) {
    const a = await new Promise((yes, no) => {
      const s = net.connect(d.port, '127.0.0.1', async () => {
        s.setNoDelay(true);
        for (let i = 0; i < b.length; i += step) { s.write(b.subarray(i, i + step)); if (i % 32 === 0) await sleep(0); }
      });
      const parts = [];
      s.on('data', (x) => parts.push(x)).on('error', no).on('close', () => yes(Buffer.concat(parts)));
    });
    equal(parseAnswer(a).json.choices[0].message.content, 'héß日本語😀');
  }
});

await test('text parts are joined, developer is system, empty assistant turns are skipped', async () => {
  const c = d.chat(token, [{ role: 'developer', content: 'be brief' }, { role: 'user', content: [{ type: 'text', text: 'say:a' },
    { type: 'text', text: ' say:b' }] }]);
  await c.end;
  equal(c.status, 200, c.body?.toString());
  equal(c.text, 'ab');
});

await test('outcomes of a client that misbehaves', async () => {
  const want = [
    ['say:x no-stop exit:0', 502], ['empty', 502], ['exit:1', 502], ['exit:126', 502], ['exit:127', 502], ['runner-words exit:1', 502],
    ['no-init garbage say:x', 502], ['init-tools:Bash say:x', 502], ['signal:11', 502], ['say:hello stop result exit:1', 200],
    ['say:ok stop result hang', 200], ['say:ok stop result grandchild:60000', 200], ['garbage say:ok', 200],
    ['say:cut stop:max_tokens', 200], ['say:no stop:refusal', 200], ['bigline:20000000 say:after', 200], ['stderr:200000 say:ok', 200],
  ];
  for (const [prompt, status] of want) {
    const c = d.chat(token, prompt, { ms: 20000 });
    await c.end;
    equal(c.status, status, `${prompt}: ${c.body}`);
    if (status !== 200) {
      assert(c.json.error.code !== 'sandbox_unavailable', `${prompt}: told as a runner failure`);
      assert(!/bwrap|olp-shim|\/tmp|\/opt|uid/.test(c.body.toString()), `${prompt}: ${c.body}`);
    }
  }
  const e = d.chat(token, 'x', { model: 'die-early' });
  await e.end;
  equal(e.status, 502);
  await until('no client is left', () => d.clients().length === 0, 2000);
});

await test('failure after text is an error event without finish_reason', async () => {
  const c = d.chat(token, 'say:part sleep:100 no-stop exit:1', { stream: true });
  await c.end;
  equal(c.status, 200);
  equal(c.text, 'part');
  assert(c.fault, 'no error event');
  assert(!c.finish && !c.done, 'a broken answer looks complete');
  const e = d.chat(token, 'no-stop exit:1', { stream: true });
  await e.end;
  equal(e.status, 502, 'nothing was sent yet');
});

await test('one outcome line per request, with the id of the answer', async () => {
  const c = d.chat(token, 'say:line');
  await c.end;
  const id = c.headers['x-olp-request-id'];
  await until('the line', () => d.lines(id, 'OLP_OUTCOME').length);
  equal(d.lines(id, 'OLP_OUTCOME').length, 1);
  await until('run start and end of worker-spawn', () => d.lines(id, 'OLP_UID=').length >= 2);
  assert(d.lines(id, 'OLP_KEY_ID=alice').length, 'key');
});

await test('no prompt, answer or token in the log', async () => {
  const c = d.chat(token, 'say:MARKERXYZ');
  await c.end;
  equal(c.text, 'MARKERXYZ');
  assert(!d.log.some((l) => l.includes('MARKERXYZ') || l.includes(token)), 'found in the log');
});

await test('HEAD is answered as GET, without a body, and the connection goes on', async () => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (method, path) => new Promise((yes, no) => {
    const r = http.request({ port: d.port, host: '127.0.0.1', path, method, agent }, (res) => {
      let body = '';
      res.on('data', (b) => { body += b; });
      res.on('end', () => yes([res.statusCode, Number(res.headers['content-length']), body.length]));
    });
    r.on('error', no);
    r.end();
  });
  const [, size] = await ask('GET', '/health');
  for (let i = 0; i < 3; i++) {
    equal(await ask('HEAD', '/health'), [200, size, 0]);
    equal(await ask('GET', '/health'), [200, size, size]);
    const [status, length, body] = await ask('HEAD', '/v1/chat/completions');
    equal([status, body], [405, 0]);
    assert(length > 0);
  }
  agent.destroy();
});

await test('stop leaves nothing and exits 0', async () => {
  const c = d.chat(token, 'say:x hang', { stream: true });
  await c.first;
  const before = d.all();
  const e = await d.stop();
  equal(e, { code: 0, signal: null });
  assert(before.length >= 4, `${before.length} processes`);
  equal(d.clients(), []);
  await c.end;
});

await finish();
