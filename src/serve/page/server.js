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
export async function call(path, {method = 'GET', body, signal} = {}) {
  for (;;) {
    const headers = {};
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

// One piece of work at the server that can be cancelled: the request is cut, and the job is told to stop.
export class Work {
  constructor() {
    this.abort = new AbortController();
    this.id = '';
  }

  async start(path, body) {
    const response = await call(path, {method: 'POST', body, signal: this.abort.signal});
    this.id = response.headers.get('X-Request-Id') || '';
    return response;
  }

  cancel() {
    const id = this.id;
    this.abort.abort();
    if (/^[0-9a-z-]+$/.test(id)) call('/v1/jobs/' + id, {method: 'DELETE'}).catch(() => {});
  }
}
