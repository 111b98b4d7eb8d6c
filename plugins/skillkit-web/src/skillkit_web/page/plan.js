// A plan as a drawing: a column for each distance from the first steps, a box for each step, a line for what waits for what.
import { h, visible } from './dom.js';

const SVG = 'http://www.w3.org/2000/svg';
const [BOX, HIGH, GAP, ROW] = [206, 58, 40, 76];
const MARKS = { completed: '✓', failed: '✕', running: '▶', retrying: '↻', waiting: '?', skipped: '–', cancelled: '–' };

const s = (tag, attributes, ...children) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

const cut = (text, length) => visible(text.length > length ? `${text.slice(0, length - 1)}…` : text);

export function drawn(plan) {
  const steps = new Map(plan.steps.map((step) => [step.step_id, step]));
  const depth = new Map();
  const of = (step, seen = new Set()) => {
    if (!depth.has(step.step_id)) {
      const before = (step.depends_on ?? []).filter((id) => steps.has(id) && !seen.has(id));
      depth.set(step.step_id, before.length ? 1 + Math.max(...before.map((id) => of(steps.get(id), new Set([...seen, step.step_id])))) : 0);
    }
    return depth.get(step.step_id);
  };
  const rows = [];
  const places = new Map();
  for (const step of plan.steps) {
    const column = of(step);
    rows[column] = (rows[column] ?? 0) + 1;
    places.set(step.step_id, [column * (BOX + GAP) + 4, (rows[column] - 1) * ROW + 4]);
  }
  const [width, height] = [rows.length * (BOX + GAP) - GAP + 8, Math.max(1, ...rows) * ROW - (ROW - HIGH) + 8];
  const edges = plan.steps.flatMap((step) =>
    (step.depends_on ?? []).filter((id) => places.has(id)).map((id) => {
      const [[x1, y1], [x2, y2]] = [places.get(id), places.get(step.step_id)];
      const [a, b, middle] = [y1 + HIGH / 2, y2 + HIGH / 2, (x1 + BOX + x2) / 2];
      return s('path', { class: 'edge', d: `M${x1 + BOX},${a} C${middle},${a} ${middle},${b} ${x2},${b}` });
    }));
  const boxes = plan.steps.map((step) => {
    const [x, y] = places.get(step.step_id);
    const facts = [step.state ?? 'not started', step.ms ? `${(step.ms / 1000).toFixed(1)} s` : '', step.tokens ? `${step.tokens} tokens` : ''].filter(Boolean).join(' · ');
    const title = s('title', {});
    title.textContent = visible(`${step.sub_query ?? ''} ${step.reason ?? ''}`.trim());
    const lines = [['name', 20, `${MARKS[step.state] ?? '·'} ${step.step_id} ${step.target ?? ''}`], ['became', 35, facts], ['query', 50, step.sub_query ?? '']];
    return s('g', { class: `step ${step.state}` }, title, s('rect', { x, y, width: BOX, height: HIGH, rx: 8 }),
      ...lines.map(([kind, dy, text]) => {
        const element = s('text', { class: kind, x: x + 10, y: y + dy });
        element.textContent = cut(text, kind === 'name' ? 25 : 31);
        return element;
      }));
  });
  const told = plan.steps.map((step) => `${step.step_id} ${step.target}: ${step.state}`).join('; ');
  const drawing = s('svg', { class: 'plan', role: 'img', 'aria-label': visible(`Plan: ${told}`), viewBox: `0 0 ${width} ${height}`, width, height }, ...edges, ...boxes);
  return h('div', { class: 'wide', tabindex: '0', role: 'group', 'aria-label': 'Drawing of the plan' }, drawing);
}
