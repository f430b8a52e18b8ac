// Draws the timeline of a trial as SVG: lanes for callers and services, time goes down. It takes data and returns an element.

const SHAPE = { start: 0, request: 1, refused: 2, fault: 3, commit: 4, reply: 5, broken: 6, cut: 7, end: 8, claim: 9, note: 10 };
const ROW = 30;
const TOP = 44;
const LEFT = 96;

function svg(name, attributes, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function seconds(microseconds) {
  return (microseconds / 1e6).toFixed(3) + ' s';
}

// The text beside an item. Keys, ids and long details are shortened; the entry shows them in full.
function wordsOf(item) {
  const detail = text(item[7]).replace(/([\w-]{6})[\w-]{14,}/g, '$1…');
  const line = text(item[6]) + (detail && item[0] !== SHAPE.reply ? '  ' + detail : '');
  return line.length > 90 ? line.slice(0, 89) + '…' : line;
}

// The position of each lane, and the height of the drawing.
function layout(trial) {
  const step = trial.lanes.length > 6 ? 64 : 150;
  const xs = trial.lanes.map((_, place) => LEFT + step / 2 + place * step);
  const words = LEFT + trial.lanes.length * step + 16;
  let y = 0;
  let before = null;
  const rows = trial.items.map((item) => {
    const waited = before === null ? 0 : item[2] - before;
    before = item[2];
    const gap = waited >= 100000 ? waited : 0;
    y += gap ? ROW * 1.6 : ROW;
    return { y, gap };
  });
  const longest = trial.items.reduce((most, item) => Math.max(most, wordsOf(item).length), 0);
  return { xs, words, rows, width: words + Math.max(220, longest * 8.2), height: y + ROW };
}

// The names of the lanes, which stay visible.
function heads(trial, plan) {
  const drawn = trial.lanes.flatMap(([kind, label], lane) => {
    const name = text(label);
    const at = { x: plan.xs[lane], class: 'head' };
    return [
      svg('text', { ...at, y: 20 }, trial.lanes.length > 6 ? name.replace('caller ', '#') : name),
      svg('text', { ...at, y: 36, class: 'head under' }, kind ? 'service' : 'subject'),
    ];
  });
  return svg('svg', { width: plan.width, height: TOP, viewBox: `0 0 ${plan.width} ${TOP}`, class: 'heads', 'aria-hidden': 'true' }, ...drawn);
}

// A caller that is dead or not yet started has a dotted lane.
function lanes(trial, plan) {
  const drawn = [];
  trial.lanes.forEach(([kind], lane) => {
    const x = plan.xs[lane];
    let from = 0;
    let alive = kind === 1 || !trial.items.some((item) => item[0] === SHAPE.start && item[3] === lane + 1);
    const until = (y) => {
      if (y > from) drawn.push(svg('line', { x1: x, x2: x, y1: from, y2: y, class: alive ? 'lane' : 'lane away' }));
      from = y;
    };
    trial.items.forEach((item, place) => {
      if (kind === 1 || item[3] !== lane + 1) return;
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
const BAD = [SHAPE.broken, SHAPE.cut, SHAPE.fault];

function describeItem(trial, item) {
  const lane = (place) => (place ? text(trial.lanes[place - 1][1]) : '');
  const who = [lane(item[3]), lane(item[4])].filter(Boolean).join(' and ');
  const detail = text(item[7]);
  return `Entry ${item[1]}, ${seconds(item[2])}${who ? ', ' + who : ''}: ${text(item[6])}${detail ? '. ' + detail : ''}`;
}

// The whole drawing. `show` is called with the text of an entry when it gets the focus.
function drawTimeline(trial, show) {
  const plan = layout(trial);
  const root = svg('svg', { width: plan.width, height: plan.height, viewBox: `0 0 ${plan.width} ${plan.height}`, role: 'list', 'aria-label': 'Timeline' });
  root.append(...lanes(trial, plan));
  trial.items.forEach((item, place) => {
    const { y, gap } = plan.rows[place];
    const soft = SOFT.includes(item[0]) ? ' soft' : BAD.includes(item[0]) ? ' bad' : item[0] === SHAPE.claim ? ' claimed' : '';
    const words = describeItem(trial, item);
    const row = svg(
      'g',
      { class: 'row', role: 'listitem', tabindex: place === 0 ? '0' : '-1', 'data-n': item[1], 'aria-label': words },
      svg('rect', { x: 0, y: y - ROW / 2, width: plan.width, height: ROW, class: 'band' }),
      svg('path', { d: `M4 ${y - 6}l9 6l-9 6z`, class: 'flag' }),
      svg('text', { x: LEFT - 8, y: y + 4, class: 'time' }, seconds(item[2])),
      ...marks(item, plan.xs, y),
      svg('text', { x: plan.words, y: y + 4, class: 'words' + soft }, wordsOf(item)),
    );
    row.addEventListener('mouseenter', () => show(words));
    row.addEventListener('focus', () => show(words));
    root.append(row);
    if (gap) root.append(svg('text', { x: LEFT - 8, y: y - ROW * 0.75, class: 'gap' }, (gap / 1e6).toFixed(2) + ' s later'));
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
