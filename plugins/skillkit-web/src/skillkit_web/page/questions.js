// Questions to the person: about calls of tools, and surveys. The first answer counts, whoever gives it.
import { add, button, fresh, h } from './dom.js';
import { shown } from './diff.js';
import { argumentsOf } from './log.js';
import { post } from './wire.js';
import { words } from './words.js';

export class Questions {
  // Attributes: element, told (says something to the person), left (called when a question is gone)
  constructor(session, told, left) {
    this.session = session;
    this.told = told;
    this.left = left;
    this.element = h('div', { class: 'questions', id: 'questions' });
    this.open = new Map();
  }

  begin(questions) {
    const known = new Set(questions.map((question) => question.id));
    for (const id of [...this.open.keys()]) if (!known.has(id)) this.remove(id);
    questions.forEach((question) => this.ask(question));
  }

  ask(question) {
    if (this.open.has(question.id)) return;
    const element = question.kind === 'survey' ? this.survey(question) : this.approval(question);
    this.open.set(question.id, { element, question });
    this.element.append(element);
    const active = document.activeElement;
    const writes = active?.id === 'message' && active.value.trim();
    // a person who writes goes on; nobody's key answers what was not read
    if (!writes && !active?.closest?.('.question, .side, .inspect')) element.querySelector('h2').focus({ preventScroll: true });
  }

  answered(message) {
    const found = this.open.get(message.question);
    this.remove(message.question);
    const by = message.by ?? {};
    if (found?.question.kind === 'approval' && (by.kind !== 'web' || message.decision !== 'allow')) {
      const what = words.decisions[message.decision] ?? message.decision;
      this.told(words.answered(found.question.tool, what, by.id ?? by.kind ?? ''));
    }
  }

  remove(id) {
    const found = this.open.get(id);
    if (!found) return;
    this.open.delete(id);
    const held = found.element.contains(document.activeElement) || document.activeElement === document.body;
    found.element.remove();
    if (held) this.left();
  }

  async give(id, answer) {
    const { element } = this.open.get(id) ?? {};
    element?.querySelectorAll('button').forEach((one) => one.setAttribute('aria-disabled', 'true'));
    try {
      const { outcome } = await post(`/api/s/${this.session}/answer`, { question: id, ...answer });
      if (outcome !== 'taken') {
        this.told(words.late);
        this.remove(id);
      }
    } catch (error) {
      element?.querySelectorAll('button').forEach((one) => one.removeAttribute('aria-disabled'));
      this.say(element, error.message);
    }
  }

  say(element, text) {
    const place = element?.querySelector('.problem');
    if (place) place.textContent = text;
    else this.told(text);
  }

  approval(question) {
    const title = fresh('question');
    const reason = h('input', { type: 'text', id: fresh('reason'), autocomplete: 'off' });
    const decide = (decision, more = {}) => () => this.give(question.id, { decision, ...more });
    const rules = question.questions.map((one) => one.rule).filter(Boolean);
    const more = h('details', { class: 'more' }, h('summary', {}, words.more),
      h('div', { class: 'row' },
        question.rememberable && button(words.allowSession, decide('allow', { remember: 'session' })),
        rules.length > 0 && button(words.allowProject, decide('allow', { remember: 'project' }), { title: rules.join('; ') }),
        rules.length > 0 && button(words.allowEver, decide('allow', { remember: 'ever' }), { title: rules.join('; ') })),
      rules.length > 0 && h('p', { class: 'hint' }, rules.join('; ')),
      h('div', { class: 'row' }, h('label', { for: reason.id }, words.reason), reason,
        button(words.denyBecause, () => this.give(question.id, { decision: 'deny', reason: reason.value ? `a person said no: ${reason.value}` : '' }))));
    const path = question.agent_path ?? ['main'];
    return h('section', { class: 'question', role: 'group', 'aria-labelledby': title },
      h('h2', { id: title, tabindex: '-1' }, words.approval(question.tool)),
      h('div', { class: 'asked', tabindex: '0', role: 'group', 'aria-label': question.preview ? words.changes : words.withArguments },
        path.length > 1 && h('p', { class: 'hint' }, words.inside(path.at(-1).split(':')[0])),
        question.questions.map((one) => h('p', {}, one.text, one.plugin && h('span', { class: 'hint' }, ` ${words.asks(one.plugin)}`))),
        question.preview ? shown(question.preview) : argumentsOf(question.args)),
      h('p', { class: 'problem', role: 'alert' }),
      h('div', { class: 'row answers' }, button(words.allow, decide('allow'), { class: 'primary' }), button(words.deny, decide('deny'), { class: 'danger' }), more));
  }

