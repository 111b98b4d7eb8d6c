// What goes to the server and comes from it.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function answered(response) {
  const text = await response.text();
  let found = {};
  try {
    found = JSON.parse(text);
  } catch {
    found = { error: text.trim() };
  }
  if (!response.ok) throw new Refused(response.status, [found.error, found.hint].filter(Boolean).join('; '));
  return found;
}

export const get = async (path) => answered(await fetch(path));

export const post = async (path, body) =>
  answered(await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }));

export const act = (session, method, params = {}) => post(`/api/s/${session}/act`, { method, params });

const PAUSES = [300, 600, 1000, 2000, 4000];
const HIDDEN = 60_000; // milliseconds after which a tab that nobody sees, and in which nothing goes on, lets its connection go

// What happens in a session. It comes back by itself, and goes on behind the last message that it got.
export class Stream {
  constructor(session, listener) {
    this.session = session;
    this.listener = listener;
    this.last = '';
    this.failures = 0;
    this.resting = () => false;
    addEventListener('online', () => this.connect());
    addEventListener('offline', () => this.lost('offline'));
    document.addEventListener('visibilitychange', () => {
      clearTimeout(this.leaving);
      if (document.visibilityState === 'visible') {
        if (!this.source) this.connect();
      } else {
        this.leaving = setTimeout(() => this.resting() && this.close(), HIDDEN);
      }
    });
  }

  connect() {
    this.close();
    const after = this.last ? `?after=${encodeURIComponent(this.last)}` : '';
    const source = (this.source = new EventSource(`/api/s/${this.session}/events${after}`));
    source.addEventListener('about', (event) => {
      this.failures = 0;
      this.listener.connected(JSON.parse(event.data));
    });
    source.addEventListener('problem', (event) => {
      const problem = JSON.parse(event.data);
      this.listener.problem(problem.error);
      if (problem.again) this.lost('reconnecting');
      else this.close();
    });
    source.onmessage = (event) => {
      this.last = event.lastEventId;
      this.listener.message(JSON.parse(event.data));
    };
    source.onerror = () => source === this.source && this.lost('reconnecting');
  }

  async lost(state) {
    this.close();
    this.listener.away(state);
    if (state === 'offline') return;
    this.again = setTimeout(async () => {
      try {
        await get('/api/sessions');
        this.connect();
      } catch (error) {
        if (error instanceof Refused && error.status === 401) this.listener.signedOut();
        else this.lost('reconnecting');
      }
    }, PAUSES[Math.min(this.failures++, PAUSES.length - 1)]);
  }

  close() {
    clearTimeout(this.again);
    this.source?.close();
    this.source = null;
  }
}
