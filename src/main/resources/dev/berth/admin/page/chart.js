// Curves of the last hour or day, drawn by uPlot. The canvas is drawn again at most every 5 s.

import { h } from './dom.js';
import { get, live } from './api.js';
import { clock, trim } from './format.js';

const REDRAW_MS = 5000;
const SHORTEST = 3600;
const LEAST = 120;
const LONGEST = 4000;
const uPlot = globalThis.uPlot;
const still = matchMedia('(prefers-reduced-motion: reduce)');

/** The curves of one subject of the last hour: read once, then continued with the figures of the feed. */
export class History {
  #query;
  #reading = false;
  data = null;
  failure = null;

  constructor(query) {
    this.#query = query;
  }

  /** Continues the columns up to this moment. A step without news repeats the figures. */
  follow(figures, redraw) {
    const { data } = this;
    if (!data) return void this.#read(redraw);
    const step = data.step_s * 1000;
    const at = Math.floor((live.now() - data.from_ms) / step);
    const size = Object.values(data.columns)[0].length;
    if (at < size || !figures) return;
    if (at - size > Math.max(2, 30_000 / step)) return void (this.data = null); // the feed was away: read again
    for (const name in data.columns) {
      const column = data.columns[name];
      while (column.length <= at) column.push(figures[name] ?? null);
      if (at >= LONGEST) column.splice(0, at + 1 - SHORTEST);
    }
    if (at >= LONGEST) data.from_ms += (at + 1 - SHORTEST) * step;
  }

  async #read(redraw) {
    if (this.#reading) return;
    this.#reading = true;
    try {
      this.data = await get(`/api/v1/history?${this.#query}`);
    } catch (failure) {
      this.failure = failure;
    }
    redraw();
    setTimeout(() => (this.#reading = false), REDRAW_MS);
  }

  series(names) {
    const { columns, from_ms: from, step_s: step } = this.data;
    const size = columns[names[0]].length;
    const known = columns.slots?.findIndex(value => value !== null) ?? 0;
    const first = Math.max(0, size - SHORTEST / step, Math.min(known, size - LEAST / step));
    const times = Array.from({ length: size - first }, (none, at) => from / 1000 + (first + at) * step);
    return [times, ...names.map(name => columns[name].slice(first))];
  }
}

/** A chart of columns: `lines` is a list of {name, of, color, fill, step}; colors are variables of page.css. */
export function chart({ title, history, lines, unit = '', height = 130 }) {
  return h('figure', { key: title, class: 'chart' },
    h('figcaption', {}, title),
    history.data
      ? h('div', { class: 'plot', role: 'img', 'aria-label': `${title}, last hour`, hook: {
          own: true,
          create: node => {
            node.watch = new ResizeObserver(() => node.plot?.setSize({ width: node.clientWidth, height }));
            node.watch.observe(node);
          },
          update: node => draw(node, history, lines, unit, height),
          remove: node => {
            node.watch.disconnect();
            node.plot?.destroy();
          },
        } })
      : h('p', { class: 'empty' }, history.failure ? history.failure.message : 'Reading…'));
}

/** Shows the last values while the pointer is elsewhere. */
const latest = plot => plot.cursor.idx == null && plot.setLegend({ idx: plot.data[0].length - 1 });

function draw(node, history, lines, unit, height) {
  const theme = document.documentElement.dataset.theme + matchMedia('(prefers-color-scheme: dark)').matches;
  if (node.plot && node.theme === theme && Date.now() - node.drawn < REDRAW_MS) return;
  const data = history.series(lines.map(line => line.of));
  node.drawn = Date.now();
  if (node.plot && node.theme === theme) {
    node.plot.setData(data);
    return;
  }
  node.plot?.destroy();
  node.theme = theme;
  const theming = getComputedStyle(document.documentElement);
  const color = name => theming.getPropertyValue(`--${name}`).trim();
  const axis = { stroke: color('muted'), font: '11px system-ui, sans-serif', grid: { stroke: color('line'), width: 1 }, ticks: { show: false } };
  node.plot = new uPlot({
    width: node.clientWidth || 300, height, padding: [8, 18, 0, 0], hooks: { draw: [latest], setCursor: [latest] },
    cursor: { sync: { key: 'hour' }, points: { show: !still.matches }, drag: { x: false, y: false } },
    legend: { live: true },
    scales: { y: { range: (plot, low, high) => [0, Math.max(high * 1.1, 0.001) || 1] } },
    axes: [{ ...axis, size: 26, space: 70, values: (plot, ticks) => ticks.map(at => clock(at * 1000).slice(0, 5)) },
      { ...axis, size: 54, space: 28, values: (plot, ticks) => ticks.map(value => `${trim(value)}${unit}`) }],
    series: [{ label: 'at', value: (plot, at) => (at == null ? '' : clock(at * 1000)) }, ...lines.map(line => ({
      label: line.name, stroke: color(line.color), width: 1.5, points: { show: false }, spanGaps: false,
      fill: line.fill ? `${color(line.color)}22` : undefined, paths: line.step ? uPlot.paths.stepped({ align: 1 }) : undefined,
      value: (plot, value) => (value == null ? '–' : `${trim(value)}${unit}`) }))],
  }, data, node);
}
