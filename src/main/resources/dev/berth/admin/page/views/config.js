import { h } from '../dom.js';
import { get, ofAll, path } from '../api.js';
import { field, grid, operate, panel, state } from '../parts.js';
import { age, day, differences } from '../format.js';
import { differenceTable, rollback } from './deployments.js';

export default {
  title: 'Config',
  topics: () => ['overview'],
  render(view) {
    const applications = [...view.topic('overview')].filter(([key]) => key.startsWith('app/')).map(([, each]) => each).sort((a, b) => (a.name < b.name ? -1 : 1));
    const app = applications.find(each => each.name === view.args[0]) ?? applications[0];
    if (!app) return h('p', { class: 'empty' }, ofAll('No application is deployed.'));
    const past = view.load(`${app.name} ${app.revision}`, () => get(path`/api/v1/applications/${app.name}/history`));
    const revisions = past.value?.revisions ?? [];
    const against = revisions.find(each => String(each.revision) === view.state.against) ?? revisions[1];
    return [
      h('div', { class: 'tools' }, field('Application', { list: applications.map(each => each.name), value: app.name, on: name => (location.hash = path`#/config/${name}`) }),
        revisions.length > 1 && field('Compare with', { list: revisions.slice(1).map(each => [String(each.revision), `revision ${each.revision}, ${each.state.toLowerCase()}`]), value: String(against.revision), on: value => { view.state.against = value; view.redraw(); } })),
      past.failure && h('p', { class: 'notice bad' }, past.failure.message),
      revisions.length > 0 && [
        panel('Revisions', { wide: true }, grid({ label: 'Revisions', rows: revisions, key: each => each.revision, columns: [
          { name: 'Revision', width: '5.5rem', num: true, of: each => each.revision }, { name: 'State', width: '6rem', of: each => state(each.state) },
          { name: 'Deployed', width: 'minmax(9rem, 1fr)', of: each => h('span', { title: day(each.deployed_ms) }, `${age(Date.now() - each.deployed_ms)} ago`) },
          { name: 'Content', width: '8rem', wide: true, of: each => each.digest.slice(0, 12) }, { name: 'Message', wide: true, of: each => each.message ?? '' },
          { name: 'Action', width: '7rem', of: each => (each !== revisions[0] && operate('Roll back', () => rollback(app.name, app.revision, each.revision))) || '' },
        ] })),
        against && panel('What differs', { wide: true, note: `revision ${against.revision} and ${revisions[0].revision}` }, differenceTable('Differences', differences(against.config, revisions[0].config), 'The settings are equal; the code or its jars may differ.')),
        panel('What runs', { wide: true, note: `revision ${revisions[0].revision}, read-only` }, h('pre', { tabindex: 0, 'aria-label': 'Configuration' }, JSON.stringify(revisions[0].config, null, 2))),
      ],
    ];
  },
};
