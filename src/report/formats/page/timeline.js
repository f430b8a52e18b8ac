// Draws the timeline of a trial as SVG: lanes for callers, services, senders and a person, time goes down. It takes data and returns an element.

const SHAPE = { start: 0, request: 1, refused: 2, fault: 3, commit: 4, reply: 5, broken: 6, cut: 7, end: 8, claim: 9, note: 10, unheard: 11 };
const KINDS = ['subject', 'service', 'sender', 'approvals'];
const ROW = 28;
const LINE = 17;
// The width of a character, at most on average.
const CHARACTER = 7.6;
const TIME = 96;
// The text is beside the lanes if it has at least this width, otherwise below them.
const LEAST_WORDS = 280;
const MOST_LINES = 4;

function svg(name, attributes, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// A time with its microseconds: callers that run at the same time differ by less than a millisecond.
function clock(microseconds) {
  return microseconds < 1e7 ? (microseconds / 1e3).toFixed(3) + ' ms' : (microseconds / 1e6).toFixed(6) + ' s';
}

// The text of an item. Keys, ids and long details are shortened; the entry shows them in full.
function wordsOf(item) {
  const detail = text(item[7]).replace(/([\w-]{6})[\w-]{14,}/g, '$1…');
  return text(item[6]) + (detail && item[0] !== SHAPE.reply ? '  ' + detail : '');
}

// The text in lines of at most so many characters.
function wrapped(words, limit) {
  const lines = [''];
  for (const word of words.split(' ')) {
    const last = lines[lines.length - 1];
    if (last && last.length + 1 + word.length > limit) lines.push('');
    lines[lines.length - 1] += (lines[lines.length - 1] ? ' ' : '') + word;
  }
  const cut = lines.map((line) => (line.length > limit ? line.slice(0, limit - 1) + '…' : line));
  if (cut.length <= MOST_LINES) return cut;
  return [...cut.slice(0, MOST_LINES - 1), cut[MOST_LINES - 1].slice(0, limit - 1) + '…'];
}

// The position of each lane and of each item, in a frame of this width.
function layout(trial, width) {
  const count = trial.lanes.length;
  const usual = count > 6 ? 52 : count > 3 ? 92 : 124;
  const isBeside = width - TIME - count * usual >= LEAST_WORDS;
  const left = isBeside ? TIME : 20;
  const step = isBeside ? usual : Math.min(150, (width - left - 12) / count);
  const xs = trial.lanes.map((_, place) => left + step / 2 + place * step);
  const words = isBeside ? left + count * step + 14 : 20;
  const limit = Math.max(20, Math.floor((width - words - 8) / CHARACTER));
  let y = 0;
  let before = null;
  const rows = trial.items.map((item) => {
    const waited = before === null ? 0 : item[2] - before;
    before = item[2];
    const gap = waited >= 100000 ? waited : 0;
    const who = count > 3 && item[3] ? text(trial.lanes[item[3] - 1][1]) + '  ' : '';
    const lines = wrapped((isBeside ? '' : clock(item[2]) + '  ' + who) + wordsOf(item), limit);
    const top = y + (gap ? LINE + 4 : 0);
    const height = isBeside ? Math.max(ROW, lines.length * LINE + 8) : ROW - 4 + lines.length * LINE + 4;
    y = top + height;
    return { top, height, y: top + ROW / 2, gap, lines };
  });
  return { xs, step, words, rows, isBeside, width: Math.max(width, 200), height: y + 8 };
}

// The names of the lanes, which stay visible. No name is cut: narrow lanes have short names, and services have lines of their own.
function heads(trial, plan) {
  const isNarrow = plan.step < 78;
  let line = 0;
  const drawn = trial.lanes.flatMap(([kind, label], lane) => {
    const name = isNarrow && !kind ? text(label).replace('caller ', plan.step < 34 ? '' : '#') : text(label);
    const half = (name.length * 9.4) / 2;
    const x = Math.max(half + 2, Math.min(plan.xs[lane], plan.width - half - 2));
    if (isNarrow && kind) line += 1;
    const y = isNarrow && kind ? 18 + line * 16 : 18;
    const head = svg('text', { x, y, class: 'head' }, name);
    return isNarrow ? [head] : [head, svg('text', { x, y: 34, class: 'head under' }, KINDS[kind])];
  });
  const height = isNarrow ? 26 + line * 16 : 42;
  return svg('svg', { width: plan.width, height, viewBox: `0 0 ${plan.width} ${height}`, class: 'heads', 'aria-hidden': 'true' }, ...drawn);
}

// A caller that is dead or not yet started has a dotted lane.
function lanes(trial, plan) {
  const drawn = [];
  trial.lanes.forEach(([kind], lane) => {
    const x = plan.xs[lane];
    let from = 0;
    let alive = kind > 0 || !trial.items.some((item) => item[0] === SHAPE.start && item[3] === lane + 1);
    const until = (y) => {
      if (y > from) drawn.push(svg('line', { x1: x, x2: x, y1: from, y2: y, class: alive ? 'lane' : 'lane away' }));
      from = y;
    };
    trial.items.forEach((item, place) => {
      if (kind > 0 || item[3] !== lane + 1) return;
      const starts = item[0] === SHAPE.start;
      if (!starts && item[0] !== SHAPE.end && item[0] !== SHAPE.cut) return;
      until(plan.rows[place].y);
      alive = starts;
    });
    until(plan.height - 6);
  });
  return drawn;
}

function arrow(from, to, y, kind) {
  const way = to > from ? 1 : -1;
  return [
    svg('line', { x1: from, x2: to - way * 8, y1: y, y2: y, class: 'arrow ' + kind }),
    svg('path', { d: `M${to} ${y}l${-way * 11} -6v12z`, class: 'tip ' + kind }),
  ];
}

function cross(x, y) {
  return svg('path', { d: `M${x - 6} ${y - 6}l12 12m0 -12l-12 12`, class: 'x' });
}

// The marks of one item.
function marks(item, xs, y) {
  const caller = item[3] ? xs[item[3] - 1] : null;
  const service = item[4] ? xs[item[4] - 1] : null;
  const both = caller !== null && service !== null;
  const at = service !== null ? service : caller;
  if (at === null) return [];
  switch (item[0]) {
    case SHAPE.request:
      return both ? arrow(caller, service, y, '') : [];
    case SHAPE.reply:
      return both ? arrow(service, caller, y, 'reply') : [];
    case SHAPE.refused:
      return both ? [...arrow(caller, service, y - 4, ''), ...arrow(service, caller, y + 5, 'reply')] : [];
    case SHAPE.broken: {
      if (!both) return [];
      const end = service + (caller - service) * 0.45;
      return [svg('line', { x1: service, x2: end, y1: y, y2: y, class: 'arrow broken' }), cross(end, y)];
    }
    case SHAPE.unheard: {
      if (!both) return [];
      const end = caller + (service - caller) * 0.45;
      return [svg('line', { x1: caller, x2: end, y1: y, y2: y, class: 'arrow broken' }), cross(end, y)];
    }
    case SHAPE.commit:
      return [svg('path', { d: `M${at} ${y - 10}l10 10l-10 10l-10 -10z`, class: 'commit' })];
    case SHAPE.fault:
      return [svg('path', { d: `M${at + 3} ${y - 10}l-9 11h6l-3 9l10 -12h-6z`, class: 'fault' })];
    case SHAPE.cut:
      return [svg('path', { d: `M${at - 14} ${y + 5}l28 -10m-28 16l28 -10`, class: 'cut' })];
    case SHAPE.claim:
      return [svg('path', { d: `M${at - 13} ${y - 9}h26v15h-16l-5 6v-6h-5z`, class: 'claim' })];
    case SHAPE.end:
      return [svg('rect', { x: at - 9, y: y - 3, width: 18, height: 5, class: 'dot' })];
    default:
      return [svg('circle', { cx: at, cy: y, r: 4, class: 'dot' })];
  }
}

const SOFT = [SHAPE.start, SHAPE.end, SHAPE.note];
const BAD = [SHAPE.broken, SHAPE.unheard, SHAPE.cut, SHAPE.fault];

function describeItem(trial, item) {
  const lane = (place) => (place ? text(trial.lanes[place - 1][1]) : '');
  const who = [lane(item[3]), lane(item[4])].filter(Boolean).join(' and ');
  const detail = text(item[7]);
  return `Entry ${item[1]}, ${clock(item[2])}${who ? ', ' + who : ''}: ${text(item[6])}${detail ? '. ' + detail : ''}`;
}

// The whole drawing. `show` is called with the text of an entry when it gets the focus, `open` with the item when it is selected.
function drawTimeline(trial, width, { show, open }) {
  const plan = layout(trial, width);
  const root = svg('svg', { width: plan.width, height: plan.height, viewBox: `0 0 ${plan.width} ${plan.height}`, role: 'list', 'aria-label': 'Timeline' });
  root.append(...lanes(trial, plan));
  trial.items.forEach((item, place) => {
    const { y, top, height, gap, lines } = plan.rows[place];
    const soft = SOFT.includes(item[0]) ? ' soft' : BAD.includes(item[0]) ? ' bad' : item[0] === SHAPE.claim ? ' claimed' : '';
    const words = describeItem(trial, item);
    const first = plan.isBeside ? y + 4 : y + ROW - 4;
    const row = svg(
      'g',
      { class: 'row', role: 'listitem', tabindex: place === 0 ? '0' : '-1', 'data-n': item[1], 'aria-label': words },
      svg('rect', { x: 0, y: top, width: plan.width, height, class: 'band' }),
      // The lanes do not cross out the text.
      ...(plan.isBeside ? [] : [svg('rect', { x: plan.words - 2, y: first - 13, width: Math.max(...lines.map((line) => line.length)) * CHARACTER, height: lines.length * LINE, class: 'behind' })]),
      svg('path', { d: `M4 ${first - 10}l9 6l-9 6z`, class: 'flag' }),
      ...(plan.isBeside ? [svg('text', { x: TIME - 8, y: y + 4, class: 'time' }, clock(item[2]))] : []),
      ...marks(item, plan.xs, y),
      svg('text', { x: plan.words, y: first, class: 'words' + soft }, ...lines.map((line, at) => svg('tspan', { x: plan.words, y: first + at * LINE }, line))),
    );
    row.addEventListener('mouseenter', () => show(words));
    row.addEventListener('focus', () => show(words));
    row.addEventListener('click', () => open(item));
    row.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      open(item);
    });
    root.append(row);
    if (gap) root.append(svg('text', { x: plan.isBeside ? TIME - 8 : plan.words, y: top - 6, class: plan.isBeside ? 'gap' : 'gap start' }, (gap / 1e6).toFixed(2) + ' s later'));
  });
  root.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest('.row');
    if (!step || !row) return;
    const rows = [...root.querySelectorAll('.row')];
    const next = rows[rows.indexOf(row) + step];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    row.setAttribute('tabindex', '-1');
    next.setAttribute('tabindex', '0');
    next.focus();
  });
  const drawing = document.createElement('div');
  drawing.append(heads(trial, plan), root);
  return drawing;
}

// Highlights the entries of a finding.
function lightEntries(drawing, entries) {
  const lit = new Set(entries);
  let first = null;
  for (const row of drawing.querySelectorAll('.row')) {
    const is = lit.has(Number(row.dataset.n));
    row.classList.toggle('lit', is);
    if (is && !first) first = row;
  }
  return first;
}
