// Where a person writes: words, commands and images, said now, into the run that goes on, or after it.
import { add, button, fill, h } from './dom.js';
import { act, post } from './wire.js';
import { words } from './words.js';

const COMMAND = /^\/[\p{L}\w][\w:.-]*(\s|$)/u;
const LINE = /^!\s*\S/;
const SUGGESTED = 7;

export class Composer {
  // told: says something to the person; spoken: called when the person has spoken
  constructor(session, told, spoken) {
    this.session = session;
    this.told = told;
    this.spoken = spoken;
    this.images = [];
    this.text = h('textarea', { id: 'message', rows: '1', placeholder: words.placeholder, autocomplete: 'off', spellcheck: 'true' });
    this.stop = button(words.stop, () => this.end(), { class: 'danger', hidden: true });
    this.queue = button(words.queue, () => this.send('follow_up'), { title: words.queueTitle, hidden: true });
    this.file = h('input', { type: 'file', accept: 'image/png,image/jpeg,image/gif,image/webp', multiple: true, hidden: true, tabindex: '-1', 'aria-label': words.attach });
    this.waiting = h('ul', { class: 'waiting', 'aria-label': words.waits });
    this.attached = h('ul', { class: 'attached', 'aria-label': 'Images' });
    this.suggestions = h('div', { class: 'suggestions', role: 'group', 'aria-label': words.commands, hidden: true });
    this.form = h('form', { class: 'composer' }, this.waiting, this.suggestions,
      h('label', { class: 'unseen', for: 'message' }, words.message), this.text, this.attached,
      h('div', { class: 'row' }, button(words.image, () => this.file.click(), { class: 'quiet', title: words.attach }), this.file, h('span', { class: 'space' }),
        this.stop, this.queue, h('button', { type: 'submit', class: 'primary' }, words.send)));
    this.form.addEventListener('submit', (event) => (event.preventDefault(), this.send('auto')));
    this.text.addEventListener('keydown', (event) => this.key(event));
    this.text.addEventListener('input', () => (this.fit(), this.suggest()));
    this.text.addEventListener('paste', (event) => this.take(event.clipboardData?.files, event));
    this.form.addEventListener('dragover', (event) => event.preventDefault());
    this.form.addEventListener('drop', (event) => this.take(event.dataTransfer?.files, event));
    this.file.addEventListener('change', () => this.take(this.file.files));
    this.queued = new Map();
  }

  focus() {
    this.text.focus({ preventScroll: true });
  }

  state(state) {
    const goes = state === 'running' || state === 'asking';
    if (!goes && this.stop === document.activeElement) this.focus();
    this.stop.hidden = this.queue.hidden = !goes;
    this.text.placeholder = goes ? words.placeholderRunning : words.placeholder;
  }

  fit() {
    this.text.style.height = 'auto';
    this.text.style.height = `${Math.min(this.text.scrollHeight + 2, 240)}px`;
  }

