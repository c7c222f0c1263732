// SPDX-License-Identifier: ISC
// Each process but the master killed with -9 ten times under 8 busy callers;
// the commit point; the master dies last and takes everything with it. The
// long form is 20-storm.mjs.
import { Model, Olpd, equal, finish, test, until } from '../lib/olp.mjs';
import { Storm, commitPoint, each, masterDies, row } from '../lib/storm.mjs';

const model = await Model.start();
const d = await Olpd.start({ model, global: 'limit runs 8', provider: '\tlimit runs 8' });
const token = d.key('alice', '--runs', '8');
const storm = new Storm(d, { keys: [token], callers: 8 });
await d.chat(token, 'http:1 say:warm').end;

for (const name of ['olpd-http', 'olpd-spawn', 'olpd-egress'])
  await test(`${name} killed ten times`, async () => {
    let back;
    await storm.run(name, async () => { back = await each(d, name, 'SIGKILL', 10); });
    row(name, 'killed', back, storm.judge(name), storm.growth);
  }, 120000);

await test('the commit point: before it a run starts again, after it never', () => commitPoint(d, token, model), 60000);

await test('a stopped worker is a dead one', async () => {
  const pid = d.worker('olpd-spawn');
  process.kill(pid, 'SIGSTOP');
  const t0 = Date.now();
  await until('replaced', () => d.worker('olpd-spawn') && d.worker('olpd-spawn') !== pid, 25000, 50);
  console.log(`#   olpd-spawn stopped: replaced after ${((Date.now() - t0) / 1000).toFixed(1)} s`);
  const c = d.chat(token, 'say:again', { ms: 10000 });
  await c.end;
  equal(c.text, 'again');
}, 60000);

await test('the master\'s death takes everything with it within 1 s; a new one finds nothing left',
  () => masterDies(d, token), 60000);

await d.stop();
await finish();
