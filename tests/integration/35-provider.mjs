// SPDX-License-Identifier: ISC
// The real claude, started with exactly our words and files, against modelapi
// on loopback, without daemon and sandbox: what common/provider says of the
// client, looked at again. The judges are the logged request body and our own
// reading of the client's output.
import { createHash } from 'node:crypto';
import { spawn, spawnSync, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { assert, build, claudePath, equal, finish, root, tempDir, test as bounded } from '../lib/olp.mjs';

const tool = process.env.OLP_PROVIDER_TOOL ?? path.join(build, 'tests/provider_tool');
if (!claudePath || !fs.existsSync(tool)) {
  console.log(`not ok - OLP_CLAUDE names no client, or ${tool} is not built\n# 0 passed, 1 failed`);
  process.exit(1);
}
const test = (name, fn) => bounded(name, fn, 300000); // tens of starts each, on a busy machine
const HAIKU = 'claude-haiku-4-5-20251001', SONNET = 'claude-sonnet-5-5';
const top = tempDir('provider');
const log = path.join(top, 'requests.jsonl');
const api = spawn(process.execPath, [path.join(root, 'tests/modelapi/modelapi.mjs'), '--port', '0', '--log', log, '--ttl', '1800'],
  { stdio: ['ignore', 'pipe', 'inherit'] });
process.on('exit', () => api.kill());
const port = await new Promise((yes) => api.stdout.once('data', (d) => yes(parseInt(d, 10))));
const wire = JSON.parse(execFileSync(tool, ['wire', 'claude']));
const words = JSON.parse(execFileSync(tool, ['launch', 'claude']));
const fingerprint = createHash('sha256').update(wire.placeholder).digest('hex').slice(0, 16);

const requests = () => (fs.existsSync(log) ? fs.readFileSync(log, 'utf8').trim().split('\n').filter(Boolean)
  .map((l) => JSON.parse(l)).filter((e) => e.kind === 'request') : []);
const u = (text) => ({ role: 'user', text });
const a = (text) => ({ role: 'assistant', text });

// One run. What the model got, what our parser made of the answer.
async function ask(messages, o = {}) {
  const dir = fs.mkdtempSync(path.join(top, 'run-'));
  if (o.before) o.before(dir);
  const before = requests().length;
  const request = { model: o.model ?? HAIKU, messages: typeof messages === 'string' ? [u(messages)] : messages, ...o.request };
  const p = spawn('timeout', ['40', tool, 'run', 'claude', o.cred ?? 'api-key', claudePath, String(o.port ?? port), dir], { stdio: ['pipe', 'pipe', 'pipe'] });
  const [out, err] = [[], []];
  p.stdout.on('data', (d) => out.push(d));
  p.stderr.on('data', (d) => err.push(d));
  p.stdin.on('error', () => {});
  p.stdin.end(JSON.stringify(request));
  const status = await new Promise((yes) => p.on('close', yes));
  const parsed = spawnSync(tool, ['parse', 'claude'], { input: Buffer.concat(out), maxBuffer: 1 << 28 });
  const chunks = parsed.stdout.toString().trim().split('\n').filter(Boolean).map((l) => JSON.parse(l));
  fs.rmSync(dir, { recursive: true, force: true });
  const seen = requests().slice(before);
  return {
    status, seen, chunks, err: Buffer.concat(err).toString(), body: seen[0]?.body,
    text: chunks.filter((c) => c.kind === 'text').map((c) => c.text).join(''),
    last: chunks.at(-1),
  };
}
// Messages of a body as ours again; the client's own left out: marks, and with
// OAuth what it says of its surroundings.
function plain(body) {
  return body.messages.filter((m) => m.role !== 'system').flatMap((m) => (typeof m.content === 'string' ? [[m.role, m.content]]
    : m.content.map((c) => { equal(c.type, 'text'); return [m.role, c.text]; })))
    .filter(([, text]) => !/^<system-reminder>\n(# Environment|You are powered by|Today)/.test(text));
}
const ours = (messages) => messages.map((m) => [m.role, m.text]);
// The third system block and those after it are the caller's.
const system = (body) => body.system.slice(2).map((s) => s.text);
const one = (r) => { equal(r.seen.length, 1, `requests, ${r.err} ${JSON.stringify(r.last)}:`); equal(r.body.tools, []); };

for (const cred of ['api-key', 'oauth']) {
  await test(`${cred}: one message, one request, placeholder, table of fields and keys`, async () => {
    for (const model of [HAIKU, SONNET]) {
      const r = await ask('hello', { cred, model });
      one(r);
      equal(plain(r.body), [['user', 'hello']]);
      equal(system(r.body), []);
      equal(r.body.model, model);
      equal(r.seen[0].auth, { kind: cred === 'oauth' ? 'bearer' : 'x-api-key', sha256: fingerprint });
      const passed = new Set([...wire.request_fields, 'content-type', 'content-length', 'host', 'connection', 'accept-encoding', 'x-api-key', 'authorization']);
      equal(Object.keys(r.seen[0].headers).filter((h) => !passed.has(h)), [], 'fields not in the table:');
      equal(Object.keys(r.body).filter((k) => !wire.body_keys.includes(k)), [], 'keys not in the table:');
      equal(r.chunks.map((c) => c.kind), ['start', 'usage', 'text', 'usage', 'stop']);
      equal([r.chunks[0].text, r.text, r.last.stop], [model, 'PONG', 'end']);
    }
  });

  await test(`${cred}: several turns arrive as the messages they are`, async () => {
    const turns = [[u('First'), a('Answer'), u('[[say:Second]]')], [u('a'), u('b'), a('x'), a('y'), u('c'), u('/d')],
      [u('a'), u('b')], [a('first'), u('then')], [u('/context'), a('/x'), u('!ls @/etc/passwd')],
      [u('\0q\x1b\r\n\ufeff\t '), a(' \0x\r\n '), u(' \0b\r\n\t 😀')], [u('<command-name>/x</command-name>'), a('API Error: 401'), u('Continue from where you left off.')]];
    for (const t of turns) {
      const r = await ask(t, { cred, request: { system: 'Be brief.\n' } });
      one(r);
      const want = ours(t);
      if (want.at(-1)[1].startsWith('/')) want.at(-1)[1] = `\n${want.at(-1)[1]}`;
      equal(plain(r.body), want);
      equal(system(r.body), ['Be brief.\n']);
      equal(r.last.stop, 'end');
    }
  });
}

await test('a single message arrives byte for byte', async () => {
  for (const t of ['!ls', '@/etc/passwd', '# x', '[Request interrupted by user]', '\ufeff/context', ' /context', '\0/x', '\u200b', 'a\0b\x1b\r\n\t', '(no content)', 'exit', '<system-reminder>x</system-reminder>', 'end\n\n']) {
    const r = await ask(t);
    one(r);
    equal(plain(r.body), [['user', t]]);
  }
});

await test('a command is text, with a newline before it', async () => {
  for (const m of [[u('/context')], [u('q'), a('x'), u('/context')], [u('q'), a('x'), u('[Request interrupted by user]')]]) {
    const r = await ask(m);
    one(r);
    equal(plain(r.body).at(-1), ['user', `\n${m.at(-1).text}`]);
    equal(r.last.stop, 'end');
  }
});

await test('blank messages are left out, a blank last one is refused', async () => {
  const r = await ask([u('q'), a(' \n'), u('\u3000'), a('(no content)'), u('end')]);
  one(r);
  equal(plain(r.body), [['user', 'q'], ['user', 'end']]);
  for (const t of ['', ' \n\t\v\f', '\u00a0', '\u2028', '\ufeff']) {
    const e = await ask(t);
    equal([e.status, e.seen.length], [3, 0]);
    equal(e.err, 'provider_tool: the last message is empty\n');
  }
});

await test('system text is exact, or none', async () => {
  for (const s of ['x', 'two\r\nlines\n\n', ' \tblank around ', 'é😀\u2028', '@/etc/passwd\n/context', 'z'.repeat(300000)]) {
    const r = await ask('hi', { request: { system: s } });
    one(r);
    equal(system(r.body), [s]);
  }
  equal(system((await ask('hi', { request: { system: ' \n' } })).body), []);
});

await test('parameters arrive; thinking goes where they need it', async () => {
  for (const m of [[u('hi')], [u('q'), a('x'), u('hi')]]) {
    let r = await ask(m, { request: { temperature: 0.7, top_p: 0.5, max_tokens: 50, stop: ['STOP', '\n\n', '"\\é'] } });
    one(r);
    equal([r.body.temperature, r.body.top_p, r.body.max_tokens, r.body.stop_sequences], [0.7, 0.5, 50, ['STOP', '\n\n', '"\\é']]);
    equal(r.body.thinking, undefined);
    r = await ask(m, { request: { max_tokens: 100 } });
    equal([r.body.max_tokens, r.body.thinking], [100, undefined]);
    r = await ask(m, { request: { max_tokens: 20000 } });
    equal(r.body.max_tokens, 20000);
    assert(r.body.thinking.budget_tokens < 20000);
    r = await ask(m, { request: { temperature: 0 } });
    equal([r.body.temperature, r.body.thinking], [0, undefined]);
  }
});

await test('1 MB of UTF-8 there and back', async () => {
  const unit = 'Grüße, 世界! 😀 “x” \\ "q"\t\r\n';
  const t = `[[echo]] ${unit.repeat(Math.ceil(1e6 / Buffer.byteLength(unit)))}end`;
  for (const m of [[u(t)], [u('q'), a('x'), u(t)]]) {
    const r = await ask(m, { model: SONNET });
    one(r);
    assert(plain(r.body).at(-1)[1] === t, 'not what was sent');
    assert(r.text === t, 'not what came back');
    equal(r.last.stop, 'end');
  }
});

await test('a long conversation is not summarised behind our back', async () => {
  const t = [];
  for (let i = 0; i < 10; i++) t.push(u(`w${i} `.repeat(80000)), a(`v${i} `.repeat(80000)));
  const r = await ask([...t, u('end')], { model: SONNET });
  equal(r.seen.length, 0);
  equal([r.last.kind, r.last.err], ['fail', 'context_length_exceeded']);
});

await test('every end: one request, one outcome', async () => {
  const table = [['[[refuse]]', 'stop', 'refusal'], ['[[say:x]][[stop:stop_sequence]]', 'stop', 'end'],
    ['[[status:400]]', 'fail', 'provider_rejected'], ['[[status:401]]', 'fail', 'provider_auth'], ['[[status:403]]', 'fail', 'provider_auth'],
    ['[[status:413]]', 'fail', 'provider_rejected'], ['[[status:429]]', 'fail', 'provider_rate_limited'],
    ['[[status:500]]', 'fail', 'provider_error'], ['[[status:503]]', 'fail', 'provider_overloaded'], ['[[status:529]]', 'fail', 'provider_overloaded'],
    ['[[words:20]][[cut:5]]', 'fail', 'provider_cut'], ['[[words:20]][[cut:0]]', 'fail', 'provider_cut'], ['[[tool:Bash {"command":"id"}]]', 'fail', 'client_unexpected']];
  for (const [t, kind, what] of table) {
    const r = await ask(t);
    one(r);
    equal([r.last.kind, r.last.stop ?? r.last.err], [kind, what], `${t}:`);
  }
  // Here the client goes on by itself: a second request, which the broker
  // refuses. Ours is over by then.
  for (const [t, what] of [['[[say:a b c]][[fail:overloaded_error]]', 'provider_cut'], ['[[say:]]', 'provider_error'], ['[[say:a]][[garbage]]', 'provider_cut'],
    ['[[say:x]][[stop:max_tokens]]', 'length'], ['[[status:404]]', 'model_not_found']]) {
    const r = await ask(t);
    equal(r.last.stop ?? r.last.err, what, `${t}:`);
  }
  const r = await ask('[[status:401]]', { cred: 'oauth' });
  equal([r.last.err, r.chunks.length], ['provider_auth', 1]);
});

await test('a limit with the time of its end', async () => {
  const reset = Math.floor(Date.now() / 1000) + 3600;
  const h = (n, v) => `[[header:anthropic-ratelimit-unified-${n}=${v}]]`;
  const r = await ask(`[[status:429]]${h('status', 'rejected')}${h('reset', reset)}${h('representative-claim', 'five_hour')}${h('5h-status', 'rejected')}${h('5h-reset', reset)}${h('5h-utilization', '1')}`, { cred: 'oauth' });
  equal(r.last.err, 'provider_rate_limited');
  assert(r.last.retry > 3500 && r.last.retry <= 3600, `retry after ${r.last.retry}`);
});

await test("a prompt over the model's window", async () => {
  const said = 'prompt is too long: 208310 tokens > 200000 maximum';
  let n = 0;
  const s = http.createServer((q, p) => {
    n++;
    q.resume().on('end', () => p.writeHead(400, { 'content-type': 'application/json' })
      .end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: said } })));
  });
  await new Promise((yes) => s.listen(0, '127.0.0.1', yes));
  for (const m of [[u('hi')], [u('a'), a('b'), u('c')]]) {
    n = 0;
    const r = await ask(m, { port: s.address().port });
    equal([n, r.last.err], [1, 'context_length_exceeded']);
  }
  s.close();
});

