// page.js - the page: form, answer, result, history. Everything it shows of others goes through textContent.
import {make, put, plain, figure, hiddenIn, UNITS, read, textOf, bytesOf} from './shown.js';
import {Failure, call, onToken, setToken} from './server.js';
import {begin, cancel, current, ended, explain, generate} from './explain.js';
import {questionOf, questionFrom, nameOf} from './question.js';
import {panelOf, titleOf, isNet} from './result.js';
import {Answer, probability, tokensOf} from './answer.js';
import {Compare} from './compare.js';
import {readPicture} from './picture.js';

const ANSWER_TOKENS = 48; // what the model may write unless somebody says otherwise

const $ = (id) => document.getElementById(id);
const form = $('ask'), kind = document.body.dataset.kind;
const state = {config: null, picture: null, entry: null, panel: null, entries: [], compare: null, asked: ''};

// ---- telling ----------------------------------------------------------------------------------------------------

let said = 0;
function say(text, often) { // often: progress; a screen reader hears it every few seconds
  if (often && performance.now() - said < 4000) return;
  said = performance.now();
  $('live').textContent = text;
}

function fault(e) {
  const box = $('fault');
  box.replaceChildren();
  if (!e) return;
  if (e.name === 'AbortError') {
    say('Cancelled.');
    box.append(make('p', 'banner', 'Cancelled.'));
    return;
  }
  const b = make('div', 'banner bad');
  const named = e.param && !e.message.includes(e.param); // a message that names it says it better
  put(b.appendChild(make('strong')), (named ? plain(e.param).replaceAll('_', ' ') + ': ' : '') + e.message);
  if (e.hint) put(b, e.hint);
  box.append(b);
  const field = e.param && (form.elements[e.param] || (/^(prompt|text|user|messages)$/.test(e.param) && $('q')));
  if (field?.focus) {
    field.closest('details')?.setAttribute('open', '');
    field.setAttribute('aria-invalid', 'true');
    field.focus();
  } else {
    b.tabIndex = -1;
    b.focus();
  }
}

function progress({what, done, total}) {
  const bar = $('bar'), known = total > 0;
  if (known) {
    bar.max = total;
    bar.value = done;
  } else {
    bar.removeAttribute('value');
  }
  const text = (what || 'working') + (known ? ': ' + Math.min(100, Math.round((100 * done) / total)) + ' %' : '');
  $('what').textContent = plain(text);
  say(text, true);
}

// Runs one piece of work with its bar and its button; undefined if it was cancelled or failed.
async function during(what, body) {
  const work = begin();
  work.onWaiting = (n) => progress({what: n > 0 ? 'waiting; before this one: ' + n : what});
  fault(null);
  for (const e of form.querySelectorAll('[aria-invalid]')) e.removeAttribute('aria-invalid');
  $('doing').hidden = false;
  $('go').disabled = $('again').disabled = true;
  progress({what});
  try {
    return await body(work);
  } catch (e) {
    if (!work.replaced) fault(e);
    return undefined;
  } finally {
    if (current(work)) {
      ended(work);
      $('doing').hidden = true;
      $('go').disabled = $('again').disabled = false;
    }
  }
}

// ---- the answer ---------------------------------------------------------------------------------------------------

const answer = new Answer($('answer'), (word, e) => aboutWord(word, e));

// A word of the answer: its row of the matrix where it is one token, else a question about its tokens.
async function aboutWord(word, e) {
  const entry = state.whole;
  if (!entry) return;
  const back = e.getAttribute('aria-pressed') === 'true';
  answer.press(back ? null : e);
  answer.plainAgain();
  $('said-note').textContent = state.saidNote;
  if (back) {
    show(entry, false);
    say(titleOf(entry.doc) + ' is shown.');
    return;
  }
  const row = word.end - word.from === 1 ? entry.doc.answer_tokens?.[word.from] : null;
  if (row) {
    show(entry, false);
    const unit = UNITS[entry.doc.target.output] || '';
    state.panel.lay(row.scores, row.errors, largestRow(entry.doc), '');
    heading('What drove \u201c' + plain(read(word.text)) + '\u201d', figure(row.value, 6) + (unit ? ' ' + unit : '') +
      ' is its value behind the words before it. Pick it again for the whole answer.');
    say('What drove ' + plain(read(word.text)) + ' is shown in the prompt.');
    return;
  }
  const q = {...entry.question, span: word.from + ':' + word.end};
  delete q.per_token;
  const name = plain(read(word.text));
  const found = await ask(q, null, 'what drove \u201c' + name + '\u201d', name);
  if (!found) return;
  show(found, false);
  say('What drove ' + name + ' is shown in the prompt.');
}