  key(event) {
    if (event.isComposing) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      this.send(event.altKey && !this.queue.hidden ? 'follow_up' : 'auto');
    } else if (event.key === 'Tab' && !event.shiftKey && this.first && this.first !== this.text.value) {
      event.preventDefault();
      this.put(this.first);
    } else if (event.key === 'Escape') {
      this.offer([]);
    }
  }

  put(text) {
    this.text.value = text;
    this.fit();
    this.suggest();
    this.focus();
  }

  async send(delivery) {
    const text = this.text.value;
    const images = this.images;
    if (!text.trim() && !images.length) return;
    this.images = [];
    fill(this.attached);
    this.put('');
    this.spoken();
    try {
      if (/^\/(new|resume)\s*$/.test(text.trim())) {
        location.href = '/new';
      } else if (COMMAND.test(text) && !images.length) {
        const { text: said } = await act(this.session, 'command', { line: text.trim() });
        if (said) this.told(said, 'said');
      } else if (LINE.test(text) && !images.length) {
        await this.runs(text);
      } else {
        await post(`/api/s/${this.session}/say`, { text, images: images.map(({ data, media_type }) => ({ data, media_type })), delivery });
      }
    } catch (error) {
      const known = this.told(error.message, 'error'); // the run says it, too
      if (!known && !this.text.value) this.put(text);
      this.images = [...images, ...this.images];
      this.showImages();
    }
  }

  // A shell line; what came of it is told to every tab.
  async runs(line) {
    this.line = line;
    this.stop.hidden = false;
    this.showQueue();
    try {
      await post(`/api/s/${this.session}/shell`, { line });
    } finally {
      this.line = '';
      if (this.queue.hidden && this.stop === document.activeElement) this.focus();
      this.stop.hidden = this.queue.hidden;
      this.showQueue();
    }
  }

  async end() {
    try {
      await post(`/api/s/${this.session}/abort`, { reason: 'stopped at the page' });
    } catch (error) {
      this.told(error.message, 'error');
    }
  }

  // --- what waits to be read ------------------------------------------------------------------------------------

  begin(queue) {
    this.queued.clear();
    for (const item of Object.values(queue).flat()) this.queued.set(item.id, item);
    this.last = null;
    this.showQueue();
  }

  event(event) {
    if (event.type === 'input' && event.delivery !== 'prompt') this.last = { kind: event.delivery, text: event.text };
    if (event.type !== 'queue_update') return;
    const known = [...event.steering, ...event.follow_up, ...event.next_run];
    for (const id of known) if (!this.queued.has(id)) this.queued.set(id, { id, kind: 'steer', text: '', ...this.last });
    for (const id of [...this.queued.keys()]) if (!known.includes(id)) this.queued.delete(id);
    this.showQueue();
  }

  showQueue() {
    fill(this.waiting, this.line && h('li', {}, h('span', { class: 'hint' }, words.runs_), h('span', { class: 'words' }, this.line)), [...this.queued.values()].map(({ id, kind, text }) =>
      h('li', {}, h('span', { class: 'hint' }, kind === 'steer' ? words.waits : words.afterwards), h('span', { class: 'words' }, text),
        button(words.takeBack, () => this.back(id, text), { class: 'quiet' }))));
  }

  async back(id, text) {
    try {
      const { status } = await act(this.session, 'cancel', { item: id });
      if (status === 'cancelled') this.put([this.text.value, text].filter(Boolean).join('\n'));
    } catch (error) {
      this.told(error.message, 'error');
    }
  }

  // --- images -----------------------------------------------------------------------------------------------------

  take(files, event) {
    const images = [...(files ?? [])].filter((file) => file.type.startsWith('image/'));
    if (!images.length) return;
    event?.preventDefault();
    for (const file of images) {
      const reader = new FileReader();
      reader.onload = () => {
        this.images.push({ data: reader.result.split(',')[1], media_type: file.type, name: file.name });
        this.showImages();
      };
      reader.readAsDataURL(file);
    }
    this.file.value = '';
  }

  showImages() {
    fill(this.attached, this.images.map((image) =>
      h('li', {}, image.name || image.media_type, ' ', button(words.remove, () => {
        this.images = this.images.filter((one) => one !== image);
        this.showImages();
      }, { class: 'quiet' }))));
  }

  // --- commands ---------------------------------------------------------------------------------------------------

  async suggest() {
    const line = this.text.value;
    if (!/^\/\S*( \S*)?$/.test(line)) return this.offer([]);
    try {
      const { completions } = await act(this.session, 'complete', { line });
      if (line === this.text.value) this.offer(completions.slice(0, SUGGESTED));
    } catch {
      this.offer([]);
    }
  }

  offer(completions) {
    this.first = completions[0]?.text;
    this.suggestions.hidden = !completions.length;
    fill(this.suggestions, completions.map(({ text, label, help }) =>
      h('button', { type: 'button', onclick: () => this.put(`${text.trimEnd()} `) }, h('b', {}, label || text), ' ', h('span', { class: 'hint' }, help))));
  }
}
