// Beside the conversation: agents, plan, usage, why, branches, the model.
import { add, button, dollars, fill, fresh, h, opening, short } from './dom.js';
import { act, get } from './wire.js';
import { words } from './words.js';

const BUCKETS = [['input', words.input], ['output', words.output], ['cache_read', words.cached]];
const STEPS = { running: 'doing', retrying: 'doing', completed: 'done', failed: 'failed', cancelled: 'failed', skipped: 'failed' };
const TASKS = { failed: '✕', pending: '☐', doing: '▶', done: '☑' };

export class Inspect {
  // told: says something to the person; planned: shows a plan
  // revealed: shows an entry; returns whether it is there
  constructor(session, told, planned, revealed) {
    this.session = session;
    this.told = told;
    this.show = planned;
    this.reveal = revealed;
    this.agents = h('ul', { class: 'tree' });
    this.tasks = h('ul', { class: 'tasks' });
    this.plan = h('ol', { class: 'tasks' });
    this.used = h('dl', { class: 'used' });
    this.context = h('div');
    this.turns = h('ol', { class: 'turns' });
    this.branches = h('ul', { class: 'branches' });
    this.planBox = section(words.plan, this.tasks, this.plan);
    this.planBox.hidden = true;
    this.element = h('div', { class: 'sections' },
      section(words.agents, this.agents),
      this.planBox,
      section(words.usage, this.used, this.context, h('a', { href: '/usage', class: 'owners' }, 'All sessions and budgets')),
      this.finder(),
      this.lazy(words.why, words.whyHint, this.turns, () => this.listTurns()),
      this.lazy(words.branches, '', this.branches, () => this.listBranches()),
      this.models());
  }

  lazy(title, hint, list, read) {
    const { head, panel } = opening(title, 'section-head');
    panel.addEventListener('opened', async () => {
      fill(list, h('li', { class: 'hint' }, words.loading));
      try {
        await read();
      } catch (error) {
        fill(list, h('li', { class: 'hint' }, error.message));
      }
    });
    add(panel, hint && h('p', { class: 'hint' }, hint), list);
    return h('section', { class: title === words.branches ? null : 'owners' }, h('h2', {}, head), panel);
  }

