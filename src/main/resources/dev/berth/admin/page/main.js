// Starts the page: the address after # selects a view, and the feed follows the topics of that view.

import { h, sync } from './dom.js';
import { alone, known, live, meet, page } from './api.js';
import { button, tokenDialog } from './parts.js';
import autoscaling from './views/autoscaling.js';
import batches from './views/batches.js';
import config from './views/config.js';
import deployments from './views/deployments.js';
import ledger from './views/ledger.js';
import log from './views/log.js';
import nodes from './views/nodes.js';
import overview from './views/overview.js';
import play from './views/play.js';
import requests from './views/requests.js';
import reservations from './views/reservations.js';
import traffic from './views/traffic.js';
import upstreams from './views/upstreams.js';

const VIEWS = { overview, deployments, requests, log, traffic, autoscaling, batches, upstreams, nodes, ledger, reservations, config, play };
const GROUPS = [['overview', 'deployments', 'requests', 'log'], ['traffic', 'autoscaling', 'batches', 'upstreams'],
  ['nodes', 'ledger', 'reservations'], ['config', 'play']];
const THEMES = ['system', 'light', 'dark'];
const HIDDEN_MS = 15_000;
const places = { bar: document.getElementById('bar'), nav: document.getElementById('nav'), view: document.getElementById('view') };

let shown = { name: '', args: [] };
let theme = 0;
let menu = false;
let waiting = false;

page.askToken = tokenDialog;
live.changed = schedule;

function schedule() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
}

/** Opens a view. Its context has its arguments, its state, its topics, and load() for data that the view reads once. */
function open(name, args) {
  const view = VIEWS[name];
  const context = {
    args, state: {}, redraw: schedule, loads: new Map(),
    topic: topic => live.of(topic).entries,
    load(key, read) {
      const known = context.loads.get(key);
      if (known) return known;
      const load = { value: null, failure: null };
      context.loads.set(key, load);
      read().then(value => (load.value = value), failure => (load.failure = failure)).finally(schedule);
      return load;
    },
    reload(...keys) {
      keys.forEach(key => context.loads.delete(key));
      schedule();
    },
    follow: () => live.follow(view.topics(context), view.filters?.(context)),
  };
  return { name, args, view, context };
}

function route() {
  const [name, ...args] = location.hash.replace(/^#\/?/, '').split('/').filter(Boolean).map(part => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  shown.view?.close?.(shown.context);
  shown = open(name in VIEWS ? name : 'overview', args);
  menu = false;
  sync(places.view);
  shown.context.follow();
  document.title = `${shown.args.at(-1) ?? shown.view.title} · Berth`;
  places.view.scrollTop = 0;
  window.scrollTo(0, 0);
  draw();
}

const CONNECTION = { live: 'live', connecting: 'connecting', lost: 'not connected', refused: 'refused', paused: 'paused' };

function bar() {
  const node = page.node ?? live.hello?.node;
  return [
    button('Views', () => { menu = !menu; draw(); }, { kind: 'menu', 'aria-expanded': String(menu), 'aria-controls': 'nav' }),
    h('a', { class: 'brand', href: '#/overview' }, h('i', { class: 'mark', 'aria-hidden': 'true' }), 'Berth'),
    node && h('span', { class: 'node' }, node),
    h('span', { class: 'space' }),
    h('span', { class: `link ${live.state}`, role: 'status' }, h('i', {}), CONNECTION[live.state]),
    page.role === 'viewer' && h('span', { class: 'role' }, 'viewer'),
    known() && button('Forget token', () => location.reload(), { kind: 'plain' }),
    button(`◐ ${THEMES[theme]}`, () => {
      theme = (theme + 1) % THEMES.length;
      document.documentElement.dataset.theme = THEMES[theme];
      draw();
    }, { kind: 'plain', 'aria-label': `Theme: ${THEMES[theme]}`, title: 'Theme' }),
  ];
}

function notices() {
  const topics = [...live.topics];
  const skipped = topics.reduce((sum, [, topic]) => sum + topic.skipped, 0);
  return [
    (live.state === 'lost' || live.state === 'refused') && h('p', { key: 'lost', class: 'notice bad', role: 'alert' },
      `Not connected: ${live.why}. `, live.state === 'lost' ? 'The page shows the last known data and connects again by itself.' : '',
      live.state === 'refused' && button('Connect', () => live.resume())),
    alone() && h('p', { key: 'alone', class: 'notice' }, `No controller: ${(live.hello.why ?? 'the instance reaches none').replace(/^controller: /, '')}. The page shows only the node ${live.hello.node}.`),
    topics.map(([name, topic]) => topic.unavailable && h('p', { key: `u${name}`, class: 'notice bad' }, `No data of ${name}: ${topic.unavailable.message}`)),
    skipped > 0 && h('p', { key: 'skipped', class: 'notice' }, `This connection is slow: ${skipped} updates were skipped.`),
  ];
}

function rendered() {
  try {
    if ([...live.topics.values()].every(topic => topic.unavailable)) return null; // the notices contain the reasons
    return shown.view.render(shown.context);
  } catch (failure) {
    return h('p', { class: 'notice bad' }, `This view cannot show its data: ${failure.message}`);
  }
}

function draw() {
  sync(places.bar, bar());
  places.nav.classList.toggle('open', menu);
  sync(places.nav, GROUPS.map((group, at) => h('ul', { key: at }, group.map(name => h('li', { key: name },
    h('a', { href: `#/${name}`, 'aria-current': name === shown.name ? 'page' : null }, VIEWS[name].title))))));
  sync(places.view, notices(), h('div', { class: 'content', key: location.hash },
    h('h1', {}, shown.view.heading?.(shown.context) ?? shown.view.title), rendered()));
}

let hidden = 0;
document.addEventListener('visibilitychange', () => {
  clearTimeout(hidden);
  if (document.hidden) hidden = setTimeout(() => live.stop('the page is hidden'), HIDDEN_MS);
  else if (live.state === 'paused') live.resume();
});
addEventListener('hashchange', () => [route(), places.view.focus({ preventScroll: true })]);
for (const query of ['(prefers-color-scheme: dark)', '(max-width: 640px)']) matchMedia(query).addEventListener('change', schedule);
document.documentElement.dataset.theme = THEMES[theme];

meet().finally(route);
