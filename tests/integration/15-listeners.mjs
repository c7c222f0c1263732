// SPDX-License-Identifier: ISC
// Where olpd listens and whom it tells: TLS, Unix sockets, sockets from the
// service manager, READY and WATCHDOG, and the journal's own protocol.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { Olpd, asRoot, assert, build, certs, equal, finish, freePort, root, sleep, tempDir, test, until } from '../lib/olp.mjs';

const get = (mod, o, body) => new Promise((yes, no) => {
  const r = mod.request({ agent: false, host: '127.0.0.1', ...o }, (res) => {
    const parts = [];
    res.on('data', (b) => parts.push(b)).on('end', () => yes({ status: res.statusCode, body: Buffer.concat(parts).toString() }));
  });
  r.on('error', no);
  r.end(body);
});
const chat = JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'hello' }] });
const heads = (token) => ({ 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) });

await test('TLS and a Unix socket beside cleartext; a token is needed on each', async () => {
  const d = new Olpd({ client: null });
  await d.prepare();
  const tls = await freePort();
  const c = certs();
  d.writeConf(`${d.text()}listen on 127.0.0.1 port ${tls} tls cert "${c}/cert.pem" key "${c}/key.pem"
listen on socket "${d.dir}/api.sock" mode 0666\n`);
  await d.launch();
  const token = d.key('a', '--providers', 'demo');
  const ca = fs.readFileSync(path.join(c, 'ca.pem'));
  const over = {
    tls: (t) => get(https, { host: '127.0.0.1', servername: 'localhost', port: tls, ca, method: 'POST', path: '/v1/chat/completions', headers: heads(t) }, chat),
    unix: (t) => get(http, { socketPath: `${d.dir}/api.sock`, method: 'POST', path: '/v1/chat/completions', headers: heads(t) }, chat),
  };
  for (const [name, ask] of Object.entries(over)) {
    equal((await ask()).status, 401, name);
    const r = await ask(token);
    equal(r.status, 200, name);
    assert(JSON.parse(r.body).choices[0].message.content.length > 10, name);
  }
  equal(fs.statSync(`${d.dir}/api.sock`).mode & 0o777, 0o666);
  // Cleartext to the TLS port is no request.
  const raw = await new Promise((yes) => {
    const s = net.connect(tls, '127.0.0.1'); let got = '';
    s.on('data', (b) => { got += b; }).on('error', () => yes(got)).on('close', () => yes(got));
    s.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
  });
  assert(!raw.includes('200'), raw);
  await assertRejects(get(https, { host: '127.0.0.1', servername: 'localhost', port: tls, ca, maxVersion: 'TLSv1.1', minVersion: 'TLSv1', path: '/health' }));
  await d.stop();
  assert(!fs.existsSync(`${d.dir}/api.sock`), 'the socket is left');
});

async function assertRejects(p) {
  const r = await p.then(() => 'answered', () => 'refused');
  equal(r, 'refused');
}

await test('a listener added and taken away by reload; a bad certificate keeps the old ones', async () => {
  const d = await Olpd.start({ client: null });
  const good = d.text();
  const more = await freePort();
  d.writeConf(`${good}listen on 127.0.0.1 port ${more}\n`);
  equal(d.ctl('reload').code, 0);
  equal((await get(http, { port: more, path: '/health' })).status, 200);
  fs.writeFileSync(path.join(d.dir, 'bad.pem'), 'not a certificate\n', { mode: 0o600 });
  d.writeConf(`${good}listen on 127.0.0.1 port ${await freePort()} tls cert "${d.dir}/bad.pem" key "${d.dir}/bad.pem"\n`);
  assert(d.ctl('reload').code !== 0, 'a certificate that is none was taken');
  await sleep(300);
  equal((await d.request({ path: '/health' })).status, 200);
  d.writeConf(good);
  equal(d.ctl('reload').code, 0);
  await until('gone', () => get(http, { port: more, path: '/health' }).then(() => false, () => true), 3000);
  await d.stop();
});

await test('sockets from the service manager, READY, STATUS, WATCHDOG, STOPPING', async () => {
  const d = new Olpd({ client: null });
  await d.prepare();
  const dir = tempDir('notify');
  const sink = spawn(path.join(build, 'tests/notify_sink'), [path.join(dir, 'notify')], { stdio: ['ignore', 'pipe', 'inherit'] });
  let told = '';
  sink.stdout.on('data', (b) => { told += b; });
  await until('the sink', () => told.includes('bound'));
  const server = net.createServer();
  await new Promise((r) => { server.listen(d.port, '127.0.0.1', r); });
  d.log = []; d.exited = null;
  d.proc = spawn('sh', ['-c', 'export LISTEN_PID=$$; exec "$0" -d -f "$1"', path.join(build, 'sbin/olpd'), d.conf], {
    stdio: ['ignore', 'ignore', 'pipe', server._handle.fd],
    env: { ...process.env, LISTEN_FDS: '1', NOTIFY_SOCKET: path.join(dir, 'notify'), WATCHDOG_USEC: '1000000' } });
  d.proc.on('exit', (code, signal) => { d.exited = { code, signal }; });
  d.proc.stderr.on('data', (b) => d.log.push(String(b)));
  server.close();
  await until('READY', () => told.includes('READY=1'), 15000);
  equal((await d.request({ path: '/health' })).status, 200);
  await until('WATCHDOG', () => told.split('WATCHDOG=1').length > 3, 5000);
  // A sick worker does not make the service manager end every session.
  const pid = d.worker('olpd-http');
  process.kill(pid, 'SIGSTOP');
  const n = told.split('WATCHDOG=1').length;
  await sleep(1500);
  assert(told.split('WATCHDOG=1').length > n + 1, 'the watchdog waits for a worker');
  process.kill(pid, 'SIGCONT');
  await d.stop();
  assert(told.includes('STOPPING=1') && told.includes('STATUS='), told);
  sink.kill();
  fs.rmSync(dir, { recursive: true });
});

