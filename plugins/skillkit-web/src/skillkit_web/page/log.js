// What one agent says and does, in turn: articles, lines of tools that open, agents inside, notes.
import { add, fill, h, opening, seconds, visible } from './dom.js';
import { counts, shown } from './diff.js';
import { Prose } from './markdown.js';
import { drawn } from './plan.js';
import { words } from './words.js';

const MOST = 64 * 1024; // characters of the output of a call that are shown
const LONG = 1200; // characters of what a person said that are shown at first

const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).filter((block) => block.type === 'text').map((block) => block.text).join('\n');

// What a call is about, on one line.
export function headOf(args) {
  const values = Object.entries(args ?? {});
  if (values.length === 1 && typeof values[0][1] === 'string') return values[0][1].replaceAll(/\s+/g, ' ').slice(0, 300);
  const known = ['command', 'path', 'file_path', 'pattern', 'url', 'query'].find((name) => typeof args?.[name] === 'string');
  if (known) return args[known].replaceAll(/\s+/g, ' ').slice(0, 300);
  return values.map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`).join(', ').replaceAll(/\s+/g, ' ').slice(0, 300);
}

export function argumentsOf(args) {
  const rows = Object.entries(args ?? {}).map(([name, value]) => [
    h('dt', {}, name),
    h('dd', {}, h('pre', {}, typeof value === 'string' ? value : JSON.stringify(value, null, 1))),
  ]);
  return rows.length ? h('dl', { class: 'arguments' }, rows) : null;
}

// One call of a tool.
class Call {
  constructor(name) {
    this.name = name;
    this.about = h('span', { class: 'about' });
    this.facts = h('span', { class: 'facts' });
    const { head, panel } = opening([h('span', { class: 'tool-name' }, name), ' ', this.about, ' ', this.facts], 'tool-head');
    this.head = head;
    this.panel = panel;
    this.given = h('div');
    this.output = h('pre', { class: 'output', tabindex: '0', 'aria-label': words.output_, hidden: true });
    add(panel, this.given, this.output);
    this.element = h('div', { class: 'tool', 'data-state': 'preparing' }, head, panel);
    this.text = '';
    this.say('preparing');
  }

  say(state, told = '') {
    this.element.dataset.state = state;
    fill(this.facts, [told, words.outcomes[state] ?? state].filter(Boolean).join(' · '));
  }

  call(args) {
    this.args = args;
    fill(this.about, headOf(args));
    fill(this.given, argumentsOf(args));
  }

  begin(args) {
    this.call(args);
    this.say('running');
  }

  grow(piece) {
    this.text = (this.text + piece).slice(-MOST);
    this.output.hidden = false;
    fill(this.output, this.text);
  }

  end(outcome, result, duration) {
    if (this.ended) return;
    this.ended = true;
    const diff = typeof result.details?.diff === 'string' ? result.details.diff : '';
    const text = textOf(result.content).slice(-MOST);
    if (diff) {
      fill(this.given, shown(diff));
    }
    if (text || !this.text) {
      this.output.hidden = false;
      fill(this.output, text && this.text && !text.includes(this.text.trim()) ? `${this.text}\n${text}` : text || words.noOutput);
    }
    const images = (result.content ?? []).filter?.((block) => block.type === 'image' && block.blob) ?? [];
    add(this.panel, images.map((image) => picture(image)));
    this.say(outcome, [diff && counts(diff), duration >= 0.1 && seconds(duration)].filter(Boolean).join(' · '));
  }
}

let session = '';
export const ofSession = (id) => (session = id);
const picture = (block) =>
  h('a', { href: `/api/s/${session}/blob/${block.blob.replace('blob:', '')}`, target: '_blank', rel: 'noopener' },
    h('img', { src: `/api/s/${session}/blob/${block.blob.replace('blob:', '')}`, alt: 'Image', class: 'picture' }));

export class Log {
  constructor(path = ['main']) {
    this.path = path;
    this.element = h('div', { class: 'log' });
    this.clear();
  }

  clear() {
    this.element.replaceChildren();
    this.calls = new Map();
    this.inner = new Map();
    this.plans = new Map();
    this.marks = new Map();
    this.close();
    this.lastError = '';
  }

  add(element) {
    this.element.append(element);
    return element;
  }

  // --- what is said -------------------------------------------------------------------------------------------

  said(text, { origin, content = [] } = {}) {
    this.close();
    const from = origin?.kind && origin.kind !== 'web' ? h('span', { class: 'from' }, ` · ${origin.id ?? origin.kind}`) : null;
    const body = h('div', { class: 'words' }, text.length > LONG ? `${text.slice(0, LONG)} …` : text);
    const who = this.path.length > 1 ? words.task : words.you;
    const article = h('article', { class: 'you', 'aria-label': who }, h('p', { class: 'who' }, who, from), body);
    if (text.length > LONG) {
      const more = h('button', { type: 'button', class: 'quiet' }, words.showMore);
      more.addEventListener('click', () => (fill(body, text), more.remove()));
      add(article, more);
    }
    add(article, content.filter((block) => block.type === 'image' && block.blob).map((block) => picture(block)));
    this.add(article);
  }

  get open() {
    if (!this.article) {
      this.article = h('article', { class: 'assistant', 'aria-label': words.assistant, 'aria-busy': 'true' }, h('p', { class: 'who' }, words.assistant));
      this.parts = new Map();
      this.add(this.article);
    }
    return this.article;
  }

  prose(index) {
    const article = this.open;
    if (!this.parts.has(index)) {
      const prose = new Prose();
      this.parts.set(index, prose);
      article.append(prose.element);
    }
    return this.parts.get(index);
  }

  thought(index) {
    const article = this.open;
    if (!this.parts.has(index)) {
      const { head, panel } = opening(words.thinking, 'thinking-head');
      const text = h('div', { class: 'words' });
      panel.append(text);
      article.append(h('div', { class: 'thinking' }, head, panel));
      this.parts.set(index, { append: (piece) => add(text, piece), set: (whole) => fill(text, whole) });
    }
    return this.parts.get(index);
  }

  call(id, name) {
    if (!this.calls.has(id)) {
      const made = new Call(name);
      this.calls.set(id, made);
      this.add(made.element);
    }
    return this.calls.get(id);
  }

  // The answer that arrives has ended.
  close() {
    this.article?.setAttribute('aria-busy', 'false');
    this.article = null;
    this.parts = new Map();
  }

  // A call that waits for a decision says so.
  asked(question) {
    if (question.kind !== 'approval') return;
    let log = this;
    for (const name of (question.agent_path ?? []).slice(1)) log = log?.inner.get(name);
    const call = log?.call(question.tool_call_id, question.tool);
    if (!call || call.ended) return;
    call.call(question.args);
    call.say('suspended');
  }

  note(text, kind = 'note') {
    this.add(h('p', { class: kind }, text));
  }

  error(text) {
    if (text === this.lastError) return;
    this.lastError = text;
    this.note(text, 'error');
  }

  // A whole message, out of the session or at its end.
  message(message) {
    if (message.role === 'user') {
      this.said(textOf(message.content), message);
    } else if (message.role === 'assistant') {
      message.content.forEach((block, index) => {
        if ((block.type === 'text' || block.type === 'refusal') && block.text.trim()) this.prose(index).set(block.text);
        else if (block.type === 'thinking' && block.thinking?.trim()) this.thought(index).set(block.thinking);
        else if (block.type === 'tool_call') this.call(block.id, block.name).call(block.args ?? {});
      });
      this.close();
      if (message.error) this.error(message.error);
    } else if (message.role === 'tool_result') {
      this.call(message.tool_call_id, message.tool_name).end(message.outcome ?? (message.is_error ? 'error' : 'ok'), message, 0);
    } else if (message.role === 'custom' && message.display !== false) {
      const line = message.custom_type === 'shell_line' && message.details;
      const text = textOf(message.content);
      if (line) this.note(`! ${line.command}\n${line.output}`, 'said');
      else if (text.trim()) this.note(text);
    }
  }

  entry(entry) {
    this.drawn(entry);
    this.marks.set(entry.id, this.calls.get(entry.data.message?.tool_call_id)?.element ?? this.element.lastElementChild);
  }

  // Show where an entry stands, also what is folded; return whether it does.
  reveal(id, text) {
    const has = (element) => element.textContent.toLowerCase().includes(text.toLowerCase());
    const found = this.marks.get(id) ?? [...this.element.children].reverse().find(has);
    if (!found) return false;
    found.querySelectorAll('[aria-expanded="false"]').forEach((head) => head.click());
    found.setAttribute('tabindex', '-1');
    found.scrollIntoView({ block: 'center' });
    found.focus({ preventScroll: true });
    return true;
  }

  drawn(entry) {
    const { type, data } = entry;
    if (type === 'message' || type === 'custom_message') this.message(data.message);
    else if (type === 'compaction') this.note(words.compacted);
    else if (type === 'custom' && data.custom_type === 'planner.plan') this.plan({ status: 'running', ...data });
    else if (type === 'branch_summary') this.note(`${words.branch}: ${data.summary ?? ''}`);
  }

  // --- what happens -------------------------------------------------------------------------------------------

  event(event) {
    if (event.agent_path.length > this.path.length) {
      this.below(event).event(event);
      return;
    }
    switch (event.type) {
      case 'input':
        if (event.delivery === 'prompt' || this.path.length > 1) this.said(event.text, event);
        break;
      case 'turn_start':
        event.inputs.filter((message) => message.role === 'user').forEach((message) => this.message(message));
        break;
      case 'agent_start':
        this.lastError = '';
        this.state?.('running');
        break;
      case 'message_update':
        this.update(event.event);
        break;
      case 'message_end':
        if (event.message.role !== 'user') this.message(event.message);
        break;
      case 'tool_execution_start':
        this.call(event.tool_call_id, event.tool_name).begin(event.args);
        break;
      case 'tool_execution_update':
        this.call(event.tool_call_id, event.tool_name ?? '').grow(event.output);
        break;
      case 'tool_execution_end': {
        const call = this.call(event.tool_call_id, event.tool_name);
        if (!call.args) call.call(event.args);
        call.end(event.outcome, event, event.duration ?? 0);
        break;
      }
      case 'retry_scheduled':
        this.note(words.retry(event.error?.message ?? String(event.error), (event.delay ?? 0).toFixed(1)));
        break;
      case 'model_select':
        if (event.reason && event.model) this.note(words.model(`${event.provider}/${event.model.id}`));
        break;
      case 'compaction_end':
        if (event.outcome === 'completed') this.note(words.compacted);
        break;
      case 'handler_error':
        this.note(`${event.plugin ?? event.source}: ${event.error}`, 'error');
        break;
      case 'agent_end':
        this.ended(event);
        break;
    }
  }

  update(part) {
    if (part.type === 'text_delta' && part.content) this.prose(part.index ?? 0).append(part.content);
    else if (part.type === 'thinking_delta' && part.content) this.thought(part.index ?? 0).append(part.content);
    else if (part.type === 'tool_call_start' && part.tool_call_id) this.call(part.tool_call_id, part.tool_name);
  }

  ended(event) {
    this.close();
    if (event.error) this.error(event.error.message ?? String(event.error));
    else if (words.runs[event.outcome]) this.note(`${words.runs[event.outcome]} ${event.outcome === 'limit' ? event.reason : ''}`.trim());
    if (event.outcome !== 'suspended') {
      for (const call of this.calls.values()) {
        if (!call.ended) call.end('interrupted', { content: [] }, 0);
      }
    }
    this.state?.(event.outcome);
  }

  // A plan, drawn anew with each change.
  plan(plan) {
    if (!this.plans.has(plan.id)) {
      const facts = h('span', { class: 'facts' });
      const { head, panel } = opening([h('span', { class: 'tool-name' }, words.plan), ' ', h('span', { class: 'about' }, plan.query), ' ', facts], 'tool-head', true);
      const element = this.add(h('div', { class: 'tool', 'data-state': 'running' }, head, panel));
      this.plans.set(plan.id, { element, facts, panel });
    }
    const { element, facts, panel } = this.plans.get(plan.id);
    const done = plan.steps.filter((step) => step.state === 'completed').length;
    element.dataset.state = { completed: 'ok', failed: 'error' }[plan.status] ?? plan.status;
    fill(facts, words.stepsDone(done, plan.steps.length));
    fill(panel, drawn(plan));
  }

  // The log of an agent inside.
  below(event) {
    const name = event.agent_path[this.path.length];
    if (!this.inner.has(name)) {
      const log = new Log([...this.path, name]);
      const facts = h('span', { class: 'facts' }, words.outcomes.running);
      const { head, panel } = opening([h('span', { class: 'tool-name' }, visible(name.split(':')[0])), ' ', facts], 'tool-head');
      const element = h('div', { class: 'tool agent', 'data-state': 'running' }, head, panel);
      panel.append(log.element);
      log.state = (state) => {
        element.dataset.state = state === 'completed' ? 'ok' : state;
        fill(facts, words.outcomes[state === 'completed' ? 'ok' : state] ?? state);
      };
      this.inner.set(name, log);
      this.add(element);
    }
    return this.inner.get(name);
  }
}
