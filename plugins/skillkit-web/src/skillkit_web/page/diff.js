// A unified diff, by file and line, with signs beside the colours.
import { h } from './dom.js';

export function counts(diff) {
  let added = 0;
  let removed = 0;
  for (const line of diff.split('\n')) {
    if (line.startsWith('+') && !line.startsWith('+++ ')) added++;
    else if (line.startsWith('-') && !line.startsWith('--- ')) removed++;
  }
  return `+${added} \u2212${removed}`;
}

const looksLike = (text) => /^@@ -\d/m.test(text) && /^\+\+\+ /m.test(text);

export function shown(text) {
  if (!looksLike(text)) return h('pre', { class: 'output', tabindex: '0' }, text);
  const rows = [];
  let old = 0;
  let now = 0;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk) {
      [old, now] = [Number(hunk[1]), Number(hunk[2])];
      rows.push(row('at', '', '', '', line));
    } else if (line.startsWith('--- ')) continue;
    else if (line.startsWith('+++ ')) rows.push(row('file', '', '', '', line.slice(4).replace(/^b\//, '')));
    else if (line.startsWith('+')) rows.push(row('added', '', now++, '+', line.slice(1)));
    else if (line.startsWith('-')) rows.push(row('removed', old++, '', '\u2212', line.slice(1)));
    else if (line.startsWith('\\')) rows.push(row('at', '', '', '', line));
    else rows.push(row('same', old++, now++, '', line.slice(1)));
  }
  return h('div', { class: 'diff', tabindex: '0', role: 'group', 'aria-label': 'Changes' }, h('table', {}, h('tbody', {}, rows)));
}

const row = (kind, before, after, sign, text) =>
  h('tr', { class: kind }, h('td', { class: 'number' }, String(before)), h('td', { class: 'number' }, String(after)), h('td', { class: 'sign' }, sign), h('td', { class: 'line' }, text || ' '));
