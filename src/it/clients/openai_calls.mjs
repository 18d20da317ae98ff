// Calls of the OpenAI client for Node.
import OpenAI from 'openai';

const {BASE, ONCE, NEVER, MODEL, KEY = 'unused'} = process.env;
const UNKNOWN = 'no-such-model';
const content = 'Name a colour.';
const messages = [{role: 'user', content}];
const utf8 = [{role: 'user', content: `${content} «été à Ærø» 🌊`}];
const client = (base = BASE) => new OpenAI({baseURL: `${base}/v1`, apiKey: KEY});
const chat = (more = {}, base = BASE) => client(base).chat.completions.create(
    {model: MODEL, messages, max_tokens: 12, temperature: 0, seed: 7, ...more});
const response = (more = {}) => client().responses.create(
    {model: MODEL, input: content, max_output_tokens: 12, temperature: 0, ...more});

async function all(stream) {
  const events = [];
  for await (const event of await stream) events.push(event);
  return events;
}

async function call(name, action) {
  const report = {call: name};
  try {
    report.result = await action();
  } catch (failure) {
    report.error = {type: failure.constructor.name, status: failure.status ?? null, body: failure.error ?? null};
    if (!failure.status) report.error.text = String(failure);
  }
  console.log(JSON.stringify(report));
}

await call('models', () => all(client().models.list()));
await call('chat', () => chat());
await call('stream', () => all(chat({stream: true})));
await call('stream with usage', () => all(chat({stream: true, stream_options: {include_usage: true}})));
await call('UTF-8 stream', () => all(chat({messages: utf8, stream: true})));
await call('embeddings', () => client().embeddings.create({model: MODEL, input: ['sea']}));
await call('responses', () => response());
await call('responses stream', () => all(response({stream: true})));
await call('unknown model', () => chat({model: UNKNOWN}));
await call('wrong value', () => chat({messages: 'none'}));
await call('once 503', () => chat({}, ONCE));
await call('never 503', () => chat({}, NEVER));
