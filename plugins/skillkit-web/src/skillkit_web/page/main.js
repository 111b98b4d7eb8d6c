// Which page this is: a session, a new one, or a book.
import { Conversation } from './conversation.js';
import { fill, h } from './dom.js';
import { Side } from './side.js';
import { show } from './books.js';
import { post } from './wire.js';
import { words } from './words.js';

const side = new Side();
const [, first, second, third] = location.pathname.split('/');

async function begin() {
  await side.look();
  if (first === 's') return converse(second);
  if (first === '' || first === 'new') {
    if (side.found.read_only) return choose();
    try {
      const { session } = await post('/api/sessions', { folder: new URLSearchParams(location.search).get('folder') });
      history.replaceState(null, '', `/s/${session}`);
      return converse(session);
    } catch (error) {
      return fill(document.getElementById('main'), h('div', { class: 'page' }, h('p', { class: 'error' }, error.message)));
    }
  }
  return show(first, second, third);
}

// Who looks on begins nothing.
function choose() {
  document.body.classList.add('book');
  const state = document.getElementById('state');
  state.dataset.state = 'idle';
  state.textContent = words.states.idle;
  const rows = side.found.sessions.map((row) => h('li', {}, h('a', { href: `/s/${row.id}` }, row.title || words.untitled), ' ', h('span', { class: 'hint' }, side.short(row.folder))));
  fill(document.getElementById('main'), h('div', { class: 'page' }, h('h2', {}, words.choose), h('p', { class: 'hint' }, words.readOnly), h('ul', { class: 'hits' }, rows.length ? rows : h('li', {}, words.sessionsHere))));
}

function converse(session) {
  const conversation = new Conversation(session, side);
  side.changed = () => {
    conversation.title();
    conversation.header();
  };
  side.show();
  if (!matchMedia('(pointer: coarse)').matches) conversation.composer.focus();
}

// On a small screen the sessions and what is beside the conversation are pages behind two buttons.
for (const name of ['side', 'inspect']) {
  const button = document.getElementById(`show-${name}`);
  button.addEventListener('click', () => {
    const open = document.body.dataset.shows !== name;
    document.body.dataset.shows = open ? name : '';
    for (const other of ['side', 'inspect']) document.getElementById(`show-${other}`).setAttribute('aria-expanded', String(open && other === name));
  });
}
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && document.body.dataset.shows) document.getElementById(`show-${document.body.dataset.shows}`).click();
});

begin();
