// shown.js - text of others made safe to look at, as src/report/shown.c does it: nothing invisible, nothing that
// turns the writing round. Text only ever becomes text nodes.

const HIDDEN = /^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\p{Cs}]$/u;
const SHORT = {'\n': '\\n', '\t': '\\t', '\r': '\\r'};
const encoder = new TextEncoder();

export function make(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

const hidden = (ch) => HIDDEN.test(ch) && ch !== '\u200c' && ch !== '\u200d';

function escapeOf(ch) {
  const cp = ch.codePointAt(0);
  if (SHORT[ch]) return SHORT[ch];
  return cp < 0x80 ? '\\x' + cp.toString(16).padStart(2, '0') : '\\u{' + cp.toString(16).toUpperCase().padStart(4, '0') + '}';
}

// A string in which every hidden character is an escape: for labels and tips.
export function plain(text) {
  let out = '';
  for (const ch of text) out += hidden(ch) ? escapeOf(ch) : ch;
  return out;
}

// Appends text to a node: escapes are marked, line breaks stay if `lines`.
export function put(node, text, lines) {
  let run = '';
  const flush = () => {
    if (run) node.append(run);
    run = '';
  };
  for (const ch of text) {
    if (!hidden(ch) || (lines && ch === '\t')) {
      run += ch;
      continue;
    }
    flush();
    if (lines && ch === '\n') {
      const mark = make('span', 'esc', '\u21b5');
      mark.setAttribute('aria-hidden', 'true');
      node.append(mark, '\n');
    } else {
      node.append(make('span', 'esc', escapeOf(ch)));
    }
  }
  flush();
  return node;
}

// How many characters of a text nobody would see, and which.
export function hiddenIn(text) {
  const found = new Map();
  for (const ch of text) {
    if (!hidden(ch) || ch in SHORT) continue;
    found.set(ch, (found.get(ch) || 0) + 1);
  }
  return [...found].map(([ch, n]) => (n > 1 ? n + ' times ' : '') + escapeOf(ch));
}

function fromBase64(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

// The bytes of {"text", "bytes_b64"}: offsets of results count bytes.
export const bytesOf = (v) => (v.bytes_b64 ? fromBase64(v.bytes_b64) : encoder.encode(v.text));

// Bytes to text; a byte that is no UTF-8 becomes the escape \xNN.
export function textOf(bytes) {
  try {
    return new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes);
  } catch {
    let out = '';
    for (let i = 0; i < bytes.length;) {
      const b = bytes[i], n = b < 0x80 ? 1 : b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2;
      try {
        out += new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes.subarray(i, i + n));
        i += n;
      } catch {
        out += '\\x' + b.toString(16).padStart(2, '0');
        i++;
      }
    }
    return out;
  }
}

// A blank before a word belongs to the token, not to what people read.
export const read = (text) => (text.length > 1 && text[0] === ' ' ? text.slice(1) : text);

// Numbers as the saved pages write them: digits in all, a sign where it says a direction.
export function figure(v, digits, sign) {
  if (v === null || v === undefined || !Number.isFinite(v)) return 'unknown';
  if (v === 0) return '0';
  const size = Math.abs(v);
  let s = size >= 1e-4 && size < 10 ** digits ? String(Number(v.toPrecision(digits))) : v.toExponential(digits - 1);
  s = s.replace('e+', 'e').replace(/\.?0+(?=e|$)/, (m) => (s.includes('.') ? '' : m));
  return (sign && v > 0 ? '+' : '') + s.replace('-', '\u2212');
}

export const UNITS = {logprob: 'nats', logit: 'logits', kl: 'nats'};

// "+6.05 nats, error 2e-4": what a part's tip says.
export function scoreWords(score, error, unit) {
  let s = figure(score, 9, true) + (unit ? ' ' + unit : '');
  if (Number.isFinite(error)) s += ' \u00b1 ' + figure(error, 3);
  return s;
}

// From -8 to 8: the colour of a score. The saved pages use the same steps.
export function step(score, largest) {
  if (!Number.isFinite(score) || !(largest > 0)) return 0;
  return Math.max(-8, Math.min(8, Math.round((score / largest) * 8)));
}

export const colour = (k) => (k ? (k < 0 ? 'n' : 'p') + Math.abs(k) : '');
