import { h } from '../dom.js';
import { get, path, send } from '../api.js';
import { bar, button, confirm, field, grid, link, operate, pairs, panel, state, toDeployment, toRequest } from '../parts.js';
import { clock, count, day, micros, plural, short, some, us } from '../format.js';
import { deploymentRows } from './overview.js';

const PHASES = {
  queue: 'waiting for a slot', batch: 'waiting for its batch', receive: 'body of the client', route: 'routing', held: 'selection held',
  bus: 'way to the replica', handler: 'handler', calls: 'handler with calls', stream: 'streaming', respond: 'writing the response',
};
/** The phase of the time that ends with a step. */
const BEFORE = {
  queued: 'route', granted: 'queue', refused: 'bus', sent: 'route', split: 'receive', accepted: 'bus', handler_started: 'bus',
  handler_settled: 'handler', answered: 'bus', ended: 'respond', unanswered: 'bus', lost: 'bus', lease_consumed: 'held', lease_granted: 'queue',
};

/** The parts of a request as [phase, from, to], in microseconds from its arrival. */
function segments({ record, calls }) {
  const parts = [];
  let before = 0;
  for (const step of record.steps) {
    let phase = BEFORE[step.kind] ?? 'route';
    if (phase === 'queue' && record.batch) phase = 'batch';
    if (phase === 'receive' && record.phases_us.receive < 1) phase = 'route';
    if (step.kind === 'ended' && record.phases_us.stream > 0) phase = 'stream';
    if (phase === 'handler' && calls.length) phase = 'calls';
    if (step.at_us > before) parts.push([phase, before, step.at_us]);
    before = Math.max(before, step.at_us);
  }
  return parts;
}

/** Records in the order of a tree, each with its depth, its start after the first one, and its calls. */
export function tree(records) {
  const all = records.map(record => ({ record, from: micros(record.arrived_at), calls: [], depth: 0 })).sort((a, b) => a.from - b.from);
  const roots = [];
  for (const each of all) {
    const caller = all.filter(other => other !== each && `${other.record.application}#${other.record.deployment}` === each.record.parent &&
      other.from <= each.from && each.from <= other.from + other.record.phases_us.total).pop();
    (caller ? caller.calls : roots).push(each);
  }
  const ordered = [];
  const walk = (each, depth, start) => {
    ordered.push(Object.assign(each, { depth, start: each.from - start }));
    each.calls.forEach(call => walk(call, depth + 1, start));
  };
  roots.forEach(root => walk(root, 0, roots[0].from));
  return ordered;
}

const name = record => (record.application === record.deployment ? record.application : `${record.application} / ${record.deployment}`);

function slots(record) {
  const all = record.candidates.reduce((sum, each) => sum + each.max_ongoing_requests, 0);
  const used = record.candidates.reduce((sum, each) => sum + Math.min(each.ongoing, each.max_ongoing_requests), 0);
  const seen = plural(record.candidates_in_all, 'replica');
  return used >= all ? `all ${count(all)} slots of ${seen} were in use` : `${count(used)} of ${count(all)} slots of ${seen} were in use when it arrived`;
}

/** The reasons for the time of a request in words, the longest first: [us, phase, record, sentence]. */
export function reasons(nodes) {
  const found = [];
  for (const { record, calls } of nodes) {
    const times = record.phases_us;
    const { queue, batch } = record;
    const inCalls = calls.reduce((sum, call) => sum + call.record.phases_us.total, 0);
    if (batch && batch.waited_us > 0) {
      found.push([batch.waited_us, 'batch', record, `waited for its batch, which started with ${plural(batch.size, 'request')}`]);
    } else if (times.queue > 0) {
      const ahead = queue ? (queue.ahead > 0 ? `, and ${plural(queue.ahead, 'request')} waited before it` : ', and it was the next one') : '';
      found.push([times.queue, 'queue', record, record.candidates.length ? `waited for a slot: ${slots(record)}${ahead}` : `waited for a replica: none was there${ahead}`]);
    }
    if (times.bus > 0) found.push([times.bus, 'bus', record, 'was on the way to the event loop of the replica and back, or waited for its thread or loop there']);
    const own = times.handler - Math.min(times.handler, inCalls);
    if (own > 0) found.push([own, 'handler', record, calls.length ? 'was in its handler, apart from its calls' : 'was in its handler']);
    for (const [phase, text] of [['receive', 'waited for the body from the client'], ['route', 'was in routing'], ['held', 'was held by a selection'],
      ['stream', 'streamed its response'], ['respond', 'wrote its response']]) {
      if (times[phase] > 0) found.push([times[phase], phase, record, text]);
    }
  }
  return found.sort((a, b) => b[0] - a[0]);
}

