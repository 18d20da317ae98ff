// Requests to the admin port, and the live feed. The token lives in this module's memory only.

let token = null;
let asked = null;

export const page = { role: 'operator', by: null, tokens: false, askToken: async () => null };

export const path = (strings, ...values) => String.raw({ raw: strings }, ...values.map(encodeURIComponent));

/** Returns whether this node reaches no controller, and so knows only itself. */
export const alone = () => live.hello?.controller === false;

export const ofAll = text => (alone() ? 'Unknown without a controller.' : text);

export const known = () => token !== null;

/** Sends a request, and asks for the token once if one is needed. Returns the response if it is 2xx. */
export async function send(method, where, { json, signal } = {}) {
  const key = id();
  for (;;) {
    const used = token;
    const headers = json === undefined ? {} : { 'content-type': 'application/json' };
    if (used) headers.authorization = `Bearer ${used}`;
    if (method !== 'GET') headers['idempotency-key'] = key;
    const answer = await fetch(where, { method, body: JSON.stringify(json), headers, signal, cache: 'no-store', credentials: 'omit', redirect: 'error' });
    if (answer.ok) return answer;
    if (answer.status === 401) {
      await answer.body?.cancel();
      if (used === token) await ask(used !== null);
      continue;
    }
    const text = await answer.text();
    const told = text.startsWith('{') ? JSON.parse(text) : {};
    throw Object.assign(new Error([told.message ?? told.error ?? text.slice(0, 500), ...(told.problems ?? [])].join('\n')), { status: answer.status });
  }
}

function ask(wrong) {
  asked ??= page.askToken(wrong).then(typed => {
    token = typed;
    asked = null;
  });
  return asked;
}

export const get = async (where, options) => (await send('GET', where, options)).json();

/** Reads the role of the caller, and the node that serves the page; a worker's feed comes from the control node. */
export const meet = () => get('/api/v1/whoami').then(told => Object.assign(page, told), () => {});

function id() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, each => each.toString(16).padStart(2, '0')).join('');
}

/** The text of a response in whole blocks, each of which a separator ends. */
export async function* blocks(answer, separator) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const whole = (rest + value).split(separator);
      rest = whole.pop();
      yield* whole;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The events of a response, as [name, text] pairs. */
async function* events(answer, alive) {
  for await (const block of blocks(answer, '\n\n')) {
    alive();
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
    if (name) yield [name, data];
  }
}

const SILENT_MS = 45_000; // limit of silence: the server sends an event or a keep-alive every 15 s
const FINAL = new Set([400, 401, 403, 404]);

/** A connection to the live feed, with the topics of the shown view. Reconnects with back-off. */
class Live {
  state = 'connecting'; why = ''; hello = null; topics = new Map(); changed = () => {};
  #abort = null; #timer = 0; #silence = 0; #wait = 1000; #query = '';

  /** Connects with new topics. A topic that was followed before keeps its entries until its snapshot arrives. */
  follow(names, filters = []) {
    const query = new URLSearchParams([['topics', names.map(encodeURIComponent).join(',')], ...filters]).toString();
    if (query === this.#query && this.#abort) return;
    this.#query = query;
    this.topics = new Map(names.map(name => [name, this.topics.get(name) ?? { entries: new Map(), at: 0, skipped: 0 }]));
    this.#wait = 1000;
    this.#connect();
  }

  stop(why) {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    this.#abort = null;
    this.#say('paused', why);
  }

  resume = () => this.#connect();

  of(topic) {
    return this.topics.get(topic) ?? { entries: new Map(), at: 0, skipped: 0 };
  }

  now() {
    return Date.now() + (this.hello ? this.hello.at_ms - this.hello.here : 0);
  }

  #say(state, why = '') {
    this.state = state;
    this.why = why;
    this.changed();
  }

  async #connect() {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    const abort = (this.#abort = new AbortController());
    let silent = false;
    const alive = () => {
      clearTimeout(this.#silence);
      this.#silence = setTimeout(() => abort.abort((silent = true)), SILENT_MS);
    };
    alive();
    if (this.state !== 'live') this.#say('connecting');
    let final = false;
    try {
      const answer = await send('GET', `/api/v1/live?${this.#query}`, { signal: abort.signal });
      for await (const [name, data] of events(answer, alive)) {
        this.#wait = 1000;
        if (abort.signal.aborted || !this.#event(name, JSON.parse(data))) break;
      }
      this.why = 'the feed ended';
    } catch (failure) {
      this.why = silent ? 'the instance is silent' : failure.message;
      final = FINAL.has(failure.status);
    }
    if (abort.signal.aborted && !silent) return;
    this.#say(final ? 'refused' : 'lost', this.why);
    if (final) return;
    this.#timer = setTimeout(() => this.#connect(), this.#wait * (0.8 + Math.random() * 0.4));
    this.#wait = Math.min(30_000, this.#wait * 2);
  }

  /** False if the connection must be renewed. */
  #event(name, data) {
    if (name === 'hello') {
      this.hello = { ...data, here: Date.now() };
      this.#say('live');
      if (data.node !== page.node) meet().finally(this.changed);
      return true;
    }
    const topic = this.topics.get(data.topic);
    if (!topic) return true;
    if (name === 'snapshot') {
      topic.entries = new Map(Object.entries(data.entries));
      topic.unavailable = null;
    } else if (name === 'delta') {
      if (data.seq !== topic.seq + 1) return false;
      data.removed?.forEach(key => topic.entries.delete(key));
      for (const key in data.changed) topic.entries.set(key, data.changed[key]);
    } else if (name === 'skipped') {
      topic.skipped += data.skipped;
    } else if (name === 'unavailable') {
      topic.unavailable = data;
      topic.entries.clear();
    }
    topic.seq = data.seq ?? topic.seq;
    topic.at = data.at_ms ?? topic.at;
    this.changed();
    return true;
  }
}

export const live = new Live();