const largestRow = (doc) => {
  let m = 0;
  for (const r of doc.answer_tokens) for (const s of r.scores) if (Math.abs(s) > m) m = Math.abs(s);
  return m;
};

// A word of the prompt: its column, laid over the answer.
function aboutPart(i, e) {
  const doc = state.entry.doc, rows = doc.answer_tokens;
  if (!rows) {
    say('Scores for each word of the answer are not there: this method or question has none.');
    return;
  }
  const pressed = e.getAttribute('aria-pressed') === 'true';
  state.panel.press(pressed ? null : e);
  answer.press(null);
  if (pressed) {
    answer.plainAgain();
    $('said-note').textContent = state.saidNote;
    return;
  }
  const name = '\u201c' + plain(read(textOf(bytesOf(doc.features[i])))) + '\u201d';
  answer.lay(rows.map((r) => r.scores[i]), rows.map((r) => r.errors?.[i]), largestRow(doc), UNITS[doc.target.output] || '', name);
  $('said-note').textContent = 'Coloured by what ' + name + ' of the prompt did to each word. Pick it again to go back.';
  say('What ' + name + ' drove is shown in the answer.');
}

// ---- asking -------------------------------------------------------------------------------------------------------

// One question to the server; the entry is kept in this page's list.
async function ask(question, picture, what, part) {
  const save = form.elements['ask-save']?.checked;
  return during(what, async (work) => {
    let r;
    try {
      r = await explain(work, question, save, progress);
    } catch (e) {
      // Some methods have no row for each token; then the answer is explained as a whole, and its words by questions
      // of their own.
      if (!question.per_token || form.elements.per_token?.checked || e.code !== 'unimplemented') throw e;
      const {per_token: _, ...rest} = question;
      question = rest;
      r = await explain(work, question, save, progress);
    }
    const entry = {...r, question, picture, part, name: nameOf(question, picture), when: new Date()};
    entry.tokens = isNet(r.doc) ? [] : await tokensOf(r.doc, work);
    state.entries.push(entry);
    listed(entry);
    return entry;
  });
}

const number = (name, otherwise) => Number(form.elements[name]?.value) || otherwise;

async function askAll(newAnswer) {
  const question = await questionOf(form, state.picture);
  state.whole = null;
  for (const id of ['shown', 'against']) $(id).hidden = true;
  if (kind !== 'decoder') {
    const entry = await ask(question, state.picture, 'asking');
    if (entry) wholeShown(entry);
    return;
  }
  const given = question.target !== undefined || question.target_ids !== undefined || question.neuron !== undefined ||
    question.output === 'kl';
  if (!given) {
    const limit = number('generate', ANSWER_TOKENS);
    if (newAnswer || state.generated === undefined) {
      answer.clear();
      $('said').hidden = false;
      $('said-note').textContent = '';
      const g = await during('the model writes', (work) => generate(work, question, limit, (t) => answer.add(t)));
      if (!g) return;
      if (!g.text) {
        fault(new Failure('The model wrote nothing: its next token ends the text.', 'Ask for another text, or give the answer under \u201ctarget\u201d.'));
        return;
      }
      state.generated = g.text;
      state.stopped = g.reason === 'length' ? 'It stops after ' + limit + ' tokens (\u201cgenerate\u201d). ' : '';
      say('The model wrote: ' + plain(g.text));
    }
    delete question.generate;
    question.target = state.generated;
  } else {
    state.generated = undefined;
    state.stopped = '';
    $('said').hidden = true;
  }
  if (!question.span && question.neuron === undefined && question.output !== 'kl') question.per_token = true;
  const entry = await ask(question, null, 'explaining');
  if (entry) wholeShown(entry);
}

