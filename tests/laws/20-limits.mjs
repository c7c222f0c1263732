// SPDX-License-Identifier: ISC
// packaging/doc/limits.md is true: each LIM_ name of common/limits.h with its
// value, no other, each used somewhere; each setting of olpd.conf(5) that is
// a bound, with its default.  OLP_WRITE=1 brings the page's values up to date.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { assert, equal, finish, root, test } from '../lib/olp.mjs';
import { read } from './suites.mjs';

const header = read('common/limits.h').replace(/\/\*[\s\S]*?\*\//g, '');
const source = Object.fromEntries([...header.matchAll(/^#define (LIM_\w+)\s+(.+)$/gm)].map((m) => [m[1], m[2].trim()]));
function value(name) {
  const e = source[name].replace(/LIM_\w+/g, value).replace(/(\d)[UL]+/g, '$1');
  assert(/^[\d\s*+()-]+$/.test(e), `${name}: "${e}" is no number`);
  return Function(`return (${e})`)();
}
if (process.env.OLP_WRITE) {
  fs.writeFileSync(path.join(root, 'packaging/doc/limits.md'), read('packaging/doc/limits.md')
    .replace(/^\| (LIM_\w+) \| \d+ /gm, (l, n) => (n in source ? `| ${n} | ${value(n)} ` : l)));
}
const page = read('packaging/doc/limits.md');
const lines = [...page.matchAll(/^\| (LIM_\w+) \| (\d+) ([^|]*)\| ([^|]+) \| ([^|]+) \|$/gm)]
  .map((m) => ({ name: m[1], value: Number(m[2]), unit: m[3].trim(), owner: m[4].trim(), met: m[5].trim() }));

await test('each limit is on the page once, with its value, owner and what happens', () => {
  const bad = [];
  for (const n of Object.keys(source)) {
    const l = lines.filter((x) => x.name === n);
    if (l.length !== 1) bad.push(`${n}: ${l.length} times on the page`);
    else if (l[0].value !== value(n)) bad.push(`${n}: is ${value(n)}, on the page ${l[0].value}`);
    else if (!l[0].owner || l[0].met.length < 8) bad.push(`${n}: says too little`);
  }
  for (const n of new Set(page.match(/\bLIM_\w+/g))) if (!(n in source)) bad.push(`${n}: on the page, not in common/limits.h`);
  console.log(`#   ${lines.length} limits`);
  equal(bad, []);
});

await test('each limit is used', () => {
  const out = execFileSync('grep', ['-rhowE', '--include=*.c', '--include=*.h', 'LIM_[A-Z0-9_]+',
    ...['common', 'proto', 'master', 'worker-http', 'worker-spawn'].map((d) => `${root}/${d}`)], { encoding: 'utf8', maxBuffer: 1 << 26 });
  const uses = {};
  for (const n of out.split('\n')) uses[n] = (uses[n] ?? 0) + 1;
  for (const m of read('common/limits.h').matchAll(/\bLIM_\w+/g)) uses[m[0]] = (uses[m[0]] ?? 0) - 1; // those of the header itself
  for (const e of Object.values(source)) for (const n of e.match(/LIM_\w+/g) ?? []) uses[n]++;
  equal(Object.keys(source).filter((n) => !(uses[n] > 0)), []);
});

// Directives of olpd.conf(5) that set a bound: name, what the manual calls it, its default's limit and unit.
await test('each setting that is a bound is on the page, and the manual says the same default', () => {
  const manual = read('master/olpd.conf.5').replace(/^\.(?:It|Ic|Op|Ar|Xo|Xc|Cm)\b/gm, '').replace(/\b(Ic|Ar|Op|Ns|Cm)\b/g, ' ').replace(/\s+/g, ' ');
  const settings = [...page.matchAll(/^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].map((m) => m.slice(1).map((s) => s.trim()));
  const bad = [];
  const unit = { s: 1, m: 60, h: 3600, KB: 1024, MB: 1 << 20, GB: 1 << 30, '': 1 };
  for (const [name, dflt, from] of settings) {
    const words = name.replace(/\b(N|SIZE|TIME|A|B)\b|\(\w+\)/g, '').replace(/\s+/g, ' ').trim().split(' ');
    if (!manual.includes(words[0] === 'limit' || words[0] === 'timeout' ? words.slice(0, 2).join(' ') : words[0])) bad.push(`${name}: not in the manual`);
    const lim = /LIM_\w+/.exec(from)?.[0];
    const [, n, u] = /^(\d+)([A-Za-z]*)$/.exec(dflt) ?? [];
    if (lim && n === undefined) bad.push(`${name}: default "${dflt}"`);
    else if (lim && Number(n) * unit[u] !== value(lim)) bad.push(`${name}: default ${dflt}, ${lim} is ${value(lim)}`);
    else if (lim && !manual.includes(dflt)) bad.push(`${name}: the manual does not say ${dflt}`);
  }
  const must = ['uid-range', 'memory-budget', 'home size', 'limit runs', 'limit queue', 'limit connections', 'limit body', 'timeout head', 'timeout body',
    'timeout queue', 'timeout first-byte', 'timeout idle', 'heartbeat', 'stop-timeout', 'memory', 'timeout TIME', 'limit starts'];
  for (const m of must) if (!settings.some(([n]) => n.startsWith(m))) bad.push(`${m}: not on the page`);
  equal(bad, []);
});

await finish();
