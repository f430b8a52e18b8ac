// The page: filters whose state is in the URL, and the details of the selected case. Text of a subject is added as a text node, never
// as markup.

const DATA = JSON.parse(document.getElementById('data').textContent);
const text = (place) => DATA.texts[place];
const FILTERS = ['text', 'outcome', 'tag', 'service'];
const MARK = { pass: '✓', fail: '✗', void: '○' };
const detail = document.getElementById('detail');
const cells = [...document.querySelectorAll('#matrix li')];
const known = new Map();
cells.forEach((cell) => known.set(idOf(cell), cell));

function caseOf(cell) {
  return cell.dataset.case === undefined ? null : DATA.cases[Number(cell.dataset.case)];
}

function idOf(cell) {
  const found = caseOf(cell) || DATA.skipped[Number(cell.dataset.skipped)];
  return text(found.id);
}

function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ''));
  return node;
}

// The state of the page is in the fragment of its URL.
function readState() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

function hashOf(state) {
  const kept = Object.entries(state).filter(([, value]) => value !== '' && value !== null && value !== undefined);
  return kept.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&');
}

function writeState(changes) {
  const hash = hashOf({ ...readState(), ...changes });
  history.replaceState(null, '', '#' + hash);
  apply();
}

const words = new Map();
function haystack(cell) {
  if (!words.has(cell)) {
    const found = caseOf(cell);
    const parts = found
      ? [found.id, found.about, found.task, ...found.tags, ...found.faults, ...found.trials.flatMap((trial) => (trial.findings || []).flatMap((finding) => [finding.message, finding.fix]))]
      : [DATA.skipped[Number(cell.dataset.skipped)].id, DATA.skipped[Number(cell.dataset.skipped)].why];
    words.set(cell, parts.map(text).join('\n').toLowerCase());
  }
  return words.get(cell);
}

function matches(cell, state) {
  const found = caseOf(cell);
  const has = (places, wanted) => places.some((place) => text(place) === wanted);
  if (state.text && !haystack(cell).includes(state.text.toLowerCase())) return false;
  if (!found) return !state.tag && !state.service && (!state.outcome || state.outcome === 'skipped');
  if (state.tag && !has(found.tags, state.tag)) return false;
  if (state.service && !has(found.services, state.service)) return false;
  return !state.outcome || found.result === state.outcome || found.trials.some((trial) => trial.outcome === state.outcome);
}

function filter(state) {
  let shown = 0;
  for (const cell of cells) {
    const is = matches(cell, state);
    cell.hidden = !is;
    if (is) shown += 1;
  }
  for (const section of document.querySelectorAll('.scenario')) section.hidden = !section.querySelector('li:not([hidden])');
  document.getElementById('nothing').hidden = shown > 0;
  document.getElementById('shown').textContent = `${shown} of ${cells.length} shown`;
}

// Only the changed parts are drawn again.
let drawn = null;
let filtered = null;
function apply() {
  const state = readState();
  for (const name of FILTERS) {
    const field = document.getElementById('f-' + name);
    if (field.value !== (state[name] || '')) field.value = state[name] || '';
  }
  const wanted = hashOf(Object.fromEntries(FILTERS.map((name) => [name, state[name]])));
  if (wanted !== filtered) filter(state);
  filtered = wanted;
  // The worst case is shown first, unless the filters hide it.
  const first = DATA.first === null ? null : text(DATA.cases[DATA.first].id);
  const id = state.case || (first === null || known.get(first).hidden ? null : first);
  const chosen = JSON.stringify([id, state.trial, state.finding]);
  if (chosen !== drawn) drawDetail(id, state);
  drawn = chosen;
}

function drawDetail(id, state) {
  const cell = id === null ? undefined : known.get(id);
  for (const link of document.querySelectorAll('.cell[aria-current]')) link.removeAttribute('aria-current');
  detail.hidden = !cell;
  if (!cell) return;
  cell.querySelector('a').setAttribute('aria-current', 'true');
  cell.closest('.scenario').after(detail);
  const found = caseOf(cell);
  detail.replaceChildren(...(found ? caseDetail(found, state) : skippedDetail(DATA.skipped[Number(cell.dataset.skipped)])));
}