// A result about a whole answer: with its words to pick from.
function wholeShown(entry) {
  state.whole = entry;
  const doc = entry.doc;
  if (kind === 'decoder') {
    const {tokens} = entry;
    $('said').hidden = false;
    if (tokens.length) answer.settle(tokens);
    else {
      answer.clear();
      answer.add(doc.target.text);
    }
    const p = probability(doc.target.prob);
    state.saidNote = (state.stopped || '') + (p ? 'Probability of the whole answer ' + p + '. ' : '') +
      (tokens.length ? 'Pick a word to see what drove it.' : '');
    $('said-note').textContent = state.saidNote;
    $('again').hidden = state.generated === undefined;
  }
  show(entry, true);
  state.compare.against(entry);
  say(titleOf(doc) + ' is shown.');
}

// ---- showing --------------------------------------------------------------------------------------------------------

let headings = [];
function heading(title, note) {
  headings[0].textContent = title;
  headings[1].textContent = note || '';
}

function show(entry, focus) {
  const root = $('shown');
  state.entry = entry;
  state.panel = panelOf(entry, state.config, isNet(entry.doc) ? null : aboutPart);
  headings = [make('h2'), make('p', 'sub')];
  root.replaceChildren(...headings, state.panel.root, actions(entry));
  if (entry.part) {
    heading('What drove \u201c' + entry.part + '\u201d', 'of the answer \u201c' + plain(read(textOf(bytesOf(entry.doc.target)))) + '\u201d');
  } else heading(titleOf(entry.doc), entry.doc.answer_tokens ? 'Pick a word of the prompt to see what of the answer it drove.' : '');
  root.hidden = false;
  if (focus) {
    headings[0].tabIndex = -1;
    headings[0].focus();
  }
}