export function explanation(records) {
  const nodes = tree(records);
  const first = nodes[0].record;
  const total = Math.max(...nodes.map(({ start, record }) => start + record.phases_us.total), 1);
  const why = reasons(nodes).filter(([time]) => time >= total * 0.02 || time > 1000).slice(0, 5);
  return [
    h('p', { class: 'verdict' }, h('strong', {}, first.request), ' ', state(first.outcome, first.status ?? first.outcome), ' in ', h('strong', {}, us(first.phases_us.total)),
      ` on ${first.node}, ${day(first.arrived_at)}`),
    first.failure && panel('Why it failed', {}, pairs(...Object.entries(first.failure).map(([key, value]) => [key, typeof value === 'object' ? JSON.stringify(value) : String(value)]))),
    panel('Why it took this time', { note: 'the longest part first' },
      h('ol', { class: 'reasons' }, why.map(([time, phase, record, text], at) => h('li', { key: at },
        h('span', { class: 'time' }, us(time)), h('i', { class: `key ${phase}` }), h('span', {}, h('b', {}, name(record)), ` ${text}.`))))),
    panel('Timeline', { wide: true, note: us(total) },
      h('div', { class: 'legends' }, Object.entries(PHASES).filter(([phase]) => nodes.some(node => segments(node).some(([each]) => each === phase)))
        .map(([phase, text]) => h('span', { key: phase }, h('i', { class: `key ${phase}` }), text))),
      h('div', { class: 'timeline' }, nodes.map((node, at) => [node, node.record, node.start, node.depth, at]).map(([node, record, start, depth, at]) => h('div', { key: at, class: 'lane', vars: { depth } },
        h('span', { class: 'who' }, depth ? h('i', { 'aria-label': 'called' }, '↳ ') : '', name(record), h('small', {}, us(record.phases_us.total))),
        h('span', { class: 'track' }, segments(node).map(([phase, from, to], part) => h('i', {
          key: part, class: phase, title: `${PHASES[phase]}: ${us(to - from)}`,
          vars: { from: `${(100 * (start + from)) / total}%`, part: `${(100 * (to - from)) / total}%` },
        }))))))),
    nodes.map(({ record, start }, at) => details(record, start, at)),
  ];
}

function details(record, start, at) {
  const { queue, batch } = record;
  const label = `${name(record)}${record.parent ? `, called by ${record.parent.replace('#', ' / ')}` : ''}`;
  return h('details', { key: `details${at}`, class: 'panel wide', open: at === 0 || Boolean(queue) },
    h('summary', {}, h('h2', {}, label), h('small', {}, `${us(record.phases_us.total)}, at +${us(start)}`)),
    pairs(['Outcome', [state(record.outcome), some(record.status) ? ` status ${record.status}` : '']],
      ['Replica', short(record.replica)], ['Node', record.node], ['Upstream', record.upstream],
      ['Queue', queue ? `waited ${us(queue.waited_us)} behind ${plural(queue.ahead, 'request')}${queue.max_queued_requests < 0 ? '' : `; at most ${queue.max_queued_requests} may wait`}` : 'did not wait'],
      ['Batch', batch && `position ${batch.position} of ${batch.size}, waited ${us(batch.waited_us)} for its start`],
      ['Failure', record.failure && Object.values(record.failure).filter(each => typeof each === 'string').join(': ')],
      ['Selection', `${record.policy}, snapshot ${record.snapshot.term}.${record.snapshot.counter}`]),
    h('h3', {}, 'Candidates', h('small', {}, `${count(record.candidates_in_all)} replicas as the router saw them`)),
    grid({ label: `Candidates of ${label} ${at}`, rows: record.candidates, key: each => each.replica, mark: each => (each.replica === record.replica ? 'chosen' : ''), empty: 'There was no replica.', columns: [
        { name: 'Replica', of: each => `${each.replica === record.replica ? '✓ ' : ''}${short(each.replica)}` },
        { name: 'Node', wide: true, of: each => `${each.node}${some(each.loop) ? `/${each.loop}` : ''}` },
        { name: 'In use', width: '9rem', of: each => bar([['used', each.ongoing]], each.max_ongoing_requests) },
        { name: 'As of', width: '6rem', wide: true, of: each => (each.exact ? 'exact' : some(each.age_us) ? `${us(each.age_us)} ago` : 'unknown') },
        { name: 'Tier', width: '7rem', wide: true, of: each => each.tier.replaceAll('_', ' ') },
        { name: 'Rank', width: '4rem', num: true, of: each => (some(each.rank) ? each.rank : '–') },
        { name: 'Score', width: '5rem', num: true, wide: true, of: each => (some(each.score) ? each.score.toFixed(3) : '–') },
      ] }),
    h('h3', {}, 'Steps'),
    grid({ label: `Steps of ${label} ${at}`, rows: record.steps.map((step, index) => ({ ...step, index })), key: each => each.index, columns: [
      { name: 'At', width: '6rem', num: true, of: each => `+${us(each.at_us)}` }, { name: 'Step', width: '9rem', of: each => each.kind.replaceAll('_', ' ') },
      { name: 'Where', wide: true, of: each => `${each.node}${some(each.loop) ? `/${each.loop}` : ''} ${short(each.replica)}` }, { name: 'Detail', of: each => each.detail },
    ] }));
}

