// SPDX-License-Identifier: ISC
// Words for the scripted client's hand on its socket (tests/fake-cli/wire.c),
// and model requests as bytes.
export const MODEL = 'claude-sonnet-4-6';
export const K = '\u0001K'; // the run's placeholder, in text
export const user = (content) => [{ role: 'user', content }];

// Fields that a brokered request may have at the provider, and no others.
export const accepted = ['host', 'x-api-key', 'accept', 'anthropic-beta', 'anthropic-version', 'user-agent', 'x-app', 'content-type',
  'accept-encoding', 'content-length', 'connection'];

export const body = (o) => JSON.stringify({ model: MODEL, max_tokens: 10, tools: [], stream: true, messages: user('[[say:fromtx]]'), ...o });

// A request; null leaves a field out. extra and first: whole field lines.
export function req({ method = 'POST', target = '/v1/messages?beta=true', version = 'HTTP/1.1', host = '127.0.0.1:3128', key = K,
  type = 'application/json', first = [], extra = [], body: b = body({}), length } = {}) {
  const bytes = Buffer.isBuffer(b) ? b : Buffer.from(b);
  const lines = [`${method} ${target} ${version}`, ...first];
  if (host !== null) lines.push(`Host: ${host}`);
  if (key !== null) lines.push(`x-api-key: ${key}`);
  lines.push('anthropic-version: 2023-06-01');
  if (type !== null) lines.push(`Content-Type: ${type}`);
  if (length !== null) lines.push(`Content-Length: ${length ?? bytes.length}`);
  lines.push(...extra);
  return `${Buffer.from(`${lines.join('\r\n')}\r\n\r\n`).toString('latin1')}${bytes.toString('latin1')}`;
}

// Bytes (a latin1 string or a Buffer) as a word's argument; a list may hold
// { times, bytes }, and what follows it begins a word of its own.
export function wire(x) {
  if (Array.isArray(x)) {
    return x.map((p, i) => (typeof p === 'object' && !Buffer.isBuffer(p) ? ` txn:${p.times}:${wire(p.bytes)} `
      : `${i > 0 ? 'tx:' : ''}${wire(p)}`)).join('');
  }
  let out = '';
  const b = Buffer.isBuffer(x) ? x : Buffer.from(x, 'latin1');
  for (let i = 0; i < b.length; i++) {
    if (b[i] === 1 && b[i + 1] === 0x4b) { out += '$K'; i++; continue; }
    const c = String.fromCharCode(b[i]);
    out += /[A-Za-z0-9._/:{}",=-]/.test(c) ? c : `%${b[i].toString(16).padStart(2, '0')}`;
  }
  return out;
}
