// SPDX-License-Identifier: ISC
// The broker against a client that holds the placeholder and has its socket in
// hand, through the whole daemon.  Every try is a row: what reached the
// provider, what the client got, what the caller got, the journal's reason.
// A stream that runs through the same olpd-egress all the while shows that
// others are not touched.
import crypto from 'node:crypto';
import fs from 'node:fs';
import { Olpd, assert, equal, finish, quantile, secret, sleep, test, until } from '../lib/olp.mjs';
import { accepted, body, req, user, wire, K, MODEL } from '../lib/wire.mjs';

const d = await Olpd.start({ provider: '\tlimit runs 12', global: 'limit runs 16\nlimit queue 64 per-key 32' });
const token = d.key('alice', '--runs', '12');
const other = d.key('bob', '--runs', '12');
const table = [];

// --- others, all the while

const gaps = [];
const bystander = { on: true, bad: [], runs: 0 };
bystander.loop = (async () => {
  while (bystander.on) {
    let last = 0;
    const c = d.chat(other, `tcp tx:${wire(req({ body: body({ messages: user('[[words:400]][[pace:20]]BYSTANDER') }) }))} live`,
      { stream: true, on: (e, job) => { if (!e.json?.choices?.[0]?.delta?.content) return; if (last) gaps.push(e.at - last); last = e.at;
        if (!bystander.on) job.sock.destroy(); } });
    bystander.now = c;
    await c.end;
    if (bystander.on && c.finish !== 'stop') bystander.bad.push(c.fault ?? c.error ?? c.status);
    bystander.runs++;
  }
})();
await bystander.now.first;

