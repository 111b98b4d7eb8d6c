// Pages beside the conversations: what waits, usage and budgets, why, skills, plugins, servers.
import { add, ago, dollars, fill, h, opening, short } from './dom.js';
import { argumentsOf } from './log.js';
import { get } from './wire.js';
import { words } from './words.js';

const main = () => document.getElementById('main');

const table = (columns, rows, label) =>
  h('div', { class: 'wide', tabindex: '0', role: 'group', 'aria-label': label },
    h('table', {}, h('thead', {}, h('tr', {}, columns.map(([name, , kind]) => h('th', { scope: 'col', class: kind }, name)))),
      h('tbody', {}, rows.map((row) => h('tr', {}, columns.map(([, value, kind]) => h('td', { class: kind }, value(row))))))));

const facts = (pairs) => h('dl', { class: 'used' }, pairs.filter(([, value]) => value !== undefined && value !== null && value !== '').map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));

const NUMBER = 'number';
const SUMS = [
  ['requests', (row) => short(row.requests), NUMBER], ['in', (row) => short(row.input), NUMBER], ['cached', (row) => short(row.cache_read), NUMBER],
  ['out', (row) => short(row.output), NUMBER], ['cost', (row) => dollars(row.cost) || '–', NUMBER],
];

const pages = {
  async inbox() {
    const { waiting } = await get('/api/inbox');
    return [words.inbox, waiting.length
      ? waiting.map(({ session, title, folder, question }) =>
        h('section', { class: 'card' }, h('h3', {}, question.kind === 'survey' ? question.survey.title : question.tool),
          (question.questions ?? []).map((one) => h('p', {}, one.text)), argumentsOf(question.args),
          h('p', { class: 'hint' }, [title, folder].filter(Boolean).join(' · ')), h('a', { class: 'go', href: `/s/${session}` }, words.open)))
      : h('p', { class: 'hint' }, words.inboxEmpty)];
  },

  async search() {
    const query = new URLSearchParams(location.search).get('q') ?? '';
    document.getElementById('query').value = query;
    const { found, unread } = await get(`/api/search?q=${encodeURIComponent(query)}`);
    const groups = new Map();
    for (const hit of found) {
      const known = groups.get(hit.session) ?? [];
      if (!known.some((one) => one.text === hit.text)) groups.set(hit.session, [...known, hit]);
    }
    return [words.found(query, [...groups.values()].flat().length),
      [...groups.values()].map((hits) =>
        h('section', { class: 'card' }, h('h3', {}, h('a', { href: `/s/${hits[0].session}` }, hits[0].title || words.untitled)),
          h('p', { class: 'hint' }, [hits[0].folder, ago(hits[0].ts)].filter(Boolean).join(' · ')),
          h('ul', { class: 'hits' }, hits.map((hit) => h('li', {}, h('a', { href: `/s/${hit.session}#${hit.entry}=${encodeURIComponent(query)}` }, hit.text)))))),
      !found.length && h('p', { class: 'hint' }, words.foundNothing), unread > 0 && h('p', { class: 'hint' }, words.unread(unread))];
  },

  async usage() {
    const { day, model, budgets } = await get('/api/book/usage');
    const rows = budgets.budgets.flatMap((one) => one);
    return [words.usageTitle,
      facts([['requests', short(model.total.requests)], ['tokens', short(model.total.tokens)], ['cost', dollars(model.total.cost)]]),
      h('h3', {}, words.budgets),
      rows.length ? table(Object.keys(rows[0]).map((name) => [name, (row) => (row[name] === null ? '–' : String(row[name]))]), rows, words.budgets) : h('p', { class: 'hint' }, words.noBudgets),
      h('h3', {}, words.byDay), bars(day.rows), table([['day', (row) => row.day], ...SUMS], [...day.rows].reverse(), words.byDay),
      h('h3', {}, words.byModel), table([['model', (row) => row.model], ...SUMS], model.rows, words.byModel)];
  },

  async skills() {
    const { skills } = await get('/api/book/skills');
    return [words.skills, skills.length ? skills.map((skill) =>
      h('section', { class: 'card' }, h('h3', {}, skill.name, ' ', h('span', { class: `badge ${skill.status === 'ready' ? 'good' : 'bad'}` }, skill.status)),
        h('p', {}, skill.description), skill.reasons?.length > 0 && h('p', { class: 'hint' }, skill.reasons.map(String).join('; ')),
        h('p', { class: 'hint' }, [skill.source, skill.version, skill.actions?.length && `actions: ${skill.actions.join(', ')}`].filter(Boolean).join(' · ')))) : h('p', { class: 'hint' }, words.nothing)];
  },

  async plugins() {
    const { plugins } = await get('/api/book/plugins');
    return [`${words.plugins} (${plugins.plugins.filter((one) => one.enabled).length} run)`, table([
      ['plugin', (row) => row.name], ['runs', (row) => (row.enabled ? 'yes' : 'no')], ['package', (row) => `${row.distribution} ${row.version}`], ['because', (row) => row.reason],
    ], plugins.plugins, words.plugins)];
  },

  async servers() {
    const { servers } = await get('/api/book/servers');
    return [words.servers, servers.length ? table([
      ['server', (row) => row.name], ['state', (row) => String(row.state ?? row.status ?? (row.enabled === false ? 'off' : 'on'))],
      ['address', (row) => String(row.url ?? [row.command, ...(row.args ?? [])].join(' '))], ['from', (row) => String(row.source ?? row.where ?? '')],
    ], servers, words.servers) : h('p', { class: 'hint' }, words.nothing)];
  },

  async why(session, turn) {
    const { turn: told } = await get(`/api/book/why?session=${encodeURIComponent(session)}&turn=${encodeURIComponent(turn)}`);
    const { model, request } = told;
    const step = (n, name) => n >= 1 && n <= told.turns && h('a', { href: `/why/${session}/${n}` }, name);
    const groups = Map.groupBy ? Map.groupBy(told.tools.offered, (one) => one.from) : new Map([['', told.tools.offered]]);
    return [`${words.turn(told.turn)} of ${told.turns}`,
      h('p', { class: 'asked-for' }, told.asked),
      h('p', { class: 'row' }, h('a', { href: `/s/${session}` }, words.open), step(told.turn - 1, 'the turn before'), step(told.turn + 1, 'the turn after')),
      facts([['model', model && `${model.provider}/${model.id}`], ['chosen by', model?.chosen_by], ['request', request?.tokens && `about ${short(request.tokens)} tokens${request.window ? ` of ${short(request.window)}` : ''}`], ['attempts', request?.attempts > 1 ? request.attempts : '']]),
      h('h3', {}, `System: ${told.sections.length} sections`), table([['section', (row) => row.name], ['from', (row) => row.from], ['tokens', (row) => short(row.tokens), NUMBER]], told.sections, 'Sections'),
      h('h3', {}, `Tools: ${told.tools.offered.length} offered`), h('dl', { class: 'arguments' }, [...groups].map(([from, rows]) => [h('dt', {}, from || 'all'), h('dd', {}, rows.map((one) => one.name).join(', '))])),
      told.tools.withheld?.length > 0 && [h('h3', {}, 'Withheld'), table([['tool', (row) => row.name], ['by', (row) => String(row.by ?? row.from ?? '')], ['why', (row) => String(row.reason ?? '')]], told.tools.withheld, 'Withheld')],
      told.skills?.length > 0 && [h('h3', {}, 'Skills'), table([['skill', (row) => row.name], ['state', (row) => row.state], ['why', (row) => row.reason], ['from', (row) => row.source]], told.skills, 'Skills')]];
  },
};

// Tokens by day as bars; the table below says the same.
function bars(rows) {
  const most = Math.max(1, ...rows.map((row) => row.tokens));
  return h('div', { class: 'bars', 'aria-hidden': 'true' }, rows.map((row) => {
    const bar = h('span', { title: `${row.day}: ${short(row.tokens)} tokens` });
    bar.style.height = `${Math.max(3, (100 * row.tokens) / most)}%`;
    return bar;
  }));
}

export async function show(name, ...given) {
  const page = h('div', { class: 'page', tabindex: '0', role: 'group', 'aria-label': name }, h('p', { class: 'hint', role: 'status' }, words.loading));
  fill(main(), page);
  document.body.classList.add('book');
  document.querySelectorAll('.pages a').forEach((link) => link.getAttribute('href') === location.pathname && link.setAttribute('aria-current', 'page'));
  document.getElementById('state').textContent = words.states.idle;
  document.getElementById('state').dataset.state = 'idle';
  try {
    const [title, ...content] = await pages[name](...given);
    fill(page, h('h2', {}, title), content);
    document.title = `${title} · SkillKit`;
  } catch (error) {
    fill(page, h('h2', {}, name), h('p', { class: 'error' }, error.message));
  }
}
