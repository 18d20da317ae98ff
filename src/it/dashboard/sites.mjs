// Other sites against the page: a frame around it, requests from a foreign page, and a name of another site that
// leads to this machine. See check.mjs; the browser resolves evil.example to 127.0.0.1.
import http from 'node:http';
import { claim, rest, until } from './rig.mjs';

const EVIL = 'evil.example';

/** Serves a page with a frame of the address that its query names; /own is a page that permits frames. */
function foreignSite() {
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://x');
    response.setHeader('content-type', 'text/html');
    response.end(pathname === '/own' ? '<p>framed</p>' : `<!doctype html><link rel="icon" href="data:,"><h1>Foreign</h1><iframe width="900" height="500" src="${searchParams.get('of') ?? '/own'}"></iframe>`);
  });
  return new Promise(done => server.listen(0, '127.0.0.1', () => done(server)));
}

/** Sends a request from a script of the page. Returns its type and status, or `refused` if the browser blocks the request. */
const tries = (page, url, options) => page.evaluate((to, with_) => fetch(to, with_).then(answer => `${answer.type} ${answer.status}`, () => 'refused'), url, options);

export async function sites({ instance, web, shot }) {
  const server = await foreignSite();
  const { port } = server.address();
  const page = await web.chromium.newPage();
  const inner = async () => {
    const [frame] = await until('the frame', () => page.mainFrame().childFrames());
    return until('the frame’s content', async () => ({ url: frame.url(), text: await frame.evaluate(() => document.body?.innerText ?? '') }));
  };
  await page.goto(`http://${EVIL}:${port}/`);
  const own = await inner();
  claim(own.text.includes('framed'), `the foreign page shows frames: ${JSON.stringify(own)}`);
  for (const site of [`http://${EVIL}:${port}`, `http://127.0.0.1:${port}`]) {
    await page.goto(`${site}/?of=${encodeURIComponent(`${instance.url}/#/overview`)}`);
    const framed = await inner();
    await shot(page, `frame-${new URL(site).hostname.replaceAll('.', '-')}`);
    claim(framed.url.startsWith('chrome-error:') && !/Overview|Berth|Deployments/.test(framed.text), `a frame of ${site} around the page has none of its content: ${JSON.stringify(framed)}`);
  }
  await page.goto(`http://${EVIL}:${port}/`);
  const before = JSON.stringify((await rest(`${instance.url}/api/v1/serve`)).applications.map(each => each.deployments.map(one => one.target_replicas)));
  const scale = { method: 'POST', body: '{"target_num_replicas": 9, "autoscaling": "pause"}' };
  const where = '/api/v1/applications/shop/deployments/infer/scale';
  const read = await tries(page, `${instance.url}/api/v1/serve`);
  const written = await tries(page, instance.url + where, { ...scale, mode: 'no-cors' });
  claim(read === 'refused' && written === 'opaque 0', `a script of ${EVIL} reads nothing, and sends blindly at best: ${read}, ${written}`);

  const answer = await page.goto(`http://${EVIL}:${instance.admin}/`);
  const told = await answer.text();
  await shot(page, 'rebinding');
  claim(answer.status() === 403 && told.includes('host_not_allowed'), `http://${EVIL}:${instance.admin}/, which leads to the instance, is refused: ${answer.status()} ${told.trim().slice(0, 200)}`);
  const got = [];
  for (const [to, options] of [['/page/main.js'], ['/api/v1/whoami'], ['/api/v1/live?topics=overview'], [where, scale], ['/api/v1/drain', { method: 'POST' }]]) got.push(await tries(page, to, options));
  claim(got.every(each => each === 'basic 403'), `and so is each request of a script there, to its own origin: ${got}`);
  const after = JSON.stringify((await rest(`${instance.url}/api/v1/serve`)).applications.map(each => each.deployments.map(one => one.target_replicas)));
  claim(before === after, 'the foreign requests changed nothing');
  await page.close();
  server.closeAllConnections();
  server.close();
}
