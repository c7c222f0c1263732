// SPDX-License-Identifier: ISC
// Laws that no one part can hold alone, seen on a running olpd: what each
// process is linked with, where what was said can be found, one outcome per
// request, a placeholder of its own for each run, an end that is one.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { Model, Olpd, asRoot, assert, build, equal, finish, pids, secret, sleep, test, until } from '../lib/olp.mjs';

// ---- law 1: what is linked where

const parsers = { jansson: /libjansson/, tls: /libssl|libcrypto|libevent_openssl/, database: /libsqlite/, dns: /libevent_extra/ };
const code = {
  'JSON reader': /^(json_look|json_put|ir_from)/, 'HTTP parser': /^(http_parser|http_read)/, 'client output parser': /^(parse_find|claude_parse)/,
  'prompt writer': /^(render_find|rendered_free)/, 'wire table': /^(wire_find|tap_feed)/, 'configuration grammar': /^(conf_parse|lex_|conf_load)/,
  'launch table': /^(launch_find)/, 'key table': /^(keys_check|keys_add)/,
};
const calls = { exec: /^(execve|execvp|execv|fexecve|posix_spawn|system|popen)$/, fork: /^(fork|vfork)$/ };
// What each may have; everything else of the above must not be in it.
const may = {
  'sbin/olpd': ['configuration grammar', 'exec', 'fork'],
  'libexec/olpd/olpd-http': ['jansson', 'tls', 'JSON reader', 'HTTP parser', 'client output parser', 'prompt writer'],
  // connect() and friends are refused by its filter: integration/40-isolation.
  'libexec/olpd/olpd-egress': ['jansson', 'tls', 'dns', 'HTTP parser', 'wire table'],
  'libexec/olpd/olpd-spawn': ['launch table', 'key table', 'exec'],
};

await test('what each process is linked with', () => {
  const bad = [];
  for (const [program, allowed] of Object.entries(may)) {
    const file = path.join(build, program);
    const libs = execFileSync('ldd', [file], { encoding: 'utf8' });
    const symbols = execFileSync('nm', [file], { encoding: 'utf8', maxBuffer: 1 << 26 }).split('\n')
      .map((l) => l.trim().split(/\s+/).slice(-2)).map(([kind, name]) => ({ kind, name: (name ?? '').split('@')[0] }));
    const defined = symbols.filter((s) => /^[tT]$/.test(s.kind)).map((s) => s.name);
    const wanted = symbols.filter((s) => s.kind === 'U').map((s) => s.name);
    const has = [];
    for (const [name, re] of Object.entries(parsers)) if (re.test(libs)) has.push(name);
    for (const [name, re] of Object.entries(code)) if (defined.some((s) => re.test(s))) has.push(name);
    for (const [name, re] of Object.entries(calls)) if (wanted.some((s) => re.test(s))) has.push(name);
    console.log(`#   ${program}: ${has.join(', ')}`);
    for (const h of has) if (!allowed.includes(h)) bad.push(`${program} has ${h}`);
    // A rule that finds nothing proves nothing.
    for (const a of allowed) if (!has.includes(a) && a !== 'fork') bad.push(`${program}: the rule for "${a}" finds nothing`);
  }
  for (const s of ['olp-shim', 'olp-demo', 'olp-probe']) {
    let out;
    try { out = execFileSync('ldd', [path.join(build, 'libexec/olpd', s)], { encoding: 'utf8', stdio: 'pipe' }); } catch (e) { out = `${e.stdout}${e.stderr}`; }
    if (!/not a dynamic executable|statically linked/.test(out)) bad.push(`${s} is not static`);
  }
  equal(bad, []);
});

// ---- law 10: where what was said can be found