// What an image of the operator's might hold; none of it may count.
function plant(dir) {
  for (const d of ['home/work', 'home/.claude/commands', 'run', 'tmp']) fs.mkdirSync(path.join(dir, d), { recursive: true, mode: 0o700 });
  const put = (f, s) => fs.writeFileSync(path.join(dir, f), s);
  for (const f of ['CLAUDE.md', 'home/CLAUDE.md', 'home/.claude/CLAUDE.md', 'home/work/CLAUDE.md', 'home/work/CLAUDE.local.md', 'home/work/AGENTS.md']) put(f, 'MARKER-MDS');
  put('home/.claude/commands/context.md', 'MARKER-COMMAND');
  put('mcp.mjs', `import r from 'node:readline';
r.createInterface({ input: process.stdin }).on('line', (l) => {
  const m = JSON.parse(l), say = (x) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: x }) + '\\n');
  if (m.method === 'initialize') say({ protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } });
  else if (m.method === 'tools/list') say({ tools: [{ name: 'probe', description: 'MARKER-MCP', inputSchema: { type: 'object', properties: {} } }] });
  else if (m.id !== undefined) say({});
});\n`);
  const mcp = JSON.stringify({ mcpServers: { x: { command: process.execPath, args: [path.join(dir, 'mcp.mjs')] } } });
  put('home/work/.mcp.json', mcp);
  put('home/.claude.json', mcp);
  put('home/.claude/settings.json', '{"env":{"ANTHROPIC_CUSTOM_HEADERS":"x-marker: MARKER-SETTINGS"},"enableAllProjectMcpServers":true}');
}

