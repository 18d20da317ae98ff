import { h } from '../dom.js';
import { get, path, send } from '../api.js';
import { History, chart } from '../chart.js';
import { bar, button, confirm, field, figure, grid, link, operate, pairs, panel, state, tiles } from '../parts.js';
import { count, day, differences, ms, plural, short, some } from '../format.js';
import { deploymentGrid, deploymentRows, trafficCharts } from './overview.js';

const CELLS = 13;

function scale(application, deployment) {
  const { autoscaling } = deployment;
  let number = deployment.target_replicas;
  confirm(`Scale ${application} / ${deployment.name}`, [
    h('p', {}, `It has ${plural(deployment.target_replicas, 'replica')} now. Additional replicas start; surplus ones finish their requests first, then stop.`),
    autoscaling && h('p', {}, 'This deployment autoscales. The command pauses autoscaling until it is resumed here or with berth scale --auto.'),
    field('Replicas', { type: 'number', min: 0, max: 100_000, value: String(number), required: true, on: text => (number = Number(text)) }),
  ], 'Scale', async () => {
    await send('POST', path`/api/v1/applications/${application}/deployments/${deployment.name}/scale`, { json: { target_num_replicas: number, autoscaling: 'pause' } });
    return `${application} / ${deployment.name} scales to ${plural(number, 'replica')}.`;
  });
}

function resume(application, deployment) {
  confirm(`Resume autoscaling of ${application} / ${deployment.name}`, h('p', {}, 'The number of replicas follows the load again, from the present number.'), 'Resume',
    () => send('POST', path`/api/v1/applications/${application}/deployments/${deployment.name}/scale`, { json: { autoscaling: 'resume' } }).then(() => 'Autoscaling resumed.'));
}

export function rollback(application, now, revision) {
  confirm(`Roll back ${application}`, [
    h('p', {}, `The application declares revision ${revision} again, as a new revision. Now it runs revision ${now}.`),
    h('p', {}, 'Its replicas are replaced step by step; requests that run are finished.'),
  ], `Roll back to revision ${revision}`, async () => {
    const answer = await send('POST', path`/api/v1/applications/${application}/rollback` + `?to=${revision}`);
    return `${application} goes back: its new revision is ${(await answer.json()).revision}.`;
  });
}

function replace(application, deployment, replica) {
  confirm(`Replace replica ${short(replica.replica_id)}`, [
    h('p', {}, `The replica ${replica.replica_id} ends at once, as if it had died: ${replica.running ? `its ${plural(replica.running, 'running request')} fail` : 'it runs no request now'}. Another one takes its place.`),
  ], 'Replace', () => send('DELETE', path`/api/v1/applications/${application}/deployments/${deployment}/replicas/${replica.replica_id}`)
    .then(() => `The replica ${short(replica.replica_id)} ends; another one starts.`), { danger: true });
}

export function drain(node) {
  confirm(`Drain node ${node}`, [
    h('p', {}, `No replica is placed on ${node} any more. Replacements start on other nodes, then its replicas finish their requests and stop.`),
    h('p', {}, 'Uncordon reverts this.'),
  ], 'Drain', () => send('POST', path`/api/v1/cluster/nodes/${node}/drain`).then(() => `${node} drains.`), { danger: true });
}

function drainInstance(node) {
  confirm(`Drain the instance ${node}`, h('p', {}, `${node} finishes its requests and takes no new ones. Then its process ends, and this page with it.`), 'Drain and end',
    () => send('POST', '/api/v1/drain').then(() => `${node} drains.`), { danger: true });
}

export const drainNode = node => (node.role === 'single' ? drainInstance(node.name) : drain(node.name));

const kind = replica => (replica.upstream ? 'upstream' : 'process');

