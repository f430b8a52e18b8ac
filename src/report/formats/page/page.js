// The page: filters whose state is in the URL, the squares, and the list of cases. Text of a subject is added as a text node, never
// as markup.

const DATA = JSON.parse(document.getElementById('data').textContent);
const text = (place) => DATA.texts[place];
const FIELDS = ['text', 'outcome', 'tag', 'service', 'sort'];
const FILTERS = ['text', 'outcome', 'tag', 'service', 'cell'];
const MARK = { pass: '✓', fail: '✗', void: '○' };
const detail = document.getElementById('detail');
const rows = [...document.querySelectorAll('#list li')];
const groups = [...document.querySelectorAll('#list .group')];
const wide = matchMedia('(min-width: 70rem)');
const known = new Map();
rows.forEach((row) => known.set(idOf(row), row));

function caseOf(row) {
  return row.dataset.case === undefined ? null : DATA.cases[Number(row.dataset.case)];
}

function skippedOf(row) {
  return DATA.skipped[Number(row.dataset.skipped)];
}

function idOf(row) {
  return text((caseOf(row) || skippedOf(row)).id);
}

function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ''));
  return node;
}

// The text as nodes, with what stands between backticks as code.
function withCode(words) {
  return words.split(/(`[^`]+`)/).map((part) => (/^`[^`]+`$/.test(part) ? el('code', {}, part.slice(1, -1)) : part));
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

function noFilters() {
  return Object.fromEntries(FILTERS.map((name) => [name, '']));
}

const words = new Map();
function haystack(row) {
  if (!words.has(row)) {
    const found = caseOf(row);
    const parts = found
      ? [found.id, found.about, found.task, ...found.tags, ...found.faults, ...found.trials.flatMap((trial) => (trial.findings || []).flatMap((finding) => [finding.message, finding.fix]))]
      : [skippedOf(row).id, skippedOf(row).why];
    words.set(row, parts.map(text).join('\n').toLowerCase());
  }
  return words.get(row);
}

function matches(row, state) {
  const found = caseOf(row);
  const has = (places, wanted) => places.some((place) => text(place) === wanted);
  if (state.text && !haystack(row).includes(state.text.toLowerCase())) return false;
  if (state.cell && !has((found || skippedOf(row)).cells, state.cell)) return false;
  if (!found) return !state.tag && !state.service && (!state.outcome || state.outcome === 'skipped');
  if (state.tag && !has(found.tags, state.tag)) return false;
  if (state.service && !has(found.services, state.service)) return false;
  return !state.outcome || found.result === state.outcome || found.trials.some((trial) => trial.outcome === state.outcome);
}

function filter(state) {
  let shown = 0;
  for (const row of rows) {
    const is = matches(row, state);
    row.hidden = !is;
    if (is) shown += 1;
  }
  const isFiltered = FILTERS.some((name) => state[name]);
  for (const group of groups) {
    const count = group.querySelectorAll('li:not([hidden])').length;
    group.hidden = count === 0;
    group.querySelector('.count').textContent = count;
    // Filters show what they find, also passes.
    group.open = isFiltered || group.hasAttribute('data-open');
  }
  document.getElementById('nothing').hidden = shown > 0;
  document.getElementById('shown').textContent = `${shown} of ${rows.length} shown`;
  for (const cell of document.querySelectorAll('.place')) cell.setAttribute('aria-pressed', String(cell.dataset.cell === state.cell));
  const chosen = document.getElementById('f-cell');
  chosen.hidden = !state.cell;
  chosen.textContent = state.cell ? `✕ only ${state.cell}` : '';
}

function sort(by) {
  const places = new Map(rows.map((row, place) => [row, place]));
  const compare = {
    name: (one, other) => (idOf(one) < idOf(other) ? -1 : 1),
    slow: (one, other) => Number(other.dataset.ms || 0) - Number(one.dataset.ms || 0) || places.get(one) - places.get(other),
  }[by] || ((one, other) => places.get(one) - places.get(other));
  for (const list of document.querySelectorAll('#list .cells')) {
    const own = rows.filter((row) => row.parentNode === list).sort(compare);
    list.replaceChildren(...own);
  }
}

// Only the changed parts are drawn again. Returns whether another case is shown.
let drawn = null;
let waiting = null;
let filtered = null;
let sorted = '';
function apply() {
  const state = readState();
  for (const name of FIELDS) {
    const field = document.getElementById('f-' + name);
    if (field.value !== (state[name] || '')) field.value = state[name] || '';
  }
  const wanted = hashOf(Object.fromEntries(FILTERS.map((name) => [name, state[name]])));
  if (wanted !== filtered) filter(state);
  filtered = wanted;
  if ((state.sort || '') !== sorted) {
    detail.remove();
    sort(state.sort);
    drawn = null;
  }
  sorted = state.sort || '';
  const id = state.case || firstToShow();
  const chosen = JSON.stringify([id, state.trial, state.finding]);
  const isNew = chosen !== drawn;
  if (isNew) drawDetail(id, state);
  drawn = chosen;
  return isNew;
}

// The case whose details are shown before the user selects one: the worst, or the first in the list if filters hide the
// worst; none where there is no space beside the list.
function firstToShow() {
  if (!wide.matches) return null;
  const worst = DATA.first === null ? null : text(DATA.cases[DATA.first].id);
  if (worst !== null && !known.get(worst).hidden) return worst;
  const row = FILTERS.some((name) => readState()[name]) ? visibleRows()[0] : undefined;
  return row ? idOf(row) : null;
}

// The cases that are shown, in order.
function visibleRows() {
  return [...document.querySelectorAll('#list .group[open]:not([hidden]) .cells > li:not([hidden])')];
}

function drawDetail(id, state) {
  const row = id === null ? undefined : known.get(id);
  const unknown = document.getElementById('unknown');
  unknown.hidden = id === null || Boolean(row);
  if (!unknown.hidden) unknown.replaceChildren(DATA.running ? 'This run has no result yet of a case ' : 'This run has no case ', el('code', {}, id.slice(0, 300)), '.');
  for (const link of document.querySelectorAll('.cell[aria-current]')) link.removeAttribute('aria-current');
  detail.hidden = !row;
  if (!row) return;
  row.querySelector('a').setAttribute('aria-current', 'true');
  // The case that is shown before the user selects one does not unfold hundreds of others.
  if (state.case) row.closest('.group').open = true;
  place(row);
  const found = caseOf(row);
  detail.replaceChildren(...(found ? caseDetail(found, state) : skippedDetail(skippedOf(row))));
  detail.scrollTop = 0;
  // A drawing needs the width of its frame, which it has only now.
  const draw = waiting;
  waiting = null;
  if (draw) draw();
}

// The details are beside the list, or below their case where there is no space.
function place(row) {
  const target = wide.matches ? document.getElementById('aside') : row;
  if (detail.parentNode !== target) target.append(detail);
}

// Scrolls to the selected case. The list can still move while it is laid out.
function scrollToCase() {
  const current = document.querySelector('.cell[aria-current]');
  if (!current) return scrollToCases();
  const go = () => (wide.matches ? current.scrollIntoView({ block: 'center' }) : current.scrollIntoView({ block: 'start' }));
  go();
  requestAnimationFrame(() => requestAnimationFrame(go));
}

// Scrolls to the heading of the cases.
function scrollToCases() {
  document.getElementById('cases').scrollIntoView({ block: 'start', behavior: 'instant' });
}

const form = document.getElementById('filters');
form.addEventListener('submit', (event) => event.preventDefault());
form.addEventListener('input', (event) => writeState({ [event.target.name]: event.target.value }));
form.addEventListener('reset', (event) => {
  event.preventDefault();
  writeState(noFilters());
});
document.getElementById('f-cell').addEventListener('click', () => {
  writeState({ cell: '' });
  document.getElementById('f-text').focus();
});
document.addEventListener('click', (event) => {
  if (event.target.closest('.skip')) {
    // The URL contains the state of the page, not a position in it.
    event.preventDefault();
    // The list is taller than the window: focus alone would scroll to its middle.
    document.getElementById('list').focus({ preventScroll: true });
    scrollToCases();
    return;
  }
  const cell = event.target.closest('.place');
  if (cell) {
    const isChosen = cell.getAttribute('aria-pressed') === 'true';
    history.pushState(null, '', location.hash || '#');
    writeState({ cell: isChosen ? '' : cell.dataset.cell, case: '', trial: '', finding: '' });
    if (!isChosen) document.getElementById('cases').scrollIntoView({ block: 'start' });
    return;
  }
  const link = event.target.closest('a[href^="#case="]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const wanted = new URLSearchParams(link.getAttribute('href').slice(1)).get('case');
  const row = known.get(wanted);
  const hidden = row && row.hidden ? noFilters() : {};
  const isInList = Boolean(link.closest('#list'));
  history.pushState(null, '', location.hash || '#');
  writeState({ ...hidden, case: wanted, trial: '', finding: '' });
  const title = document.getElementById('detail-title');
  if (title) {
    title.focus({ preventScroll: true });
    if (!isInList) scrollToCase();
    else if (!wide.matches) link.scrollIntoView({ block: 'start' });
  }
});
document.addEventListener('keydown', (event) => {
  const typing = event.target.closest('input, select, textarea');
  if (event.target.id === 'f-text' && ['Enter', 'ArrowDown'].includes(event.key) && !event.isComposing) {
    const link = visibleRows()[0]?.querySelector('a');
    if (!link) return;
    event.preventDefault();
    link.click();
    // From the case, arrow keys move to the others.
    if (event.key === 'ArrowDown') link.focus();
    return;
  }
  if (event.key === '/' && !typing) {
    event.preventDefault();
    document.getElementById('f-text').focus();
  }
  if (event.key === 'Escape' && detail.contains(event.target)) {
    const current = document.querySelector('.cell[aria-current]');
    if (current) current.focus();
  }
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const row = event.target.closest('#list a.cell')?.closest('li');
  if (!step || !row || event.altKey || event.ctrlKey || event.metaKey) return;
  const visible = visibleRows();
  const next = visible[visible.indexOf(row) + step];
  if (!next) return;
  event.preventDefault();
  next.querySelector('a').focus();
});

wide.addEventListener('change', () => {
  drawn = null;
  apply();
});
function arrive() {
  if (apply() && readState().case) scrollToCase();
}
window.addEventListener('hashchange', arrive);
window.addEventListener('popstate', apply);
apply();
// A link to a case scrolls to the case.
if (readState().case) scrollToCase();
document.getElementById('loading')?.remove();

// The page of a run that is not finished reloads itself, but not while the user does something.
if (DATA.running) {
  let active = 0;
  for (const name of ['pointerdown', 'keydown', 'wheel', 'input']) window.addEventListener(name, () => { active = Date.now(); }, { passive: true });
  const reload = () => {
    const isBusy = Date.now() - active < 3000 || String(getSelection()).length > 0;
    if (isBusy) setTimeout(reload, 500);
    else location.reload();
  };
  setTimeout(reload, 2000);
}

// A square that is wider than the window says that it scrolls.
const squares = new ResizeObserver((entries) => {
  for (const { target } of entries) target.classList.toggle('overflows', target.scrollWidth > target.clientWidth + 1);
});
document.querySelectorAll('.square').forEach((square) => squares.observe(square));