const model = await Model.start();
const d = await Olpd.start({ model, global: 'limit runs 6', provider: '\tlimit runs 6\n\ttimeout 2s' });
const a = d.key('alice', '--runs', '6');
const slow = d.key('slow', '--runs', '6', '--providers', 'demo');
const marks = { prompt: 'MARKPROMPT7391', system: 'MARKSYSTEM7391', answer: 'MARKANSWER7391', token: a, 'other token': slow, credential: secret };
const read = (f) => { try { return fs.readFileSync(f, 'latin1'); } catch { return ''; } };

function everywhere() {
  const found = [];
  const look = (where, text) => { for (const [k, m] of Object.entries(marks)) if (text.includes(m)) found.push(`${k} in ${where}`); };
  for (const pid of [d.proc.pid, ...d.all()]) {
    const name = `${read(`/proc/${pid}/comm`).trim()}'s`;
    for (const f of ['cmdline', 'environ', 'comm', 'status']) look(`${name} ${f}`, read(`/proc/${pid}/${f}`));
    for (const t of (() => { try { return fs.readdirSync(`/proc/${pid}/task`); } catch { return []; } })()) look(`${name} thread name`, read(`/proc/${pid}/task/${t}/comm`));
  }
  const tree = (dir) => { for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
    const f = path.join(dir, e.name);
    if (e.isDirectory()) tree(f); else if (e.isFile() && f !== path.join(d.dir, 'cred')) look(f.slice(d.dir.length), read(f));
  } };
  tree(d.dir);
  look('the log', d.log.join('\n'));
  return found;
}

await test('prompt, answer, token and credential are in no argument, environment, name, file or log', async () => {
  const messages = [{ role: 'system', content: marks.system },
    { role: 'user', content: `no-${marks.prompt} say:${marks.answer} hang` }];
  const cs = [d.chat(a, messages, { stream: true }), d.chat(a, messages), d.chat(slow, messages, { model: 'demo' })];
  await cs[0].first;
  equal(cs[0].text, marks.answer);
  assert(d.clients().length > 0, 'no client to look at');
  const during = everywhere();
  await Promise.all(cs.map((c) => c.end));
  const bad = d.chat(`${a}x`, messages);
  const odd = d.chat(a, [...messages, { role: 'user', content: `no-${marks.prompt} stderr:100 signal:11` }]);
  await Promise.all([bad.end, odd.end]);
  equal(bad.status, 401);
  await until('their lines', () => d.lines('OLP_OUTCOME').length >= 5);
  equal([...new Set([...during, ...everywhere()])], []);
});

await test('no process can leave a core with what was said in it', async () => {
  const c = d.chat(a, 'say:x hang', { stream: true });
  await c.first;
  const bad = [];
  for (const [name, list] of Object.entries(d.children())) {
    for (const pid of list) {
      // What is not dumpable is root's in /proc whoever it runs as; of olpd-spawn
      // that is the root of its own namespace, which is olpd-spawn: unit/cage.
      if (name === 'olpd-spawn') continue;
      const owner = fs.statSync(`/proc/${pid}/environ`).uid;
      const uid = Number(/^Uid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))[1]);
      if (asRoot && uid !== 0 && owner !== 0) bad.push(`${name} is dumpable`);
    }
  }
  for (const pid of d.clients()) {
    const filter = read(`/proc/${pid}/coredump_filter`).trim();
    if (filter && parseInt(filter, 16) !== 0) bad.push(`a client's coredump_filter is ${filter}`);
  }
  equal(bad, []);
  c.sock.destroy();
  await until('its line', () => d.lines('OLP_OUTCOME=caller_gone').length === 1);
});

// ---- law 3

await test('each run has a placeholder of its own, and none is the credential', async () => {
  const env = async () => { const c = d.chat(a, 'env'); await c.end; return /ANTHROPIC_(?:API_KEY|AUTH_TOKEN)=(\S+)/.exec(c.text)?.[1]; };
  const seen = [await env(), await env(), await env()];
  assert(seen.every((s) => s && s.length >= 24), `${seen}`);
  equal(new Set(seen).size, 3, 'placeholders that repeat:');
  assert(!seen.includes(secret) && !seen.some((s) => a.includes(s)), 'a secret is in the sandbox');
});