  // One question, yes or no.
  confirm(id, survey, question, text) {
    const title = fresh('question');
    const give = (value) => () => this.give(id, { answers: { [question.id]: value } });
    return h('section', { class: 'question', role: 'group', 'aria-labelledby': title },
      h('h2', { id: title, tabindex: '-1' }, survey.title || question.text),
      h('div', { class: 'asked', tabindex: '0', role: 'group', 'aria-label': 'Question' }, text && h('p', {}, text), survey.title && h('p', {}, question.text)),
      h('p', { class: 'problem', role: 'alert' }),
      h('div', { class: 'row answers' }, button(words.yes, give(true), { class: 'primary' }), button(words.no, give(false))));
  }

  survey(question) {
    const { survey, id } = question;
    const [only, ...others] = survey.questions;
    const text = survey.text === only?.text ? '' : survey.text;
    if (only?.kind === 'confirm' && !others.length) return this.confirm(id, survey, only, text);
    const parts = survey.questions.map((one) => field(one, fresh('field')));
    const form = h('form', { class: 'question', 'aria-label': survey.title || 'Questions', novalidate: true },
      h('h2', { tabindex: '-1' }, survey.title || 'Questions'),
      h('div', { class: 'asked', tabindex: '0', role: 'group', 'aria-label': 'Questions' }, text && h('p', {}, text), parts.map((part) => part.element)),
      h('p', { class: 'problem', role: 'alert' }),
      h('div', { class: 'row answers' }, h('button', { type: 'submit', class: 'primary' }, words.answer),
        button(words.decline, () => this.give(id, { answers: null }))));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const given = {};
      for (const part of parts) {
        const value = part.value();
        if (value === undefined && part.question.required !== false) {
          this.say(form, `${part.question.text} ${words.required}.`);
          part.focus();
          return;
        }
        if (value !== undefined) given[part.question.id] = value;
      }
      this.give(id, { answers: given });
    });
    return form;
  }
}

// A question of a survey: its element, and what is answered; undefined: nothing is.
function field(question, name) {
  const needed = question.required === false ? null : h('span', { class: 'hint' }, ` (${words.required})`);
  if (question.kind === 'choice' || question.kind === 'choices') {
    const kind = question.kind === 'choice' ? 'radio' : 'checkbox';
    const chosen = new Set([question.default ?? []].flat());
    const inputs = question.options.map((option) => h('input', { type: kind, name, value: option.value ?? option.label, id: fresh('option'), checked: chosen.has(option.value ?? option.label) }));
    const rows = question.options.map((option, place) =>
      h('div', { class: 'option' }, inputs[place], h('label', { for: inputs[place].id }, option.label), option.description && h('span', { class: 'hint' }, option.description)));
    const value = () => {
      const picked = inputs.filter((input) => input.checked).map((input) => input.value);
      return kind === 'radio' ? picked[0] : picked.length || question.required === false ? picked : undefined;
    };
    return { question, element: h('fieldset', {}, h('legend', {}, question.text, needed), rows), value, focus: () => inputs[0]?.focus() };
  }
  if (question.kind === 'confirm') {
    const input = h('input', { type: 'checkbox', id: name, checked: question.default === true });
    return { question, element: h('div', { class: 'option' }, input, h('label', { for: name }, question.text)), value: () => input.checked, focus: () => input.focus() };
  }
  const input = h('input', { type: question.kind === 'secret' ? 'password' : 'text', id: name, autocomplete: 'off', value: question.kind === 'secret' ? null : question.default });
  return {
    question,
    element: h('div', { class: 'field' }, h('label', { for: name }, question.text, needed), input),
    value: () => input.value || undefined,
    focus: () => input.focus(),
  };
}
