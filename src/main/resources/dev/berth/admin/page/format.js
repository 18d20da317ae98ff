// Numbers and times as text.

export const some = value => value != null && !Number.isNaN(value);

export function count(value) {
  if (!some(value)) return '–';
  if (value >= 1e6) return `${trim(value / 1e6)} M`;
  if (value >= 10_000) return `${trim(value / 1000)} k`;
  return trim(value);
}

/** A number with three digits at most after rounding. */
export function trim(value) {
  if (!some(value)) return '–';
  const size = Math.abs(value);
  return String(Number(value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)));
}

export function ms(value) {
  if (!some(value)) return '–';
  if (value < 1) return `${Math.round(value * 1000)} µs`;
  if (value < 1000) return `${trim(value)} ms`;
  return value < 120_000 ? `${trim(value / 1000)} s` : age(value);
}

export const us = value => ms(value / 1000);

export function age(value) {
  const s = Math.max(0, Math.round(value / 1000));
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  return s < 172_800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86_400)} d`;
}

/** The time of day, with milliseconds if `fine`. */
export function clock(at, fine) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '–';
  const text = date.toLocaleTimeString('en-GB');
  return fine ? `${text}.${String(date.getMilliseconds()).padStart(3, '0')}` : text;
}

export const day = at => new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** The last part of a replica's id, which is unique within its deployment. */
export const short = id => String(id ?? '').split('#').pop();

export const plural = (number, word) => `${count(number)} ${word}${number === 1 ? '' : 's'}`;

/** A number of microseconds since 1970, of an ISO time with up to nine digits. */
export const micros = iso => Date.parse(iso.replace(/\.\d+/, '')) * 1000 + Number(`0${/\.\d+/.exec(iso)?.[0] ?? ''}`) * 1e6;

/** An object as a flat list of [path, value as text]. Members of lists of named things go by their name. */
export function flat(value, path = '') {
  if (value === null || typeof value !== 'object') return [[path, JSON.stringify(value)]];
  const entries = Array.isArray(value)
    ? value.map((each, at) => [`[${each?.name ?? at}]`, each])
    : Object.entries(value).map(([name, each]) => [path ? `.${name}` : name, each]);
  return entries.length ? entries.flatMap(([step, each]) => flat(each, path + step)) : [[path, JSON.stringify(value)]];
}

/** Returns the differences of two objects, each as [path, value before, value now]; an absent value is undefined. */
export function differences(before, now) {
  const old = new Map(flat(before ?? {}));
  const fresh = new Map(flat(now ?? {}));
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .filter(path => old.get(path) !== fresh.get(path))
    .map(path => [path, old.get(path), fresh.get(path)]);
}
