// Elements, made one by one: no text of a model, a tool or a person is ever read as HTML.

// Colours of terminals are dropped; other control characters, and characters that turn text around or are not seen, are named.
const COLOURS = /\u001b\[[0-9;]*m/g;
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export const visible = (text) =>
  String(text).replace(COLOURS, '').replace(/\r\n/g, '\n').replace(UNSEEN, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, '0')}`);

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else element.setAttribute(name, visible(value));
  }
  add(element, ...children);
  return element;
}

export function add(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === '') continue;
    element.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
  return element;
}

export const fill = (element, ...children) => {
  element.replaceChildren();
  return add(element, ...children);
};

export const button = (name, onclick, attributes = {}) => h('button', { type: 'button', onclick, ...attributes }, name);

let count = 0;
export const fresh = (prefix) => `${prefix}-${++count}`;

// A line that opens: a button, and what it shows.
export function opening(name, className = '', open = false) {
  const panel = h('div', { class: 'panel', id: fresh('panel'), hidden: !open });
  const head = h('button', { type: 'button', class: `opens ${className}`, 'aria-expanded': String(open), 'aria-controls': panel.id }, name);
  head.addEventListener('click', () => {
    panel.hidden = !panel.hidden;
    head.setAttribute('aria-expanded', String(!panel.hidden));
    if (!panel.hidden) panel.dispatchEvent(new Event('opened'));
  });
  return { head, panel };
}

export const short = (number) =>
  number < 10_000 ? number.toLocaleString('en-US') : number < 1e6 ? `${(number / 1000).toFixed(1)}k` : `${(number / 1e6).toFixed(1)}M`;

export const dollars = (cost) => (!cost ? '' : cost < 0.0001 ? '<$0.0001' : `$${cost < 0.1 ? cost.toFixed(4) : cost.toFixed(2)}`);

export const seconds = (time) => (time >= 60 ? `${Math.floor(time / 60)} min ${Math.round(time % 60)} s` : `${time.toFixed(1)} s`);

export function ago(ts) {
  const past = Math.max(0, Date.now() / 1000 - ts);
  if (past < 60) return 'now';
  if (past < 3600) return `${Math.floor(past / 60)} min`;
  if (past < 86400) return `${Math.floor(past / 3600)} h`;
  return past < 86400 * 30 ? `${Math.floor(past / 86400)} d` : new Date(ts * 1000).toISOString().slice(0, 10);
}
