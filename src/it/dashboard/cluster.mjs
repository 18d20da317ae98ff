// The page against a control node and two workers, on the loopback without certificates, see check.mjs.
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { claim, click, end, go, later, rest, shows, start, text, until } from './rig.mjs';

const NAMES = ['n1', 'n2', 'n3'];
const NARROW = { width: 400, height: 800 };
const PORTS = ['control', 'data', 'https', 'consensus', 'bus'];

/** Free ports below the range of outgoing connections, which could take a port while its node is away. */
async function freePorts(count) {
  const held = [];
  while (held.length < count) {
    const server = net.createServer();
    const port = 15_000 + Math.floor(Math.random() * 17_000);
    const free = await new Promise(done => server.once('error', () => done(false)).listen(port, '127.0.0.1', () => done(true)));
    if (free) held.push(server);
  }
  const ports = held.map(each => each.address().port);
  await Promise.all(held.map(each => new Promise(done => each.close(done))));
  return ports;
}

/** Requests to every node, `width` at a time each, until `stop` is called; a limit bounds their number. */
function traffic(nodes, width, limit) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: width * nodes.length });
  const counts = new Map();
  let sent = 0;
  let open = true;
  const send = node => new Promise(done => http.get({ host: '127.0.0.1', port: node.data, path: '/shop?ms=20', agent, timeout: 30_000 }, answer => {
    answer.resume().on('end', () => done(answer.statusCode)).on('error', error => done(error.message));
  }).on('error', error => done(error.message)).on('timeout', function () { this.destroy(new Error('no response within 30 s')); }));
  const all = nodes.flatMap(node => Array.from({ length: width }, async () => {
    while (open && sent++ < limit) {
      const status = await send(node);
      counts.set(status, (counts.get(status) ?? 0) + 1);
      await later(20);
    }
  }));
  return {
    sent: () => sent,
    stop: async () => {
      open = false;
      await Promise.all(all);
      agent.destroy();
      return Object.fromEntries(counts);
    },
  };
}

/** The rows of the Nodes view, by the name of their node. */
const rows = page => page.$$eval('main [aria-label="Nodes"] .rows .row', all => Object.fromEntries(all.map(row => {
  const [name, state, ...more] = [...row.children].map(cell => cell.innerText.trim());
  return [name, { state, text: more.join(' | '), action: row.querySelector('button')?.textContent ?? '' }];
})));

/** Clicks a button in the row of a node. Returns the text of the confirmation. */
async function act(page, node, verb) {
  await until(`${verb} of ${node}`, async () => (await rows(page))[node].action === verb);
  const row = await page.evaluateHandle(name => [...document.querySelectorAll('main [aria-label="Nodes"] .rows .row')].find(each => each.children[0].innerText === name), node);
  await (await row.$('button')).click();
  await page.waitForSelector('dialog');
  return (await text(page, 'dialog')).replaceAll(/\s+/g, ' ');
}