await test('the journal: fields, message ids, each worker under its own name', async () => {
  if (!asRoot) return;
  const d = new Olpd({ client: null });
  await d.prepare();
  const script = `set -e
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd/journald.conf.d /run/log/journal
printf '[Journal]\\nStorage=volatile\\nAudit=no\\nReadKMsg=no\\n' > /run/systemd/journald.conf.d/t.conf
[ -s /etc/machine-id ] || { head -c16 /dev/urandom | od -An -tx1 | tr -d ' \\n'; echo; } > /run/machine-id
[ -s /etc/machine-id ] || { touch /etc/machine-id; mount --bind /run/machine-id /etc/machine-id; }
/lib/systemd/systemd-journald & j=$!
for i in $(seq 200); do [ -S /run/systemd/journal/socket ] && break; sleep 0.02; done
"$OLPD" -f "$CONF" & o=$!
for i in $(seq 200); do curl -sf http://127.0.0.1:$PORT/ready > /dev/null && break; sleep 0.05; done
t=$("$CTL" -f "$CONF" key add alice --providers demo --json | jq -r .token)
curl -s http://127.0.0.1:$PORT/v1/chat/completions -H "Authorization: Bearer $t" -H 'Content-Type: application/json' -d '${chat}' > /dev/null
sleep 0.5
journalctl --sync 2> /dev/null || sleep 1
journalctl -o json OLP_KEY_ID=alice
journalctl -o json SYSLOG_IDENTIFIER=olpd
kill $o; wait $o || true; kill $j; wait $j || true`;
  const r = spawnSync('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script], { encoding: 'utf8', timeout: 60000,
    env: { ...process.env, OLPD: path.join(build, 'sbin/olpd'), CTL: path.join(build, 'sbin/olpctl'), CONF: d.conf, PORT: String(d.port) } });
  const lines = r.stdout.split('\n').filter((l) => l.startsWith('{')).map((l) => JSON.parse(l));
  assert(lines.length >= 4, `${r.stdout.slice(0, 300)} ${r.stderr.slice(-600)}`);
  const of = (id) => lines.filter((l) => l.SYSLOG_IDENTIFIER === id && l.OLP_KEY_ID === 'alice');
  const [q] = of('olpd-http');
  equal([q.OLP_OUTCOME, q.OLP_STATUS, q.OLP_PROVIDER], ['answered', '200', 'demo']);
  assert(/^[0-9a-f]{32}$/.test(q.MESSAGE_ID) && q.OLP_LATENCY_MS !== undefined, JSON.stringify(q));
  equal(of('olpd-spawn').length, 2);
  assert(of('olpd-spawn').every((l) => l.OLP_REQUEST_ID === q.OLP_REQUEST_ID && Number(l.OLP_UID) >= d.lo + 2));
  assert(new Set(lines.map((l) => l._UID)).size >= 3, 'every worker logs as itself');
  assert(lines.some((l) => l.SYSLOG_IDENTIFIER === 'olpd' && l.OLP_WORKER === 'olpd-spawn'), 'births');
  fs.rmSync(d.dir, { recursive: true });
});

await test('olpd -n prints the configuration back, or every error', async () => {
  const d = new Olpd({ client: null });
  await d.prepare();
  const olpd = (...a) => spawnSync(path.join(build, 'sbin/olpd'), a, { encoding: 'utf8' });
  const ok = olpd('-n', '-f', d.conf);
  equal(ok.status, 0, ok.stderr);
  assert(ok.stdout.includes(`listen on 127.0.0.1 port ${d.port}`), ok.stdout);
  fs.writeFileSync(d.conf, ok.stdout, { mode: 0o600 });
  equal(olpd('-n', '-f', d.conf).stdout, ok.stdout);
  d.writeConf('listen on\nheartbeat\n');
  const bad = olpd('-n', '-f', d.conf);
  equal(bad.status, 78);
  equal((bad.stdout + bad.stderr).split('\n').filter((l) => /olpd\.conf:[12]:/.test(l)).length, 2);
  equal(olpd('-x').status, 2);
  const sample = olpd('-n', '-f', path.join(root, 'packaging/olpd.conf.sample'));
  equal(sample.status, 0, sample.stderr);
  fs.rmSync(d.dir, { recursive: true });
});

await finish();
