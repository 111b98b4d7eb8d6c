// Markdown: the server makes a tree of elements of a text; here the elements are made, from a short list.
import { add, button, h } from './dom.js';
import { post } from './wire.js';
import { words } from './words.js';

const TAGS = new Set(['p', 'ul', 'ol', 'li', 'blockquote', 'em', 'strong', 's', 'code', 'br', 'hr', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'h3', 'h4', 'h5', 'h6']);
const LINK = /^(https?:|mailto:)/i;

function made(node) {
  if (typeof node === 'string') return node;
  const [tag, attributes, children] = node;
  const inner = children.map(made);
  if (tag === 'a' && LINK.test(attributes.href)) return h('a', { href: attributes.href, rel: 'noopener noreferrer', target: '_blank' }, inner);
  if (tag === 'pre') return code(children.join(''), attributes.language);
  if (tag === 'table') return h('div', { class: 'wide', tabindex: '0', role: 'group', 'aria-label': 'Table' }, h('table', {}, inner));
  if (tag === 'ol') return h('ol', { start: attributes.start }, inner);
  return h(TAGS.has(tag) ? tag : 'span', {}, inner);
}

function code(text, language) {
  const copy = button(words.copy, async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = words.copied;
    setTimeout(() => (copy.textContent = words.copy), 1500);
  }, { class: 'copy' });
  return h('div', { class: 'code' }, language && h('span', { class: 'language' }, language), copy, h('pre', { tabindex: '0' }, h('code', {}, text.replace(/\n$/, ''))));
}

// Texts that wait to be asked about, in one request.
let waiting = [];
let asking = null;

async function ask() {
  await new Promise((resolve) => setTimeout(resolve, 0));
  const asked = waiting;
  waiting = [];
  asking = null;
  try {
    const { trees } = await post('/api/markdown', { texts: asked.map((one) => one.text) });
    asked.forEach((one, place) => one.resolve(trees[place]));
  } catch {
    asked.forEach((one) => one.resolve(null)); // the text stays as it came
  }
}

const tree = (text) =>
  new Promise((resolve) => {
    waiting.push({ text, resolve });
    asking ??= ask();
  });

// A text that may grow, shown as Markdown: at once as it came, and a moment later as it is meant.
export class Prose {
  constructor() {
    this.element = h('div', { class: 'prose' });
    this.text = '';
    this.shown = -1;
    this.busy = false;
  }

  append(piece) {
    this.text += piece;
    if (this.shown < 0) add(this.element, piece);
    this.draw();
  }

  set(text) {
    if (text === this.text) return;
    this.text = text;
    if (this.shown < 0) this.element.replaceChildren();
    if (this.shown < 0) add(this.element, text);
    this.draw();
  }

  async draw() {
    if (this.busy) return;
    this.busy = true;
    while (this.shown !== this.text.length) {
      const text = this.text;
      const nodes = await tree(text);
      if (nodes) {
        this.element.replaceChildren();
        add(this.element, nodes.map(made));
        this.element.classList.add('drawn');
      }
      this.shown = text.length;
      this.element.dispatchEvent(new Event('grown', { bubbles: true }));
      await new Promise((resolve) => setTimeout(resolve, 90 + text.length / 200));
    }
    this.busy = false;
  }
}
