// Parts that several views use: tables and lists of any length, bars, states, forms, confirmations.

import { h, sync } from './dom.js';
import { page } from './api.js';
import { count } from './format.js';

const ROW = 30;
const HEADING = 30;
const narrow = matchMedia('(max-width: 640px)');

/** A hook of an element that is drawn again when it is scrolled or resized. */
const watched = draw => ({
  own: true,
  create(node) {
    node.onscroll = () => node.draw();
    node.watch = new ResizeObserver(() => node.draw());
    node.watch.observe(node);
  },
  update: node => (node.draw = () => draw(node))(),
  remove: node => node.watch.disconnect(),
});

/**
 * A table whose rows exist only where they are visible, so its length does not matter. A column is {name, of,
 * width, num, wide (not on narrow screens), sort}. `of` returns a text or a description.
 */
export function grid({ label, columns, rows, key, empty = 'None.', tall, mark }) {
  if (!rows.length) return h('p', { class: 'empty' }, empty);
  const made = new Map(); // rows that a scroll shows again
  return h('div', {
    key: `grid ${label}`, class: `grid${tall ? ' tall' : ''}`, role: 'table', tabindex: 0, 'aria-label': label, 'aria-rowcount': rows.length + 1,
    hook: watched(node => drawGrid(node, columns.filter(each => !(each.wide && narrow.matches)), rows, key, mark, made)),
  });
}

function drawGrid(node, columns, rows, key, mark, made) {
  const { by, down = true } = node.order ?? {};
  const column = columns.find(each => each.name === by);
  let shown = rows;
  if (column) {
    const order = new Map(rows.map(row => [row, column.sort(row) ?? -Infinity]));
    const turn = down ? 1 : -1;
    shown = [...rows].sort((a, b) => (order.get(a) < order.get(b) ? turn : order.get(a) > order.get(b) ? -turn : 0));
  }
  const widths = columns.map(each => each.width ?? 'minmax(7rem, 1fr)');
  node.style.setProperty('--cols', widths.join(' '));
  node.style.setProperty('--least', `${widths.reduce((sum, each) => sum + Number(/[\d.]+/.exec(each)[0]) + 0.8, 0)}rem`);
  const first = Math.max(0, Math.floor(node.scrollTop / ROW) - 8);
  const last = Math.min(shown.length, first + Math.ceil((node.clientHeight || 600) / ROW) + 18);
  const cell = (each, value) => h('span', { role: 'cell', class: each.num ? 'num' : null, title: typeof value === 'string' && !each.num ? value : null }, value);
  const order = each => [node.order = { by: each.name, down: each !== column || !down }, node.draw()];
  const heading = each => h('span', { role: 'columnheader', key: each.name, class: each.num ? 'num' : null, 'aria-sort': each === column ? (down ? 'descending' : 'ascending') : null },
    each.sort ? h('button', { on: { click: () => order(each) } }, each.name, each === column ? (down ? ' ↓' : ' ↑') : '') : each.name);
  const line = (row, at) => {
    const old = made.get(row);
    if (old?.props['aria-rowindex'] === at + 2 && old.children[0].length === columns.length) return old;
    return made.set(row, h('div', { class: `row ${mark?.(row) ?? ''}`, role: 'row', key: key(row), 'aria-rowindex': at + 2 }, columns.map(each => cell(each, each.of(row))))).get(row);
  };
  sync(node,
    h('div', { class: 'row head', role: 'row' }, columns.map(heading)),
    h('div', { class: 'rows', role: 'rowgroup', vars: { height: `${shown.length * ROW}px`, from: `${first * ROW}px` } }, shown.slice(first, last).map((row, at) => line(row, first + at))));
}

/** Boxes of equal size in rows, of any number; `groups` is a list of [title, items]. */
export function tiles({ label, groups, width, height, of }) {
  return h('div', { key: `tiles ${label}`, class: 'tiles', tabindex: 0, role: 'region', 'aria-label': label, hook: watched(node => {
    const across = Math.max(1, Math.floor((node.clientWidth - 2) / width));
    const lines = [];
    let top = 0;
    for (const [title, items] of groups) {
      lines.push([top, () => h('h3', {}, title, h('small', {}, count(items.length)))]);
      top += HEADING;
      for (let at = 0; at < items.length; at += across, top += height) lines.push([top, () => h('div', { class: 'line', vars: { across } }, items.slice(at, at + across).map(of))]);
    }
    const shown = lines.filter(([at]) => at > node.scrollTop - 2 * height && at < node.scrollTop + (node.clientHeight || 600) + 2 * height);
    sync(node, h('div', { class: 'rows', vars: { height: `${top}px`, from: `${shown[0]?.[0] ?? 0}px`, each: `${height}px` } }, shown.map(([, line]) => line())));
  }) });
}

const GOOD = new Set(['RUNNING', 'HEALTHY', 'ALIVE', 'RUNS', 'ok', 'clean', 'open', 'STEADY', 'SCALED_UP', 'SCALED_DOWN']);
const BAD = new Set(['UNHEALTHY', 'DEPLOY_FAILED', 'FAILED', 'SUSPECTED', 'DEAD', 'error', 'mismatch', 'closed']);