function explainNext(view) {
  const rows = deploymentRows(view.topic('overview')).filter(row => row.name);
  let chosen = view.state.of && rows.some(row => row.key === view.state.of) ? view.state.of : rows[0]?.key;
  confirm('Explain the next request', [
    h('p', {}, 'The next request that this instance receives for the deployment is recorded, with the reason for each wait. Nothing else changes.'),
    field('Deployment', { value: chosen, list: rows.map(row => [row.key, row.key.replace('#', ' / ')]), on: value => (chosen = value) }),
  ], 'Explain the next one', async () => {
    const [application, ...deployment] = chosen.split('#');
    view.state.awaited = { application, deployment: deployment.join('#'), seen: new Set([...view.topic('requests').keys()]) };
    await send('POST', path`/api/v1/applications/${application}/deployments/${deployment.join('#')}/explain-next`);
    return `Waiting for the next request of ${chosen.replace('#', ' / ')}; the page opens it.`;
  });
}

function list(view) {
  const { state: own } = view;
  if (own.of === undefined) own.of = view.args[0] === 'of' ? view.args[1] : '';
  const all = [...view.topic('requests')].sort((a, b) => (a[0] < b[0] ? 1 : -1));
  const hit = own.awaited && all.find(([key, each]) => !own.awaited.seen.has(key) && each.application === own.awaited.application && each.deployment === own.awaited.deployment);
  if (hit) {
    own.awaited = null;
    location.hash = `#/requests/${encodeURIComponent(hit[1].request_id)}`;
    return [];
  }
  const text = (own.text ?? '').toLowerCase();
  const rows = all.filter(([, each]) => (!own.of || `${each.application}#${each.deployment}` === own.of) &&
    (!own.failed || each.failure || each.outcome !== 'ok' || each.status >= 400) &&
    (!text || `${each.request_id} ${each.request} ${each.application}/${each.deployment}`.toLowerCase().includes(text)));
  const names = [...new Set(all.map(([, each]) => `${each.application}#${each.deployment}`).concat(own.of || []))].sort();
  return [
    h('p', { class: 'lead' }, 'Explained requests, the newest first. “Waited” is the time outside handlers. Open a request to see why it waited. ',
      'A request is explained if it has the header ', h('code', {}, 'X-Berth-Explain: 1'), ', by the sample rate, or by the button.'),
    h('div', { class: 'tools' }, field('Filter', { value: own.text, on: value => { own.text = value; view.redraw(); } }),
      field('Deployment', { value: own.of, list: [['', 'all deployments'], ...names.map(each => [each, each.replace('#', ' / ')])], on: value => { own.of = value; view.redraw(); } }),
      h('label', { class: 'check' }, h('input', { type: 'checkbox', on: { change: event => { own.failed = event.target.checked; view.redraw(); } } }), 'failed only'),
      button(own.hold ? 'Continue' : 'Hold', () => { own.hold = own.hold ? null : rows; view.redraw(); }),
      operate('Explain the next one', () => explainNext(view), { kind: 'main' })),
    own.awaited && h('p', { class: 'notice', role: 'status' }, `Waiting for the next request of ${own.awaited.application} / ${own.awaited.deployment}…`),
    grid({ label: 'Requests', tall: true, rows: own.hold ?? rows, key: ([key]) => key, empty: 'No explained request yet.',
      mark: ([, each]) => (each.failure || each.status >= 500 ? 'failed' : ''),
      columns: [
        { name: 'At', width: '7rem', wide: true, sort: ([key]) => key, of: ([, each]) => clock(each.arrived_at, true) },
        { name: 'Id', width: 'minmax(7rem, 1.2fr)', of: ([, each]) => toRequest(each.request_id, true) }, { name: 'Request', wide: true, of: ([, each]) => each.request },
        { name: 'Deployment', of: ([, each]) => `${each.parent ? '↳ ' : ''}${name(each)}` },
        { name: 'Waited', width: '5rem', num: true, sort: ([, each]) => each.overhead_us, of: ([, each]) => us(each.overhead_us) },
        { name: 'Total', width: '5rem', num: true, sort: ([, each]) => each.total_us, of: ([, each]) => us(each.total_us) },
        { name: 'Share', width: '7rem', wide: true, of: ([, each]) => bar([['queue', each.overhead_us], ['handler', each.total_us - each.overhead_us]], each.total_us, '') },
        { name: 'Result', width: '6rem', of: ([, each]) => state(each.outcome, each.status ?? each.outcome) },
      ] }),
  ];
}

export default {
  title: 'Requests',
  heading: view => (view.args[0] && view.args[0] !== 'of' ? `Request ${view.args[0]}` : 'Requests'),
  topics: () => ['requests', 'overview'],
  render(view) {
    const [id] = view.args;
    if (!id || id === 'of') return list(view);
    const load = view.load(id, () => get(path`/api/v1/requests/${id}/explain`));
    if (load.failure) return [h('p', { class: 'notice bad' }, load.failure.message), link('#/requests', 'All requests')];
    if (!load.value) return h('p', { class: 'empty' }, 'Reading…');
    const { explanations: records } = load.value;
    return [
      h('div', { class: 'tools' }, link('#/requests', '← All requests'), toDeployment(records[0].application, records[0].deployment)),
      explanation(records),
    ];
  },
};
