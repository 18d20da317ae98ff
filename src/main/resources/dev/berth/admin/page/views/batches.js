import { grid, bar, toDeployment, toRequest } from '../parts.js';
import { h } from '../dom.js';
import { ofAll } from '../api.js';
import { count, short, trim, us } from '../format.js';

export default {
  title: 'Batches',
  topics: () => ['batches', 'requests'],
  render(view) {
    const rows = [...view.topic('batches')].filter(([key]) => key !== 'total').sort();
    const waits = [...view.topic('requests')].filter(([, each]) => each.batch).sort((a, b) => (a[0] < b[0] ? 1 : -1)).slice(0, 50);
    return [
      grid({ label: 'Batches', tall: true, rows, key: ([key]) => key, empty: ofAll('No deployment takes batches. Deployment.batch, or the section berth.batching, declares them.'), columns: [
        { name: 'Deployment', of: ([, each]) => toDeployment(each.application, each.deployment) }, { name: 'Replica', width: '8rem', of: ([, each]) => short(each.replica) },
        { name: 'Batches', width: '6rem', num: true, sort: ([, each]) => each.batches, of: ([, each]) => count(each.batches) },
        { name: 'Mean fill', width: '10rem', sort: ([, each]) => each.mean_batch_fill_percent, of: ([, each]) => bar([['used', each.mean_batch_fill_percent]], 100, `${trim(each.mean_batch_fill_percent)} %`) },
        { name: 'Requests per batch', width: '9rem', num: true, wide: true, of: ([, each]) => (each.batches ? trim(each.completed / each.batches) : '–') },
        { name: 'Slots', width: '9rem', wide: true, of: ([, each]) => bar([['used', each.running], ['held', each.reserved]], each.max_ongoing_requests) },
      ] }),
      h('h2', {}, 'Waits for a batch', h('small', {}, 'of explained requests')),
      grid({ label: 'Waits', rows: waits, key: ([key]) => key, empty: 'No explained request was in a batch.', columns: [
        { name: 'Request', of: ([, each]) => toRequest(each.request_id) }, { name: 'Deployment', wide: true, of: ([, each]) => toDeployment(each.application, each.deployment) },
        { name: 'Place', width: '6rem', num: true, of: ([, each]) => `${each.batch.position} of ${each.batch.size}` },
        { name: 'Waited', width: '6rem', num: true, of: ([, each]) => us(each.batch.waited_us) },
      ] }),
    ];
  },
};