// Requests at the provider that are not the bystander's.
const seen = async () => (await d.o.model.requests()).filter((r) => !JSON.stringify(r.body ?? '').includes('BYSTANDER'));
const reason = (id) => d.lines(id, 'OLP_REASON=').filter((l) => /request refused/.test(l))
  .map((l) => /request refused: ([^[\n]*?)(?= *(?:OLP_|\[|\{|$))/.exec(l)?.[1] ?? l);

// One request that must be refused. status: what the client gets, where it can
// be seen: behind a good request, since a run whose only request is refused
// is ended at once.
function refused(name, bytes, why, { status, plain = true } = {}) {
  return test(`refused: ${name}`, async () => {
    const row = { name };
    table.push(row);
    const before = (await seen()).length;
    if (plain) {
      const c = d.chat(token, `tcp tx:${wire(bytes)} rx:4000 say:done`);
      await c.end;
      row.caller = `${c.status} ${c.json?.error?.code}`;
      row.ms = c.ms;
      equal(row.caller, '502 broker_refused', name);
      await until('the journal line', () => reason(c.headers['x-olp-request-id']).length);
      row.reason = reason(c.headers['x-olp-request-id'])[0];
      assert(why.test(row.reason), `reason: ${row.reason}`);
      assert(c.ms < 3500, `the client was not ended: ${c.ms} ms`);
      equal((await seen()).length, before, 'requests at the provider');
    }
    if (!status) return;
    const c = d.chat(token, `http:1 tcp tx:${wire(bytes)} rx:4000`, { stream: true });
    await c.end;
    row.client = /<HTTP\/1\.1%20(\d+)/.exec(c.text)?.[1] ?? c.text.slice(0, 80);
    assert(c.text.startsWith('status=200'), c.text.slice(0, 60));
    equal(row.client, String(status), 'what the client got');
    assert(/\|eof> /.test(c.text), `the connection is not closed: ${c.text.slice(-40)}`);
    equal((c.text.match(/HTTP\/1\.1%20\d/g) ?? []).length, 1, 'answers');
    equal(c.finish, 'stop', 'the answer of the good request');
    equal((await seen()).length, before + 1, 'requests at the provider');
    assert(!bystander.bad.length, JSON.stringify(bystander.bad));
  });
}

// One that must go out, and how it looks there.
function passes(name, bytes, check = () => {}) {
  return test(`passes: ${name}`, async () => {
    const before = (await seen()).length;
    const c = d.chat(token, `tcp tx:${wire(bytes)} rx`, { stream: true });
    await c.end;
    const got = (await seen()).slice(before);
    equal(got.length, 1, `requests at the provider (${JSON.stringify(c.fault ?? c.text.slice(0, 200))})`);
    equal([got[0].method, got[0].path], ['POST', '/v1/messages']);
    equal(got[0].auth, { kind: 'x-api-key', sha256: crypto.createHash('sha256').update(secret).digest('hex')
      .slice(0, got[0].auth.sha256.length) }, 'the credential');
    equal(got[0].body?.model, MODEL);
    const extra = Object.keys(got[0].headers).filter((h) => !accepted.includes(h));
    equal(extra, [], 'fields at the provider');
    assert(!JSON.stringify(got[0].headers).includes(secret), 'the secret in another field');
    check(got[0], c);
    assert(/<(HTTP\/1\.1%20100%20Continue%0D%0A%0D%0A)?HTTP\/1\.1%20200/.test(c.text), c.text.slice(0, 100));
    equal(c.finish, 'stop');
    table.push({ name, client: '200', caller: '200', reason: 'passes', ms: c.ms });
  });
}

// ------------------------------------------------------------------- bodies

const raw = (text) => req({ body: text });
const j = (o) => raw(body(o));
const m = `"model":"${MODEL}"`;
const rest = '"max_tokens":10,"stream":true,"messages":[{"role":"user","content":"[[say:x]]"}]';

await refused('another model', j({ model: 'claude-opus-4-8' }), /model is not the run's/);
await refused('another model, escaped', raw(`{"model":"claude-\\u006fpus-4-8",${rest}}`), /model is not the run's/);
await refused('"model" spelled with an escape', raw(`{"m\\u006fdel":"claude-opus-4-8",${rest}}`), /model is not the run's/);
await refused('model twice', raw(`{${m},"model":"claude-opus-4-8",${rest}}`), /top-level key twice/);
await refused('model twice, once escaped', raw(`{${m},"mod\\u0065l":"claude-opus-4-8",${rest}}`), /top-level key twice/);
await refused('model last again', raw(`{${m},${rest},"\\u006dodel":"claude-opus-4-8"}`), /top-level key twice/);
await refused('"Model" beside it', raw(`{${m},"Model":"claude-opus-4-8",${rest}}`), /key that is not allowed/);
await refused('"model\\u0000" beside it', raw(`{${m},"model\\u0000":"claude-opus-4-8",${rest}}`), /key that is not allowed/);
await refused('the model in capitals', j({ model: MODEL.toUpperCase() }), /model is not the run's/);
await refused('the model and a NUL', raw(`{"model":"${MODEL}\\u0000",${rest}}`), /model is not the run's/);
await refused('the model and a blank', j({ model: `${MODEL} ` }), /model is not the run's/);
await refused('the start of the model', j({ model: MODEL.slice(0, -1) }), /model is not the run's/);
await refused('a list of models', j({ model: [MODEL, 'claude-opus-4-8'] }), /model is not a string/);
await refused('model null', j({ model: null }), /model is not a string/);
await refused('no model', raw(`{${rest}}`), /names no model/);

await refused('tools', j({ tools: [{ name: 'x' }] }), /tools where none/);
await refused('"t\\u006fols"', raw(`{${m},"t\\u006fols":[{"name":"x"}],${rest}}`), /tools where none/);
await refused('"tools" all escaped', raw(`{${m},"\\u0074\\u006F\\u006f\\u006C\\u0073":[{"name":"x"}],${rest}}`), /tools where none/);
await refused('tools after empty tools', raw(`{${m},"tools":[],"t\\u006fols":[{"name":"x"}],${rest}}`), /top-level key twice/);
await refused('tools as an object', j({ tools: {} }), /tools is not an empty array/);
await refused('tools as null', j({ tools: null }), /tools is not an empty array/);
await refused('tools as text', j({ tools: '' }), /tools is not an empty array/);
await refused('an empty list in tools', j({ tools: [[]] }), /tools where none/);
for (const k of ['Tools', 'tools ', 'functions', 'mcp_servers', 'container', 'service_tier', 'inference_geo', 'betas', 'speed', '__proto__', '', 'x'.repeat(5000)])
  await refused(`the key "${k.slice(0, 20)}"`, raw(`{${m},${JSON.stringify(k)}:[{"name":"x","url":"http://192.0.2.1"}],${rest}}`), /key that is not allowed/);
await refused('"stream" as text', j({ stream: 'yes' }), /stream is not a boolean/);

for (const [name, text] of [['a list', '[]'], ['text', '"x"'], ['a number', '1'], ['null', 'null'], ['an object in a list', `[{${m},${rest}}]`]])
  await refused(`the body is ${name}`, raw(text), /not a JSON object/);
await refused('an empty body', raw(''), /ends too early/);
await refused('half a body', raw(`{${m},${rest}`), /ends too early/);
await refused('a byte order mark', raw(`\ufeff{${m},${rest}}`), /not a JSON object/);
for (const [name, b] of [['a lone FF', [0xff]], ['an overlong slash', [0xc0, 0xaf]], ['a surrogate', [0xed, 0xa0, 0x80]], ['over U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ['half a character', [0xe2, 0x82]]])
  await refused(`not UTF-8: ${name}`, raw(Buffer.concat([Buffer.from(`{${m},"system":"`), Buffer.from(b), Buffer.from(`",${rest}}`)])), /not UTF-8/);
await refused('half a surrogate pair', raw(`{${m},"system":"\\ud800",${rest}}`), /half a surrogate/);
await refused('bytes behind the object', raw(`{${m},${rest}} x`), /bytes after the object/);
await refused('a second object', raw(`{${m},${rest}}{"model":"claude-opus-4-8"}`), /bytes after the object/);
await refused('a NUL behind it', raw(Buffer.from(`{${m},${rest}}\0`)), /bytes after the object/);
await refused('129 levels', raw(`{${m},${rest},"metadata":${'['.repeat(129)}${']'.repeat(129)}}`), /nested too deeply/);
await refused('a million brackets', [req({ body: `{${m},${rest},"metadata":`, length: 1000200 }), { times: 1000000, bytes: '[' }], /nested too deeply/);
for (const n of ['01', '+1', '.5', '1.', '1e', '0x10', '-', 'NaN', 'Infinity', '1_0', "'1'", '1//x'])
  await refused(`the number ${n}`, raw(`{${m},"temperature":${n},${rest}}`), /not JSON/);
await refused('a comma too many', raw(`{${m},${rest},}`), /not JSON/);
await refused('a newline in a string', raw(`{${m},"system":"a\nb",${rest}}`), /control byte/);
await refused('a comment', raw(`{${m},/**/${rest}}`), /not JSON/);

await passes('the request of every test', j({}));
await passes('escapes that say the same', raw(`{"m\\u006fdel":"\\u0063laude-sonnet-4-6","t\\u006fols":[ \n\t],${rest}}`));
await passes('numbers out of range go out as they are', raw(`{${m},"temperature":1e999,"top_p":${'9'.repeat(400)},${rest}}`));
await passes('128 levels', raw(`{${m},${rest},"metadata":${'['.repeat(127)}${']'.repeat(127)}}`));

// -------------------------------------------------------------------- heads

const notModel = /not the provider's model request/;
for (const t of ['/v1/complete', '/v1/messages/', '/v1/messages/../x', '/v1/../v1/messages', '//v1/messages', '/v1//messages', '/v1/messages/count_tokens',
  '/v1/messages/batches', '/v1/files', '/v1/%6dessages', '/v1/messages%2e', '/%2e/v1/messages', '/v1/messages%3fbeta=true', '/V1/messages', '/v1/messages;x=1',
  '/v1/messages?', '/v1/messages?beta=false', '/v1/messages?beta=true&beta=true', '/v1/messages?beta=true&x=1', '/v1/messages?BETA=true', '/v1/messages?beta=tru%65',
  '/v1/organizations/me', '/api/oauth/claude_cli/create_api_key', '/v1/mcp_servers', '/'])
  await refused(`the path ${t}`, req({ target: t }), notModel, { status: 404 });
for (const t of ['http://api.anthropic.com/v1/messages', 'https://192.0.2.1/v1/messages', '*', 'v1/messages', '/v1/messages#x', '\\v1\\messages', '/v1/mess\x7fages'])
  await refused(`the target ${JSON.stringify(t)}`, req({ target: t }), /target is not a path|control byte/, { status: 400 });
for (const t of ['GET', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PATCH', 'POSTX', 'PRI'])
  await refused(`the method ${t}`, req({ method: t }), notModel, { status: 404 });
await refused('CONNECT', req({ method: 'CONNECT', target: '192.0.2.1:443' }), /target is not a path/, { status: 400 });
for (const t of ['post', 'PoST', 'POST\t', 'A'.repeat(40), ''])
  await refused(`the method ${JSON.stringify(t)}`, req({ method: t }), /method is not|version/, { status: 400 });
for (const [v, s] of [['HTTP/1.0', 505], ['HTTP/2.0', 505], ['HTTP/1.2', 505], ['HTTP/1.1 x', 400], ['http/1.1', 400], ['', 400]])
  await refused(`the version ${v}`, req({ version: v }), /version|not HTTP\/1.1/, { status: s });
await refused('HTTP/0.9', 'GET /v1/messages\r\n\r\n', /no version/, { status: 400 });
await refused('the HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /version/, { status: 505 });
await refused('TLS', Buffer.from('160301004c0100004803030000', 'hex'), /control byte|CR or LF/, { status: 400 });

const hidden = req({ target: '/v1/complete' });
for (const [name, o, why, status] of [
  ['Content-Length and Transfer-Encoding', { extra: ['Transfer-Encoding: chunked'] }, /both Content-Length/],
  ['Content-Length twice', { extra: ['Content-Length: 5'] }, /more than one Content-Length/],
  ['Content-Length twice the same', { length: 5, extra: ['Content-Length: 5'] }, /more than one Content-Length/],
  ['Content-Length 5,5', { length: '5,5' }, /not 1 to 19 digits/], ['Content-Length +5', { length: '+5' }, /not 1 to 19 digits/],
  ['Content-Length 0x5', { length: '0x5' }, /not 1 to 19 digits/], ['Content-Length -1', { length: '-1' }, /not 1 to 19 digits/],
  ['Content-Length of 20 digits', { length: '99999999999999999999' }, /not 1 to 19 digits/],
  ['Content-Length of 40 MB', { length: 40 << 20 }, /body too large/, 413],
  ['Transfer-Encoding: xchunked', { length: null, extra: ['Transfer-Encoding: xchunked'] }, /not chunked alone/],
  ['Transfer-Encoding: gzip, chunked', { length: null, extra: ['Transfer-Encoding: gzip, chunked'] }, /not chunked alone/, 501],
  ['Transfer-Encoding: chunked, chunked', { length: null, extra: ['Transfer-Encoding: chunked, chunked'] }, /not chunked alone/],
  ['Transfer-Encoding: identity', { length: null, extra: ['Transfer-Encoding: identity'] }, /not chunked alone/],
  ['Transfer-Encoding twice', { length: null, extra: ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'] }, /more than one Transfer/],
  ['Transfer-Encoding : chunked', { length: null, extra: ['Transfer-Encoding : chunked'] }, /not a token/],
  ['a folded line', { extra: ['anthropic-beta: a\r\n b'] }, /begins with a blank/],
  ['a folded first line', { first: [' x: y'] }, /begins with a blank/],
  ['a line without a colon', { extra: ['anthropic-beta'] }, /not a token/],
  ['a name with a blank', { extra: ['x y: z'] }, /not a token/],
  ['an empty name', { extra: [': z'] }, /not a token/],
  ['LF alone', { extra: ['x: y\nz: w'] }, /CR or LF alone/], ['CR alone', { extra: ['anthropic-beta: y\rz: w'] }, /CR or LF alone/],
  ['NUL in a value', { extra: ['anthropic-beta: a\0b'] }, /control byte/],
  ['no Host', { host: null }, /no Host/], ['two Hosts', { extra: ['Host: x'] }, /more than one Host/],
  ['Host with a path', { host: 'x/y' }, /Host is not/],
  ['a field of 40 KB', { extra: [`anthropic-beta: ${'a'.repeat(40000)}`] }, /too long/, 431],
  ['101 fields', { extra: Array.from({ length: 101 }, (_, i) => `x-${i}: y`) }, /too many fields/, 431],
  ['a field twice that goes out', { extra: ['anthropic-version: 2023-01-01'] }, /a field twice/],
  ['a value not ASCII that goes out', { extra: ['anthropic-beta: h\u00e9'] }, /not printable ASCII/],
  ['a tab in a value that goes out', { extra: ['anthropic-beta: a\tb'] }, /not printable ASCII/],
  ['Connection: x-api-key', { extra: ['Connection: x-api-key'] }, /neither keep-alive nor close/],
  ['Connection: close, anthropic-version', { extra: ['Connection: close, anthropic-version'] }, /neither keep-alive nor close/],
  ['two Connections', { extra: ['Connection: close', 'Connection: x-api-key'] }, /neither keep-alive nor close/],
  ['Upgrade: websocket', { extra: ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', 'Sec-WebSocket-Version: 13'] }, /Upgrade/],
  ['Upgrade: h2c', { extra: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'] }, /Upgrade/],
  ['Upgrade alone', { extra: ['Upgrade: h2c'] }, /Upgrade/],
  ['Proxy-Authorization', { extra: ['Proxy-Authorization: Basic eDp5'] }, /Proxy-Authorization/],
  ['Expect: 200-ok', { extra: ['Expect: 200-ok'] }, /Expect is not/],
  ['Content-Encoding: gzip', { extra: ['Content-Encoding: gzip'] }, /Content-Encoding/, 415],
  ['Content-Type: text/plain', { type: 'text/plain' }, /Content-Type/, 415],
  ['Content-Type: application/jsonx', { type: 'application/jsonx' }, /Content-Type/, 415],
  ['charset=utf-16', { type: 'application/json; charset=utf-16' }, /Content-Type/, 415],
  ['no Content-Type', { type: null }, /Content-Type/, 415], ['two Content-Types', { extra: ['Content-Type: application/json'] }, /more than one Content-Type/],
  ['no body', { length: null }, /no body/, 415],
  ['no placeholder', { key: null }, /no credential/, 401], ['an empty one', { key: '' }, /not this run's/, 401],
  ['a wrong one', { key: 'olp-placeholder-0123456789' }, /not this run's/, 401], ['one with a byte more', { key: `${K}x` }, /not this run's/, 401],
  ['two of them', { extra: [`X-Api-Key: ${K}`] }, /more than one x-api-key/],
  ['two of them in one', { key: `${K}, ${K}` }, /not this run's/, 401],
  ['one in another field', { key: null, extra: [`Authorization: Bearer ${K}`] }, /another kind/, 401],
  ['one in both fields', { extra: [`Authorization: Bearer ${K}`] }, /another kind/, 401],
  ['one as Bearer in its field', { key: `Bearer ${K}` }, /not this run's/, 401],
  ['one in a cookie', { key: null, extra: [`Cookie: x-api-key=${K}`] }, /no credential/, 401],
  ['one as x-goog-api-key', { extra: [`x-goog-api-key: ${K}`] }, /another kind/, 401],
  ['one in the query', { key: null, target: `/v1/messages?key=${K}` }, notModel, 404],
]) await refused(name, req(o), why, { status: status ?? 400 });

const chunked = (s) => req({ length: null, extra: ['Transfer-Encoding: chunked'], body: '' }) + s;
for (const [name, s, why] of [['0x5', '0x5\r\n', /chunk size/], ['+5', '+5\r\n', /chunk size/], ['-1', '-1\r\n', /chunk size/], ['of 16 digits', '1000000000000000\r\n', /chunk size/],
  ['empty', '\r\n', /chunk size/], ['5 and a blank', '5 \r\n', /chunk size/], ['5 LF', '5\nabcde', /CR or LF alone/], ['of 40 MB', '2800000\r\n', /body too large/],
  ['smaller than its data', '1\r\n{{{\r\n', /chunk longer|not JSON/], ['with 300 bytes of extension', `1;${'x'.repeat(300)}\r\n`, /too long/],
  ['and a trailer of 9 KB', `0\r\nx: ${'y'.repeat(9000)}\r\n\r\n`, /too long/]])
  await refused(`a chunk size ${name}`, chunked(s), why);
await passes('chunks with extensions and trailers go out as one body', (() => {
  const b = body({}); const at = 40;
  return chunked(`${at.toString(16)};x="y"\r\n${b.slice(0, at)}\r\n${(b.length - at).toString(16)}\r\n${b.slice(at)}\r\n0\r\nx-api-key: stolen\r\n\r\n`);
})(), (r) => assert(r.headers['content-length'] && !r.headers['transfer-encoding'], JSON.stringify(r.headers)));
await passes('fields that are not in the list stay here', req({ extra: ['X-Forwarded-For: 127.0.0.1', 'Forwarded: for=x', 'Cookie: a=b', 'X-HTTP-Method-Override: DELETE',
  'X-Original-URL: /v1/files', 'TE: trailers', 'Trailer: x', 'Keep-Alive: 5', 'Via: x', 'Range: bytes=0-1', 'Accept-Encoding: gzip', 'anthropic-organization-id: other',
  'anthropic-workspace-id: other', 'Proxy-Connection: keep-alive', 'Origin: http://x', 'Referer: http://x'] }),
(r) => equal([r.headers['accept-encoding'], r.headers.host], ['identity', `localhost:${d.o.model.port}`]));
await passes('the placeholder in another field is no credential', req({ extra: [`User-Agent: ${K}`] }), (r) => assert(/^olp-/.test(r.headers['user-agent']), r.headers['user-agent']));
await passes('Expect: 100-continue', req({ extra: ['Expect: 100-continue'] }), (r, c) => {
  assert(/<HTTP\/1\.1%20100/.test(c.text), 'no 100 Continue');
  assert(!r.headers.expect, 'Expect at the provider');
});

// ------------------------------------------------------ more than one request

await refused('two requests in one write', [req({}) + req({})], /bytes after the request/);
await refused('a request hidden behind a good one', [req({}) + hidden], /bytes after the request/);
await test('a second request while the first is answered ends the connection', async () => {
  const before = (await seen()).length;
  const c = d.chat(token, `tcp tx:${wire(req({ body: body({ messages: user('[[words:200]][[pace:20]]') }) }))} sleep:300 tx:${wire(req({}))} rx`, { stream: true });
  await c.end;
  equal((await seen()).length, before + 1);
  assert(!/message_stop/.test(c.text), 'the first answer went on');
  await until('the journal', () => reason(c.headers['x-olp-request-id']).some((x) => /bytes after the request/.test(x)));
});
await test('keep-alive: a second request on the connection is not heard', async () => {
  const before = (await seen()).length;
  const c = d.chat(token, `tcp tx:${wire(req({ extra: ['Connection: keep-alive'] }))} rx tx:${wire(req({}))} rx:500`, { stream: true });
  await c.end;
  equal((await seen()).length, before + 1);
  equal(c.text.match(/HTTP\/1\.1%20/g).length, 1, c.text.slice(-100));
  assert(/connection:%20close/i.test(c.text));
});
await test('a second request on another connection: one only', async () => {
  const before = (await seen()).length;
  const c = d.chat(token, `tcp tx:${wire(req({}))} rx tcp tx:${wire(req({}))} rx tcp tx:${wire(req({}))} rx`, { stream: true });
  await c.end;
  equal((await seen()).length, before + 1);
  assert(/more%20requests%20than%20allowed/.test(c.text));
  equal(c.finish, 'stop');
  assert(reason(c.headers['x-olp-request-id']).every((x) => /more requests than allowed/.test(x)));
});
await test('eight requests at once: one goes out', async () => {
  const before = (await seen()).length;
  const half = req({}); const cut = half.length - 5;
  let words = 'tcp:8 ';
  for (let i = 0; i < 8; i++) words += `use:${i} tx:${wire(half.slice(0, cut))} `;
  for (let i = 0; i < 8; i++) words += `use:${i} tx:${wire(half.slice(cut))} `;
  const c = d.chat(token, `${words}use:0 rx`, { stream: true });
  await c.end;
  assert((await seen()).length <= before + 1, `${(await seen()).length - before} went out`);
});
await test('20 refusals: eight are told, then nothing is heard', async () => {
  const c = d.chat(token, `http:1 ${`tcp tx:${wire(req({ target: '/x' }))} rx:200 `.repeat(20)}`, { stream: true });
  await c.end;
  equal((c.text.match(/HTTP\/1\.1%20404/g) ?? []).length, 8);
  equal(reason(c.headers['x-olp-request-id']).length, 8);
  equal(c.finish, 'stop');
});
await test('side requests of the real client are 404, bounded and not told', async () => {
  const get = 'GET /api/claude_code/settings HTTP/1.1\r\nHost: x\r\n\r\n';
  const c = d.chat(token, `http:1 ${`tcp tx:${wire(get)} rx:300 `.repeat(3)}`, { stream: true });
  await c.end;
  equal((c.text.match(/HTTP\/1\.1%20404/g) ?? []).length, 3);
  equal(reason(c.headers['x-olp-request-id']), []);
});

// ------------------------------------------------------------- placeholders

await test('the placeholder of another run that goes on', async () => {
  const a = d.chat(other, 'env sleep:6000', { stream: true });
  await until('the environment', () => /ANTHROPIC_API_KEY=(\S+)/.test(a.text));
  const theirs = /ANTHROPIC_API_KEY=(\S+)/.exec(a.text)[1];
  const before = (await seen()).length;
  for (const t of [token, other]) {
    const c = d.chat(t, `tcp tx:${wire(req({ key: theirs }))} rx:4000 say:x`);
    await c.end;
    equal([c.status, c.json?.error?.code], [502, 'broker_refused']);
    await until('the journal', () => reason(c.headers['x-olp-request-id']).some((x) => /not this run's/.test(x)));
  }
  equal((await seen()).length, before);
  assert(!a.closed, 'the other run ended');
  a.sock.destroy();
});
await test('the placeholder of a run that is over', async () => {
  const a = d.chat(token, 'env'); await a.end;
  const old = /ANTHROPIC_API_KEY=(\S+)/.exec(a.text)[1];
  const before = (await seen()).length;
  const c = d.chat(token, `tcp tx:${wire(req({ key: old }))} rx:4000 say:x`);
  await c.end;
  equal([c.status, c.json?.error?.code], [502, 'broker_refused']);
  equal((await seen()).length, before);
});
await test('a daemon that would ask after the run\'s end is gone with it', async () => {
  const before = (await seen()).length;
  const c = d.chat(token, 'ghost:800 ghost:800 http:1 say:bye', { stream: true });
  await c.first;
  await c.end;
  equal(c.finish, 'stop');
  const t0 = performance.now();
  await until('no client of that key', () => clientsOf(c).length === 0, 2000);
  table.push({ name: 'a daemon left behind', client: 'gone', caller: '200', ms: performance.now() - t0, reason: 'pid namespace' });
  await sleep(1200);
  equal((await seen()).length, before + 1, 'requests at the provider');
});

// A run's processes: those of alice's uid.
function clientsOf() {
  const line = d.log.find((l) => l.includes('OLP_KEY_ID=alice') && l.includes('OLP_UID='));
  const uid = Number(/OLP_UID=(\d+)/.exec(line)[1]);
  return d.clients().filter((p) => { try { return fs.statSync(`/proc/${p}`).uid === uid; } catch { return false; } });
}

// ------------------------------------------------------------- false words

for (const stream of [true, false])
  await test(`a client that leaves its provider's answer and claims a whole one is not believed${stream ? ', in a stream' : ''}`, async () => {
    const c = d.chat(token, `tcp tx:${wire(req({ body: body({ messages: user('[[words:9]][[pace:1000]]SLOW') }) }))} rx:500 say:half`, { stream });
    await c.end;
    if (stream) equal([c.status, c.fault?.code, c.finish, c.done], [200, 'client_unexpected', undefined, false], c.text);
    else equal([c.status, c.json?.error?.code], [502, 'client_unexpected'], c.body);
    table.push({ name: 'claims an answer it did not wait for', client: '200', caller: stream ? 'in-stream error' : '502', ms: c.ms, reason: 'client_unexpected' });
  });

// ------------------------------------------------------------------ amounts

const egress = () => d.worker('olpd-egress');
const during = async (fn) => { const at = gaps.length; await fn(); const g = gaps.slice(at); return { n: g.length, p50: quantile(g, 0.5) ?? 0, max: Math.max(0, ...g) }; };

await test('a body of 40 MB in chunks is refused at its bound', async () => {
  const open = `{${m},${rest},"system":"`;
  const chunk = `8000\r\n${'a'.repeat(0x8000)}\r\n`;
  const before = (await seen()).length;
  const c = d.chat(token, `tcp tx:${wire([chunked(`${open.length.toString(16)}\r\n${open}\r\n`)])} txn:1300:${wire(chunk)} rx say:x`, { ms: 50000 });
  await c.end;
  equal([c.status, c.json?.error?.code], [502, 'broker_refused']);
  assert(/body too large/.test(reason(c.headers['x-olp-request-id'])[0]));
  equal((await seen()).length, before);
}, 90000);
await test('slow head and slow body hold up nobody', async () => {
  let cs;
  const g = await during(async () => {
    cs = [d.chat(token, `tcp slow:10:${wire(req({}))} rx`, { stream: true }),
      d.chat(token, `tcp:8 ${Array.from({ length: 8 }, (_, i) => `use:${i} slow:2:${wire(req({}).slice(0, 60))}`).join(' ')} sleep:300 say:x`)];
    await Promise.all(cs.map((c) => c.end));
  });
  equal(cs[0].finish, 'stop', 'a slow request in order is served');
  equal(cs[1].status, 502);
  table.push({ name: 'slow head and body', client: '200', caller: '200', ms: cs[0].ms, reason: `others' gap p50 ${g.p50.toFixed(0)} max ${g.max.toFixed(0)} ms` });
  assert(g.n > 50 && g.p50 < 60, `${g.n} gaps, p50 ${g.p50} ms`);
});
await test('50 connections of one run: eight are held, others are served', async () => {
  const count = () => fs.readdirSync(`/proc/${egress()}/fd`).length;
  const n0 = count();
  const c = d.chat(token, 'tcp:50 say:open sleep:2500', { stream: true });
  await until('they are open', () => /conns=50/.test(c.text));
  await sleep(200);
  const more = count() - n0;
  const t0 = performance.now();
  const x = d.chat(token, 'say:fine'); await x.end;
  equal(x.text, 'fine');
  table.push({ name: '50 connections', client: 'held', caller: '-', ms: performance.now() - t0, reason: `${more} descriptors more in olpd-egress` });
  assert(more <= 8 + 3, `${more} descriptors`);
  await c.end;
  await until('descriptors', () => count() <= n0 + 2, 3000);
});
bystander.on = false;
await bystander.loop;
await test('others all the while', async () => {
  equal(bystander.bad, []);
  assert(gaps.length > 100);
  assert(!d.lines('OLP_WORKER=olpd-egress', 'died').length && d.worker('olpd-egress'), 'olpd-egress died');
  assert(!d.log.some((l) => l.includes(secret)), 'the secret in the log');
});
console.log('#   refused or bounded                                | client | caller             |    ms | reason');
for (const r of table) console.log(`#   ${r.name.replace(/[^ -~]/g, '?').slice(0, 50).padEnd(50)}| ${String(r.client ?? 'ended').padEnd(7)}| ${String(r.caller ?? '').padEnd(19)}| ${(r.ms ?? 0).toFixed(0).padStart(5)} | ${r.reason ?? ''}`);
console.log(`#   others' stream: ${gaps.length} gaps of 20 ms, p50 ${quantile(gaps, 0.5).toFixed(0)} p99 ${quantile(gaps, 0.99).toFixed(0)} max ${Math.max(...gaps).toFixed(0)} ms`);
await d.stop();
await finish();