function skippedDetail(skipped) {
  return [el('h3', { id: 'detail-title', tabindex: '-1' }, text(skipped.id)), el('p', {}, 'Skipped: ' + text(skipped.why))];
}

function caseDetail(found, state) {
  const trials = found.trials;
  const wanted = trials.findIndex((trial) => String(trial.trial) === state.trial);
  const worst = trials.findIndex((trial) => trial.result === found.result);
  const trial = trials[wanted >= 0 ? wanted : Math.max(worst, 0)];
  const nodes = [
    el('h3', { id: 'detail-title', tabindex: '-1' }, text(found.id)),
    el('p', {}, text(found.about)),
    el('p', { class: 'faint' }, 'Task: ' + text(found.task)),
    el('p', { class: 'place mono' }, text(found.place)),
    found.faults.length ? el('p', { class: 'mono' }, found.faults.map(text).join('; ')) : null,
    el('p', { class: 'tags' }, found.tags.map((tag) => el('span', { class: 'tag' }, text(tag)))),
  ];
  if (trials.length > 1) {
    const choose = (one) => {
      writeState({ case: text(found.id), trial: one.trial, finding: '' });
      // The button that was pressed has been replaced.
      detail.querySelector('.trials [aria-pressed="true"]').focus();
    };
    const button = (one) => el('button', { type: 'button', class: one.result, 'aria-pressed': String(one === trial), onclick: () => choose(one) }, `${MARK[one.result]} trial ${one.trial}`);
    nodes.push(el('div', { class: 'trials', role: 'group', 'aria-label': 'Trials' }, trials.map(button)));
  }
  nodes.push(...(trial ? trialDetail(found, trial, state) : [el('p', {}, 'No trial of this case was finished.')]));
  return nodes.filter(Boolean);
}

function trialDetail(found, trial, state) {
  const findings = trial.findings || [];
  const chosen = Math.min(Number(state.finding || 0), Math.max(findings.length - 1, 0)) || 0;
  const entry = el('output', { class: 'entry', 'aria-live': 'polite' }, 'Point at a line, or move to it with the arrow keys, to see its entry.');
  const drawing = drawTimeline(trial, (words) => { entry.textContent = words; });
  const button = (finding, place) => el(
    'button',
    { type: 'button', class: finding.fails ? 'finding fails' : 'finding', 'aria-pressed': String(place === chosen), onclick: () => choose(place) },
    el('strong', { class: finding.fails ? 'fail' : '' }, (finding.fails ? '✗ ' : 'noted: ') + finding.kind), ' ', text(finding.message),
    el('span', { class: 'fix' }, el('strong', {}, 'Fix: '), text(finding.fix)),
  );
  const buttons = findings.map(button);
  const choose = (place) => {
    buttons.forEach((one, other) => one.setAttribute('aria-pressed', String(other === place)));
    reveal(frame, lightEntries(drawing, findings[place].entries));
    drawn = JSON.stringify([text(found.id), String(trial.trial), String(place)]);
    writeState({ case: text(found.id), trial: String(trial.trial), finding: String(place) });
  };
  const frame = el('div', { class: 'drawing', tabindex: '0', role: 'region', 'aria-label': 'Timeline' }, drawing);
  if (findings.length) {
    const first = lightEntries(drawing, findings[chosen].entries);
    requestAnimationFrame(() => reveal(frame, first));
  }
  return [
    el('p', { class: trial.result }, el('strong', {}, `${MARK[trial.result]} ${trial.result}: ${text(trial.headline)}`)),
    ...(trial.void || []).map((why) => el('p', { class: 'warning' }, 'Void: ' + text(why))),
    ...(trial.torn === undefined ? [] : [el('p', { class: 'warning' }, 'The ledger is incomplete: ' + text(trial.torn))]),
    ...buttons,
    el('h4', {}, 'What happened'),
    findings.length ? el('p', { class: 'faint' }, 'Time runs from top to bottom. Highlighted lines, marked ▸, prove the selected finding. The bolt is the fault that hapax injected, ◆ is what the service committed, and a broken arrow is a reply that did not arrive.') : null,
    trial.items.length ? frame : el('p', {}, 'This page has no timeline of this trial; `hapax report show` shows it.'),
    trial.items.length ? entry : null,
    trial.left_out ? el('p', { class: 'faint' }, `${trial.left_out} entries are not drawn; \`hapax report show\` shows them.`) : null,
    el('h4', {}, 'Claims'),
    ...claims(trial),
    el('h4', {}, 'More'),
    el('table', {}, el('tbody', {}, trial.facts.map(([name, fact]) => el('tr', {}, el('th', { scope: 'row' }, text(name)), el('td', {}, text(fact)))))),
    ...(trial.output || []).flatMap(output),
    el('h4', {}, 'Replay'),
    el('code', { class: 'again' }, text(trial.replay)),
    DATA.cut ? el('p', { class: 'faint' }, 'Long texts of this run are shortened; report.json has them in full.') : null,
  ].filter(Boolean);
}