export async function cluster({ jar, folder, web, shot, quiet }) {
  const { open, findings, reported } = web;
  const state = path.join(folder, 'cluster');
  fs.rmSync(state, { recursive: true, force: true });
  const numbers = await freePorts(NAMES.length * (PORTS.length + 2));
  const nodes = NAMES.map((name, at) => ({ name, own: numbers.slice(at * (PORTS.length + 2), (at + 1) * (PORTS.length + 2)) }));
  for (const { name, own: [data, admin, ...more] } of nodes) {
    fs.writeFileSync(path.join(folder, `${name}.yaml`), `http_options: {host: 127.0.0.1, port: ${data}}
berth:
  event_loops: 1
  admin: {port: ${admin}}
  state_dir: cluster/${name}
  cluster: {name: page, node: ${name}, role: ${name === 'n1' ? 'control' : 'worker'}, control: ['n1@127.0.0.1:${nodes[0].own[2]}'],
    bind: 127.0.0.1, insecure: true, ports: {${PORTS.map((port, at) => `${port}: ${more[at]}`).join()}}}
`);
  }
  const run = async node => {
    const { child, said } = await start('java', ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-jar', path.resolve(jar), 'run', `${node.name}.yaml`], / started in /, { cwd: folder });
    return Object.assign(node, { child, said, data: node.own[0], url: `http://127.0.0.1:${node.own[1]}` });
  };
  const [control, worker] = nodes;
  await Promise.all(nodes.map(run));
  await rest(`${worker.url}/api/v1/applications/shop`, 'PUT', JSON.stringify({ route_prefix: '/shop', import_path: 'Demo:shop', runtime_env: { jars: [path.resolve(folder, 'demo.jar')] },
    deployments: ['front', 'cart', 'infer'].map(name => ({ name, num_replicas: 3, max_ongoing_requests: 20 })) }));
  const infer = async () => (await rest(`${control.url}/api/v1/serve`)).applications[0].deployments.find(each => each.name === 'infer');
  await until('three replicas', async () => (await infer()).replicas.filter(each => each.phase === 'RUNNING').length === 3, 60_000);

  /** Opens another page of the nodes, which has this number of rows, and looks at it. */
  const fits = async (node, name, size, count) => {
    const other = await open(`${node.url}/#/nodes`, size);
    await until(`${count} rows`, async () => Object.keys(await rows(other)).length === count);
    const wide = await other.evaluate(() => [document.documentElement, document.querySelector('main .grid')].some(each => each.scrollWidth > each.clientWidth));
    const serious = await findings(other);
    await shot(other, name);
    claim(!wide && !serious.length, `${name}: the rows fit the window, and axe has no serious finding ${serious}`);
    await other.close();
  };

  // A worker's page shows the cluster.
  const page = await open(worker.url);
  await page.evaluate(() => (window.loadedOnce = true));
  await shows(page, 'shop / infer');
  const lists = async () => JSON.stringify(await rows(page));
  await until('the overview counts three nodes', async () => /Nodes\s*3/.test(await text(page, '.figures')));
  await shot(page, 'cluster-overview');
  await go(page, '#/nodes');
  await until('three live nodes', async () => Object.entries(await rows(page)).filter(([name, row]) => NAMES.includes(name) && row.state === 'alive').length === 3);
  claim(/^Control\s+n1$/.test(await text(page, 'main .pairs')) && (await text(page, '#bar .node')).startsWith('n2~'), `the page of ${await text(page, '#bar .node')} lists the nodes of the cluster and their control node: ${await lists()}`);
  for (const [name, size] of [['light', {}], ['dark', { theme: 'dark' }], ['narrow', NARROW]]) await fits(worker, `cluster-nodes-${name}`, size, 3);
  await go(page, '#/deployments/shop/infer');
  await until('replicas of three nodes', async () => (await page.$$eval('.tiles h3', all => all.map(each => each.textContent))).length === 3);
  claim(true, `a worker’s page groups the replicas of the cluster by node: ${await page.$$eval('.tiles h3', all => all.map(each => each.textContent))}`);
  await shot(page, 'cluster-deployment');
  quiet('cluster');

  // A drain and its end by mouse, under requests to every node.
  await go(page, '#/nodes');
  const load = traffic(nodes, 2, 20_000);
  await until('some requests', () => load.sent() > 60);
  const drained = await act(page, 'n3', 'Drain');
  claim(drained.includes('n3') && /No replica is placed on n3/.test(drained) && /finish their requests/.test(drained), `a drain names its effects first: ${drained}`);
  await shot(page, 'cluster-drain');
  await page.keyboard.press('Escape');
  await later(1500);
  claim((await rows(page)).n3.state === 'alive', 'a drain that is not confirmed does nothing');
  await act(page, 'n3', 'Drain');
  await click(page, 'dialog button', 'Drain');
  await until('n3 is cordoned and empty', async () => { const { n3 } = await rows(page); return n3.state === 'cordoned' && n3.action === 'Uncordon' && / 0 \|/.test(n3.text) && n3; }, 60_000);
  await until('its replicas run elsewhere', async () => { const { replicas } = await infer(); return replicas.length === 3 && replicas.every(each => each.phase === 'RUNNING' && !each.node.startsWith('n3~')); }, 60_000);
  await shot(page, 'cluster-drained');
  await fits(worker, 'cluster-drained-narrow', NARROW, 3);
  claim(true, `a drain by mouse: n3 is cordoned and has no replica: ${await lists()}`);
  const admitted = await act(page, 'n3', 'Uncordon');
  claim(admitted.includes('Replicas may be placed on n3 again'), `an uncordon names its effects first: ${admitted}`);
  await click(page, 'dialog button', 'Uncordon');
  await until('n3 is alive', async () => (await rows(page)).n3.state === 'alive');
  await rest(`${control.url}/api/v1/applications/shop/deployments/infer/scale`, 'POST', '{"target_num_replicas": 6, "autoscaling": "pause"}');
  await until('n3 has replicas again', async () => (await infer()).replicas.some(each => each.node.startsWith('n3~') && each.phase === 'RUNNING') && !/ 0 \|/.test((await rows(page)).n3.text), 60_000);
  const counts = await load.stop();
  claim(Object.keys(counts).join() === '200', `an uncordon by mouse: n3 takes replicas again; no request to any node failed meanwhile: ${JSON.stringify(counts)}`);
  quiet('cluster');

  // Without its control node a worker's page shows the worker.
  await end(control.child);
  await shows(page, 'No controller', 'body', 60_000);
  const own = await text(page, '#bar .node');
  await until('only the own row', async () => Object.keys(await rows(page)).length === 1);
  claim(own.startsWith('n2~'), `without the control node: ${await text(page, '.notice')} ${await lists()}`);
  await shot(page, 'cluster-alone');
  await fits(worker, 'cluster-alone-narrow', NARROW, 1); // a page that is opened now
  const alone = {};
  for (const view of ['overview', 'deployments', 'deployments/shop/infer', 'requests', 'log', 'traffic', 'autoscaling', 'batches', 'upstreams', 'ledger', 'reservations', 'config/shop', 'play/shop']) {
    await go(page, `#/${view}`);
    await shot(page, `alone-${view.replaceAll('/', '-')}`);
    alone[view] = (await text(page)).replaceAll(/\s+/g, ' ');
  }
  const lies = Object.entries(alone).filter(([, shown]) => /No (?:application|deployment) |Waiting for the first|0 of 0|cannot show|on another node/.test(shown)).map(([view]) => view);
  claim(!lies.length && Object.values(alone).every(shown => shown.includes('No controller')), `no view of a node without a controller takes what it does not know for nothing ${lies}`);
  await go(page, '#/nodes');

  // The control node returns.
  await run(control);
  await until('three live nodes again', async () => { const all = await rows(page); return NAMES.every(name => all[name]?.state === 'alive'); }, 90_000);
  claim(!(await text(page, 'body')).includes('No controller') && (await page.evaluate(() => window.loadedOnce)), `with the control node again the page shows the cluster, without a reload: ${await lists()}`);
  await shot(page, 'cluster-again');
  await page.close();
  await Promise.all(nodes.map(each => end(each.child)));
  reported.length = 0; // Chromium reports each lost connection
}
