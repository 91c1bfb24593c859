// server.js - talking to the server that the page came from, and to nobody else. The token lives in this module's
// memory only: it is gone with the tab.

let token = '';
let asking = null; // one question for the token at a time

export class Failure extends Error {
  constructor(message, hint, param, code) {
    super(message);
    this.hint = hint || '';
    this.param = param || '';
    this.code = code || '';
  }
}

// The page's way to get a token out of somebody; set by page.js.
let askForToken = async () => {
  throw new Failure('This server wants a token.');
};
export function onToken(f) {
  askForToken = f;
}
export function setToken(text) {
  token = text;
}

async function failureOf(response) {
  let e = {};
  try {
    e = (await response.json()).error || {};
  } catch {
    // not JSON: the status has to do
  }
  let hint = e.hint || '';
  const wait = response.headers.get('Retry-After');
  if (wait) hint += (hint ? ' ' : '') + 'Try again in ' + wait + ' s.';
  return new Failure(e.message || 'The server answered ' + response.status + '.', hint, e.param, e.code);
}

// Returns the response; throws Failure for everything that is no success.
export async function call(path, {method = 'GET', body, signal, id} = {}) {
  for (;;) {
    const headers = {};
    if (id) headers['X-Request-Id'] = id;
    if (token) headers.Authorization = 'Bearer ' + token;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    let response;
    try {
      response = await fetch(path, {
        method, headers, signal, credentials: 'omit', cache: 'no-store', redirect: 'error',
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (e) {
      if (e.name === 'AbortError') throw e;
      throw new Failure('The server does not answer.', 'Is ascribe serve still running?');
    }
    if (response.status !== 401) {
      if (!response.ok) throw await failureOf(response);
      return response;
    }
    asking ??= askForToken(token !== '').finally(() => {
      asking = null;
    });
    await asking;
  }
}

// Server-sent events of a reply: {name, data} one after the other.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    let value, done;
    try {
      ({value, done} = await reader.read());
    } catch (e) {
      if (e.name === 'AbortError') throw e;
      throw new Failure('The connection was cut in the middle of the reply.', 'Is ascribe serve still running?');
    }
    rest += done ? '\n\n' : value;
    let end;
    while ((end = /\r?\n\r?\n/.exec(rest))) {
      let name = 'message';
      const data = [];
      for (const line of rest.slice(0, end.index).split(/\r?\n/)) {
        if (line.startsWith('event:')) name = line.slice(6).trim();
        if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
      }
      rest = rest.slice(end.index + end[0].length);
      if (data.length) yield {name, data: data.join('\n')};
    }
    if (done) return;
  }
}

const WAIT_MS = 1200; // most questions begin sooner

// One piece of work at the server that can be cancelled: the request is cut, and the job is told to stop.
export class Work {
  constructor() {
    this.abort = new AbortController();
    this.id = '';
    this.onWaiting = null; // told how many jobs are before this one, as long as it waits; then once 0
    this.waited = false;
  }

  async start(path, body) {
    const id = Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, '0')).join('');
    const reply = call(path, {method: 'POST', body, signal: this.abort.signal, id});
    let over = false;
    const end = () => {
      over = true;
    };
    reply.then(end, end);
    this.watch(id, () => over || this.abort.signal.aborted);
    const response = await reply;
    this.id = id; // a job that still waits ends with its connection
    if (this.waited) this.onWaiting?.(0);
    this.waited = false;
    return response;
  }

  // Asks where the job is until its reply begins.
  async watch(id, over) {
    for (;;) {
      await new Promise((done) => setTimeout(done, WAIT_MS));
      if (over()) return;
      try {
        const job = await (await call('/v1/jobs/' + id, {signal: this.abort.signal})).json();
        if (over() || job.state !== 'waiting') continue;
        this.waited = true;
        this.onWaiting?.(job.before);
      } catch {
        return; // it is done: nothing to tell
      }
    }
  }

  cancel() {
    const id = this.id;
    this.abort.abort();
    if (/^[0-9a-z-]+$/.test(id)) call('/v1/jobs/' + id, {method: 'DELETE'}).catch(() => {});
  }
}
