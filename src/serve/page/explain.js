// explain.js - the two things the server does for this page: it lets the model answer, and it explains an answer. Both
// stream; both report progress.
import {Failure, Work, events} from './server.js';

// The one piece of work in progress, so that it can be cancelled. A new one ends the one before.
let running = null;

export function begin() {
  if (running) {
    running.replaced = true; // nobody is told: what comes next has the screen
    running.cancel();
  }
  running = new Work();
  return running;
}
export function cancel() {
  running?.cancel();
}
export function ended(work) {
  if (running === work) running = null;
}
export const current = (work) => running === work;

const failureIn = (data) => {
  const e = data.error || data;
  return new Failure(e.message || 'The server could not finish.', e.hint, e.param, e.code);
};

// The model's answer: onText(text) as it comes. Returns {text, tokens: bytes of each or null, reason}.
export async function generate(work, q, limit, onText) {
  const chat = q.user !== undefined || q.messages !== undefined;
  const body = {stream: true, temperature: 0, max_tokens: limit};
  if (chat) {
    body.messages = q.messages || [...(q.system ? [{role: 'system', content: q.system}] : []), {role: 'user', content: q.user}];
  } else {
    body.prompt = q.prompt;
  }
  const response = await work.start(chat ? '/v1/chat/completions' : '/v1/completions', body);
  let text = '', reason = '';
  for await (const {data} of events(response)) {
    if (data === '[DONE]') break;
    const event = JSON.parse(data);
    if (event.error) throw failureIn(event);
    const choice = event.choices?.[0];
    if (!choice) continue;
    const more = choice.delta?.content ?? choice.text ?? '';
    if (more) {
      text += more;
      onText(more);
    }
    if (choice.finish_reason) reason = choice.finish_reason;
  }
  return {text, reason};
}

// Asks one question. onProgress({what, done, total}). Returns {doc, raw (the document's own bytes), id (if saved), command}.
export async function explain(work, q, save, onProgress) {
  const body = {...q, stream: true};
  if (save) body.save = true;
  const response = await work.start('/v1/explain', body);
  const out = {doc: null, raw: '', id: response.headers.get('X-Result-Id') || '', command: ''};
  if (!(response.headers.get('Content-Type') || '').startsWith('text/event-stream')) {
    out.raw = await response.text();
    out.doc = JSON.parse(out.raw);
    return out;
  }
  for await (const {name, data} of events(response)) {
    if (name === 'progress') onProgress(JSON.parse(data));
    else if (name === 'result') {
      out.raw = data;
      out.doc = JSON.parse(data);
    } else if (name === 'saved') out.id = JSON.parse(data).id || '';
    else if (name === 'command') out.command = JSON.parse(data).command || '';
    else if (name === 'error') throw failureIn(JSON.parse(data));
  }
  if (!out.doc) throw new Failure('The server ended the reply before the result.', 'It may be stopping; ask again.');
  return out;
}
