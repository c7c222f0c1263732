// SPDX-License-Identifier: ISC
// What real clients will not do on demand: each thing the scripted client can
// do ends in one right outcome, streamed and plain, with one line in the
// journal, and nothing of it is left.
import { Olpd, assert, equal, finish, rss, sleep, test, until } from '../lib/olp.mjs';

const d = await Olpd.start({ provider: '\tlimit runs 4', more: 'model "early" { chain claude "die-early" }\n' });
const token = d.key('alice', '--runs', '4');
const table = [];

// Asks and checks what every request must keep.
async function ask(prompt, o) {
  const c = d.chat(token, prompt, { ms: 30000, ...o });
  await c.end;
  const id = c.headers['x-olp-request-id'];
  await until('the outcome line', () => d.lines(id, 'OLP_OUTCOME=').length);
  equal(d.lines(id, 'OLP_OUTCOME=').length, 1, 'outcome lines');
  const line = d.lines(id, 'OLP_OUTCOME=')[0];
  c.outcome = /OLP_OUTCOME=(\w+)/.exec(line)[1];
  assert(c.finish ? c.outcome === 'answered' : c.outcome === 'failed', `finish ${c.finish}, journal ${line}`);
  if (o?.stream && c.status === 200) {
    equal(c.events.filter((e) => e.json?.choices?.[0]?.finish_reason).length, c.finish ? 1 : 0, 'finish_reasons');
    equal([!!c.fault, c.done], [!c.finish, !!c.finish], 'an error or an end, not both');
    equal(!!c.complete, !!c.finish, 'a whole body stands for a whole answer');
  }
  assert(c.fault?.code !== 'sandbox_unavailable', 'told as a runner failure');
  return c;
}

// text and finish when it is an answer, else the code; has: text before the failure.
function does(name, prompt, { text, finish: f = 'stop', code, has = '', status = 502, model, max = 8000 }) {
  return test(name, async () => {
    const s = await ask(prompt, { stream: true, model });
    const p = await ask(prompt, { model });
    const said = (t) => (typeof text === 'function' ? text(t) : equal(t, text));
    if (code) {
      equal([p.status, p.fault?.code], [status, code], 'plain');
      equal(p.text, '', 'a part in a plain answer');
      equal([s.fault?.code, s.finish], [code, undefined], 'stream');
      equal(s.text, has);
      equal(s.status, has ? 200 : status);
    } else {
      equal([p.status, p.finish], [200, f], `plain ${JSON.stringify(p.fault)}`);
      equal([s.status, s.finish], [200, f], `stream ${JSON.stringify(s.fault)}`);
      said(p.text); said(s.text);
    }
    assert(s.ms < max && p.ms < max, `${s.ms.toFixed(0)} and ${p.ms.toFixed(0)} ms`);
    const t0 = performance.now();
    await until('no client is left', () => d.clients().length === 0, 2500);
    table.push([name, code ?? f, s.ms, p.ms, performance.now() - t0]);
  });
}

