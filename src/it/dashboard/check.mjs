// Checks the page, see ../dashboard.sh. Usage: node check.mjs JAR FOLDER [--pictures] [PART…]
import fs from 'node:fs';
import path from 'node:path';
import { cluster } from './cluster.mjs';
import { sites } from './sites.mjs';
import { berth, browser, busy, claim, click, end, finish, go, later, rest, shows, simulated, start, text, type, until } from './rig.mjs';

const [jar, folder, ...options] = process.argv.slice(2);
const here = path.dirname(new URL(import.meta.url).pathname);
const pictures = options.includes('--pictures');
const only = options.filter(option => !option.startsWith('--'));
const wanted = part => !only.length || only.includes(part);
wanted.alone = only.length === 1 && wanted('cluster'); // this part has instances of its own
const docs = path.resolve(here, '../../../docs/pictures');
const HTML = "<img src=x onerror=document.title='owned'>";
const OPERATOR = 'operator-token-of-32-characters-';
const VIEWER = 'viewer-token-of-32-characters---';
const VIEWS = ['overview', 'deployments', 'deployments/shop/infer', `deployments/hostile/${encodeURIComponent(HTML)}`, 'requests', 'log', 'traffic', 'autoscaling',
  'autoscaling/scaled%23sleep', 'batches', 'upstreams', 'nodes', 'ledger', 'reservations', 'config/shop', 'play/shop', 'play/llm'];
const web = await browser(folder);
const { open, findings, reported, foreign } = web;

const upstream = await start('node', [path.join(here, 'load.mjs'), 'upstream'], /(\d+)\n/);
const config = fs.readFileSync(path.join(here, 'demo.yaml'), 'utf8').replace('UPSTREAM', `http://127.0.0.1:${upstream.found[1]}`);
fs.writeFileSync(path.join(folder, 'demo.yaml'), config);
const instance = wanted.alone ? null : await berth(jar, folder, 'demo.yaml');
const load = instance && await start('node', [path.join(here, 'load.mjs'), 'load', String(instance.data), String(instance.admin)]);
const serve = async (application, deployment) => {
  const { applications } = await rest(`${instance.url}/api/v1/serve`);
  const found = applications.find(each => each.name === application);
  return deployment ? found.deployments.find(each => each.name === deployment) : found;
};
const shot = (page, name) => page.screenshot({ path: path.join(folder, `${name}.png`) });
const quiet = part => {
  claim(reported.length === 0, `${part}: the console is empty${reported.length ? `: ${reported.slice(0, 3).join('; ')}` : ''}`);
  claim(foreign.length === 0, `${part}: no request to another host${foreign.length ? `: ${foreign.slice(0, 3)}` : ''}`);
  reported.length = foreign.length = 0;
};

async function views() {
  await later(8000); // some news for the curves
  for (const [name, size] of [['light', { theme: 'light' }], ['dark', { theme: 'dark' }], ['narrow', { width: 400, height: 800 }]]) {
    const page = await open(instance.url, size);
    const serious = [];
    const wide = [];
    for (const view of VIEWS) {
      await go(page, `#/${view}`);
      await shot(page, `${name}-${view.replace(/[^a-z0-9]+/gi, '-').slice(0, 30)}`);
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) wide.push(view);
      for (const finding of await findings(page)) serious.push(`${view}: ${finding}`);
    }
    claim(serious.length === 0, `${name}: axe has no serious finding in ${VIEWS.length} views${serious.length ? `:\n     ${serious.join('\n     ')}` : ''}`);
    claim(wide.length === 0, `${name}: no view is wider than the window${wide.length ? `: ${wide}` : ''}`);
    claim(await page.evaluate(() => document.querySelectorAll('img').length === 0 && !document.title.includes('owned')), `${name}: a deployment named ${HTML} is a name`);
    await page.close();
  }
  quiet('views');
}

