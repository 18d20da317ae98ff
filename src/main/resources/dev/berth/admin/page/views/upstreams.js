import { h } from '../dom.js';
import { bar, grid, state, toDeployment } from '../parts.js';
import { ms, some } from '../format.js';

const health = each => (each.phase === 'RUNNING' && each.routable ? 'open' : each.phase === 'RUNNING' ? 'closed' : each.phase);

export default {
  title: 'Upstreams',
  topics: () => ['upstreams'],
  render: view => grid({ label: 'Upstreams', tall: true, rows: [...view.topic('upstreams')].sort(), key: ([key]) => key, empty: 'No deployment has upstreams. The key berth.upstreams declares servers that run elsewhere.', columns: [
    { name: 'Upstream', width: 'minmax(10rem, 2fr)', of: ([, each]) => each.upstream },
    { name: 'Deployment', width: 'minmax(8rem, 1fr)', of: ([, each]) => toDeployment(each.application, each.deployment) },
    { name: 'Health', width: '7rem', of: ([, each]) => h('span', { title: each.reason || null }, state(health(each))) },
    { name: 'In use of maximum', width: '10rem', of: ([, each]) => (some(each.max_ongoing_requests) ? bar([['used', each.running], ['held', each.reserved]], each.max_ongoing_requests) : 'unknown') },
    { name: 'Owner', width: '9rem', of: ([, each]) => (each.owner ? each.owner.node : each.node) },
    { name: 'Lease', width: '9rem', wide: true, of: ([, each]) => (each.owner ? `${each.owner.slots} slots, ${ms(each.owner.lease_ms)}${each.owner.silent ? ', silent' : ''}` : 'of its node') },
    { name: 'Reason', wide: true, of: ([, each]) => each.reason },
  ] }),
};
