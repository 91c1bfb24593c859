// question.js - from the form to a question. What fields there are, and of which type, the server's tables say: fields
// carry the key as their name and its type in data-type.

import {toBase64} from './picture.js';

const AS_JSON = new Set(['ids', 'tokens', 'messages', 'values', 'passages', 'arrays', 'array', 'rules', 'texts', 'index', 'sizes']);
const AS_NUMBER = new Set(['count', 'number', 'whole number']);

// One key's value from what somebody typed; what does not read as its type goes as text, and the server says what is
// wrong with it.
function valueOf(type, text) {
  const t = text.trim();
  if (AS_NUMBER.has(type)) return t !== '' && Number.isFinite(Number(t)) ? Number(t) : t;
  if (AS_JSON.has(type)) {
    try {
      return JSON.parse(t);
    } catch {
      return text;
    }
  }
  return text;
}

export async function questionOf(form, picture) {
  const q = {};
  for (const e of form.elements) {
    const type = e.dataset?.type;
    if (!type || e.disabled) continue;
    if (e.type === 'checkbox') {
      if (e.checked) q[e.name] = true;
    } else if (e.type === 'file') {
      if (e.files.length) q[e.name] = toBase64(new Uint8Array(await e.files[0].arrayBuffer()));
    } else if (e.value !== '') {
      q[e.name] = valueOf(type, e.value);
    }
  }
  const text = form.elements['ask-text'], as = form.elements['ask-as'];
  if (text && text.value !== '') q[as ? as.value : 'prompt'] = text.value;
  if (as && as.value !== 'user' && q.system !== undefined && q.question === undefined) delete q.system;
  if (picture) q.image = picture.base64;
  return q;
}

// A short name for a question, for lists and headings.
export function nameOf(q, picture) {
  const text = q.prompt ?? q.user ?? q.template ?? (picture ? picture.name : 'the input');
  const t = String(text).replace(/\s+/gu, ' ').trim();
  return t.length > 60 ? [...t].slice(0, 59).join('') + '\u2026' : t;
}

// The question that a saved result answers, as far as its request tells it and the form knows the keys.
export function questionFrom(doc, form) {
  const r = doc.request || {}, q = {};
  for (const [key, value] of Object.entries(r)) {
    if (!form.elements[key]?.dataset?.type || value === null || value === 0 || value === false || value === '') continue;
    if (typeof value !== 'object') q[key] = value;
  }
  if (q.baseline === 'token') q.baseline = 'token:' + r.baseline_token;
  if (q.generate !== undefined) delete q.generate;
  if (r.prompt?.messages) q.messages = r.prompt.messages.map((m) => ({role: m.role, content: m.content}));
  else if (r.prompt?.ids) q.ids = r.prompt.ids;
  else q.prompt = doc.prompt.text;
  if (doc.encoder) for (const k of ['second', 'label', 'similar_to']) if (doc.encoder[k]) q[k] = doc.encoder[k];
  if (['word', 'span'].includes(doc.encoder?.answer)) { // classes have names, these are texts
    q.target = doc.target.text;
    if (doc.versus) q.versus = doc.versus.text;
  }
  if (!doc.encoder && !q.neuron) q.target_ids = doc.target.ids;
  if (doc.versus && !doc.encoder) q.versus_ids = doc.versus.ids;
  return q;
}
