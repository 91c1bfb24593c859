// result.js - one result as a panel: what the numbers say, the text or picture they belong to, and what can be done with
// it. It draws what the document has and computes none of it.
import {make, put, plain, read, figure, scoreWords, textOf, bytesOf, UNITS} from './shown.js';
import {promptBox, layScores, largestOf, legend, table, walk} from './words.js';
import {HeatMap, mapOf} from './picture.js';

const TABLE_MOST = 20000; // elements of a value that are sorted for a table

function numbers(rows) {
  const dl = make('dl');
  for (const [name, value] of rows) {
    if (value === undefined || value === null || value === '') continue;
    dl.append(make('dt', '', name));
    put(dl.appendChild(make('dd')), value);
  }
  return dl;
}

function banners(root, list, converged) {
  if (!converged) {
    const b = make('div', 'banner');
    b.setAttribute('role', 'note');
    b.append(make('strong', '', 'NOT CONVERGED'), 'These scores may be noise: the error is over the tolerance asked for.');
    root.append(b);
  }
  for (const w of list || []) {
    const b = make('div', 'banner');
    b.setAttribute('role', 'note');
    put(b, w);
    root.append(b);
  }
}

const passWords = (f, b) => f + (f === 1 ? ' forward pass' : ' forward passes') + ', ' + b + (b === 1 ? ' backward pass' : ' backward passes');

const quoted = (v) => '\u201c' + plain(read(textOf(bytesOf(v)))) + '\u201d';

const nameShort = (v) => {
  const t = typeof v === 'string' ? v : textOf(bytesOf(v));
  return [...t].length > 80 ? [...t].slice(0, 79).join('') + '\u2026' : t;
};

export const isNet = (doc) => doc.kind === 'ascribe-net-result';

export function titleOf(doc) {
  if (isNet(doc)) return 'What drove ' + plain(doc.target?.words || 'the output');
  if (doc.encoder?.similar_to) return 'What drove the similarity with \u201c' + plain(nameShort(doc.encoder.similar_to)) + '\u201d';
  const rest = doc.versus ? ' rather than ' + quoted(doc.versus) : '';
  const isClass = doc.encoder && (doc.encoder.answer ?? 'class') === 'class' && !doc.neuron;
  return 'What drove ' + (isClass ? 'the class ' : '') + quoted(doc.target) + rest;
}

// The panel of a text: prompt with colours. `onPart(i)`: somebody picked feature i.
export class TextPanel {
  constructor(doc, onPart) {
    this.doc = doc;
    this.unit = UNITS[doc.target.output] || '';
    this.largest = largestOf(doc);
    this.root = make('div', 'panel');
    banners(this.root, doc.warnings, doc.converged);
    this.note = make('p', 'sub');
    this.box = promptBox(doc, 'The prompt; each part tells its score');
    walk(this.box, onPart && ((e) => onPart(Number(e.dataset.f), e)));
    this.legend = make('div');
    this.totals = make('div'); // they speak of the whole answer
    this.totals.append(this.summary(), this.list());
    this.root.append(this.note, this.box, this.legend, this.totals);
    this.whole();
  }

  summary() {
    const d = this.doc, unit = this.unit ? ' ' + this.unit : '';
    const passes = d.evaluations ? passWords(d.evaluations.forward, d.evaluations.backward) + ', ' : '';
    return numbers([
      ['Method', d.method.name + (d.baseline && d.baseline !== 'none' ? ', absent parts: ' + d.baseline : '')],
      ['Explained', figure(d.value, 6) + unit + (d.baseline_value !== null ? '; at the baseline ' + figure(d.baseline_value, 6) : '')],
      ['Sum of scores', figure(d.sum, 6, true) + unit],
      ['Largest error', figure(d.error_bound, 3) + (d.stochastic ? ' (standard error)' : '')],
      ['Cost', passes + figure(d.seconds, 3) + ' s on ' + d.device + ', ' + d.precision],
    ]);
  }

  list() {
    return table(this.doc.features.map((f) => ({name: read(textOf(bytesOf(f))), score: f.score, error: f.error})), this.unit);
  }

  // One row of scores; of a part of the answer, unless it says `whole`.
  lay(scores, errors, largest, note, whole) {
    this.totals.hidden = !whole;
    layScores(this.box, this.doc, scores, errors, largest, this.unit);
    this.legend.replaceChildren(legend(largest, this.unit));
    this.note.textContent = note || '';
    this.note.hidden = !note;
  }

  whole() {
    this.rescale(this.largest);
  }

  rescale(largest) {
    const f = this.doc.features;
    this.lay(f.map((x) => x.score), f.map((x) => x.error), largest, '', true);
  }

  press(e) {
    for (const p of this.box.querySelectorAll('.f')) p.setAttribute('aria-pressed', String(p === e));
  }
}

function elementName(i, shape) {
  const at = [];
  for (let d = shape.length - 1; d >= 0; d--) {
    at.unshift(i % shape[d]);
    i = Math.floor(i / shape[d]);
  }
  if (at.length > 1 && shape[0] === 1) at.shift();
  return at.join(', ');
}

// The panel of a net: a map where the scores have rows and columns, and a table.
export class NetPanel {
  constructor(doc, picture, config) {
    this.doc = doc;
    this.unit = '';
    this.maps = [];
    this.root = make('div', 'panel');
    if (doc.top?.length) {
      const says = doc.top.map((t) => plain(t.label ?? 'number ' + t.index) + ' ' + figure(t.value, 4));
      this.root.append(numbers([['The model says', says.join(', ')]]));
    }
    for (const r of doc.results) this.one(r, picture, config);
    this.largest = Math.max(0, ...this.maps.map((m) => m.map.largest));
  }

  one(r, picture, config) {
    banners(this.root, r.notes, r.converged);
    for (const s of r.scores) {
      const map = mapOf(s, config.picture?.nhwc && s.name === config.picture.input);
      if (map) {
        const heat = new HeatMap(map, picture, config.picture, r.method + ' of ' + plain(s.name));
        this.maps.push(heat);
        this.root.append(heat.root);
      }
      if (s.data.length > TABLE_MOST) {
        this.root.append(make('p', 'sub', s.data.length + ' scores; all of them are in the JSON.'));
        continue;
      }
            this.root.append(table(s.data.map((v, i) => ({
        name: elementName(i, s.shape), score: v, error: s.error ? s.error[i] : NaN,
      })), '', !map));
    }
    const list = (v) => (v ? v.map((x) => figure(x, 6)).join(', ') : null);
    this.root.append(numbers([
      ['Method', r.method],
      ['Explained', list(r.value)],
      ['At the baseline', list(r.baseline_value)],
      ['Left over', r.complete ? list(r.delta) : null],
      ['Largest error', figure(r.error_bound, 3) + (r.stochastic ? ' (standard error)' : '')],
      ['Cost', passWords(r.forward_passes, r.backward_passes) + ', ' + figure(r.seconds, 3) + ' s'],
    ]));
  }

  whole() {
    for (const m of this.maps) m.rescale(m.map.largest);
  }

  rescale(largest) {
    for (const m of this.maps) m.rescale(largest);
  }
}

export function panelOf(entry, config, onPart) {
  return isNet(entry.doc) ? new NetPanel(entry.doc, entry.picture, config) : new TextPanel(entry.doc, onPart);
}

export {scoreWords};
