import { h } from '../dom.js';
import { alone, send, path } from '../api.js';
import { confirm, grid, operate, pairs, state } from '../parts.js';
import { count, ms } from '../format.js';
import { drainNode } from './deployments.js';

function uncordon(name) {
  confirm(`Uncordon ${name}`, h('p', {}, `Replicas may be placed on ${name} again.`), 'Uncordon',
    () => send('POST', path`/api/v1/cluster/nodes/${name}/uncordon`).then(() => `${name} takes replicas again.`));
}

export default {
  title: 'Nodes',
  topics: () => ['nodes'],
  render(view) {
    const entries = view.topic('nodes');
    const cluster = entries.get('cluster');
    const rows = [...entries].filter(([key]) => key !== 'cluster').map(([, node]) => node).sort((a, b) => (a.name < b.name ? -1 : 1));
    return [
      cluster && pairs(['Control', cluster.control ?? 'none'], ['Cut off', cluster.may_be_cut_off ? 'most nodes are silent at once; the controller waits before it replaces them' : null],
        ['Stands by', cluster.stands_by], ['Awaited', cluster.awaited?.join(', ')], ['Drained', cluster.cordoned?.join(', ')]),
      grid({ label: 'Nodes', tall: true, rows, key: node => node.name, columns: [
        { name: 'Node', width: 'minmax(5rem, 1.5fr)', of: node => node.name }, { name: 'State', width: '5.2rem', of: node => state(node.state) },
        { name: 'Role', width: '5rem', wide: true, of: node => (alone() ? '' : node.role ?? '') }, { name: 'Zone', width: '6rem', wide: true, of: node => node.zone ?? '' },
        { name: 'Replicas', width: '3.6rem', num: true, sort: node => node.replicas, of: node => count(node.replicas) },
        { name: 'Loop lag', width: '6rem', num: true, wide: true, sort: node => node.loop_lag_ms, of: node => ms(node.loop_lag_ms) },
        { name: 'Unreachable from', wide: true, of: node => node.unreachable_from?.join(', ') ?? '' },
        { name: 'Action', width: '5.4rem', of: node => (node.state === 'CORDONED' ? operate('Uncordon', () => uncordon(node.name)) : operate('Drain', () => drainNode(node))) || '' },
      ] }),
    ];
  },
};
