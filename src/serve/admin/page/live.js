// The live page of `hapax serve`. It asks the admin API of its own server, with the token of the user. Text of callers is added as
// text nodes, never as markup.

const byId = (id) => document.getElementById(id);
const PERIOD = 500;
const MOST_ENTRIES = 2000;
const COMMITS = [['now', 'now'], ['never', 'never'], ['later', 'later'], ['twice', 'twice'], ['part', { part: 0.5 }]];
const REPLIES = [
  ['ok', 'ok'], ['delay', { delay: '1s' }], ['drop', 'drop'], ['reset', 'reset'], ['hang', 'hang'], ['truncate', 'truncate'], ['garble', 'garble'], ['drip', 'drip'],
  ['429', { status: 429, retry_after: 1 }], ['500', { status: 500 }], ['502', { status: 502 }], ['503', { status: 503 }], ['504', { status: 504 }],
];
const STALE = ['stale', { stale: { reads: 1 } }];

let token = '';
let operations = [];
let faults = [];
let last = 0;
let resets = null;

function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ''));
  return node;
}

class Refused extends Error {}

async function ask(method, path, body) {
  const answer = await fetch(path, { method, headers: { Authorization: 'Bearer ' + token }, body: body === undefined ? undefined : JSON.stringify(body) });
  const words = await answer.text();
  if (answer.ok) return words ? JSON.parse(words) : null;
  if (answer.status === 401) throw new Refused('token');
  let problem = {};
  try { problem = JSON.parse(words); } catch { /* The text is shown as it is. */ }
  const details = (problem.problems || []).map((one) => one.message + (one.help ? ` (${one.help})` : ''));
  throw new Error([problem.error || words, ...details].join('; '));
}

function say(state, words) {
  const field = byId('state');
  field.className = 'verdict ' + state;
  field.textContent = { pass: '✓ ', void: '○ ', fail: '✗ ' }[state] + words;
}

// Does something that the user asked for, and shows the problem if it fails.
async function act(what) {
  const problem = byId('problem');
  problem.hidden = true;
  try {
    await what();
    await refresh();
  } catch (error) {
    if (error instanceof Refused) return login();
    problem.textContent = error.message;
    problem.hidden = false;
  }
}

function login() {
  token = '';
  sessionStorage.removeItem('hapax-token');
  say('void', 'not connected: the token is missing or wrong');
  byId('live').hidden = true;
  byId('login').hidden = false;
}

// A value of `commit` or `reply` in one word: `{"status": 503}` is 503, `{"later": "2s"}` is later.
function wordOf(value) {
  if (typeof value === 'string') return value;
  const [name, inner] = Object.entries(value)[0];
  return 'status' in value ? String(value.status) : name || String(inner);
}

function keyOf(fault) {
  return `${fault.on} ${wordOf(fault.commit)} ${wordOf(fault.reply)}`;
}

// Whether a fault can still be applied to an attempt.
function isWaiting(one) {
  return one.fired.length === 0 || one.fault.attempt === 'every';
}

function drawSquare() {
  const operation = operations.find((one) => one.name === byId('operation').value);
  if (!operation) return;
  const isRead = operation.kind === 'read';
  const commits = isRead ? COMMITS.slice(0, 1) : COMMITS.filter(([name]) => name !== 'part' || operation.list);
  const replies = isRead ? [...REPLIES, STALE] : REPLIES;
  const focused = document.activeElement?.dataset?.cell;
  const cell = (commit, reply) => {
    const key = `${operation.name} ${commit[0]} ${reply[0]}`;
    if (commit[0] === 'now' && reply[0] === 'ok') return el('td', { class: 'untested' }, el('span', { title: 'this is not a fault' }, '·'));
    const own = faults.filter((one) => keyOf(one.fault) === key);
    const waiting = own.filter(isWaiting);
    const fired = own.reduce((sum, one) => sum + one.fired.length, 0);
    const [state, shown, words] = waiting.length ? ['fail l4', '●', fired ? `armed, applied ${fired} times` : 'armed'] : fired ? ['pass', `✓${fired}`, `applied ${fired} times`] : ['skipped', '–', 'not armed'];
    const toggle = () => act(() => (waiting.length ? disarm(waiting) : arm(operation.name, commit[1], reply[1])));
    return el('td', {}, el('button', { type: 'button', class: 'place ' + state, 'data-cell': key, 'aria-pressed': String(waiting.length > 0), 'aria-label': `${key}: ${words}`, title: `${key}: ${words}`, onclick: toggle }, shown));
  };
  byId('square').replaceChildren(
    el('caption', {}, operation.name, el('span', { class: 'cue' }, 'Scroll sideways for more replies →')),
    el('thead', {}, el('tr', {}, el('td', { class: 'corner' }, 'commit ↓ reply →'), replies.map(([name]) => el('th', { scope: 'col' }, name)))),
    el('tbody', {}, commits.map((commit) => el('tr', {}, el('th', { scope: 'row' }, commit[0]), replies.map((reply) => cell(commit, reply))))),
  );
  markOverflow();
  if (focused) [...document.querySelectorAll('[data-cell]')].find((one) => one.dataset.cell === focused)?.focus();
}

