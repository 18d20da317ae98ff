import { h } from '../dom.js';
import { path, send } from '../api.js';
import { bar, confirm, field, grid, operate, panel, toDeployment } from '../parts.js';
import { count, ms, trim } from '../format.js';

const COLORS = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'];

function move(route) {
  const weights = Object.fromEntries(route.traffic.map(each => [route.application ? each.deployment : `${each.application}#${each.deployment}`, each.weight]));
  confirm(`Move traffic of ${route.route}`, [
    h('p', {}, 'Later requests follow the new weights. Requests that run or wait stay with their deployment. A weight of 0 takes a deployment out of the draw.'),
    Object.keys(weights).map(name => field(name, { type: 'number', min: 0, step: 'any', required: true, value: String(weights[name]), on: text => (weights[name] = Number(text)) })),
  ], 'Move', async () => {
    await send('PUT', path`/api/v1/traffic?route=${route.route}`, { json: { weights } });
    const all = Object.values(weights).reduce((sum, each) => sum + each, 0);
    return `${route.route}: ${Object.entries(weights).map(([name, weight]) => `${name} ${trim((100 * weight) / all)} %`).join(', ')}.`;
  });
}

function one(route) {
  const parts = route.traffic ?? [];
  const all = parts.reduce((sum, each) => sum + each.weight, 0);
  return panel(route.route, { wide: true, note: route.application || 'endpoint', aside: parts.length > 0 && operate('Move weights', () => move(route)) },
    h('div', { class: 'split', role: 'img', 'aria-label': parts.map(each => `${each.deployment} ${each.weight}`).join(', ') },
      parts.filter(each => each.weight > 0).map((each, at) => h('i', { key: at, class: COLORS[at % 6], vars: { part: `${(100 * each.weight) / all}%` } }, `${each.deployment} ${trim((100 * each.weight) / all)} %`))),
    grid({ label: `Split of ${route.route}`, rows: parts, key: each => `${each.application}#${each.deployment}`, empty: 'This endpoint leads nowhere.', columns: [
      { name: 'Deployment', width: 'minmax(9rem, 2fr)', of: each => toDeployment(each.application, each.deployment) },
      { name: 'Weight', width: '9rem', of: each => bar([['used', each.weight]], all, `${trim((100 * each.weight) / all)} %`) },
      { name: 'Requests', width: '6rem', num: true, of: each => count(each.requests) },
      { name: 'Errors', width: '5rem', num: true, of: each => h('span', { class: each.errors ? 'bad' : null }, count(each.errors)) },
      { name: 'p50', width: '5rem', num: true, wide: true, of: each => ms(each.p50_ms) }, { name: 'p99', width: '5rem', num: true, of: each => ms(each.p99_ms) },
    ] }),
    route.match?.length > 0 && [h('h3', {}, 'Matches, before the weights'), h('ul', { class: 'plain' }, route.match.map((each, at) => h('li', { key: at },
      h('code', {}, Object.entries(each).filter(([name]) => !['application', 'deployment', 'is'].includes(name)).map(([name, value]) => `${name} ${value}`).join(', '), ` ${each.is ?? ''}`), ' → ', toDeployment(each.application, each.deployment))))],
    route.shadow?.length > 0 && [h('h3', {}, 'Shadows', h('small', {}, 'copies, whose responses nobody gets')), grid({ label: `Shadows of ${route.route}`, rows: route.shadow, key: each => `${each.application}#${each.deployment}`, columns: [
      { name: 'Deployment', of: each => toDeployment(each.application, each.deployment) }, { name: 'Share', width: '5rem', num: true, of: each => `${trim(100 * each.fraction)} %` },
      { name: 'Copied', width: '5rem', num: true, of: each => count(each.copied) },
      { name: 'Skipped', width: '5rem', num: true, wide: true, of: each => count(each.skipped_busy + each.skipped_body) },
      { name: 'Failed', width: '5rem', num: true, wide: true, of: each => count(each.failed) }, { name: 'Other status', width: '7rem', num: true, of: each => count(each.status_other) },
      { name: 'Other body', width: '7rem', num: true, of: each => count(each.body_other) },
    ] })]);
}

export default {
  title: 'Traffic',
  topics: () => ['traffic'],
  render(view) {
    const routes = [...view.topic('traffic')].sort((a, b) => (a[0] < b[0] ? -1 : 1));
    return routes.length ? routes.map(([, route]) => one(route)) : h('p', { class: 'empty' }, 'No route leads to several deployments. The key berth.traffic of an application splits one.');
  },
};
