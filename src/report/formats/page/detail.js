// The details of a case: findings, timeline, requests and replies, claims, output, and how to run it again.

// A button that copies a text, and says so.
function copyButton(label, read) {
  const button = el('button', { type: 'button', class: 'copy' }, label);
  button.addEventListener('click', async () => {
    const isCopied = await copy(read());
    button.textContent = isCopied ? '✓ copied' : '✗ not copied: select the text';
    setTimeout(() => { button.textContent = label; }, 2000);
  });
  return button;
}

async function copy(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    // A page that was opened from a file may have no clipboard of its own.
    const field = el('textarea', { class: 'offscreen', 'aria-hidden': 'true' });
    field.value = words;
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand('copy');
    field.remove();
    return isCopied;
  }
}

function linkTo(found, trial) {
  const several = found.trials && found.trials.length > 1 && trial ? { trial: trial.trial } : {};
  return location.href.split('#')[0] + '#' + hashOf({ case: text(found.id), ...several });
}

function skippedDetail(skipped) {
  return [el('h3', { id: 'detail-title', tabindex: '-1' }, text(skipped.id)), el('p', {}, ...withCode('Skipped: ' + text(skipped.why)))];
}

function milliseconds(number) {
  return number < 1000 ? `${number} ms` : `${(number / 1000).toFixed(1)} s`;
}

