// Processes, a browser and claims for check.mjs.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';

export const later = ms => new Promise(done => setTimeout(done, ms));

const started = [];
let failed = 0;

export function claim(holds, text) {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${text}`);
  if (!holds) failed++;
}

export async function until(text, condition, limit = 30_000) {
  const end = Date.now() + limit;
  let last;
  while (Date.now() < end) {
    try {
      last = await condition();
      if (last) return last;
    } catch (failure) {
      last = failure.message;
    }
    await later(100);
  }
  throw new Error(`${text}: not within ${limit} ms; last: ${JSON.stringify(last)}`);
}

/** Starts a process and waits for a line of its output that matches. Returns the match. */
export async function start(command, args, pattern, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  started.push(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (said = (said + data).slice(-200_000)));
  const found = pattern && (await until(`${command} ${args[0]}`, () => {
    if (child.exitCode !== null) throw new Error(said.slice(-2000));
    return pattern.exec(said);
  }, 90_000));
  return { child, found, said: () => said };
}

export const end = child => new Promise(done => {
  if (child.exitCode !== null || child.signalCode) return done();
  child.once('exit', done);
  child.kill('SIGKILL');
});

export async function berth(jar, folder, file, port = 0, more = []) {
  const { child, found, said } = await start('java', ['-Xmx512m', '-jar', path.resolve(jar), 'run', file, '--ephemeral', '--admin-port', String(port), ...more],
    /listens on 127\.0\.0\.1:(\d+), admin on 127\.0\.0\.1:(\d+)[^]* started in /, { cwd: folder });
  return { child, said, data: Number(found[1]), admin: Number(found[2]), url: `http://127.0.0.1:${found[2]}` };
}

export async function rest(url, method = 'GET', body, headers = {}) {
  const answer = await fetch(url, { method, body, headers });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text.slice(0, 300)}`);
  return text ? JSON.parse(text) : null;
}

/** The browser, and what its pages reported: console lines, errors, and requests to other hosts. */
export async function browser(folder) {
  const require = createRequire(path.resolve(folder, 'package.json'));
  const puppeteer = require('puppeteer-core');
  const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
  const chromium = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking', '--no-first-run', '--host-resolver-rules=MAP evil.example 127.0.0.1'],
  });
  started.push(chromium.process());
  const reported = [];
  const foreign = [];
  async function open(url, { width = 1280, height = 900, theme = 'light', before } = {}) {
    const page = await chromium.newPage();
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
    page.on('console', line => reported.push(`${line.type()} ${line.text()}`));
    page.on('pageerror', error => reported.push(error.stack ?? error.message));
    page.on('request', request => {
      if (new URL(request.url()).origin !== new URL(url).origin) foreign.push(request.url());
    });
    if (before) await page.evaluateOnNewDocument(before);
    await page.goto(url);
    return page;
  }
  /** Findings of axe that are serious or critical. axe runs in an isolated world, which the page's rules do not bind. */
  async function findings(page) {
    const client = await page.createCDPSession();
    const { frameTree } = await client.send('Page.getFrameTree');
    const { executionContextId: contextId } = await client.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id });
    await client.send('Runtime.evaluate', { expression: axe, contextId });
    const { result, exceptionDetails } = await client.send('Runtime.evaluate', { contextId, awaitPromise: true, returnByValue: true, expression:
      `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }).then(all => all.violations
        .filter(each => ['serious', 'critical'].includes(each.impact)).map(each => each.id + ': ' + each.nodes.slice(0, 3).map(node => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')))` });
    await client.detach();
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
  return { chromium, open, findings, reported, foreign };
}

/** The processor time of the page's main thread in seconds, so that a busy machine does not count. */
export async function busy(page) {
  const client = await page.createCDPSession();
  await client.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => (await client.send('Performance.getMetrics')).metrics.find(each => each.name === 'TaskDuration').value;
}

/** Clicks with the mouse the first visible element of this selector and text. */
export async function click(page, selector, text) {
  const found = await until(`${selector} “${text ?? ''}”`, async () => {
    for (const each of await page.$$(selector)) {
      const matches = await each.evaluate((node, wanted) => node.isConnected && node.checkVisibility() && (!wanted || node.textContent.trim().startsWith(wanted)), text);
      if (matches) return each;
    }
    return null;
  });
  await found.click();
}

/** Replaces the text of a field that has this label. */
export async function type(page, label, text) {
  const selector = ['input', 'textarea'].flatMap(tag => ['dialog', 'main'].map(place => `${place} ${tag}[aria-label="${label}"]`)).join();
  await page.waitForSelector(selector);
  await page.click(selector, { count: 3 });
  await page.keyboard.press('Backspace');
  await page.type(selector, text);
}

export const text = (page, selector = 'main') => page.$eval(selector, node => node.innerText);

export const shows = (page, wanted, selector, limit) => until(`“${wanted}” in the page`, async () => (await text(page, selector)).includes(wanted), limit);

export async function go(page, hash) {
  await page.evaluate(to => (location.hash = to), hash);
  await later(1700);
}

/**
 * A server between the browser and an instance: the feed and the history come from `make`, which returns the
 * entries of a topic at a turn; everything else passes. `every` is the time between two turns.
 */
export function simulated(url, make, every, history) {
  const server = http.createServer(async (request, response) => {
    const where = new URL(request.url, url);
    if (where.pathname === '/api/v1/history') return response.end(JSON.stringify(history()));
    if (where.pathname !== '/api/v1/live') {
      const passed = http.request(where, { method: request.method, headers: { ...request.headers, host: new URL(url).host } }, answer => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      });
      passed.on('error', () => response.destroy());
      return request.pipe(passed);
    }
    const topics = where.searchParams.get('topics').split(',').map(decodeURIComponent);
    const event = (name, data) => response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    event('hello', { node: 'n1', controller: true, why: null, at_ms: Date.now(), interval_ms: 1000 });
    let turn = 0;
    let before = {};
    const next = () => {
      if (server.still) return;
      for (const topic of topics) {
        const entries = make(topic, turn);
        if (!entries) continue;
        if (turn === 0) event('snapshot', { topic, seq: 0, at_ms: Date.now(), entries });
        else event('delta', { topic, seq: turn, at_ms: Date.now(), changed: entries, removed: Object.keys(before[topic] ?? {}).filter(key => !(key in entries)) });
        before[topic] = entries;
      }
      server.turns = ++turn;
    };
    next();
    const timer = setInterval(next, every);
    request.on('close', () => clearInterval(timer));
  });
  return new Promise(done => server.listen(0, '127.0.0.1', () => done(server)));
}

export async function finish() {
  await Promise.all(started.map(end));
  console.log(failed ? `${failed} claims do not hold` : 'all claims hold');
  process.exit(failed ? 1 : 0);
}
