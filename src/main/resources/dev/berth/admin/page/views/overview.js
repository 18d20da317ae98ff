import { h } from '../dom.js';
import { alone, ofAll } from '../api.js';
import { History, chart } from '../chart.js';
import { bar, field, figure, grid, link, panel, state, toDeployment, toRequest, tone } from '../parts.js';
import { clock, count, ms, us } from '../format.js';

/** A row for each deployment, and one for an application that has none yet. */
export function deploymentRows(entries) {
  const rows = [];
  for (const [key, application] of entries) {
    if (!key.startsWith('app/')) continue;
    const { name, deployments } = application;
    if (!deployments.length) rows.push({ key, application: name, name: null, status: application.status, message: application.message });
    for (const each of deployments) rows.push({ key: `${name}#${each.name}`, application: name, ...each, message: each.message || application.message });
  }
  return rows;
}

export function deploymentGrid(rows, { tall, text = '' }) {
  const wanted = text.toLowerCase();
  return grid({
    label: 'Deployments', tall, key: row => row.key, empty: text ? 'No deployment has this name.' : ofAll('No application is deployed. berth deploy FILE deploys one.'),
    rows: wanted ? rows.filter(row => `${row.application}/${row.name}`.toLowerCase().includes(wanted)) : rows,
    columns: [
      { name: 'Deployment', width: 'minmax(9rem, 2fr)', sort: row => row.key, of: row => (row.name ? toDeployment(row.application, row.name, true) : row.application) },
      { name: 'State', width: '7rem', sort: row => tone(row.status), of: row => h('span', { title: row.message || null }, state(row.status)) },
      { name: 'Req/s', width: '4.5rem', num: true, sort: row => row.requests_per_s, of: row => count(row.requests_per_s) },
      { name: 'Errors/s', width: '5rem', num: true, sort: row => row.errors_per_s, of: row => h('span', { class: row.errors_per_s > 0 ? 'bad' : null }, count(row.errors_per_s)) },
      { name: 'p50', width: '5rem', num: true, wide: true, sort: row => row.p50_ms, of: row => ms(row.p50_ms) },
      { name: 'p99', width: '5rem', num: true, sort: row => row.p99_ms, of: row => ms(row.p99_ms) },
      { name: 'Queue', width: '4.5rem', num: true, sort: row => row.queue, of: row => (row.queue > 0 ? link(`#/requests/of/${encodeURIComponent(row.key)}`, count(row.queue)) : count(row.queue)) },
      { name: 'Slots', width: '9rem', wide: true, sort: row => row.slots_used / row.slots, of: row => row.name && bar([['used', row.slots_used]], row.slots) },
      { name: 'Replicas', width: '5rem', num: true, wide: true, sort: row => row.running, of: row => row.name && `${count(row.running)} / ${count(row.target_replicas)}` },
    ],
  });
}

const waited = entries => [...entries].filter(([, each]) => each.overhead_us > 1000)
  .sort((a, b) => b[1].overhead_us - a[1].overhead_us).slice(0, 8);

export const trafficCharts = history => [
  chart({ title: 'Requests and errors per second', history, lines: [{ name: 'requests', of: 'requests_per_s', color: 'blue', fill: true }, { name: 'errors', of: 'errors_per_s', color: 'bad' }] }),
  chart({ title: 'Latency', history, unit: ' ms', lines: [{ name: 'p50', of: 'p50_ms', color: 'blue' }, { name: 'p99', of: 'p99_ms', color: 'violet' }] }),
  chart({ title: 'Slots and queue', history, lines: [{ name: 'slots', of: 'slots', color: 'muted', step: true }, { name: 'in use', of: 'slots_used', color: 'blue', fill: true }, { name: 'waiting', of: 'queue', color: 'warn' }] }),
];

export default {
  title: 'Overview',
  topics: () => ['overview', 'requests'],
  render(view) {
    const entries = view.topic('overview');
    const total = entries.get('total');
    view.state.history ??= new History('');
    view.state.history.follow(total, view.redraw);
    if (!total) return h('p', { class: 'empty' }, 'Waiting for the first data…');
    const nodes = [...entries].filter(([key]) => key.startsWith('node/')).map(([, node]) => node);
    const rows = deploymentRows(entries);
    const slow = waited(view.topic('requests'));
    return [
      h('dl', { class: 'figures' },
        !alone() && figure('Applications', count(total.applications), { tone: total.healthy < total.applications ? 'warn' : 'good', sub: `${count(total.healthy)} running` }),
        figure('Requests/s', count(total.requests_per_s)),
        figure('Errors/s', count(total.errors_per_s), { tone: total.errors_per_s > 0 ? 'bad' : '' }),
        figure('p50', ms(total.p50_ms)), figure('p99', ms(total.p99_ms)),
        figure('Waiting', count(total.queue), { tone: total.queue > 0 ? 'warn' : '' }),
        figure('Slots in use', count(total.slots_used), { sub: `of ${count(total.slots)}` }),
        !alone() && figure('Replicas', count(total.replicas), { sub: `of ${count(total.target_replicas)}`, tone: total.replicas < total.target_replicas ? 'warn' : '' }),
        figure('Loop lag', ms(total.loop_lag_ms), { tone: total.loop_lag_ms > 50 ? 'warn' : '' }),
        figure('Nodes', count(total.nodes))),
      h('div', { class: 'charts' }, trafficCharts(view.state.history)),
      panel('Deployments', { wide: true, note: alone() ? '' : count(rows.length), aside: field('Filter', { value: view.state.text, on: text => { view.state.text = text; view.redraw(); } }) },
        deploymentGrid(rows, { text: view.state.text })),
      h('div', { class: 'columns' },
        panel('Requests that waited', { note: 'open one to see why', aside: link('#/requests', 'All requests') },
          grid({ label: 'Requests that waited', key: ([key]) => key, rows: slow, empty: 'None of the explained requests waited.',
            columns: [
              { name: 'Request', of: ([, each]) => toRequest(each.request_id, true) }, { name: 'Deployment', of: ([, each]) => `${each.application} / ${each.deployment}` },
              { name: 'At', width: '5rem', wide: true, of: ([, each]) => clock(each.arrived_at) }, { name: 'Waited', width: '5rem', num: true, of: ([, each]) => us(each.overhead_us) },
            ] })),
        panel('Nodes', { aside: link('#/nodes', 'All nodes') },
          grid({ label: 'Nodes', key: node => node.name, rows: nodes,
            columns: [
              { name: 'Node', of: node => node.name }, { name: 'State', width: '6rem', of: node => state(node.state) },
              { name: 'Replicas', width: '5rem', num: true, of: node => count(alone() ? null : node.replicas) }, { name: 'Loop lag', width: '5rem', num: true, of: node => ms(node.loop_lag_ms) },
            ] }))),
    ];
  },
};