export const tone = state => (GOOD.has(state) ? 'good' : BAD.has(state) ? 'bad' : 'warn');

export const state = (name, text = name) => h('span', { class: `state ${tone(name)}` }, String(text ?? '–').toLowerCase().replaceAll('_', ' '));

/** A bar of parts of a whole, [class, amount], with its text beside it. */
export function bar(parts, whole, text) {
  return h('span', { class: 'meter' },
    h('span', { class: 'bar' }, parts.map(([name, part]) =>
      h('i', { class: name, vars: { part: whole > 0 ? `${Math.min(100, (100 * part) / whole)}%` : '0%' } }))),
    h('span', {}, text ?? `${count(parts.reduce((sum, [, part]) => sum + part, 0))} / ${count(whole)}`));
}

export const panel = (title, { aside, wide, note } = {}, ...content) =>
  h('section', { key: title, class: `panel${wide ? ' wide' : ''}`, 'aria-label': title },
    h('header', {}, h('h2', {}, title), note && h('small', {}, note), aside && h('div', { class: 'aside' }, aside)), content);

export const figure = (name, value, { tone: kind, sub } = {}) =>
  h('div', { key: name, class: `figure ${kind ?? ''}` }, h('dt', {}, name), h('dd', {}, value, sub && h('small', {}, sub)));

export const link = (to, text, cover) => h('a', { href: to, class: cover ? 'cover' : null, title: typeof text === 'string' ? text : null }, text);

export const toDeployment = (application, name, cover) =>
  link(`#/deployments/${encodeURIComponent(application)}/${encodeURIComponent(name)}`, application === name ? name : `${application} / ${name}`, cover);

export const toRequest = (id, cover) => link(`#/requests/${encodeURIComponent(id)}`, id, cover);

export const pairs = (...entries) => h('dl', { class: 'pairs' }, entries.filter(each => each && each[1] != null && each[1] !== '')
  .map(([name, value]) => [h('dt', { key: `t${name}` }, name), h('dd', { key: `d${name}` }, value)]));

/** A field with its label. `on` gets the new text. */
export function field(label, { value = '', on, type = 'text', list, area, ...more } = {}) {
  const set = { input: event => on?.(event.target.value) };
  const name = { 'aria-label': label, placeholder: label, spellcheck: 'false', autocomplete: 'off', ...more };
  return h('label', { key: label, class: 'field' }, h('span', {}, label), list
    ? h('select', { 'aria-label': label, value, on: { change: event => on?.(event.target.value) }, hook: { update: node => queueMicrotask(() => (node.value = value)) } },
      list.map(each => (Array.isArray(each) ? each : [each, each])).map(([of, text]) => h('option', { key: `o${of}`, value: of, hook: { create: node => (node.value = of) } }, text)))
    : h(area ? 'textarea' : 'input', { ...name, type: area ? null : type, value, on: set }));
}

export const button = (text, click, { kind = '', ...more } = {}) => h('button', { key: text, type: 'button', class: `button ${kind}`, on: { click }, ...more }, text);

/** A button that only an operator has. */
export const operate = (text, click, more) => page.role === 'operator' && button(text, click, more);

export function said(text, bad) {
  const place = document.getElementById('said');
  sync(place, h('p', { key: `${Date.now()}`, class: bad ? 'bad' : 'good' }, text));
  clearTimeout(place.timer);
  place.timer = setTimeout(() => sync(place), bad ? 12_000 : 6000);
}

/** A dialog with a form. `act` runs when it is sent; a failure of it is shown, and the dialog stays. */
function modal(title, content, verb, act, { danger, fixed }) {
  const dialog = document.createElement('dialog');
  const close = () => [dialog.close(), dialog.remove()]; // close() returns the focus
  const idle = yes => (dialog.querySelector('[type="submit"]').disabled = !yes);
  const submit = async event => {
    event.preventDefault();
    idle(false);
    try {
      await act();
      close();
    } catch (failure) {
      idle(true);
      sync(dialog.querySelector('.problem'), failure.message);
    }
  };
  dialog.setAttribute('aria-labelledby', 'dialog-title');
  dialog.oncancel = event => (fixed ? event.preventDefault() : close());
  sync(dialog, h('form', { on: { submit } }, h('h2', { id: 'dialog-title' }, title), content, h('p', { class: 'problem', role: 'alert', hook: { own: true } }),
    h('div', { class: 'buttons' }, !fixed && button('Cancel', close), h('button', { class: `button ${danger ? 'danger' : 'main'}`, type: 'submit' }, verb))));
  document.body.append(dialog);
  dialog.showModal();
}

/** Shows what will happen and does it if the person agrees. `act` returns the text that is shown after it. */
export const confirm = (title, content, verb, act, more = {}) => modal(title, content, verb, async () => said(await act()), more);

/** The dialog for the token of the admin port. Resolves with the text that was typed. */
export const tokenDialog = wrong => new Promise(done => {
  let typed = '';
  modal('Token of the admin port', [
    h('p', {}, wrong ? 'The instance does not know this token.' : 'This instance needs one of its admin tokens. The page keeps it in memory until it is closed.'),
    field('Token', { type: 'password', required: true, on: text => (typed = text) }),
  ], 'Connect', () => done(typed.trim()), { fixed: true });
});
