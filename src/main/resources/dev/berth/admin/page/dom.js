// Describes elements with h() and makes a parent's children equal to a description with sync().
// Every text becomes a text node: nothing that the server sends is ever parsed as HTML.

/** props: `key`, `class`, `on` (events), `vars` (CSS variables), `hook` (create, update, remove; with `own` the
 * element keeps its children), `value` (set once, at the creation); all others are attributes. */
export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, children };
}

export function sync(parent, ...described) {
  const next = described.flat(Infinity).filter(each => each != null && each !== false && each !== '');
  const keyed = new Map();
  for (const child of parent.childNodes) if (child.made?.key != null) keyed.set(child.made.key, child);
  let at = parent.firstChild;
  for (const one of next) {
    const key = one.props?.key;
    let node = key == null ? at : keyed.get(String(key));
    if (!node || !same(node, one) || (key == null && node.made?.key != null)) node = create(one);
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
    keyed.delete(String(key));
    apply(node, one);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    removed(gone);
    gone.remove();
  }
}

const same = (node, one) => (one.tag ? node.made?.tag === one.tag : node.nodeType === Node.TEXT_NODE);

function create(one) {
  if (!one.tag) return document.createTextNode('');
  const node = document.createElement(one.tag);
  node.made = { tag: one.tag, key: one.props.key == null ? null : String(one.props.key) };
  if (one.props.value != null) queueMicrotask(() => (node.value = one.props.value));
  return node;
}

function apply(node, one) {
  if (!one.tag) {
    const text = String(one);
    if (node.data !== text) node.data = text;
    return;
  }
  if (node.made.one === one) return; // the same description, whose update hooks have run
  const { props } = one;
  const before = node.made.one?.props ?? {};
  const fresh = !node.made.one;
  node.made.one = one;
  for (const name of new Set([...Object.keys(before), ...Object.keys(props)])) {
    if (name === 'key' || name === 'hook' || name === 'value' || (before[name] === props[name])) continue;
    if (name === 'on' || name === 'vars') group(node, name, before[name] ?? {}, props[name] ?? {});
    else if (props[name] == null || props[name] === false) node.removeAttribute(name);
    else node.setAttribute(name, props[name] === true ? '' : props[name]);
  }
  if (!props.hook?.own) sync(node, one.children);
  if (fresh) props.hook?.create?.(node);
  props.hook?.update?.(node);
}

function group(node, name, before, now) {
  for (const each of new Set([...Object.keys(before), ...Object.keys(now)])) {
    if (name === 'on') node[`on${each}`] = now[each] ?? null;
    else if (before[each] !== now[each]) node.style.setProperty(`--${each}`, now[each] ?? '');
  }
}

function removed(node) {
  node.made?.one?.props.hook?.remove?.(node);
  node.childNodes.forEach(removed);
}