/** A replica as a box with a cell for each slot, or for a share of them if there are many. */
function tile(view, replica) {
  const { max_ongoing_requests: all, running = 0, reserved = 0 } = replica;
  const cells = Math.min(all ?? 0, CELLS);
  const used = all ? Math.round((running / all) * cells) || (running ? 1 : 0) : 0;
  const held = all ? Math.round((reserved / all) * cells) || (reserved ? 1 : 0) : 0;
  const text = `${replica.replica_id}, ${replica.phase}${replica.reason ? `: ${replica.reason}` : ''}, ${some(all) ? `${running} running and ${reserved} reserved of ${all}` : 'slots unknown'}, on ${replica.node}`;
  return h('button', {
    type: 'button', class: `tile ${replica.draining ? 'draining' : replica.phase.toLowerCase()} ${replica.routable ? '' : 'apart'}`, title: text,
    'aria-pressed': String(view.state.picked === replica.replica_id),
    on: { click: () => { view.state.picked = view.state.picked === replica.replica_id ? null : replica.replica_id; view.redraw(); } },
  }, h('span', { class: 'name' }, short(replica.replica_id), h('small', {}, some(all) ? `${running + reserved}/${all}` : '–')),
    h('i', { class: 'cells', vars: { cells, run: used, rsv: held } }));
}

function replicaPanel(view, application, deployment, replicas) {
  const groups = new Map();
  const by = view.state.by ?? 'node';
  const of = { node: each => each.node, state: each => (each.draining ? 'DRAINING' : each.phase), kind: each => (kind(each) === 'upstream' ? `upstream ${each.upstream}` : 'in the process'), revision: each => `revision ${each.revision}` }[by];
  for (const each of replicas) {
    const group = of(each) ?? '–';
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(each);
  }
  const picked = replicas.find(each => each.replica_id === view.state.picked);
  return panel('Replicas', { wide: true, note: `${count(replicas.length)}; a cell is a slot`, aside: field('Group by', { list: ['node', 'state', 'kind', 'revision'], value: by, on: value => { view.state.by = value; view.redraw(); } }) },
    h('div', { class: 'legends' }, [['used', 'running'], ['held', 'reserved'], ['free', 'free']].map(([name, text]) => h('span', { key: name }, h('i', { class: `key ${name}` }), text))),
    replicas.length ? tiles({ label: 'Replicas', width: 138, height: 58, groups: [...groups].sort(), of: each => tile(view, each) }) : h('p', { class: 'empty' }, 'No replica.'),
    picked && h('div', { class: 'picked', key: 'picked' }, pairs(['Replica', picked.replica_id], ['State', state(picked.draining ? 'DRAINING' : picked.phase)], ['Reason', picked.reason], ['Node', picked.node],
      ['Kind', picked.upstream ? `upstream ${picked.upstream}` : 'runs in the process'], ['Started', day(picked.started_ms)], ['Revision', picked.revision],
      ['Slots', some(picked.max_ongoing_requests) ? `${picked.running} running, ${picked.reserved} reserved of ${picked.max_ongoing_requests}` : 'its node did not report']),
    link(`#/log/replica/${encodeURIComponent(picked.replica_id)}`, 'Its log'), operate('Replace this replica', () => replace(application, deployment, picked), { kind: 'danger' })));
}

export function differenceTable(label, changes, empty) {
  return grid({ label, rows: changes, key: ([name]) => name, empty, columns: [
    { name: 'Setting', width: 'minmax(10rem, 1.5fr)', of: ([name]) => name }, { name: 'Before', of: ([, before]) => before ?? 'absent' },
    { name: 'Now', of: ([, , now]) => now ?? 'absent' },
  ] });
}

