// One session: its log, its questions, the line to write in, and the facts in the header.
import { add, ago, button, dollars, fill, h, short } from './dom.js';
import { Composer } from './composer.js';
import { Inspect } from './inspect.js';
import { Log, ofSession } from './log.js';
import { Questions } from './questions.js';
import { Stream } from './wire.js';
import { words } from './words.js';

const NEAR = 80; // pixels from the end within which the log follows what is said

export class Conversation {
  constructor(session, side) {
    this.session = session;
    this.side = side;
    this.state = 'connecting';
    this.log = new Log();
    this.banner = h('div', { class: 'banner' });
    this.blank = h('div', { class: 'blank' }, h('h2', {}, words.emptyTitle), h('p', { class: 'folder' }), h('p', { class: 'hint' }, words.emptyHint));
    this.scroll = h('div', { class: 'scroll', role: 'log', 'aria-live': 'polite', 'aria-label': 'Conversation', tabindex: '0' }, this.log.element);
    this.end = button('Go to the end', () => this.follow(true), { class: 'end', hidden: true });
    this.composer = new Composer(session, (text, kind) => this.told(text, kind), () => this.follow(true));
    this.questions = new Questions(session, (text) => this.told(text), () => this.composer.focus());
    this.inspect = new Inspect(session, (text, kind) => this.told(text, kind), (plan) => this.log.plan(plan), (entry, text) => this.reveal(entry, text));
    fill(document.getElementById('main'), h('div', { class: 'conversation' }, this.banner, h('div', { class: 'view' }, this.blank, this.scroll, this.end), this.questions.element, this.composer.form));
    fill(document.getElementById('inspect'), this.inspect.element);
    this.pinned = true;
    this.scroll.addEventListener('scroll', () => {
      this.pinned = this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < NEAR;
      this.end.hidden = this.pinned;
    });
    const grown = new ResizeObserver(() => this.follow());
    grown.observe(this.log.element);
    grown.observe(this.scroll);
    ofSession(session);
    this.stream = new Stream(session, this);
    this.stream.resting = () => this.state === 'idle';
    this.stream.connect();
  }

  reveal(entry, text) {
    this.pinned = false;
    if (document.body.dataset.shows) document.getElementById(`show-${document.body.dataset.shows}`).click();
    return this.log.reveal(entry, text);
  }

  follow(always = false) {
    this.pinned ||= always;
    if (this.pinned) this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  // Say something to the person; return whether the log says it already.
  told(text, kind = 'note') {
    const known = kind === 'error' && text === this.log.lastError;
    if (kind === 'error') this.log.error(text);
    else this.log.note(text, kind);
    this.blank.hidden = true;
    this.follow(true);
    return known;
  }

  // --- the connection -----------------------------------------------------------------------------------------

  connected(about) {
    if (about.read_only) Object.assign(words.states, { asking: words.undecided, suspended: words.undecided });
    this.status(this.state === 'connecting' ? 'idle' : this.state);
    this.untrusted = about.untrusted.length > 0;
    fill(this.banner,
      about.read_only && h('p', {}, words.readOnly),
      !about.here && h('p', {}, words.elsewhere),
      this.untrusted && h('p', {}, words.trust(about.untrusted.map((path) => path.split('/').slice(-2).join('/')).join(', ')), ' ',
        button(words.trustButton, () => {
          this.composer.put('/trust');
          this.composer.send('auto');
        })));
    this.composer.form.hidden = about.read_only;
  }

  away(state) {
    this.show(state);
  }

  signedOut() {
    this.show('locked');
    fill(this.banner, h('p', {}, words.signedOut));
  }

  problem(text) {
    if (text !== this.said) this.told((this.said = text), 'error');
    this.show('lost');
  }

  // --- what happens -------------------------------------------------------------------------------------------

  message(message) {
    switch (message.type) {
      case 'snapshot':
        this.begin(message);
        break;
      case 'event':
        this.event(message.event);
        break;
      case 'question':
        this.ask(message.question);
        this.side.soon();
        break;
      case 'question_answered':
        this.questions.answered(message);
        if (this.untrusted) setTimeout(() => this.stream.connect(), 400); // perhaps the answer was to trust it
        this.side.soon();
        break;
      case 'question_withdrawn':
        this.questions.remove(message.question);
        this.told(words.withdrawn);
        break;
      case 'notice':
        this.told(message.text, message.level === 'error' ? 'error' : message.text.includes('\n') ? 'said' : 'note');
        break;
      case 'state':
        this.status(message.state);
        this.side.soon();
        break;
    }
    this.blank.hidden = this.log.element.childElementCount > 0;
    this.follow();
  }

  begin(shot) {
    if (shot.session !== this.session) this.moved(shot.session);
    this.folder = shot.folder;
    this.tokens = shot.usage.total;
    this.cost = shot.cost;
    this.log.clear();
    shot.entries.forEach((entry) => this.log.entry(entry));
    this.inspect.begin(shot);
    this.composer.begin(shot.queue);
    shot.events.forEach((event) => this.event(event));
    this.questions.begin(shot.questions);
    shot.questions.forEach((question) => this.log.asked(question));
    this.model = shot.model;
    this.status(shot.state);
    this.header();
    fill(this.blank.querySelector('.folder'), this.side.short(shot.folder));
    this.pinned = true;
    this.side.soon();
    const [, entry, text] = location.hash.match(/^#([\w-]+)=(.*)$/) ?? []; // out of a search
    if (entry && !this.came) requestAnimationFrame(() => this.reveal(entry, decodeURIComponent(text)) || this.told(words.notShown));
    this.came = true;
  }

  ask(question) {
    this.questions.ask(question);
    this.log.asked(question);
  }

  // The agent went on in another session: a copy, for example.
  moved(session) {
    this.session = this.stream.session = this.questions.session = this.composer.session = this.inspect.session = session;
    ofSession(session);
    history.replaceState(null, '', `/s/${session}`);
  }

  event(event) {
    if (event.type === 'usage') {
      this.tokens += event.usage.total;
      this.cost += event.cost ?? 0;
      this.header();
    } else if (event.type === 'agent_start' && event.agent_path.length === 1) {
      this.model = event.model?.id ?? this.model;
      this.header();
    } else if (event.type === 'agent_settled' && event.agent_path.length === 1) {
      this.side.soon();
    }
    if (event.agent_path.length === 1) this.composer.event(event);
    this.inspect.event(event);
    this.log.event(event);
  }

  // --- the header ---------------------------------------------------------------------------------------------

  status(state) {
    this.state = state;
    if (state !== 'asking' && state !== 'suspended') this.questions.begin([]);
    this.composer.state(state);
    this.side.does(this.session, state);
    this.show(state);
  }

  show(state) {
    const element = document.getElementById('state');
    element.dataset.state = state;
    if (element.textContent !== words.states[state]) element.textContent = words.states[state] ?? state;
    this.title();
  }

  title() {
    const title = this.side.title(this.session) || 'SkillKit';
    document.title = `${this.questions.open.size ? '(!) ' : ''}${title}${title === 'SkillKit' ? '' : ' · SkillKit'}`;
  }

  header() {
    fill(document.getElementById('where'), [this.side.short(this.folder), this.model].filter(Boolean).join(' · '));
    fill(document.getElementById('meter'), [`${short(this.tokens)} ${words.tokens}`, dollars(this.cost)].filter(Boolean).join(' · '));
  }
}