// Scrolls to the first highlighted entry, without moving the page.
function reveal(frame, row) {
  if (row) frame.scrollTop = Math.max(0, Number(row.querySelector('.band').getAttribute('y')) - 60);
}

// Callers with the same claim share a line.
function claims(trial) {
  if (!trial.claims.length) return [el('p', {}, 'Nothing.')];
  const groups = new Map();
  for (const [caller, ...rest] of trial.claims) {
    const same = JSON.stringify(rest);
    groups.set(same, [...(groups.get(same) || []), caller]);
  }
  const lines = [...groups].map(([same, callers]) => [callers, ...JSON.parse(same)]);
  return lines.map(([callers, outcome, message, honesty, start]) => el('p', {}, `${callers.length > 1 ? 'Callers' : 'Caller'} ${callers.join(', ')}${start ? `, in start ${start},` : ''} claimed `, el('strong', {}, outcome), text(message) ? ` “${text(message)}”: ` : ': ', el('strong', { class: honesty === 'honest' ? 'pass' : 'fail' }, honesty)));
}

function output([caller, start, stdout, stderr, cut]) {
  return [['stdout', stdout], ['stderr', stderr]].filter(([, place]) => text(place)).map(([name, place]) => el(
    'details', {},
    el('summary', {}, `${name} of caller ${caller}, start ${start}${cut ? `, ${cut} bytes cut out` : ''}`),
    el('pre', { tabindex: '0' }, text(place)),
  ));
}

const form = document.getElementById('filters');
form.addEventListener('submit', (event) => event.preventDefault());
form.addEventListener('input', (event) => writeState({ [event.target.name]: event.target.value }));
form.addEventListener('reset', (event) => {
  event.preventDefault();
  writeState(Object.fromEntries(FILTERS.map((name) => [name, ''])));
});
document.addEventListener('click', (event) => {
  if (event.target.closest('.skip')) {
    // The URL contains the state of the page, not a position in it.
    event.preventDefault();
    document.getElementById('matrix').focus();
    return;
  }
  const link = event.target.closest('a[href^="#case="]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const wanted = new URLSearchParams(link.getAttribute('href').slice(1)).get('case');
  const cell = known.get(wanted);
  const hidden = cell && cell.hidden ? Object.fromEntries(FILTERS.map((name) => [name, ''])) : {};
  history.pushState(null, '', location.hash || '#');
  writeState({ ...hidden, case: wanted, trial: '', finding: '' });
  const title = document.getElementById('detail-title');
  if (title) {
    title.focus({ preventScroll: true });
    detail.scrollIntoView({ block: 'nearest' });
  }
});
document.addEventListener('keydown', (event) => {
  const typing = event.target.closest('input, select, textarea');
  if (event.key === '/' && !typing) {
    event.preventDefault();
    document.getElementById('f-text').focus();
  }
  if (event.key === 'Escape' && detail.contains(event.target)) {
    const current = document.querySelector('.cell[aria-current]');
    if (current) current.focus();
  }
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const cell = event.target.closest('#matrix li');
  if (!step || !cell || event.altKey || event.ctrlKey || event.metaKey) return;
  const visible = cells.filter((one) => !one.hidden);
  const next = visible[visible.indexOf(cell) + step];
  if (!next) return;
  event.preventDefault();
  next.querySelector('a').focus();
});
window.addEventListener('hashchange', apply);
window.addEventListener('popstate', apply);
apply();
// A link to a case scrolls to the case.
if (readState().case) detail.scrollIntoView();