// A square that is wider than the window says that it scrolls.
function markOverflow() {
  const square = byId('square');
  square.classList.toggle('overflows', square.scrollWidth > square.clientWidth + 1);
}

function arm(on, commit, reply) {
  const attempt = byId('attempts').value === 'every' ? 'every' : 1;
  return ask('POST', '/v1/faults', [{ on, attempt, commit, reply }]);
}

async function disarm(those) {
  for (const one of those) await ask('DELETE', '/v1/faults?line=' + encodeURIComponent(one.line));
}

function drawFaults() {
  const line = (one) => el('li', {},
    el('code', {}, one.line), ' ',
    one.fired.length ? `applied to attempt ${one.fired.join(', ')} ` : 'not applied yet ',
    el('button', { type: 'button', class: 'copy', 'aria-label': 'Clear ' + one.line, onclick: () => act(() => disarm([one])) }, 'Clear'));
  byId('armed').replaceChildren(...faults.map(line));
}

const SILENT = { drop: 'no reply: the connection was closed', reset: 'no reply: the connection was reset', hang: 'no reply' };

// An entry of the ledger: its class, and its words.
function describe(entry) {
  const fields = (values) => Object.entries(values || {}).map(([name, value]) => `${name}=${Array.isArray(value) ? value.join(',') : value}`).join('  ');
  switch (entry.kind) {
    case 'received': return ['request', `→ attempt ${entry.attempt}  ${entry.operation}  caller ${entry.caller}  ${entry.key ? 'key ' + entry.key + '  ' : ''}${fields(entry.fields)}`];
    case 'refused': return ['refused', `→ ${entry.method} ${entry.path} refused with ${entry.status}${entry.reason ? ': ' + entry.reason : ''}`];
    case 'fault': return ['fault', `⚡ fault on attempt ${entry.attempt}: commit ${entry.commit}, reply ${entry.reply}`];
    case 'committed': return ['commit', `◆ committed ${entry.effect}  ${entry.id}  ${fields(entry.fields)}`];
    case 'withheld': return ['fault', `◇ not committed ${entry.effect}  ${fields(entry.fields)}`];
    case 'replied': return entry.whole
      ? ['reply', `← attempt ${entry.attempt} answered${entry.status ? ' ' + entry.status : ''}`]
      : ['fault', `✗ attempt ${entry.attempt}: ${SILENT[entry.reply] || 'incomplete reply: ' + entry.reply}`];
    case 'unsent': return ['fault', `✗ attempt ${entry.attempt}: only ${entry.bytes} bytes were sent, because the caller had left`];
    case 'lapsed': return ['fault', `◇ attempt ${entry.attempt} was not committed later: the service refused it with ${entry.status}`];
    case 'noted': return ['note', `${entry.name}  ${fields(entry.fields)}`];
    case 'barrier': return ['note', `caller ${entry.caller}: ${entry.event}`];
    // The start of the ledger, and closed connections: `drawCount` says so.
    default: return null;
  }
}