function caseDetail(found, state) {
  const trials = found.trials;
  const wanted = trials.findIndex((trial) => String(trial.trial) === state.trial);
  const worst = trials.findIndex((trial) => trial.result === found.result);
  const trial = trials[wanted >= 0 ? wanted : Math.max(worst, 0)];
  const nodes = [
    el('h3', { id: 'detail-title', tabindex: '-1' }, text(found.id)),
    el('p', { class: 'actions' }, copyButton('Copy link', () => linkTo(found, trial)), trial ? copyButton('Copy replay command', () => text(trial.replay)) : null),
    el('p', {}, ...withCode(text(found.about))),
    el('p', { class: 'faint' }, 'Task: ' + text(found.task)),
    found.faults.length ? el('p', { class: 'faint' }, 'Fault: ', el('span', { class: 'mono' }, found.faults.map(text).join('; '))) : null,
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
  if (found.more) nodes.push(moreTrials(found));
  nodes.push(...(trial ? trialDetail(found, trial, state) : [el('p', {}, 'No trial of this case was finished.')]));
  nodes.push(controls(found), el('p', { class: 'place-in-file faint' }, el('span', { class: 'mono' }, text(found.place)), ' ', found.tags.map((tag) => el('span', { class: 'tag' }, text(tag)))));
  return nodes.filter(Boolean);
}

// Of a large run, most trials are in files beside the page, which are loaded when they are asked for.
function moreTrials(found) {
  const shows = `\`hapax report show DIR ${text(found.id)}\` shows all.`;
  const [place, next] = [DATA.cases.indexOf(found), (found.loaded || 0) + 1];
  if (next > (found.files || 0)) return el('p', {}, ...withCode(`${found.more} more trials of this case are not on this page; ${shows}`));
  const file = `trials/${place}-${next}.js`;
  const missing = () => button.replaceWith(...withCode(`${found.more} more trials of this case are in files that are not beside this page, such as ${file}; ${shows}`));
  const load = () => {
    button.disabled = true;
    document.body.append(el('script', { src: file, onerror: missing }));
  };
  const button = el('button', { type: 'button', class: 'more', onclick: load }, `Load more of this case (${found.more} trials are not shown)`);
  return el('p', {}, button);
}

// Called by the files beside the page.
function addTrials(place, first, texts, trials) {
  texts.forEach((words, index) => { DATA.texts[first + index] = words; });
  const found = DATA.cases[place];
  found.trials = [...found.trials, ...trials].sort((one, other) => one.trial - other.trial);
  found.more -= trials.length;
  found.loaded = (found.loaded || 0) + 1;
  drawn = null;
  apply();
}

function trialDetail(found, trial, state) {
  const findings = trial.findings || [];
  const chosen = Math.min(Number(state.finding || 0), Math.max(findings.length - 1, 0)) || 0;
  const entry = el('output', { class: 'entry', 'aria-live': 'polite' }, 'Point at a line, or move to it with the arrow keys, to see its entry. Select it to see the request and the reply.');
  const exchange = el('div', { class: 'exchange' });
  const frame = el('div', { class: 'drawing', tabindex: '0', role: 'region', 'aria-label': 'Timeline' });
  let lit = findings.length ? findings[chosen].entries : [];
  const draw = () => {
    const wanted = Math.floor(frame.clientWidth || detail.clientWidth || 600);
    frame.replaceChildren(drawTimeline(trial, wanted, {
      show: (words) => { entry.textContent = words; },
      open: (item) => exchange.replaceChildren(...exchangeOf(trial, item)),
    }));
    return lightEntries(frame, lit);
  };
  const button = (finding, place) => el(
    'button',
    { type: 'button', class: finding.fails ? 'finding fails' : 'finding', 'aria-pressed': String(place === chosen), onclick: () => choose(place) },
    el('strong', { class: finding.fails ? 'fail' : '' }, (finding.fails ? '✗ ' : 'noted: ') + finding.kind), ' ', ...withCode(text(finding.message)),
    el('span', { class: 'fix' }, el('strong', {}, 'Fix: '), ...withCode(text(finding.fix))),
  );
  const buttons = findings.map(button);
  const choose = (place) => {
    buttons.forEach((one, other) => one.setAttribute('aria-pressed', String(other === place)));
    lit = findings[place].entries;
    reveal(frame, lightEntries(frame, lit));
    drawn = JSON.stringify([text(found.id), String(trial.trial), String(place)]);
    writeState({ case: text(found.id), trial: String(trial.trial), finding: String(place) });
  };
  if (trial.items.length) watchWidth(frame, draw, (first) => reveal(frame, first));
  return [
    el('p', { class: 'outcome ' + trial.result }, el('strong', {}, `${MARK[trial.result]} ${trial.result}: ${text(trial.headline)}`), el('span', { class: 'faint' }, ` in ${milliseconds(trial.took)}`)),
    ...(trial.void || []).map((why) => el('p', { class: 'warning' }, ...withCode('Void: ' + text(why)))),
    ...(trial.torn === undefined ? [] : [el('p', { class: 'warning' }, 'The ledger is incomplete: ' + text(trial.torn))]),
    ...buttons,
    el('h4', {}, 'What happened'),
    trial.items.length ? frame : el('p', {}, ...withCode('This page has no timeline of this trial; `hapax report show` shows it.')),
    trial.items.length ? entry : null,
    trial.items.length ? exchange : null,
    trial.left_out ? el('p', { class: 'faint' }, ...withCode(`${trial.left_out} entries are not drawn; \`hapax report show\` shows them.`)) : null,
    findings.length ? el('details', { class: 'legend' }, el('summary', {}, 'How to read it'), el('p', {}, 'Time runs from top to bottom. Highlighted lines, marked ▸, prove the selected finding. The bolt is the fault that hapax injected, ◆ is what the service committed, and a broken arrow is a reply that did not arrive.')) : null,
    el('h4', {}, 'Claims'),
    ...claims(trial),
    ...(trial.output || []).flatMap(output),
    el('details', { class: 'facts' }, el('summary', {}, 'All facts'), el('table', {}, el('tbody', {}, trial.facts.map(([name, fact]) => el('tr', {}, el('th', { scope: 'row' }, text(name)), el('td', {}, text(fact))))))),
    el('h4', {}, 'Replay'),
    el('code', { class: 'again' }, text(trial.replay)),
    DATA.cut ? el('p', { class: 'faint' }, 'Long texts of this run are shortened; report.json has them in full.') : null,
  ].filter(Boolean);
}

// Draws when the frame is in the page, and again when its width changes much.
function watchWidth(frame, draw, done) {
  let width = 0;
  const watcher = new ResizeObserver(() => {
    if (!frame.isConnected) return watcher.disconnect();
    if (!frame.clientWidth || Math.abs(frame.clientWidth - width) < 24) return;
    width = frame.clientWidth;
    draw();
  });
  waiting = () => {
    width = frame.clientWidth;
    done(draw());
    watcher.observe(frame);
  };
}

// Scrolls to the first highlighted entry, without moving the page.
function reveal(frame, row) {
  if (row) frame.scrollTop = Math.max(0, Number(row.querySelector('.band').getAttribute('y')) - 60);
}

// The request, the effect and the reply of an attempt, as the ledger has them.
function exchangeOf(trial, item) {
  const own = item[5] ? trial.items.filter((other) => other[5] === item[5]) : [item];
  const parts = own.filter((one) => one[8]).map((one) => {
    const pairs = [];
    for (let place = 0; place < one[8].length; place += 2) pairs.push([text(one[8][place]), text(one[8][place + 1])]);
    return el('section', {},
      el('h5', {}, `Entry ${one[1]}: ${text(one[6])}`),
      el('table', {}, el('tbody', {}, pairs.map(([name, value]) => el('tr', {}, el('th', { scope: 'row' }, name), el('td', { class: 'mono' }, value.includes('\n') ? el('pre', { tabindex: '0' }, indented(value)) : value))))));
  });
  if (!parts.length) return [el('p', { class: 'faint' }, 'The ledger has nothing else about this entry.')];
  return [
    ...parts,
    el('p', { class: 'faint' }, 'Secrets are redacted, and long bodies are cut. This page has headers and bodies of the worst cases; ledger.jsonl has those of the others.'),
  ];
}

// A message whose body is JSON, with the body indented.
function indented(message) {
  const [head, ...rest] = message.split('\n\n');
  try {
    return `${head}\n\n${JSON.stringify(JSON.parse(rest.join('\n\n')), null, 2)}`;
  } catch {
    return message;
  }
}

// Callers with the same claim share a line.
function claims(trial) {
  if (!trial.claims.length) return [el('p', {}, 'Nothing.')];
  const all = new Map();
  for (const [caller, ...rest] of trial.claims) {
    const same = JSON.stringify(rest);
    all.set(same, [...(all.get(same) || []), caller]);
  }
  const lines = [...all].map(([same, callers]) => [callers, ...JSON.parse(same)]);
  return lines.map(([callers, outcome, message, honesty, start]) => el('p', {}, `${callers.length > 1 ? 'Callers' : 'Caller'} ${callers.join(', ')}${start ? `, in start ${start},` : ''} ${outcome === 'missing' ? 'made no claim' : 'claimed '}`, outcome === 'missing' ? null : el('strong', {}, outcome), text(message) ? ` “${text(message)}”: ` : ': ', el('strong', { class: honesty === 'honest' ? 'pass' : 'fail' }, (honesty === 'honest' ? '✓ ' : '✗ ') + honesty)));
}

// The standard error of a start that ended badly is open: it has the reason.
function output([caller, start, stdout, stderr, cut, isBad]) {
  return [['stdout', stdout], ['stderr', stderr]].filter(([, place]) => text(place)).map(([name, place]) => el(
    'details', { class: 'output', open: isBad && name === 'stderr' },
    el('summary', {}, `${name} of caller ${caller}, start ${start}${isBad ? ', which ended badly' : ''}${cut ? `, ${cut} bytes cut out` : ''}`),
    el('pre', { tabindex: '0' }, text(place)),
  ));
}

function controls(found) {
  if (!found.controls) return null;
  const row = ([name, outcome, result, does]) => el('tr', {}, el('th', { scope: 'row' }, text(name)), el('td', { class: result }, `${MARK[result]} ${outcome}`), el('td', {}, does));
  return el('details', { class: 'controls' },
    el('summary', {}, 'What the controls do in this case'),
    el('p', { class: 'faint' }, 'Controls are agents that hapax ships. Their outcome in each case is known in advance: they show that the case can be passed, and which behavior yours resembles. They did not run here; `hapax selftest` runs them.'),
    el('table', {}, el('tbody', {}, found.controls.map(row))));
}