  // What was said, found as 'skillkit sessions search' does.
  finder() {
    const { head, panel } = opening(words.findHere, 'section-head');
    const list = h('ul', { class: 'branches' });
    const field = h('input', { type: 'search', id: fresh('find'), autocomplete: 'off', required: true });
    const form = h('form', { class: 'find' }, h('label', { class: 'unseen', for: field.id }, words.findLabel), field, h('button', { type: 'submit' }, words.find));
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const text = field.value.trim();
      try {
        const { found } = await get(`/api/search?q=${encodeURIComponent(text)}&session=${encodeURIComponent(this.session)}`);
        fill(list, found.length ? found.map((hit) => h('li', {}, button(hit.text, () => this.reveal(hit.entry, text) || this.told(words.notShown)))) : h('li', { class: 'hint' }, words.nothing));
      } catch (error) {
        fill(list, h('li', { class: 'hint' }, error.message));
      }
    });
    add(panel, h('p', { class: 'hint' }, words.findHint), form, list);
    return h('section', {}, h('h2', {}, head), panel);
  }

  begin(shot) {
    this.usage = { ...shot.usage };
    this.cost = shot.cost;
    this.running = new Map();
    this.leaf = shot.leaf;
    fill(this.tasks);
    fill(this.plan);
    this.drawn = null;
    this.planBox.hidden = true;
    for (const { type, data } of shot.entries) if (type === 'custom') this.noted(data.custom_type, data);
    this.showAgents();
    this.showUsage();
  }

  // Lists of tasks and plans are notes of the session.
  noted(kind, data) {
    if (kind === 'planning.tasks') this.showTasks(data.tasks);
    else if (kind === 'planner.plan') this.planned(data.id, data.steps, data.query);
    else if (kind === 'planner.step') this.step(data.step_id, data);
    else if (kind === 'planner.end' && this.drawn) this.drawn.status = data.status;
  }

  event(event) {
    const path = event.agent_path.join('/');
    switch (event.type) {
      case 'agent_start':
        if (event.agent_path.length === 1) this.running.clear();
        this.running.set(path, { path: event.agent_path, state: 'running', tokens: 0 });
        this.showAgents();
        break;
      case 'agent_end': {
        const agent = this.running.get(path);
        if (agent) agent.state = event.outcome;
        this.showAgents();
        break;
      }
      case 'usage': {
        for (const [bucket] of BUCKETS) this.usage[bucket] = (this.usage[bucket] ?? 0) + (event.usage[bucket] ?? 0);
        this.cost += event.cost ?? 0;
        const agent = this.running.get(path);
        if (agent) agent.tokens += event.usage.total;
        this.showAgents();
        this.showUsage();
        break;
      }
      case 'context_transform':
        if (event.agent_path.length === 1 && event.window) this.showContext(event.tokens, event.window);
        break;
      case 'tool_execution_end':
        if (Array.isArray(event.details?.tasks)) this.showTasks(event.details.tasks);
        break;
      case 'plan_created':
        this.planned(event.plan, event.steps, '');
        break;
      case 'plan_step':
        this.step(event.step, event);
        break;
      case 'plan_end':
        if (this.drawn) this.drawn.status = event.status;
        this.drawPlan();
        break;
    }
  }

  showAgents() {
    if (!this.running.size) return fill(this.agents, h('li', { class: 'hint' }, words.noAgents));
    fill(this.agents, [...this.running.values()].map(({ path, state, tokens }) =>
      h('li', { class: `depth-${Math.min(path.length - 1, 5)}`, 'data-state': state },
        h('span', { class: 'tool-name' }, path.at(-1).split(':')[0]), h('span', { class: 'facts' }, [state, tokens && `${short(tokens)} tokens`].filter(Boolean).join(' · ')))));
  }

  showTasks(tasks) {
    this.planBox.hidden = !tasks.length && !this.plan.childElementCount;
    fill(this.tasks, tasks.map((one) => h('li', { 'data-state': one.state }, h('span', { 'aria-hidden': 'true' }, TASKS[one.state] ?? '·'), ' ', one.task, h('span', { class: 'unseen' }, ` (${one.state})`))));
  }

  planned(id, steps, query) {
    this.drawn = { id, query, status: 'running', steps: steps.map((step) => ({ state: 'not started', target: step.skill_name || step.subgraph_name || step.collaboration || '', ...step })) };
    this.show(this.drawn);
    this.drawPlan();
  }

  step(number, { state, reason, ms, usage }) {
    const found = this.drawn?.steps.find((step) => step.step_id === number);
    if (found) Object.assign(found, { state, reason, ms: ms ?? found.ms, tokens: usage?.tokens ?? found.tokens });
    this.drawPlan();
  }

  // Draw in a moment: several steps change at once.
  drawPlan() {
    clearTimeout(this.drawing);
    this.drawing = setTimeout(() => {
      if (!this.drawn) return;
      fill(this.plan, this.drawn.steps.map((step) =>
        h('li', { 'data-state': STEPS[step.state] ?? 'pending' }, h('span', { 'aria-hidden': 'true' }, TASKS[STEPS[step.state] ?? 'pending']), ' ', `${step.step_id} ${step.target}`, h('span', { class: 'facts' }, step.state))));
      this.show(this.drawn);
      this.planBox.hidden = false;
    }, 100);
  }

  showUsage() {
    const rows = BUCKETS.map(([bucket, name]) => [name, short(this.usage[bucket] ?? 0)]);
    if (this.cost) rows.push([words.cost, dollars(this.cost)]);
    fill(this.used, rows.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
  }

  showContext(tokens, window) {
    const label = `${words.context}: about ${short(tokens)} of ${short(window)} tokens, ${Math.round((100 * tokens) / window)} %`;
    fill(this.context, h('p', { class: 'hint' }, label), h('meter', { min: '0', max: String(window), high: String(window * 0.8), value: String(tokens), 'aria-label': label }));
  }

  async listTurns() {
    const { turns } = await get(`/api/book/turns?session=${this.session}`);
    fill(this.turns, turns.length
      ? turns.map((one) => h('li', {}, h('a', { href: `/why/${this.session}/${one.turn}` }, words.turn(one.turn)), h('span', { class: 'hint' }, ` ${brief(one.asked ?? '')} · ${short((one.input ?? 0) + (one.output ?? 0))} tokens`)))
      : h('li', { class: 'hint' }, words.nothing));
  }

  async listBranches() {
    const { leaf, entries } = await act(this.session, 'entries');
    const byId = new Map(entries.map((entry) => [entry.id, entry]));
    const current = new Set();
    for (let id = leaf; id; id = byId.get(id)?.parent_id) current.add(id);
    const depth = new Map();
    const splits = new Map();
    for (const entry of entries) splits.set(entry.parent_id, (splits.get(entry.parent_id) ?? 0) + (entry.type === 'message' ? 1 : 0));
    const rows = [];
    for (const entry of entries) {
      depth.set(entry.id, (depth.get(entry.parent_id) ?? 0) + (entry.parent_id && splits.get(entry.parent_id) > 1 ? 1 : 0));
      const message = entry.data.message;
      if (entry.type !== 'message' || message.role !== 'user') continue;
      const text = (typeof message.content === 'string' ? message.content : message.content.map((block) => block.text ?? '').join(' '));
      rows.push(h('li', { class: `depth-${Math.min(depth.get(entry.id), 5)}`, 'data-current': current.has(entry.id) ? 'yes' : 'no' },
        h('span', { class: 'words' }, brief(text)),
        h('span', { class: 'row changes' },
          button(words.moveHere, () => this.go('move', ends(entries, entry, current)), { class: 'quiet', title: brief(text) }),
          button(words.forkHere, () => this.go('fork', ends(entries, entry, current)), { class: 'quiet', title: brief(text) }))));
    }
    fill(this.branches, rows.length ? rows : h('li', { class: 'hint' }, words.nothing));
  }

  async go(method, entry) {
    try {
      await act(this.session, method, { entry });
      await this.listBranches();
    } catch (error) {
      this.told(error.message, 'error');
    }
  }

  models() {
    const list = h('datalist', { id: fresh('models') });
    const input = h('input', { type: 'text', id: fresh('model'), list: list.id, autocomplete: 'off' });
    input.addEventListener('focus', async () => {
      if (list.childElementCount) return;
      try {
        const { models } = await act(this.session, 'models');
        fill(list, models.map((model) => h('option', { value: `${model.provider}/${model.id}` })));
      } catch (error) {
        this.told(error.message, 'error');
      }
    });
    const form = h('form', { class: 'row' }, h('label', { class: 'unseen', for: input.id }, words.modelTitle), input, list, h('button', { type: 'submit' }, words.useModel));
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const [provider, ...rest] = input.value.split('/');
      try {
        const state = await act(this.session, 'set_model', rest.length ? { provider, model: rest.join('/') } : { model: provider });
        this.told(words.nextModel([state.provider, state.model].filter(Boolean).join('/')));
        input.value = '';
      } catch (error) {
        this.told(error.message, 'error');
      }
    });
    return h('section', { class: 'changes' }, h('h2', {}, words.modelTitle), form);
  }
}

const brief = (text) => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
};

const section = (title, ...children) => h('section', {}, h('h2', {}, title), ...children);

// The entry at which what a message began has ended: the last one before the next message of the person on its branch.
function ends(entries, from, current) {
  let last = from;
  for (;;) {
    const next = entries.filter((entry) => entry.parent_id === last.id);
    const found = next.find((entry) => current.has(entry.id)) ?? next.at(-1);
    if (!found || (found.type === 'message' && found.data.message.role === 'user')) return last.id;
    last = found;
  }
}
