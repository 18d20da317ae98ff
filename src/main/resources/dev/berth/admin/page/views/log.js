import { h } from '../dom.js';
import { button, field, toRequest } from '../parts.js';
import { clock, count, short } from '../format.js';
import { deploymentRows } from './overview.js';

const LEVELS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR'];
const KINDS = ['application', 'deployment', 'replica'];
const LONG = 4000;

/** One field for the subject: `application`, `deployment` or `replica`, as the options of berth logs. */
export default {
  title: 'Log',
  topics: () => ['log', 'overview'],
  filters({ state: own, args: [kind, subject] }) {
    if (own.level === undefined) Object.assign(own, { level: 'INFO' }, KINDS.includes(kind) ? { [kind]: subject } : {});
    return [['level', own.level.toLowerCase()], ...KINDS.filter(each => own[each]).map(each => [each, own[each]])];
  },
  render(view) {
    const { state: own } = view;
    const entries = view.topic('log');
    const set = name => value => {
      own[name] = value;
      clearTimeout(own.timer);
      own.timer = setTimeout(view.follow, 300);
      view.redraw();
    };
    const rows = deploymentRows(view.topic('overview'));
    const lines = own.held ?? [...entries].filter(([key]) => key !== 'lost').sort((a, b) => (a[0] < b[0] ? 1 : -1));
    const text = (own.text ?? '').toLowerCase();
    const shown = text ? lines.filter(([, line]) => `${line.message} ${line.logger} ${line.exception ?? ''} ${Object.values(line.fields ?? {}).join(' ')}`.toLowerCase().includes(text)) : lines;
    const lost = entries.get('lost');
    const names = of => [['', 'all'], ...new Set([...rows.map(of).filter(Boolean)])].map(each => (Array.isArray(each) ? each : [each, each]));
    return [
      h('div', { class: 'tools' },
        field('Level', { list: LEVELS, value: own.level, on: set('level') }),
        field('Application', { list: names(row => row.application), value: own.application ?? '', on: set('application') }),
        field('Deployment', { list: names(row => row.name), value: own.deployment ?? '', on: set('deployment') }),
        field('Replica', { value: own.replica, on: set('replica') }),
        field('Text', { value: own.text, on: value => { own.text = value; view.redraw(); } }),
        button(own.held ? 'Continue' : 'Hold', () => { own.held = own.held ? null : lines; view.redraw(); })),
      h('p', { class: 'lead' }, `The newest first; ${count(shown.length)} lines.`, lost > 0 ? ` ${count(lost)} lines were too many to show.` : ''),
      h('ol', { class: 'log', tabindex: 0, 'aria-label': 'Log lines' }, shown.map(([key, line]) => h('li', { key, class: line.level.toLowerCase() },
        h('time', { datetime: line.time }, clock(line.time, true)), h('b', {}, line.level), h('span', { class: 'subject', title: line.logger },
          line.fields?.replica ? short(line.fields.replica) : line.fields?.application ?? line.logger.split('.').pop()),
        h('span', { class: 'message' }, line.message.slice(0, LONG), line.message.length > LONG ? '…' : '', line.fields?.request_id ? [' ', toRequest(line.fields.request_id)] : '',
          line.exception && h('details', {}, h('summary', {}, line.exception.split('\n')[0].slice(0, 300)), h('pre', {}, line.exception.slice(0, 4 * LONG))))))),
      !shown.length && h('p', { class: 'empty' }, 'No line passes these filters.'),
    ];
  },
  close: ({ state: own }) => clearTimeout(own.timer),
};