function one(view) {
  const [application, name] = view.args;
  const entries = view.topic(view.follows);
  const deployment = entries.get('deployment');
  const app = entries.get('application');
  view.state.history ??= new History(`deployment=${encodeURIComponent(`${application}#${name}`)}`);
  const { history } = view.state;
  if (!deployment || !app) return h('p', { class: 'empty' }, 'Waiting for the first data…');
  const replicas = [...entries].filter(([key]) => key.startsWith('replica/')).map(([, each]) => each).sort((a, b) => (a.replica_id < b.replica_id ? -1 : 1));
  const rollout = entries.get('rollout');
  history.follow({ ...deployment, replicas: replicas.length, target: deployment.target_replicas }, view.redraw);
  const past = view.load(`history ${app.revision}`, () => get(path`/api/v1/applications/${application}/history`));
  const [current, previous] = past.value?.revisions ?? [];
  const moving = rollout && rollout.old + rollout.starting + rollout.draining > 0;
  return [
    h('div', { class: 'tools' }, state(deployment.status), deployment.message && h('span', { class: 'why' }, deployment.message), h('span', { class: 'space' }),
      link(`#/requests/of/${encodeURIComponent(`${application}#${name}`)}`, 'Requests'), link(`#/log/deployment/${encodeURIComponent(name)}`, 'Log'), link(`#/play/${encodeURIComponent(application)}`, 'Play'),
      operate('Scale', () => scale(application, deployment)),
      deployment.autoscaling?.paused && operate('Resume autoscaling', () => resume(application, deployment)),
      app.rollback_revision != null && operate('Roll back', () => rollback(application, app.revision, app.rollback_revision))),
    h('dl', { class: 'figures' }, figure('Requests/s', count(deployment.requests_per_s)), figure('Errors/s', count(deployment.errors_per_s), { tone: deployment.errors_per_s > 0 ? 'bad' : '' }),
      figure('p50', ms(deployment.p50_ms)), figure('p99', ms(deployment.p99_ms)), figure('Waiting', count(deployment.queue), { tone: deployment.queue > 0 ? 'warn' : '' }),
      figure('Slots in use', count(deployment.slots_used), { sub: `of ${count(deployment.slots)}` }), figure('Replicas', count(replicas.length), { sub: `of ${count(deployment.target_replicas)}` }),
      figure('Revision', app.revision)),
    moving && panel('Rollout in progress', { wide: true, note: `to version ${rollout.version}` },
      bar([['used', rollout.current], ['held', rollout.starting], ['old', rollout.old + rollout.draining]], Math.max(1, rollout.current + rollout.starting + rollout.old + rollout.draining),
        `${rollout.current} of the new version, ${rollout.starting} start, ${rollout.old} of earlier ones, ${rollout.draining} drain`)),
    replicaPanel(view, application, name, replicas),
    h('div', { class: 'charts' }, trafficCharts(history),
      chart({ title: 'Replicas', history, lines: [{ name: 'target', of: 'target', color: 'muted', step: true }, { name: 'replicas', of: 'replicas', color: 'blue', step: true }] })),
    panel('What differs from the last revision', { wide: true, note: previous ? `revision ${previous.revision} and ${current.revision}` : 'no earlier revision', aside: link(`#/config/${encodeURIComponent(application)}`, 'Configuration') },
      past.failure ? h('p', { class: 'empty' }, past.failure.message) : previous ? differenceTable('Differences', differences(previous.config, current.config), 'The settings are equal; the code or its jars may differ.') : h('p', { class: 'empty' }, 'This is the first revision.')),
    panel('Settings', { wide: true }, h('pre', { tabindex: 0, 'aria-label': 'Settings' }, JSON.stringify(deployment.config, null, 2))),
    deployment.dead?.length > 0 && panel('Recently ended replicas', { wide: true }, grid({ label: 'Ended replicas', rows: deployment.dead, key: each => each.replica_id, columns: [
      { name: 'Replica', of: each => short(each.replica_id) }, { name: 'Node', of: each => each.node }, { name: 'Reason', width: 'minmax(8rem, 2fr)', of: each => each.reason }] })),
  ];
}

export default {
  title: 'Deployments',
  heading: view => (view.args.length > 1 ? view.args.join(' / ') : 'Deployments'),
  topics: view => (view.args.length > 1 ? [(view.follows = `deployment:${view.args[0]}#${view.args[1]}`)] : ['overview']),
  render(view) {
    if (view.args.length > 1) return one(view);
    const { state: own } = view;
    return [h('div', { class: 'tools' }, field('Filter', { value: own.text, on: text => { own.text = text; view.redraw(); } })),
      deploymentGrid(deploymentRows(view.topic('overview')), { tall: true, text: own.text })];
  },
};
