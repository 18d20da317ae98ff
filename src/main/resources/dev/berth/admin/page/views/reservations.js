import { h } from '../dom.js';
import { figure, grid, panel, toDeployment } from '../parts.js';
import { count, short } from '../format.js';

const list = (title, counts) => panel(title, {}, grid({ label: title, rows: Object.entries(counts ?? {}).sort(), key: ([name]) => name, columns: [
  { name: 'Reason', of: ([name]) => name.replaceAll('_', ' ') }, { name: 'Number', width: '6rem', num: true, of: ([, number]) => count(number) }] }));

export default {
  title: 'Reservations',
  topics: () => ['reservations'],
  render(view) {
    const entries = view.topic('reservations');
    const total = entries.get('total');
    if (!total) return h('p', { class: 'empty' }, 'Waiting for the first data…');
    return [
      h('dl', { class: 'figures' }, figure('Held', count(total.held), { sub: `of ${count(total.limit)}` }), figure('Waiting', count(total.waiting)), figure('Made', count(total.made))),
      grid({ label: 'Reserved slots', tall: true, rows: [...entries].filter(([key]) => key !== 'total').sort(), key: ([key]) => key, empty: 'No slot is reserved now.', columns: [
        { name: 'Deployment', of: ([, each]) => toDeployment(each.application, each.deployment) }, { name: 'Replica', of: ([, each]) => short(each.replica) },
        { name: 'Reserved', width: '6rem', num: true, of: ([, each]) => count(each.reserved) },
      ] }),
      h('div', { class: 'columns' }, list('Ended', total.ended), list('Refused', total.refused)),
    ];
  },
};
