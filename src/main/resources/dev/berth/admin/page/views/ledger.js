import { h } from '../dom.js';
import { bar, field, figure, grid, state, toDeployment } from '../parts.js';
import { count, short } from '../format.js';

const number = (name, of, more) => ({ name, width: '6rem', num: true, sort: ([, each]) => each[of], of: ([, each]) => count(each[of]), ...more });

export default {
  title: 'Ledger',
  topics: () => ['ledger'],
  render(view) {
    const entries = view.topic('ledger');
    const text = (view.state.text ?? '').toLowerCase();
    const rows = [...entries].filter(([key]) => key !== 'total' && key.toLowerCase().includes(text)).sort();
    const total = Object.entries(entries.get('total') ?? {}).filter(([, value]) => typeof value === 'number');
    return [
      h('p', { class: 'lead' }, 'The exact account of every slot: granted = completed + released + expired + running + reserved. Audits compare it with the routers.'),
      total.length > 0 && h('dl', { class: 'figures' }, total.map(([name, value]) => figure(name.replaceAll('_', ' '), count(value)))),
      h('div', { class: 'tools' }, field('Filter', { value: view.state.text, on: value => { view.state.text = value; view.redraw(); } })),
      grid({ label: 'Ledger', tall: true, rows, key: ([key]) => key, empty: 'No replica.', columns: [
        { name: 'Deployment', width: 'minmax(8rem, 1fr)', of: ([, each]) => toDeployment(each.application, each.deployment) },
        { name: 'Replica', width: '7rem', of: ([, each]) => short(each.replica) },
        { name: 'Slots', width: '9rem', sort: ([, each]) => (each.running + each.reserved) / each.max_ongoing_requests, of: ([, each]) => bar([['used', each.running], ['held', each.reserved]], each.max_ongoing_requests) },
        number('Granted', 'granted'), number('Completed', 'completed', { wide: true }), number('Released', 'released', { wide: true }), number('Expired', 'expired', { wide: true }),
        number('Zombies', 'zombies', { wide: true }),
        { name: 'Audit', width: '6rem', of: ([, each]) => state(each.audit) },
      ] }),
    ];
  },
};
