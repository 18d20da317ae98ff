import { h } from '../dom.js';
import { History, chart } from '../chart.js';
import { figure, grid, link, panel, state } from '../parts.js';
import { clock, count, plural, trim } from '../format.js';

const to = key => `#/autoscaling/${encodeURIComponent(key)}`;

function one(view) {
  const [key] = view.args;
  const entries = view.topic(`autoscaling:${key}`);
  const now = entries.get('now');
  const deployment = view.topic(`deployment:${key}`);
  view.state.history ??= new History(`deployment=${encodeURIComponent(key)}`);
  const { history } = view.state;
  if (!now) return h('p', { class: 'empty' }, 'Waiting for the first data…');
  const figures = deployment.get('deployment');
  history.follow(figures && { ...figures, replicas: now.running, target: now.replicas }, view.redraw);
  const demand = entries.get('demand');
  const decisions = [...entries].filter(([each]) => each.startsWith('decision/')).map(([, each]) => each).sort((a, b) => b.at_ms - a.at_ms);
  return [
    h('p', { class: 'verdict' }, state(now.reason), ` ${plural(now.replicas, 'replica')}: ${now.why}.`, now.last_change ? h('small', {}, ` Last change: ${now.last_change}.`) : ''),
    h('dl', { class: 'figures' }, figure('Load', trim(now.load ?? 0), { sub: 'requests' }), figure('Target', trim(now.target), { sub: 'per replica' }),
      figure('Replicas', count(now.running), { sub: `of ${count(now.replicas)}` }), figure('Bounds', `${now.min_replicas}–${now.max_replicas}`),
      demand && figure('Queued', count(demand.queued)), demand && figure('Running', count(demand.running)),
      now.until_ms && figure('Delay until', clock(now.until_ms)), now.paused && figure('Autoscaling', 'paused', { tone: 'warn' })),
    h('div', { class: 'charts' },
      chart({ title: 'Replicas', history, lines: [{ name: 'wanted', of: 'target', color: 'muted', step: true }, { name: 'replicas', of: 'replicas', color: 'blue', step: true }] }),
      chart({ title: 'Load: slots in use and waiting requests', history, lines: [{ name: 'slots', of: 'slots', color: 'muted', step: true }, { name: 'in use', of: 'slots_used', color: 'blue', fill: true }, { name: 'waiting', of: 'queue', color: 'warn' }] })),
    panel('Decisions', { wide: true, note: 'that changed the number or had another reason' },
      grid({ label: 'Decisions', tall: true, rows: decisions, key: each => each.at_ms, columns: [
        { name: 'At', width: '7rem', of: each => clock(each.at_ms, true) }, { name: 'Load', width: '5rem', num: true, of: each => trim(each.inputs?.total ?? 0) },
        { name: 'From load', width: '6rem', num: true, wide: true, of: each => trim(each.raw) }, { name: 'Wanted', width: '5rem', num: true, of: each => each.wanted },
        { name: 'Result', width: '5rem', num: true, of: each => each.replicas }, { name: 'Reason', width: '9rem', wide: true, of: each => state(each.reason) },
        { name: 'Why', width: 'minmax(12rem, 3fr)', of: each => each.told ?? each.why },
      ] })),
  ];
}

export default {
  title: 'Autoscaling',
  heading: view => (view.args[0] ? `Autoscaling of ${view.args[0].replace('#', ' / ')}` : 'Autoscaling'),
  topics: view => (view.args[0] ? [`autoscaling:${view.args[0]}`, `deployment:${view.args[0]}`] : ['autoscaling']),
  render(view) {
    if (view.args[0]) return one(view);
    return grid({ label: 'Autoscaling', tall: true, rows: [...view.topic('autoscaling')].sort(), key: ([key]) => key, empty: 'No deployment autoscales. The key autoscaling_config makes one do so.', columns: [
      { name: 'Deployment', width: 'minmax(9rem, 1.5fr)', of: ([key]) => link(to(key), key.replace('#', ' / '), true) },
      { name: 'Load', width: '5rem', num: true, sort: ([, now]) => now.load, of: ([, now]) => trim(now.load ?? 0) },
      { name: 'Target', width: '5rem', num: true, of: ([, now]) => trim(now.target) },
      { name: 'Replicas', width: '6rem', num: true, sort: ([, now]) => now.running, of: ([, now]) => `${now.running} / ${now.replicas}` },
      { name: 'Bounds', width: '6rem', num: true, wide: true, of: ([, now]) => `${now.min_replicas}–${now.max_replicas}` },
      { name: 'Now', width: '9rem', of: ([, now]) => state(now.paused ? 'PAUSED' : now.reason) }, { name: 'Why', width: 'minmax(10rem, 3fr)', wide: true, of: ([, now]) => now.why },
    ] });
  },
};