function give(name, type, text) { // a download; nothing is sent anywhere
  const a = make('a'), url = URL.createObjectURL(new Blob([text], {type}));
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

function action(name, f) {
  const b = make('button', '', name);
  b.type = 'button';
  b.addEventListener('click', async () => {
    try {
      await f(b);
    } catch (e) {
      fault(e);
    }
  });
  return b;
}

const file = (entry, end) => 'ascribe-' + (entry.id || entry.when.toISOString().slice(0, 19).replace(/\D/g, '')) + end;

function actions(entry) {
  const row = make('p', 'acts');
  if (entry.id) {
    const a = make('a', '', 'Permalink');
    a.href = state.locked ? '/#r=' + entry.id : '/r/' + entry.id;
    row.append(a, action('Download HTML', async () =>
      give(file(entry, '.html'), 'text/html', await (await call('/v1/results/' + entry.id + '.html')).text())));
  }
  row.append(action('Download JSON', () => give(file(entry, '.json'), 'application/json', entry.raw)));
  if (entry.command || entry.doc.command) {
    const command = entry.command || entry.doc.command;
    const code = make('code', 'command', plain(command));
    row.append(action('Copy the command line', async (b) => {
      await navigator.clipboard.writeText(command);
      b.textContent = 'Copied';
      say('Copied.');
    }));
    const d = make('details');
    d.append(make('summary', '', 'The command line that asks the same'), code);
    const both = make('div');
    both.append(row, d);
    return both;
  }
  return row;
}

function listed(entry) {
  const li = make('li'), q = entry.question;
  const drove = entry.part ? '\u201c' + entry.part + '\u201d of ' : '';
  const what = entry.name + ' \u2192 ' + drove + titleOf(entry.doc).replace(/^What drove /, '') + '; ' +
    (entry.doc.method?.name ?? q.method ?? entry.doc.results[0].method);
  const b = action('', () => {
    if (entry.part || isNet(entry.doc)) show(entry, true);
    else wholeShown(entry);
  });
  put(b, what);
  li.append(b);
  $('history').prepend(li);
  $('before').hidden = false;
}

// ---- starting -------------------------------------------------------------------------------------------------------

function unlock(wrong) {
  return new Promise((resolve) => {
    state.locked = true;
    $('unlock').hidden = false;
    if (wrong) fault(new Failure('That is not the token.'));
    $('key').value = '';
    $('key').focus();
    $('unlock').addEventListener('submit', (e) => {
      e.preventDefault();
      setToken($('key').value);
      $('key').value = '';
      $('unlock').hidden = true;
      fault(null);
      resolve();
    }, {once: true});
  });
}

async function takePicture(f) {
  try {
    return await readPicture(f);
  } catch (e) {
    fault(e);
    return null;
  }
}

async function pictureChosen(f) {
  const p = f && (await takePicture(f));
  if (!p) return;
  fault(null);
  state.picture = p;
  const c = $('preview'), g = c.getContext('2d'), s = Math.min(1, 320 / Math.max(p.bitmap.width, p.bitmap.height));
  c.width = Math.max(1, Math.round(p.bitmap.width * s));
  c.height = Math.max(1, Math.round(p.bitmap.height * s));
  g.drawImage(p.bitmap, 0, 0, c.width, c.height);
  c.hidden = false;
  $('picture-name').textContent = plain(p.name) + ', ' + p.bitmap.width + ' by ' + p.bitmap.height;
}

function pictures() {
  const input = $('picture'), drop = $('drop');
  if (!input) return;
  input.required = false;
  input.addEventListener('change', () => pictureChosen(input.files[0]));
  for (const name of ['dragover', 'dragleave', 'drop'])
    drop.addEventListener(name, (e) => {
      e.preventDefault();
      drop.classList.toggle('over', name === 'dragover');
      if (name === 'drop') pictureChosen(e.dataTransfer.files[0]);
    });
  document.addEventListener('paste', (e) => {
    const f = [...e.clipboardData.files].find((x) => x.type.startsWith('image/'));
    if (f) pictureChosen(f);
  });
}

function methodNote() {
  const m = $('k-method'), about = state.config.methods.find((x) => x.name === m?.value) ||
    state.config.methods.find((x) => x.name === state.config.default_method);
  const note = $('d-method');
  if (about && note) note.textContent = about.doc + '. Cost: ' + about.cost + '.';
}

async function openSaved(id) {
  const raw = await (await call('/v1/results/' + id + '.json')).text(), doc = JSON.parse(raw);
  const entry = {doc, raw, id, command: '', question: isNet(doc) ? {} : questionFrom(doc, form), picture: null,
    name: 'saved result ' + id, when: new Date()};
  if (!isNet(doc) && kind === 'decoder') {
    state.generated = undefined;
    $('said').hidden = false;
  }
  entry.tokens = isNet(doc) ? [] : await tokensOf(doc);
  state.entries.push(entry);
  listed(entry);
  if (isNet(doc)) show(entry, true);
  else wholeShown(entry);
  $('against').hidden = true;
}

function hiddenNote() {
  const q = $('q'), list = q ? hiddenIn(q.value) : [];
  if ($('q-hidden')) $('q-hidden').textContent = list.length ? 'This text has characters that nobody sees: ' + list.join(', ') + '.' : '';
}

async function start() {
  onToken(unlock);
  for (const e of document.querySelectorAll('[data-script]')) e.hidden = false;
  for (const e of document.querySelectorAll('[data-plain]')) e.remove();
  pictures();
  $('q')?.addEventListener('input', hiddenNote);
  $('cancel').addEventListener('click', cancel);
  document.addEventListener('keydown', (e) => {
    if (e.key === 'Escape' && !$('doing').hidden) cancel();
  });
  form.addEventListener('submit', (e) => {
    e.preventDefault();
    askAll(true);
  });
  $('again').addEventListener('click', () => askAll(false));
  $('q')?.addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) form.requestSubmit();
  });
  try {
    state.config = await (await call('/page/config.json')).json();
  } catch (e) {
    fault(e);
    return;
  }
  state.compare = new Compare({section: $('against'), form: $('compare'), fields: $('compare-fields'), same: $('same'), sides: $('sides')},
    state.config, (q, picture, what) => ask(q, picture, what), takePicture);
  $('k-method')?.addEventListener('change', methodNote);
  if ($('k-generate')) $('k-generate').placeholder = 'on this page ' + ANSWER_TOKENS;
  methodNote();
  hiddenNote();
  const saved = /^#r=([0-9a-f]{16})$/.exec(location.hash);
  if (saved) openSaved(saved[1]).catch(fault);
  document.documentElement.dataset.ready = 'yes';
}

start();