/** Why a request waited, in at most three clicks from the first view. */
async function why() {
  const page = await open(instance.url);
  await shows(page, 'Requests that waited');
  await until('a request that waited', () => page.$('section[aria-label="Requests that waited"] a.cover'), 60_000);
  const clicks = ['a request of “Requests that waited”'];
  await click(page, 'section[aria-label="Requests that waited"] a.cover');
  await shows(page, 'Why it took this time');
  const reason = await page.$eval('.reasons li', node => node.innerText.replaceAll('\n', ' '));
  await shot(page, 'why');
  claim(/waited|was/.test(reason), `${clicks.length} click (${clicks.join(', ')}) shows why a request waited: ${reason}`);
  const burst = await until('a burst that waited in a queue', async () => {
    for (const each of (await rest(`${instance.url}/api/v1/requests?limit=300`)).requests) {
      if (each.request_id.startsWith('burst') && each.deployment === 'infer' && each.overhead_us > 100_000) return each;
    }
    return null;
  }, 60_000);
  await go(page, `#/requests/${burst.request_id}`);
  await shows(page, 'waited for a slot: all');
  claim((await text(page, '.timeline')).includes('↳'), `#/requests/${burst.request_id} shows the nested calls and that all slots were in use`);
  await page.setViewport({ width: 1280, height: 800 });
  await later(300);
  await shot(page, 'request');
  if (pictures) fs.copyFileSync(path.join(folder, 'request.png'), path.join(docs, 'request.png'));
  await go(page, '#/requests');
  await click(page, 'button', 'Explain the next one');
  await page.select('dialog select', 'squares#squares');
  await click(page, 'dialog button', 'Explain');
  await until('the next request opens', () => page.evaluate(() => /^#\/requests\/(?!of)./.test(location.hash)));
  await shows(page, 'Why it took this time');
  claim((await text(page, 'h1')).startsWith('Request '), '“Explain the next one” opens the next request of the chosen deployment');
  await page.close();
}

async function acts() {
  await why();
  const page = await open(instance.url);
  await click(page, '.grid a', 'shop / infer');
  await shows(page, 'Settings');
  await click(page, 'button', 'Scale');
  await shot(page, 'scale');
  await type(page, 'Replicas', '4');
  await click(page, 'dialog button', 'Scale');
  await until('4 replicas', async () => (await serve('shop', 'infer')).target_replicas === 4);
  await until('4 tiles', () => page.$$eval('.tile', all => all.length === 4));
  claim(true, 'a scale by mouse: shop / infer has 4 replicas, and the page shows 4');

  const doomed = await page.$eval('.tile', node => node.title.split(',')[0]);
  await click(page, '.tile');
  await click(page, 'button', 'Replace this replica');
  await click(page, 'dialog button', 'Replace');
  await until('another replica', async () => {
    const { replicas } = await serve('shop', 'infer');
    return replicas.length === 4 && replicas.every(each => each.replica_id !== doomed && each.phase === 'RUNNING');
  });
  claim(true, `a replacement by mouse: ${doomed} ended and another one runs`);

  await page.focus('button.button');
  await page.evaluate(() => [...document.querySelectorAll('main button')].find(each => each.textContent === 'Scale').focus());
  await page.keyboard.press('Enter');
  const inside = await page.evaluate(() => document.querySelector('dialog')?.contains(document.activeElement));
  await page.keyboard.press('Escape');
  const outside = await page.evaluate(() => !document.querySelector('dialog') && document.activeElement.textContent === 'Scale');
  claim(inside && outside, 'the keyboard opens and leaves a confirmation, and returns to its button');

  await go(page, '#/traffic');
  await click(page, 'button', 'Move weights');
  await type(page, 'v1', '30');
  await type(page, 'v2', '70');
  await click(page, 'dialog button', 'Move');
  await until('weights 30:70', async () => {
    const [route] = (await rest(`${instance.url}/api/v1/traffic?route=/digits`)).routes;
    return route.traffic.map(each => each.weight).join() === '30,70';
  });
  await shows(page, 'v2 70 %');
  claim(true, 'a traffic move by mouse: /digits is split 30:70, and the page shows it');

  const { revision } = await serve('shop');
  await go(page, '#/deployments/shop/infer');
  const changed = config.replace('infer, num_replicas: 3, max_ongoing_requests: 2', 'infer, num_replicas: 3, max_ongoing_requests: 3');
  fs.writeFileSync(path.join(folder, 'changed.yaml'), changed);
  const { child } = await start('java', ['-jar', path.resolve(jar), 'deploy', 'changed.yaml', '--address', instance.url], /accepted/, { cwd: folder });
  await until('the deploy', () => child.exitCode === 0);
  await shows(page, '[infer].max_ongoing_requests', 'main', 60_000);
  claim(true, 'a deploy: the page shows which setting differs from the last revision');
  await click(page, 'button', 'Roll back');
  await shows(page, `declares revision ${revision} again`, 'dialog');
  await shot(page, 'rollback');
  await click(page, 'dialog button', 'Roll back');
  await until('the rollback', async () => (await serve('shop', 'infer')).config.max_ongoing_requests === 2);
  claim(true, `a rollback by mouse: shop runs the settings of revision ${revision} again`);

  await go(page, '#/play/shop');
  await click(page, 'main button', 'Send');
  await shows(page, 'done');
  await shows(page, 'Why it took this time');
  claim(true, 'Play sends a request and shows its response and its explanation');
  await go(page, '#/play/llm');
  await type(page, 'Message', `${HTML} Name three colours.`);
  await click(page, 'main button', 'Send');
  await shows(page, 'Red, green and blue.');
  await shows(page, 'tokens in');
  await shot(page, 'chat');
  claim((await page.$$('img')).length === 0, 'Play has a conversation with a route of OpenAI’s API, with its tokens');

  await go(page, '#/log');
  await type(page, 'Text', 'label is missing');
  await shows(page, 'a label is missing', 'main', 60_000);
  claim(true, 'the log shows new lines and filters them');
  await page.close();
  if (pictures) {
    await rest(`${instance.url}/api/v1/applications/hostile`, 'DELETE').catch(() => {}); // a name that is no example
    const front = await open(instance.url, { height: 860 });
    await later(6000);
    await front.screenshot({ path: path.join(docs, 'dashboard.png') });
    await front.close();
  }
  quiet('acts');
}

/** Tokens, a viewer, and a connection that is lost. */
async function tokens() {
  const guarded = ['--set', `berth.admin.bearer_tokens=[{name: ops, token: ${OPERATOR}}, {name: eyes, token: ${VIEWER}, role: viewer}]`];
  fs.writeFileSync(path.join(folder, 'empty.yaml'), config.slice(0, config.indexOf('- name: digits')) + 'berth: {event_loops: 1}\n');
  let other = await berth(jar, folder, 'empty.yaml', 0, guarded);
  const { admin, url } = other;
  const page = await open(url);
  await page.waitForSelector('dialog');
  await type(page, 'Token', 'a wrong token of many characters');
  await click(page, 'dialog button', 'Connect');
  await shows(page, 'does not know this token', 'dialog');
  await type(page, 'Token', VIEWER);
  await click(page, 'dialog button', 'Connect');
  await shows(page, 'shop / infer');
  claim(true, 'the page needs a token, and refuses a wrong one');
  const kept = await page.evaluate(token => [location.href, document.cookie, ...Object.values(localStorage), ...Object.values(sessionStorage), document.documentElement.outerHTML].some(each => each.includes(token)), VIEWER);
  claim(!kept, 'the token is in no address, cookie, storage or element');
  await go(page, '#/deployments/shop/infer');
  await shows(page, 'Settings');
  const buttons = await page.$$eval('main button:not(.tile):not(.row button)', all => all.map(each => each.textContent));
  claim(!buttons.some(each => /Scale|Roll back|Replace|Drain/.test(each)), `a viewer has no button that changes something: ${JSON.stringify(buttons)}`);
  await go(page, '#/nodes');
  claim(!(await text(page)).includes('Drain'), 'a viewer drains no node');
  const scaled = await page.evaluate(async token => (await fetch('/api/v1/applications/shop/deployments/infer/scale', { method: 'POST', body: '{"target_num_replicas": 9}', headers: { authorization: `Bearer ${token}` } })).status, VIEWER);
  claim(scaled === 403, `a viewer’s POST is refused: ${scaled}`);
  reported.length = 0; // Chromium reports each refused status
  await end(other.child);
  await shows(page, 'Not connected', 'body');
  await shot(page, 'lost');
  other = await berth(jar, folder, 'empty.yaml', admin, guarded);
  await until('the page is live again', async () => (await text(page, '#bar')).includes('live'), 60_000);
  claim(!(await text(page, 'body')).includes('Not connected'), 'a lost connection is shown, and the page connects again by itself');
  other.child.kill('SIGSTOP');
  await shows(page, 'Not connected: the instance is silent', 'body', 75_000);
  other.child.kill('SIGCONT');
  await until('the page is live again', async () => !(await text(page, 'body')).includes('Not connected'), 60_000);
  claim(true, 'an instance that stands still is shown, and the page connects again by itself');
  await page.close();
  await end(other.child);
  reported.length = 0;
}

const FIGURES = turn => ({ requests_per_s: 100 + 40 * Math.sin(turn / 30), errors_per_s: 0.1, p50_ms: 4, p99_ms: 40 + (turn % 9), queue: turn % 4, slots_used: 20, slots: 64 });
const replica = (at, turn) => ({ replica_id: `shop#infer#r${String(at).padStart(6, '0')}`, node: `n${at % 7}`, phase: at % 97 ? 'RUNNING' : 'STARTING', version: 'v', revision: 5, routable: at % 97 > 0,
  started_ms: 0, reason: '', upstream: '', max_ongoing_requests: 8, running: (at + turn) % 9, reserved: 0, draining: false });
const application = (name, turn) => ({ name, status: 'RUNNING', message: '', route_prefix: `/${name}`, revision: 5, rollback_revision: null,
  deployments: [{ name: 'front', status: 'HEALTHY', message: '', target_replicas: 2, replicas: 2, running: 2, ...FIGURES(turn) }] });
const past = () => ({ step_s: 1, from_ms: Date.now(), columns: Object.fromEntries([...Object.keys(FIGURES(0)), 'replicas', 'target'].map(name => [name, []])) });

function entries(applications, replicas) {
  return (topic, turn) => {
    if (topic === 'overview') {
      const all = { total: { applications, healthy: applications, nodes: 7, replicas: 2 * applications, target_replicas: 2 * applications, ...FIGURES(turn), loop_lag_ms: 1 } };
      for (let at = 0; at < applications; at++) all[`app/app-${at}`] = application(`app-${at}`, turn + at);
      return all;
    }
    if (topic.startsWith('deployment:')) {
      const all = { application: { ...application('shop', turn), deployments: undefined }, rollout: { version: 'v', current: replicas, old: 0, starting: 0, draining: 0 },
        deployment: { name: 'infer', status: 'HEALTHY', message: '', config: { name: 'infer' }, target_replicas: replicas, dead: [], ...FIGURES(turn) } };
      for (let at = 0; at < replicas; at++) all[`replica/${at + (turn % 50)}`] = replica(at + (turn % 50), turn);
      return all;
    }
    if (topic === 'requests') {
      return Object.fromEntries(Array.from({ length: 100 }, (none, at) => [String(turn * 10 + at).padStart(12, '0'), { request_id: `id-${turn * 10 + at}`, application: 'shop', deployment: 'infer', parent: null,
        request: 'GET /shop', arrived_at: new Date(1.8e12 + turn * 1000).toISOString(), status: 200, outcome: 'ok', replica: 'r', failure: null, total_us: 9000 + at, overhead_us: 3000 + at }]));
    }
    if (topic === 'log') {
      return Object.fromEntries(Array.from({ length: 200 }, (none, at) => [String(turn * 10 + at).padStart(12, '0'), { number: turn * 10 + at, time: new Date(1.8e12 + turn * 1000).toISOString(), level: at % 9 ? 'INFO' : 'WARN',
        logger: 'a.b.C', thread: 't', message: at === 199 && turn % 100 === 0 ? HTML.repeat(25_000) : `line ${turn * 10 + at}`, fields: {} }]));
    }
    return {};
  };
}

async function heap(page) {
  const client = await page.createCDPSession();
  for (let turn = 0; turn < 3; turn++) await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  const { metrics } = await client.send('Performance.enable').then(() => client.send('Performance.getMetrics'));
  await client.detach();
  return { mb: usedSize / 1e6, nodes: metrics.find(each => each.name === 'Nodes').value };
}

/** Two hours and a half of news, a hundred times as fast. The curves of an hour are full in the third part. */
async function long() {
  const fast = 'const real = Date.now.bind(Date); const from = real(); Date.now = () => from + 100 * (real() - from);';
  for (const [name, view] of [['overview', '#/overview'], ['deployment', '#/deployments/shop/infer'], ['log', '#/log']]) {
    const server = await simulated(instance.url, entries(10, 40), 10, past);
    const page = await open(`http://127.0.0.1:${server.address().port}/`, { before: fast });
    await go(page, view);
    const sizes = [];
    for (let part = 0; part < 6; part++) {
      const { turns = 0 } = server;
      await until('news', () => server.turns >= turns + 1400, 240_000);
      sizes.push(await heap(page));
    }
    const pair = from => sizes.slice(from, from + 2);
    const least = from => Math.min(...pair(from).map(each => each.mb));
    const most = from => Math.max(...pair(from).map(each => each.nodes)); // with those that Blink has still to collect
    claim(least(4) < least(2) * 1.15 + 0.5 && most(4) < most(2) * 1.15 + 200,
      `${name}: heap after each 1400 s of news: ${sizes.map(each => `${each.mb.toFixed(1)} MB ${each.nodes} nodes`).join(', ')}`);
    await page.close();
    server.closeAllConnections();
    server.close();
  }
  reported.length = foreign.length = 0;
}

async function many() {
  const server = await simulated(instance.url, entries(1000, 10_000), 1000, past);
  const page = await open(`http://127.0.0.1:${server.address().port}/`);
  await later(4000);
  await shot(page, 'thousand-applications');
  claim((await text(page)).includes('1000'), '1 000 applications are listed');
  const rows = await page.$$eval('section[aria-label="Deployments"] .row', all => all.length);
  claim(rows < 60, `only ${rows} rows of 1 000 exist`);
  await type(page, 'Filter', 'app-777');
  await shows(page, 'app-777');
  for (const [what, view, selector] of [['10 000 replicas', '#/deployments/shop/infer', '.tiles'], ['1 000 deployments', '#/deployments', '.grid']]) {
    await go(page, view);
    await page.waitForSelector(selector);
    server.still = true; // the news have a cost of their own
    await later(2000);
    const spent = await busy(page);
    const before = await spent();
    const steps = 120;
    await page.$eval(selector, async (node, steps) => {
      for (let step = 0; step < steps; step++) {
        node.scrollTop = (node.scrollHeight - node.clientHeight) * (step / (steps - 1));
        await new Promise(requestAnimationFrame);
      }
    }, steps);
    const each = (1000 * ((await spent()) - before)) / steps;
    server.still = false;
    await shot(page, what.replaceAll(' ', '-'));
    const elements = await page.$$eval(`${selector} *`, all => all.length);
    claim(each < 30 && elements < 1000, `${what} scroll from end to end in ${steps} steps: ${each.toFixed(1)} ms of processor time a step, ${elements} elements`);
  }
  await page.close();
  server.closeAllConnections();
  server.close();
  quiet('many');
}

/** The cost of a page of an instance without requests: of the browser's process, and of the instance. */
async function idle() {
  fs.writeFileSync(path.join(folder, 'idle.yaml'), config.slice(0, config.indexOf('- name: digits')) + 'berth: {event_loops: 1}\n');
  const calm = await berth(jar, folder, 'idle.yaml');
  const used = () => fs.readFileSync(`/proc/${calm.child.pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13).reduce((sum, each) => sum + Number(each), 0) / 100;
  const seconds = 60;
  const cost = async () => {
    const before = used();
    await later(seconds * 1000);
    return (100 * (used() - before)) / seconds;
  };
  await later(20_000);
  const without = await cost();
  const page = await open(calm.url);
  await later(90_000); // until the compiler of the JVM is done with the feed
  const spent = await busy(page);
  const before = await spent();
  const withPage = await cost();
  const browsing = (100 * ((await spent()) - before)) / seconds;
  claim(withPage - without <= 0.2, `an idle page costs the instance ${(withPage - without).toFixed(2)} % of a core (${without.toFixed(2)} % without it), measured in steps of ${(1 / seconds).toFixed(3)} %`);
  claim(browsing < 2, `an idle page costs the browser’s main thread ${browsing.toFixed(2)} % of a core`);
  await page.close();
  await end(calm.child);
}

try {
  if (wanted('views')) await views();
  if (wanted('acts')) await acts();
  if (wanted('tokens')) await tokens();
  if (wanted('sites')) await sites({ instance, web, shot });
  if (wanted('long')) await long();
  if (wanted('many')) await many();
  if (wanted('idle')) await idle();
  await Promise.all([load, instance].map(each => each && end(each.child)));
  if (wanted('cluster')) await cluster({ jar, folder, web, shot, quiet });
} catch (failure) {
  claim(false, failure.stack);
  for (const page of await web.chromium.pages()) await page.screenshot({ path: path.join(folder, 'failure.png') }).catch(() => {});
  if (reported.length) console.log(reported.slice(0, 5).join('\n'));
}
await finish();
