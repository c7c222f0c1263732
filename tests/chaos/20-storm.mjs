// SPDX-License-Identifier: ISC
// The kill storm: under 16 busy callers each process but the master dies by
// -9 fifty times, and is stopped three times until it is replaced.
import { Model, Olpd, assert, finish, quantile, test } from '../lib/olp.mjs';
import { Storm, commitPoint, each, masterDies, row } from '../lib/storm.mjs';

const workers = ['olpd-http', 'olpd-spawn', 'olpd-egress'];

async function instance(ms) {
  const model = await Model.start();
  const d = await Olpd.start({ model, global: 'limit runs 8\nlimit queue 256 per-key 128', provider: '\tlimit runs 6' });
  const keys = ['alice', 'bob', 'carol', 'dave'].map((id) => d.key(id, '--runs', '4'));
  const c = d.chat(keys[0], 'http:1 say:warm');
  await c.end;
  assert(c.text.endsWith('warm'), `${c.status} ${c.body}`);
  return { d, model, keys, storm: new Storm(d, { keys, ms }) };
}

const a = await instance();
for (const name of workers)
  await test(`${name} killed fifty times under 16 busy callers`, async () => {
    let back;
    await a.storm.run(name, async () => { back = await each(a.d, name, 'SIGKILL', 50); });
    row(name, 'killed', back, a.storm.judge(name), a.storm.growth);
    assert(quantile(back, 1) <= 1000, `back after ${quantile(back, 1).toFixed(0)} ms`);
  }, 120000);

await test('the commit point: before it a run starts again, after it never', () => commitPoint(a.d, a.keys[0], a.model), 60000);
await test('the master\'s death takes everything with it within 1 s; a new one finds nothing left',
  () => masterDies(a.d, a.keys[0]), 60000);
await a.d.stop();
await a.model.stop();

// A stopped worker takes up to 15 s to be noticed: three instances side by
// side. A request may sit through all three stops, long before its deadline.
await test('each stopped three times, until it is replaced', async () => {
  const all = await Promise.all(workers.map(() => instance(90000)));
  const backs = {};
  await Promise.all(workers.map((name, i) => all[i].storm.run(name, async () => {
    backs[name] = await each(all[i].d, name, 'SIGSTOP', 3);
  })));
  for (const [i, name] of workers.entries()) row(name, 'stopped', backs[name], all[i].storm.judge(name), all[i].storm.growth);
  for (const { d, model } of all) { await d.stop(); await model.stop(); }
}, 150000);

await finish();