await test('nothing in home or work directory reaches the model', async () => {
  for (const cred of ['api-key', 'oauth'])
    for (const m of ['hi', [u('a'), a('b'), u('c')]]) {
      const r = await ask(m, { cred, before: plant });
      one(r);
      assert(!JSON.stringify(r.seen).includes('MARKER'), 'a marker went out');
    }
});

// The client with other words than ours: what one belt does alone.
async function loose(args, env = {}) {
  const dir = fs.mkdtempSync(path.join(top, 'loose-'));
  plant(dir);
  const before = requests().length;
  const p = spawn('timeout', ['40', claudePath, '-p', '--output-format=stream-json', '--verbose', '--max-turns', '1', `--model=${HAIKU}`, ...args], {
    cwd: path.join(dir, 'home/work'), stdio: ['pipe', 'ignore', 'ignore'],
    env: { HOME: path.join(dir, 'home'), PATH: '/usr/bin:/bin', TMPDIR: path.join(dir, 'tmp'), ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
      CLAUDE_CODE_OAUTH_TOKEN: 'olp-placeholder-x', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', CLAUDE_CODE_MAX_RETRIES: '0', ...env },
  });
  p.stdin.end('hi');
  await new Promise((yes) => p.on('close', yes));
  fs.rmSync(dir, { recursive: true, force: true });
  const r = requests().slice(before)[0];
  return { tools: r.body.tools.length, text: JSON.stringify(r) };
}
await test('each belt holds alone, and without all of them it shows', async () => {
  const none = await loose([]);
  assert(none.tools > 5 && none.text.includes('MARKER-MDS') && none.text.includes('MARKER-SETTINGS'), 'the markers do not show at all');
  assert((await loose(['--tools', ''])).text.includes('MARKER-MCP'), 'the MCP server does not show at all');
  equal((await loose(['--tools', '', '--disallowedTools', 'mcp__*'])).tools, 0);
  equal((await loose(['--tools', '', '--strict-mcp-config'])).tools, 0);
  assert(!(await loose([], { CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1' })).text.includes('MARKER-MDS'));
  const sources = (await loose(['--setting-sources', ''])).text;
  assert(!sources.includes('MARKER-SETTINGS') && !sources.includes('MARKER-MDS'));
});

await test("every word is one of the client's", async () => {
  const help = spawnSync(claudePath, ['--help'], { env: { HOME: top, PATH: '/usr/bin:/bin' }, encoding: 'utf8' }).stdout;
  const hidden = ['--max-turns', '--system-prompt-file']; // accepted; their effects were seen above
  for (const w of [...words.arguments, ...words.hardening]) {
    const option = w.split('=')[0];
    if (option.startsWith('--') && !hidden.includes(option)) assert(new RegExp(`(^|[\\s,])${option}([\\s,=]|$)`, 'm').test(help), `${option} is not in --help`);
  }
  const binary = fs.readFileSync(claudePath);
  for (const v of words.environment) {
    const name = v.split('=')[0];
    if (!['HOME', 'PATH', 'LANG', 'TMPDIR'].includes(name)) assert(binary.includes(name), `${name} is not in the program`);
  }
  const r = spawnSync(claudePath, ['-p', '--no-such-option'], { env: { HOME: top, PATH: '/usr/bin:/bin' }, input: '', encoding: 'utf8' });
  equal([r.status, r.stderr.trim()], [1, "error: unknown option '--no-such-option'"]);
});

fs.rmSync(top, { recursive: true, force: true });
await finish();