const answered = (text, o) => ({ text, ...o });
await does('ends twice', 'say:once stop result say:twice stop result', answered('once'));
await does('two results', 'say:once stop result result result', answered('once'));
await does('stops twice with different reasons', 'say:once stop:max_tokens stop:end_turn result', answered('once', { finish: 'length' }));
await does('text after its stop', 'say:once stop say:more say:more result', answered('once'));
await does('never ends after its answer', 'say:whole stop result hang', answered('whole'));
await does('holds stdout by a grandchild', 'say:whole stop result grandchild:60000', answered('whole'));
await does('holds stdout by a grandchild and gives no end', 'say:part grandchild:60000 no-stop exit:0', { code: 'client_failed', has: 'part' });
await does('daemons in sessions of their own', 'setsid:60000 setsid:60000 grandchild:60000 say:whole', answered('whole'));
await does('daemons, then a failure', 'setsid:60000 grandchild:60000 exit:3', { code: 'client_failed' });
await does('ignores TERM and goes on', 'ignore-term say:whole stop result hang', answered('whole'));
await does('ignores TERM, with daemons', 'ignore-term setsid:60000 say:whole stop result hang', answered('whole'));
await does('a line of 70 MB', 'bigline:70000000 say:after', answered('after', { max: 20000 }));
await does('three of them', 'say:before bigline:70000000 bigline:70000000 bigline:70000000 say:after', answered('beforeafter', { max: 30000 }));
await does('70 MB of a line and no end', 'say:part no-stop bigline:70000000 exit:0', { code: 'client_failed', has: 'part', max: 20000 });
// Not skipped like a line that is no JSON at all: a piece of the text would be missing.
await does('half a character in a line', 'say:a half-utf8 say:b', { code: 'client_unexpected', has: 'a' });
await does('a character cut by a write', 'say:a cut-utf8:50 say:b', answered('a\u20acb'));
await does('no newline at the end', 'say:whole stop no-stop nonewline', answered('whole'));
await does('an answer of one line without its newline', 'no-stop nonewline', { code: 'client_unexpected' });
await does('garbage between', 'garbage say:a garbage garbage say:b garbage', answered('ab'));
await does('says nothing', 'empty', { code: 'client_failed' });
await does('says nothing for a while and goes', 'empty sleep:300 exit:0', { code: 'client_failed' });
await does('exits before it reads, 1 MB prompt', 'x'.repeat(1 << 20), { code: 'client_failed', model: 'early' });
await does('exits before it reads, short prompt', 'x', { code: 'client_failed', model: 'early' });
await does('dies by a signal after text', 'say:part no-stop signal:9', { code: 'client_failed', has: 'part' });
await does('dies by SEGV before text', 'signal:11', { code: 'client_failed' });
await does('exits 0 without a stop', 'say:part no-stop exit:0', { code: 'client_failed', has: 'part' });
await does('a whole answer and exit 1', 'say:whole stop result exit:1', answered('whole'));
await does('says the runner\'s words', 'runner-words exit:1', { code: 'client_failed' });
await does('1 MB on stderr', 'stderr:1000000 say:whole', answered('whole', { max: 15000 }));
await does('claims a tool', 'init-tools:Bash say:x', { code: 'client_unexpected' });
await does('text before its init', 'no-init say:x', { code: 'client_unexpected' });
await does('an unknown stop reason', 'say:part stop:moon', { code: 'client_unexpected', has: 'part' });
await does('a tool call', 'say:part stop:tool_use', { code: 'client_unexpected', has: 'part' });
await does('20,000 deltas', 'words:20000', answered((t) => equal([t.length, t.slice(-10)], [188890, 'word19999 ']), { max: 20000 }));
await does('one delta of 3 MB', 'bytes:3000000', answered((t) => equal(t.length, 3000000), { max: 20000 }));
await does('fills its home', 'fill-home say:ok', answered((t) => assert(/bytes=\d+ errno=ENOSPC ok$/.test(t), t)));
await does('fills its inodes', 'fill-inodes say:ok', answered((t) => assert(/errno=ENOSPC ok$/.test(t), t)));
await does('forks without end', 'fork-bomb say:ok', answered((t) => assert(/errno=EAGAIN ok$/.test(t), t), { max: 25000 }));

await test('never ends: the caller that leaves takes it along', async () => {
  const c = d.chat(token, 'say:x ignore-term setsid:60000 hang', { stream: true });
  await c.first;
  assert(d.clients().length > 0);
  const t0 = performance.now();
  c.sock.destroy();
  await until('no client is left', () => d.clients().length === 0, 2000, 2);
  table.push(['never ends, caller leaves', 'caller_gone', performance.now() - t0, 0, 0]);
  await until('the outcome', () => d.lines(c.headers['x-olp-request-id'], 'OLP_OUTCOME=caller_gone').length === 1);
});
await test('the workers are the same and have kept nothing', async () => {
  await sleep(300);
  const w = d.children();
  for (const n of ['olpd-http', 'olpd-spawn', 'olpd-egress']) {
    equal(w[n]?.length, 1, n);
    assert(rss(w[n][0]) < 40 * 1024, `${n}: ${rss(w[n][0])} KB`);
  }
  equal(d.lines('died').length, 0, d.lines('died')[0]);
});
console.log('#   the client                                       | outcome            | stream ms | plain ms | empty after ms');
for (const [n, o, s, p, e] of table) console.log(`#   ${n.padEnd(49)}| ${String(o).padEnd(19)}| ${s.toFixed(0).padStart(9)} | ${p.toFixed(0).padStart(8)} | ${e.toFixed(0).padStart(5)}`);
await d.stop();
await finish();
