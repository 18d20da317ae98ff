import { h } from '../dom.js';
import { blocks, get, ofAll, page, path, send } from '../api.js';
import { button, field, panel } from '../parts.js';
import { explanation } from './requests.js';

const MOST = 200_000;
const LLM = 'berth:openai';

/** Sends a request by the instance. `on` gets each part; the promise ends with the last one. */
async function play(request, signal, on) {
  const answer = await send('POST', '/api/v1/play', { json: request, signal });
  const decoder = new TextDecoder();
  for await (const text of blocks(answer, '\n')) {
    if (!text.trim()) continue;
    const line = JSON.parse(text);
    if (line.chunk) {
      const { text: plain, base64 } = line.chunk;
      on({ text: decoder.decode(plain != null ? new TextEncoder().encode(plain) : Uint8Array.from(atob(base64), each => each.charCodeAt(0)), { stream: true }) });
    } else on(line);
    if (line.end || line.error) return;
  }
  on({ error: { message: 'the response was cut' } });
}

async function run(view, request, on) {
  const { state: own } = view;
  own.abort?.abort();
  const abort = (own.abort = new AbortController());
  Object.assign(own, { head: null, text: '', end: null, problem: null, busy: true });
  view.redraw();
  try {
    await play(request, abort.signal, part => {
      if (abort.signal.aborted) return;
      if (part.head) own.head = part.head;
      if (part.text) own.text = (own.text + part.text).slice(0, MOST);
      if (part.end) own.end = part.end;
      if (part.error) own.problem = part.error.message;
      on?.(part);
      view.redraw();
    });
  } catch (failure) {
    if (!abort.signal.aborted) own.problem = failure.message;
  }
  if (own.abort === abort) own.busy = false;
  view.redraw();
}

function outcome(own) {
  return [
    own.problem && h('p', { class: 'notice bad', role: 'alert', key: 'problem' }, own.problem),
    own.end?.explanation ? h('div', { key: 'why' }, explanation([own.end.explanation])) : own.end?.why && h('p', { class: 'lead' }, `No explanation: ${own.end.why}`),
  ];
}

function chat(view, app, models) {
  const { state: own } = view;
  own.turns ??= [];
  const ask = event => {
    event.preventDefault();
    if (!own.said?.trim() || own.busy) return;
    own.turns.push({ role: 'user', content: own.said }, { role: 'assistant', content: '' });
    const messages = own.turns.slice(0, -1).map(({ role, content }) => ({ role, content }));
    own.said = '';
    event.target.querySelector('textarea').value = '';
    let rest = '';
    const last = own.turns.at(-1);
    run(view, { method: 'POST', path: `${app.route_prefix.replace(/\/$/, '')}/v1/chat/completions`,
      headers: [['Content-Type', 'application/json'], ...(own.key ? [['Authorization', `Bearer ${own.key}`]] : [])],
      body: JSON.stringify({ model: own.model || models[0], stream: true, stream_options: { include_usage: true }, messages }) }, part => {
      if (part.error) last.problem = part.error.message;
      if (part.end && rest.trim()) last.content += rest;
      if (!part.text) return;
      if (own.head?.status !== 200) return void (last.content += part.text);
      const events = (rest + part.text).split('\n');
      rest = events.pop();
      for (const line of events) {
        if (!line.startsWith('data: {')) continue;
        const event = JSON.parse(line.slice(6));
        last.content += event.choices?.[0]?.delta?.content ?? event.error?.message ?? '';
        if (event.usage) last.usage = event.usage;
      }
    });
  };
  return [
    h('ol', { class: 'chat', tabindex: 0, 'aria-label': 'Conversation', 'aria-live': 'polite' }, own.turns.map((turn, at) => h('li', { key: at, class: turn.role }, h('b', {}, turn.role === 'user' ? 'You' : own.model || models[0]),
      h('p', {}, turn.content || (own.busy ? '…' : turn.problem ?? '')), turn.usage && h('small', {}, `${turn.usage.prompt_tokens} tokens in, ${turn.usage.completion_tokens} out`)))),
    h('form', { on: { submit: ask } }, h('div', { class: 'tools' }, field('Model', { list: models, value: own.model ?? models[0], on: text => (own.model = text) }),
      field('Key of the route', { type: 'password', on: text => (own.key = text) })),
      field('Message', { area: true, rows: 3, on: text => (own.said = text) }),
      h('div', { class: 'buttons' }, button('New conversation', () => { own.abort?.abort(); own.turns = []; view.redraw(); }), own.busy && button('Stop', () => own.abort.abort()), h('button', { class: 'button main', type: 'submit' }, 'Send'))),
    outcome(own),
  ];
}

function plain(view, app) {
  const { state: own } = view;
  own.request ??= { method: 'GET', path: app.route_prefix, headers: '', body: '' };
  const set = name => value => (own.request[name] = value);
  const go = event => {
    event.preventDefault();
    const headers = own.request.headers.split('\n').filter(line => line.includes(':')).map(line => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]);
    run(view, { method: own.request.method, path: own.request.path, headers, ...(own.request.body ? { body: own.request.body } : {}) });
  };
  return [
    h('form', { on: { submit: go } }, h('div', { class: 'tools' }, field('Method', { list: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'], value: own.request.method, on: set('method') }),
      field('Path', { value: own.request.path, required: true, on: set('path') }), h('button', { class: 'button main', type: 'submit' }, 'Send'), own.busy && button('Stop', () => { own.abort.abort(); own.busy = false; view.redraw(); })),
      field('Headers, one a line', { area: true, rows: 2, on: set('headers') }), field('Body', { area: true, rows: 4, on: set('body') })),
    own.head && panel('Response', { wide: true, note: `status ${own.head.status}` },
      h('details', {}, h('summary', {}, 'Headers'), h('pre', {}, own.head.headers.map(([name, value]) => `${name}: ${value}`).join('\n'))),
      h('pre', { tabindex: 0, 'aria-label': 'Body' }, own.text, own.text.length >= MOST ? '…' : '')),
    outcome(own),
  ];
}

export default {
  title: 'Play',
  topics: () => ['overview'],
  render(view) {
    const { state: own } = view;
    if (page.role === 'viewer') return h('p', { class: 'empty' }, 'A viewer sends no requests. An operator’s token may.');
    const applications = [...view.topic('overview')].filter(([key, app]) => key.startsWith('app/') && app.route_prefix).map(([, each]) => each).sort((a, b) => (a.name < b.name ? -1 : 1));
    const app = applications.find(each => each.name === view.args[0]) ?? applications[0];
    if (!app) return h('p', { class: 'empty' }, ofAll('No application has a route.'));
    const config = view.load(app.name, () => get(path`/api/v1/applications/${app.name}/history`)).value?.revisions[0]?.config;
    const models = config?.import_path === LLM ? (config.args?.models ?? []).map(each => each.name) : null;
    return [
      h('p', { class: 'lead' }, 'The instance sends the request to its own data port, and shows where its time went.'),
      h('div', { class: 'tools' }, field('Application', { list: applications.map(each => [each.name, `${each.name}  ${each.route_prefix}`]), value: app.name, on: name => (location.hash = `#/play/${encodeURIComponent(name)}`) }),
        models && button(own.plain ? 'Chat' : 'Plain request', () => { own.plain = !own.plain; view.redraw(); })),
      config && (models && !own.plain ? chat(view, app, models) : plain(view, app)),
    ];
  },
  close: ({ state: own }) => own.abort?.abort(),
};