function addEntries(entries) {
  const list = byId('entries');
  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  for (const entry of entries) {
    last = entry.n;
    const found = describe(entry);
    if (found) list.append(el('li', { class: found[0], 'data-n': entry.n }, el('span', { class: 'time' }, (entry.at / 1000).toFixed(3) + ' ms'), ' ', found[1]));
  }
  while (list.children.length > MOST_ENTRIES) list.firstChild.remove();
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

// How many entries are shown, and which are not.
function drawCount(count) {
  const shown = byId('entries').children.length;
  const some = shown === MOST_ENTRIES ? 'the last ' + shown : shown;
  byId('count').textContent = `${some} of ${count} ${count === 1 ? 'entry' : 'entries'}; the start of the ledger and closed connections are not shown`;
}

async function drawEffects() {
  const { effects } = await ask('GET', '/v1/effects');
  const line = (one) => el('tr', { class: one.times > 1 ? 'fail' : '' },
    el('th', { scope: 'row' }, one.effect),
    el('td', {}, Object.entries(one.identity).map(([name, value]) => `${name}=${value}`).join('  ')),
    el('td', { class: 'short' }, one.times > 1 ? `✗ ${one.times} times` : 'once'),
    el('td', {}, 'attempt ' + one.attempts.join(', ')));
  byId('effects').replaceChildren(...effects.map(line));
  byId('no-effects').hidden = effects.length > 0;
}

// What became of a copy of an event.
function copyWords(copy) {
  const answer = copy.error || (copy.status === null ? 'sent' : 'answered ' + copy.status);
  return (copy.forged ? 'signed wrongly: ' : '') + answer;
}

let events = '';
async function drawEvents() {
  const answer = await ask('GET', '/v1/events');
  if (JSON.stringify(answer) === events) return;
  events = JSON.stringify(answer);
  byId('outbox').hidden = !answer.has_receiver;
  byId('hold').checked = answer.held;
  byId('no-events').hidden = answer.events.length > 0;
  const send = (event, signature) => () => act(() => ask('POST', '/v1/events', [{ id: event.id, signature }]));
  const button = (words, event, signature) => el('button', { type: 'button', class: 'copy', 'aria-label': `${words}: ${event.id}`, onclick: send(event, signature) }, words);
  const line = (event) => el('tr', {},
    el('th', { scope: 'row' }, event.type),
    el('td', {}, el('code', {}, event.id)),
    el('td', {}, event.copies.map(copyWords).join('; ') || 'held'),
    el('td', {}, button(event.copies.length ? 'Send again' : 'Send', event, 'right'), ' ', button('Send signed wrongly', event, 'wrong')));
  byId('events').replaceChildren(...answer.events.map(line));
}

function sendNewestFirst() {
  const ids = new Set(JSON.parse(events).events.map((event) => event.id));
  return ask('POST', '/v1/events', [...ids].reverse().map((id) => ({ id })));
}

async function refresh() {
  await drawEvents();
  const answer = await ask('GET', '/v1/faults');
  if (JSON.stringify(answer.faults) !== JSON.stringify(faults)) {
    faults = answer.faults;
    drawSquare();
    drawFaults();
  }
  let page = await ask('GET', '/v1/ledger?after=' + last);
  if (page.resets !== resets) {
    resets = page.resets;
    last = 0;
    byId('entries').replaceChildren();
    page = await ask('GET', '/v1/ledger');
  }
  if (!page.entries.length && byId('count').textContent) return;
  addEntries(page.entries);
  drawCount(page.count);
  await drawEffects();
}

async function connect() {
  const { services } = await ask('GET', '/v1/services');
  const line = (one) => el('tr', {}, el('th', { scope: 'row' }, one.name), el('td', {}, [...one.urls, ...(one.smtp || []), ...(one.smtps || [])].map((url) => [el('code', {}, url), ' ']).flat()));
  byId('services').replaceChildren(...services.map(line));
  operations = services.flatMap((service) => service.operations);
  const ordered = [...operations].sort((one, other) => (one.kind === other.kind ? 0 : one.kind === 'write' ? -1 : 1));
  byId('operation').replaceChildren(...ordered.map((one) => el('option', { value: one.name }, one.name)));
  faults = [];
  resets = null;
  drawSquare();
  byId('login').hidden = true;
  byId('live').hidden = false;
  sessionStorage.setItem('hapax-token', token);
}

let isConnected = false;
async function poll() {
  try {
    if (token && !isConnected) await connect();
    if (token) {
      await refresh();
      isConnected = true;
      say('pass', 'connected');
    }
  } catch (error) {
    isConnected = false;
    if (error instanceof Refused) login();
    else say('fail', 'the services do not answer');
  }
  setTimeout(poll, PERIOD);
}

// The token is in the fragment of the link that `hapax serve` prints: a browser does not send the fragment. It is removed from the address.
function readToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) history.replaceState(null, '', location.pathname);
  token = given || token || sessionStorage.getItem('hapax-token') || '';
  isConnected = false;
  if (!token) login();
}

byId('login').addEventListener('submit', (event) => {
  event.preventDefault();
  token = byId('token').value;
  byId('token').value = '';
});
byId('operation').addEventListener('change', drawSquare);
byId('clear').addEventListener('click', () => act(() => ask('DELETE', '/v1/faults')));
byId('reset').addEventListener('click', () => act(() => ask('DELETE', '/v1/ledger')));
byId('settle').addEventListener('click', () => act(() => ask('POST', '/v1/settle')));
byId('hold').addEventListener('change', (event) => act(() => ask(event.target.checked ? 'POST' : 'DELETE', '/v1/events/hold')));
byId('newest-first').addEventListener('click', () => act(sendNewestFirst));
window.addEventListener('hashchange', readToken);
new ResizeObserver(markOverflow).observe(byId('square'));
readToken();
poll();