// ---- law 4

await test('an end is told when it is one: no client is left when its error arrives', async () => {
  for (let i = 0; i < 3; i++) {
    // So much memory that the kernel needs a while to take it back.
    const c = d.chat(a, 'alloc:400 say:x hang');
    await c.ready;
    const left = d.clients().length;
    await c.end;
    equal(c.json?.error?.code, 'total_timeout', `${c.status} ${c.body}`);
    equal(left, 0, 'clients that were alive when the error came:');
  }
}, 30000);

// ---- law 6

await test('exactly one outcome per request, whatever became of it', async () => {
  const before = d.lines('OLP_OUTCOME').length;
  const goneBefore = d.lines('OLP_OUTCOME=caller_gone').length;
  const answered = [];
  const chat = async (prompt, o, t = a) => { const c = d.chat(t, prompt, o); await c.end; answered.push(c.headers['x-olp-request-id']); return c; };
  const left = async (prompt, o, when) => { await until('none runs', () => d.clients().length === 0); const c = d.chat(a, prompt, o); await when(c); c.sock.destroy(); };
  await Promise.all([chat('say:x'), chat('say:x', { stream: true }), chat('say:x no-stop exit:1', { stream: true }), chat('exit:1'), chat('x', { model: 'none' }),
    chat('hang'), chat('say:x', {}, `${a}x`), chat('say:x', { extra: { n: 2 } })]);
  let gone = 0;
  for (const o of [{ stream: true }, {}]) {
    await left('say:up hang', o, (c) => (o.stream ? c.first : sleep(150))); gone++;
    await left('hang', o, () => until('running', () => d.clients().length > 0)); gone++;
  }
  const raw = (s) => new Promise((yes) => {
    const k = net.connect(d.port, '127.0.0.1', () => k.write(s)); const parts = [];
    k.on('data', (b) => parts.push(b)).on('close', () => yes(Buffer.concat(parts).toString('latin1'))).on('error', () => yes(''));
    setTimeout(() => k.end(), 1000);
  });
  for (const s of ['NONSENSE\r\n\r\n', `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${a}\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n`])
    answered.push(/x-olp-request-id: (\S+)/i.exec(await raw(s))?.[1]);
  const two = await raw(`GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${a}\r\n\r\n`.repeat(2));
  answered.push(...[...two.matchAll(/x-olp-request-id: (\S+)/gi)].map((m) => m[1]));
  const want = before + answered.length + gone;
  await until('all outcomes', () => d.lines('OLP_OUTCOME').length >= want, 6000).catch(() => {});
  await sleep(300);
  const ids = d.lines('OLP_OUTCOME').slice(before).map((l) => /OLP_REQUEST_ID=([^\s\]]+)/.exec(l)?.[1]);
  console.log(`#   ${answered.length} answered, ${gone} gone, ${ids.length} outcome lines`);
  assert(answered.every(Boolean), `an answer has no id: ${answered}`);
  for (const id of answered) equal(ids.filter((x) => x === id).length, 1, `outcome lines of ${id}:`);
  equal(ids.length, new Set(ids).size, 'outcomes told twice:');
  equal(d.lines('OLP_OUTCOME=caller_gone').length - goneBefore, gone);
  equal(ids.length, answered.length + gone);
}, 60000);

await test('a request that is written in the log is followed through all processes by its id', async () => {
  const c = d.chat(a, 'say:x');
  await c.end;
  const id = c.headers['x-olp-request-id'];
  await until('run end', () => d.lines(id, 'ended').length && d.lines(id, 'OLP_OUTCOME').length);
  const workers = new Set(d.lines(id).map((l) => /OLP_WORKER=([\w-]+)/.exec(l)?.[1]));
  assert(workers.has('olpd-http') && workers.has('olpd-spawn'), [...workers].join());
});

await d.stop();
await finish();
