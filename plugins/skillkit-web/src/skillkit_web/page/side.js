// The sessions by folder, and what waits.
import { add, ago, fill, h } from './dom.js';
import { get } from './wire.js';
import { words } from './words.js';

const EVERY = 15_000; // milliseconds between looks at what others do
const MARKS = { running: 'working', asking: 'waits for you', suspended: 'waits for you' };

export class Side {
  constructor() {
    this.found = { sessions: [], folders: [], short: {}, inbox: 0 };
    this.changed = () => {};
    this.now = {};
    setInterval(() => document.visibilityState === 'visible' && this.look(), EVERY);
  }

  // Look in a moment: several things happen at once.
  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), 250);
  }

  async look() {
    try {
      this.found = await get('/api/sessions');
    } catch {
      return; // the connection of the session tells it
    }
    this.show();
    this.changed();
  }

  // What the session that is open here does, which this page knows first.
  does(session, state) {
    this.now = { session, state };
    this.show();
  }

  short(folder) {
    return this.found.short[folder] ?? folder ?? '';
  }

  title(session) {
    return this.found.sessions.find((one) => one.id === session)?.title ?? '';
  }

  show() {
    const { sessions, folders, inbox } = this.found;
    const groups = new Map(folders.map((folder) => [folder, []]));
    for (const one of sessions) {
      if (!groups.has(one.folder)) groups.set(one.folder, []);
      groups.get(one.folder).push(one);
    }
    const text = JSON.stringify([this.found, this.now, location.pathname]);
    if (text === this.shown) return;
    this.shown = text;
    fill(document.getElementById('folders'), [...groups].map(([folder, rows]) => this.group(folder, rows)));
    document.body.classList.toggle('shared', Boolean(this.found.shared));
    document.body.classList.toggle('read-only', Boolean(this.found.read_only));
    const count = document.getElementById('inbox');
    count.hidden = !inbox;
    count.textContent = inbox || '';
  }

  group(folder, rows) {
    const begin = this.found.folders.length > 1 || !this.found.folders.includes(folder);
    return h('section', { class: 'folder' },
      h('div', { class: 'folder-head' }, h('h2', { title: folder }, h('bdi', {}, this.short(folder))),
        begin && h('a', { class: 'begin', href: `/new?folder=${encodeURIComponent(folder)}`, 'aria-label': words.newIn(this.short(folder)), title: words.newIn(this.short(folder)) }, '+')),
      rows.length ? h('ul', {}, rows.map((row) => this.row(row))) : h('p', { class: 'hint' }, words.sessionsHere));
  }

  row(row) {
    const state = this.now.session === row.id ? this.now.state : row.waits ? 'asking' : row.state;
    const mark = MARKS[state];
    return h('li', {}, h('a', { href: `/s/${row.id}`, 'aria-current': location.pathname === `/s/${row.id}` ? 'page' : null, 'data-state': state },
      h('span', { class: 'title' }, row.title || words.untitled),
      h('span', { class: 'facts' }, mark ?? ago(row.updated ?? 0))));
  }
}
