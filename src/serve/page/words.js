// words.js - text whose parts carry scores: colours, tips, and moving among the parts with the arrow keys.
import {make, put, plain, read, textOf, bytesOf, step, colour, scoreWords, figure} from './shown.js';

export function paint(e, score, largest) {
  e.classList.remove(...[...e.classList].filter((c) => /^[np][1-8]$/.test(c)));
  const c = colour(step(score, largest));
  if (c) e.classList.add(c);
}

export function tip(e, text) {
  e.setAttribute('aria-label', text);
  e.dataset.tip = text;
}

// One stop of the tab key for a whole text; arrows, Home and End move inside. `pick` is called with a part by click,
// Enter and the space bar.
export function walk(box, pick) {
  const parts = () => [...box.querySelectorAll('.f')];
  const at = (e) => e.target.closest?.('.f');
  const stop = (e) => {
    for (const p of parts()) p.tabIndex = p === e ? 0 : -1;
  };
  box.addEventListener('focusin', (ev) => {
    const e = at(ev);
    if (e) stop(e);
  });
  box.addEventListener('click', (ev) => {
    const e = at(ev);
    if (e && pick) pick(e);
  });
  box.addEventListener('keydown', (ev) => {
    const e = at(ev);
    if (!e || ev.ctrlKey || ev.metaKey || ev.altKey) return;
    if (pick && (ev.key === 'Enter' || ev.key === ' ')) {
      ev.preventDefault();
      pick(e);
      return;
    }
    const all = parts(), i = all.indexOf(e);
    const to = {ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: all.length - 1}[ev.key];
    if (to === undefined) return;
    ev.preventDefault();
    all[to]?.focus();
  });
}

// The first part is where the tab key enters.
export function enter(box) {
  [...box.querySelectorAll('.f')].forEach((e, i) => {
    e.tabIndex = i ? -1 : 0;
  });
}

// Where the features of a result lie in its text, in order: {from, end, feature}, in bytes.
function places(doc) {
  const all = [];
  doc.features.forEach((f, feature) => {
    for (const [from, end] of f.parts || [[f.start, f.end]]) if (from < end) all.push({from, end, feature});
  });
  return all.sort((a, b) => a.from - b.from);
}

export const largestOf = (doc) => Math.max(0, ...doc.features.map((f) => Math.abs(f.score) || 0));

const byToken = (doc) => doc.method.options?.features === 'token' || doc.request?.features === 'token';

// Text that is no feature: blanks, and what a chat template adds.
function frame(box, text) {
  if (/^[ ]*$/.test(text)) box.append(text);
  else box.append(put(make('span', 'frame'), text, true));
}

// The prompt with its features; elements carry data-f, the number of the feature.
export function promptBox(doc, what) {
  const box = make('div', 'text');
  const bytes = bytesOf(doc.prompt);
  let pos = 0;
  box.dir = 'auto';
  box.setAttribute('role', 'group');
  box.setAttribute('aria-label', what);
  for (const p of places(doc)) {
    if (p.from < pos || p.end > bytes.length) continue;
    let from = p.from;
    if (!byToken(doc)) while (from < p.end - 1 && bytes[from] === 0x20) from++;
    frame(box, textOf(bytes.subarray(pos, from)));
    const e = make('span', 'f');
    e.dataset.f = p.feature;
    e.setAttribute('role', 'button');
    put(e, textOf(bytes.subarray(from, p.end)), true);
    box.append(e);
    pos = p.end;
  }
  frame(box, textOf(bytes.subarray(pos)));
  enter(box);
  return box;
}

// Lays one row of scores over the prompt: score(i) and error(i) of feature i.
export function layScores(box, doc, scores, errors, largest, unit) {
  for (const e of box.querySelectorAll('.f')) {
    const i = Number(e.dataset.f), f = doc.features[i];
    paint(e, scores[i], largest);
    tip(e, '\u201c' + plain(read(textOf(bytesOf(f)))) + '\u201d ' + scoreWords(scores[i], errors?.[i] ?? NaN, unit));
  }
}

export function legend(largest, unit, towards = 'towards', against = 'against') {
  const line = make('div', 'legend'), scale = make('span', 'scale');
  scale.setAttribute('role', 'img');
  scale.setAttribute('aria-label', 'scale from blue, against, to orange, towards');
  for (let k = -8; k <= 8; k++) scale.append(make('span', colour(k)));
  line.append(make('span', '', figure(-largest, 3, true) + ' ' + against + ' (dashed)'), scale,
    make('span', '', towards + ' ' + figure(largest, 3, true) + (unit ? ' ' + unit : '')));
  return line;
}

const MOST_ROWS = 500;

// A bar from the middle to one side, as long as the score is large.
function bar(score, largest) {
  const box = make('span', 'bar'), b = make('span', score < 0 ? 'neg' : 'pos');
  box.setAttribute('aria-hidden', 'true');
  b.style.width = Number.isFinite(score) && largest > 0 ? Math.min(50, (50 * Math.abs(score)) / largest) + '%' : '0';
  box.append(b);
  return box;
}

// All scores, largest first: what screen readers and printers want; open where nothing else shows them.
export function table(rows, unit, open) {
  const box = make('details'), t = make('table'), head = make('tr'), body = make('tbody');
  box.open = Boolean(open);
  box.append(make('summary', '', rows.length === 1 ? 'The one score' : 'All ' + rows.length + ' scores'));
  for (const [i, h] of ['part', 'score' + (unit ? ', ' + unit : ''), 'error', 'against | towards'].entries()) {
    const th = make('th', ['', 'num', 'num', 'wide'][i], h);
    th.scope = 'col';
    head.append(th);
  }
  const order = [...rows].sort((a, b) => (Math.abs(b.score) || 0) - (Math.abs(a.score) || 0)).slice(0, open ? 60 : MOST_ROWS);
  const largest = Math.abs(order[0]?.score) || 0;
  for (const r of order) {
    const tr = make('tr'), name = make('td', 't'), last = make('td', 'wide');
    put(name.appendChild(make('bdi', 'piece')), r.name);
    last.append(bar(r.score, largest));
    tr.append(name, make('td', 'num', figure(r.score, 6, true)), make('td', 'num', figure(r.error, 3)), last);
    body.append(tr);
  }
  const thead = make('thead');
  thead.append(head);
  t.append(thead, body);
  if (order.length < rows.length) box.append(make('p', 'sub', 'The ' + order.length + ' largest; the rest is in the JSON.'));
  const scroll = make('div', 'scroll');
  scroll.append(t);
  box.append(scroll);
  return box;
}
