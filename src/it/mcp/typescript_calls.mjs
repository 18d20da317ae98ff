// Calls of the TypeScript SDK, both of its packages: one JSON line per call, with its result or its error.
import {createInterface} from 'node:readline';

const {URL: url, MODE, TASK, RUN, PACKAGE} = process.env;
const second = PACKAGE === '@modelcontextprotocol/client'; // else @modelcontextprotocol/sdk
const {Client} = await import(second ? PACKAGE : `${PACKAGE}/client/index.js`);
const {StreamableHTTPClientTransport} = await import(second ? PACKAGE : `${PACKAGE}/client/streamableHttp.js`);
const types = second ? {} : await import(`${PACKAGE}/types.js`);
const handled = (name, schema) => second ? name : types[schema];

/** Returns a connected client, with the HTTP statuses and messages that it received. */
async function connect(action = 'accept') {
  const one = {statuses: [], messages: [], logs: [], ended: null};
  one.transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: async (address, options) => {
      const response = await fetch(address, options);
      if (options?.method === 'POST' && response.status !== 202) one.statuses.push(response.status);
      if (options?.method === 'DELETE') one.ended = response.status;
      return response;
    },
  });
  one.client = new Client({name: 'comparison', version: '1'}, {
    capabilities: {elicitation: {form: {}}},
    ...(second && {versionNegotiation: {mode: MODE}}),
  });
  one.client.onerror = () => {};
  one.client.setRequestHandler(handled('elicitation/create', 'ElicitRequestSchema'), async () =>
      action === 'accept' ? {action, content: {yes: true}} : {action});
  one.client.setNotificationHandler(
      handled('notifications/message', 'LoggingMessageNotificationSchema'), message => one.logs.push(message.params));
  one.client.setNotificationHandler(
      handled('notifications/tools/list_changed', 'ToolListChangedNotificationSchema'),
      message => one.messages.push(message.method));
  await one.client.connect(one.transport);
  one.version = second ? one.client.getNegotiatedProtocolVersion() : one.transport.protocolVersion;
  one.tool = (name, input = {}, options = undefined) => second
      ? one.client.callTool({name, arguments: input}, options)
      : one.client.callTool({name, arguments: input}, undefined, options);
  return one;
}

async function close(one) {
  if (one.transport.sessionId) await one.transport.terminateSession();
  await one.client.close();
}

const pause = ms => new Promise(done => setTimeout(done, ms));
const report = fields => console.log(JSON.stringify(fields));

async function call(name, one, action) {
  one.statuses.length = 0;
  let outcome;
  try {
    outcome = {result: await action()};
  } catch (failure) {
    outcome = {error: {type: failure.constructor.name, status: failure.code ?? null,
      body: failure.data ?? null, text: String(failure).slice(0, 400)}};
  }
  report({call: name, http: [...one.statuses].sort(), ...outcome});
}

async function calls() {
  const one = await connect();
  const {client, tool} = one;
  const legacy = one.version < '2026';
  report({call: 'connect', result: {version: one.version, server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(), instructions: client.getInstructions()}});
  if (legacy) await call('ping', one, () => client.ping());
  await call('list tools', one, () => client.listTools());
  await call('list resources', one, () => client.listResources());
  await call('list templates', one, () => client.listResourceTemplates());
  await call('list prompts', one, () => client.listPrompts());
  await call('read resource', one, () => client.readResource({uri: 'note://été'}));
  await call('read template', one, () => client.readResource({uri: 'note://a/text'}));
  await call('unknown resource', one, () => client.readResource({uri: 'other://none'}));
  await call('prompt', one, () => client.getPrompt({name: 'grüße', arguments: {name: 'Ærø 🌊'}}));
  await call('unknown prompt', one, () => client.getPrompt({name: 'none', arguments: {}}));
  await call('add', one, () => tool('add', {a: 1, b: 2}));
  await call('schema', one, () => tool('add_all', {terms: [1, 2, 3]}));
  await call('UTF-8', one, () => tool('echo', {text: '«été à Ærø» 🌊\u2028\r\n"\\'}));
  await call('300 kB', one, () => tool('echo', {text: 'été🌊', times: 30000}));
  await call('3 MB argument', one, () => tool('measure', {text: 'x'.repeat(3000000)}));
  await call('5 MB argument', one, () => tool('measure', {text: 'x'.repeat(5000000)}));
  await call('wrong argument', one, () => tool('add', {a: 'one', b: 2}));
  await call('unknown tool', one, () => tool('none'));
  await call('failing tool', one, () => tool('fail'));
  await call('quiet tool', one, () => tool('quiet', {key: 'q', seconds: 1.5}));
  const steps = [];
  await call('progress', one, async () => ({
    result: await tool('search', {key: 'p', steps: 4}, {onprogress: step => steps.push(step)}), steps}));
  await call('log', one, async () => ({result: await tool('log'), logs: one.logs}));
  await call('elicitation', one, () => tool('delete', {item: 'all'}));
  await call('parallel', one, () => Promise.all([...Array(8).keys()].map(i => tool('add', {a: i, b: i}))));
  await call('time limit', one, () => tool('search', {key: RUN + 'late', steps: 30}, {timeout: 500}));
  await call('cancelled', one, () => tool('cancelled', {key: RUN + 'late'}));
  if (legacy) await call('GET stream', one, () => streamed(one));
  else await call('subscription', one, () => subscribed(one));
  for (const action of ['decline', 'cancel']) {
    const other = await connect(action);
    await call('elicitation ' + action, other, () => other.tool('delete', {item: 'all'}));
    await close(other);
  }
  await close(one);
  report({call: 'end of session', result: {http: one.ended}});
}

async function streamed(one) {
  one.messages.length = 0;
  const result = await one.tool('change');
  for (let i = 0; i < 30 && !one.messages.length; i++) await pause(100);
  return {result, messages: one.messages};
}

/**
 * Changes the tools at all servers: the subscription has the events of its own server only. Six calls
 * at the same time reach both servers, since Berth gives each of them four at most.
 */
async function subscribed(one) {
  const subscription = await one.client.listen({toolsListChanged: true});
  one.messages.length = 0;
  await Promise.all([...Array(6)].map(() => one.tool('change')));
  for (let i = 0; i < 30 && !one.messages.length; i++) await pause(100);
  await subscription.close();
  return {message: one.messages[0], end: await subscription.closed};
}

const located = result => Number(result.content[0].text);

async function stay() {
  report({call: 'stay', result: await Promise.all([...Array(8)].map(async () => {
    const one = await connect();
    const servers = [];
    for (let i = 0; i < 20; i++) servers.push(located(await one.tool('locate')));
    await close(one);
    return servers;
  }))});
}

async function lose() {
  const one = await connect();
  report({call: 'at', result: located(await one.tool('locate'))});
  await new Promise(done => createInterface({input: process.stdin}).once('line', done));
  for (let i = 0; i < 2; i++) await call('lost', one, () => one.tool('locate'));
  await one.client.close();
  const other = await connect();
  await call('again', other, () => other.tool('locate'));
  await close(other);
}

async function busy() {
  await Promise.all([...Array(6).keys()].map(async number => {
    const one = await connect();
    await call('busy', one, () => one.tool('search', {key: RUN + number, steps: 10}));
    await close(one);
  }));
}

await {calls, stay, lose, busy}[TASK]();
process.exit(0);
