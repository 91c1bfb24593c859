// answer.js - the model's answer: it grows token by token, and each of its words can be asked about.
import {make, put, plain, read, textOf, bytesOf, scoreWords, figure} from './shown.js';
import {call} from './server.js';
import {enter, paint, tip, walk} from './words.js';

// Words of a list of token bytes: {from, end (tokens), text}. A token that starts with a blank starts a word; bytes that
// are no whole character stay with those that complete it.
export function wordsOf(tokens) {
  const words = [];
  tokens.forEach((bytes, i) => {
    const text = textOf(bytes), last = words.at(-1);
    const middle = bytes.length > 0 && (bytes[0] & 0xc0) === 0x80;
    if (last && (middle || !(/^\s/u.test(text) || /\s$/u.test(textOf(last.bytes))))) {
      const joined = new Uint8Array(last.bytes.length + bytes.length);
      joined.set(last.bytes);
      joined.set(bytes, last.bytes.length);
      last.bytes = joined;
      last.end = i + 1;
    } else {
      words.push({from: i, end: i + 1, bytes});
    }
  });
  for (const w of words) w.text = textOf(w.bytes);
  return words;
}

export class Answer {
  // onWord({from, end, text}): somebody asks about tokens [from, end) of the answer.
  constructor(box, onWord) {
    this.box = box;
    this.words = [];
    walk(box, (e) => onWord(this.words[Number(e.dataset.w)], e));
    this.clear();
  }

  clear() {
    this.text = '';
    this.box.replaceChildren();
  }

  // While it streams: plain text, no stops.
  add(text) {
    this.text += text;
    put(this.box, text, true);
  }

  // With the tokens as a result has them.
  settle(tokens) {
    this.words = wordsOf(tokens);
    this.box.replaceChildren();
    this.words.forEach((w, i) => {
      const blank = /^[ ]*/.exec(w.text)[0], rest = w.text.slice(blank.length) || w.text;
      const e = make('span', 'f');
      if (rest !== w.text) this.box.append(blank);
      e.dataset.w = i;
      e.setAttribute('role', 'button');
      e.setAttribute('aria-pressed', 'false');
      tip(e, '\u201c' + plain(read(w.text)) + '\u201d: Enter asks what drove it');
      // Line breaks at the end stand outside of the word, so that its outline is one box.
      put(e, rest, true);
      this.box.append(e);
    });
    enter(this.box);
  }

  press(e) {
    for (const p of this.box.querySelectorAll('.f')) p.setAttribute('aria-pressed', String(p === e));
  }

  // Colours of each word's tokens: scores of one word of the prompt, token by token.
  lay(scores, errors, largest, unit, about) {
    const parts = [...this.box.querySelectorAll('.f')];
    this.words.forEach((w, i) => {
      let k = w.from; // of several tokens the one that was driven most
      for (let j = w.from; j < w.end; j++) if (Math.abs(scores[j]) > Math.abs(scores[k])) k = j;
      paint(parts[i], scores[k], largest);
      const more = w.end - w.from > 1 ? ' (its token ' + (k - w.from + 1) + ' of ' + (w.end - w.from) + ')' : '';
      tip(parts[i], about + ' \u2192 \u201c' + plain(read(w.text)) + '\u201d' + more + ' ' +
        scoreWords(scores[k], errors?.[k] ?? NaN, unit));
    });
  }

  plainAgain() {
    for (const [i, e] of [...this.box.querySelectorAll('.f')].entries()) {
      paint(e, 0, 1);
      tip(e, '\u201c' + plain(read(this.words[i].text)) + '\u201d: Enter asks what drove it');
    }
  }
}

// The bytes of an answer's tokens: from its matrix, else the server is asked. [] where there is no such thing.
export async function tokensOf(doc, work) {
  if (doc.answer_tokens) return doc.answer_tokens.map(bytesOf);
  if (doc.encoder || doc.neuron || !doc.target.ids.length || doc.target.output === 'kl') return [];
  try {
    const body = {ids: doc.target.ids}, signal = work?.abort.signal;
    const told = await (await call('/v1/tokenize', {method: 'POST', body, signal})).json();
    return told.tokens.map(bytesOf);
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    return [];
  }
}

// "77.3 %" of the whole answer.
export const probability = (p) => (Number.isFinite(p) ? figure(p * 100, 3) + ' %' : '');
