'use strict';
// What a process prints, and what its command says, gets into the page by textContent
// alone. Offsets count bytes of the stream; an invalid byte is U+FFFD in the text.
const $ = id => document.getElementById(id);
const keep = 2 << 20; // characters of output in the page
const piece = 16 << 10; // characters of a block
const encoder = new TextEncoder();

let token = new URLSearchParams(location.hash.slice(1)).get('token');
if (token) {
  sessionStorage.setItem('toolproc-token', token);
  history.replaceState(null, '', location.pathname + location.search);
} else { token = sessionStorage.getItem('toolproc-token') || ''; }
const records = new Map(); // by key
const nodes = new Map(); // the items of the list, by key
let totals = {total: 0, live: 0}, limit = 200, query = '', readOnly = false;
let chosen = null, auto = false; // the key of the process that is shown, and whether nobody has chosen it
let blocks = [], live = '', screen = null, at = -1, stuck = true, paused = false;
let reading = null, fresh = true, marks = [];
let stream = null, retry = 0, offline = false; // offline: what lives is not known
let lastCall = 0; // the n of the newest call in the column
const keyOf = p => JSON.stringify([p.chat_id || '', p.id]);
const path = key => { const [chat, id] = JSON.parse(key); return [encodeURIComponent(id), new URLSearchParams(chat ? {chat} : {})]; };
const count = n => n.toLocaleString('en');
const plural = (n, one) => `${count(n)} ${one}${n === 1 ? '' : 's'}`;
const size = n => n < 1024 ? plural(n, 'byte') : n < 1 << 20 ? `${(n / 1024).toFixed(1)} KiB` : n < 1 << 30 ? `${(n / (1 << 20)).toFixed(1)} MiB` : `${(n / (1 << 30)).toFixed(2)} GiB`;
// Controls that change the direction of text are shown by their names.
const visible = text => text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, c => `‹U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}›`);
function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}
function set(node, text) { if (node.textContent !== text) node.textContent = text; }
function span(ms) {
  const s = Math.max(0, Math.floor(ms / 1000)), two = n => String(n).padStart(2, '0');
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${two(Math.floor(s % 3600 / 60))}m`;
  return `${Math.floor(s / 86400)}d ${two(Math.floor(s % 86400 / 3600))}h`;
}
const clock = at => new Date(at).toLocaleTimeString('en-GB');
const began = p => p.began ??= Date.parse(p.started_at || 0) + Number('0.' + (/\.\d{3}(\d+)/.exec(p.started_at) || [0, 0])[1]); // Date has whole milliseconds; lists are sorted by it
// The ages of processes are of the clock of their own machine, which may differ from the one here.
const lasted = p => span((p.elapsed_ns || 0) / 1e6 + (p.state === 'exited' ? 0 : Date.now() - (p.seen ??= Date.now())));
const failed = p => p.ended_by !== 'request' && (p.exit_code !== undefined && p.exit_code !== 0 || !!p.signal);
function stateOf(p) {
  let state = p.state;
  if (p.gone) return 'gone';
  if (state !== 'exited' && offline) return 'not known';
  if (state === 'exited') state = p.signal || (p.exit_code === undefined ? 'ended' : `exit ${p.exit_code}`);
  if (p.ended_by === 'request') state += ', on request';
  if (p.oom) state += ', out of memory';
  if (p.waiting) state = p.waiting.secret ? 'waits for a secret' : 'waits for input';
  return state;
}
const kindOf = p => p.state !== 'exited' && offline ? 'unknown' : `${p.state}${p.state === 'exited' && failed(p) ? ' failed' : p.waiting ? ' waits' : ''}`;

// --- talking to the server
async function ask(url, options = {}) {
  const answer = await fetch(url, {...options, credentials: 'omit', headers: {Authorization: `Bearer ${token}`, ...options.headers}});
  if (answer.ok) return answer;
  if (answer.status === 401 && !$('asking').open) $('asking').showModal();
  const body = await answer.json().catch(() => ({}));
  throw Object.assign(new Error(body.error || `the server answers ${answer.status}`), {status: answer.status});
}
function say(text, trouble) { set($('status'), text); $('status').classList.toggle('trouble', !!trouble); }
// connect opens the one stream of the page, which names what is shown. It is opened
// again when that changes, and when it has ended.
async function connect() {
  if (stream) stream.abort();
  const mine = stream = new AbortController();
  const [id, about] = chosen ? path(chosen) : ['', new URLSearchParams()];
  if (chosen) about.set('id', decodeURIComponent(id));
  if (query) about.set('q', query);
  fresh = true;
  try {
    const answer = await ask(`stream?${about}`, {signal: mine.signal, headers: at >= 0 ? {'Last-Event-ID': String(at)} : {}});
    retry = 0; offline = false; say('');
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '', looked = 0;
    for (;;) {
      const {value, done} = await reader.read();
      if (done) break;
      rest += value;
      for (let end; (end = rest.indexOf('\n\n', Math.max(0, looked - 1))) >= 0; looked = 0) {
        if (mine !== stream) return;
        take(rest.slice(0, end)); rest = rest.slice(end + 2);
      }
      looked = rest.length;
    }
  } catch (err) { if (mine === stream && err.status === 401) { offline = true; later(); return; } }
  if (mine !== stream) return;
  offline = true; later();
  say('The server does not answer. Trying again …', true);
  setTimeout(() => mine === stream && connect(), Math.min(5000, 300 * 2 ** retry++));
}
function take(text) {
  const event = {};
  for (const line of text.split('\n')) { const colon = line.indexOf(': '); if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 2); }
  if (!event.data) return;
  const data = JSON.parse(event.data);
  switch (event.event) {
    case 'list': listed(data); break;
    case 'processes': data.forEach(changed); break;
    case 'chunk': printed(data); break;
    case 'screen': screen = data; break;
    case 'highlights': for (const h of data) if (!marks.some(m => m.offset === h.offset)) marks.push(h); break;
    case 'reading': read(data); break;
    case 'trouble': say(data.error && `The manager does not answer: ${visible(data.error)}`, data.error); break;
    case 'calls': data.forEach(called); break;
    case 'gone': say(`This process is gone: ${visible(data.error)}`, true); if (records.has(chosen)) gone(records.get(chosen)); break;
  }
  later();
}

// --- what is known
function listed(page) {
  totals = page;
  if (page.read_only !== undefined) readOnly = page.read_only;
  const one = chosen && records.get(chosen);
  records.clear();
  for (const p of page.processes) records.set(keyOf(p), p);
  if (records.has(chosen)) return;
  if (auto) chosen = null; // draw takes another one
  else if (one && !query) records.set(chosen, {...one, unlisted: true});
}
// gone keeps what is known of a process that the manager does not know any more.
function gone(p) { records.set(keyOf(p), {...p, gone: true, was: p.was || p.state, state: 'exited', exited_at: p.exited_at || new Date().toISOString()}); }
function changed(p) {
  const key = keyOf(p), before = records.get(key);
  if (p.gone) {
    if (before && !before.unlisted) { totals.total--; totals.live -= (before.was || before.state) !== 'exited'; }
    if (key === chosen) gone({...before || p, unlisted: true});
    else records.delete(key);
    return;
  }
  if (!before && query && key !== chosen && ![p.command, p.id, p.chat_id || ''].some(t => t.toLowerCase().includes(query.toLowerCase()))) return;
  if (!before) totals.total++;
  totals.live += (p.state !== 'exited') - (before ? before.state !== 'exited' : 0);
  records.set(key, p);
  if (!before || before.state === p.state && before.waiting?.since === p.waiting?.since) return;
  if (p.waiting || p.state === 'exited' && key === chosen) say(`${visible(p.command).slice(0, 60)}: ${stateOf(p)}`);
  else if (key === chosen && before.state === 'exited') connect(); // a search has found members that live
}
function read(data) {
  if (fresh || !reading) reading = {...data, results: []};
  const results = (fresh ? [] : reading.results).concat(data.results || []);
  reading = {...data, results};
  fresh = false;
  for (const h of data.highlights || []) if (!marks.some(m => m.offset === h.offset)) marks.push(h);
}

// --- what was printed
// weigh returns how many bytes of the stream a text is. thin says that each U+FFFD in it
// stands for one byte.
const weigh = (text, thin) => encoder.encode(text).length - (thin ? 2 * (text.split('\ufffd').length - 1) : 0);
// index returns the place in a block's text of an offset of the stream.
function index(block, offset) {
  let left = offset - block.from, i = 0;
  if (block.plain) return Math.min(Math.max(left, 0), block.text.length);
  for (; i < block.text.length && left > 0; i++) {
    const c = block.text.charCodeAt(i);
    left -= c < 0x80 ? 1 : c < 0x800 ? 2 : c === 0xfffd ? (block.thin ? 1 : 3) : c >= 0xd800 && c < 0xdc00 ? (i++, 4) : 3;
  }
  return i;
}
// split makes blocks of a text.
function split(frame) {
  const made = [];
  const thin = frame.text.includes('\ufffd') && weigh(frame.text, false) !== frame.next - frame.from;
  let from = frame.from;
  for (let i = 0; i < frame.text.length;) {
    let end = Math.min(i + piece, frame.text.length);
    if (end < frame.text.length) {
      const line = frame.text.indexOf('\n', end - 1);
      if (line >= 0 && line < i + 4 * piece) end = line + 1;
      else if (frame.text.charCodeAt(end - 1) >= 0xd800 && frame.text.charCodeAt(end - 1) < 0xdc00) end++;
    }
    const text = frame.text.slice(i, end), bytes = weigh(text, thin);
    made.push({from, next: from + bytes, text, thin, plain: bytes === text.length, lost: 0});
    from += bytes; i = end;
  }
  return made;
}
function printed(frame) {
  const end = blocks.length ? blocks[blocks.length - 1].next : frame.from - (frame.gap || 0);
  live = frame.live || ''; at = Math.max(at, frame.next);
  if (frame.process) { const known = records.get(chosen); if (known) known.log_path = frame.process.log_path; }
  if (frame.skip) { // the page lay behind: what it has is read again by scrolling
    clear(); live = frame.live || ''; at = frame.next;
  } else if (frame.next <= end && blocks.length) { return; }
  if (paused || !frame.text) return;
  const made = split(frame);
  if (frame.gap) made[0].lost = frame.gap;
  const last = blocks[blocks.length - 1];
  if (last && made[0] && !made[0].lost && last.thin === made[0].thin && last.text.length + made[0].text.length <= piece) {
    last.text += made[0].text; last.next = made[0].next; last.plain = last.plain && made[0].plain;
    made.shift();
  }
  blocks.push(...made); trim();
}
// trim lets go of the output that is too much: of the oldest, or, if somebody reads
// there, of the newest.
function trim() {
  let length = blocks.reduce((n, b) => n + b.text.length, 0);
  while (length > keep && blocks.length > 1) {
    const gone = stuck ? blocks.shift() : blocks.pop();
    if (!stuck) paused = true;
    length -= gone.text.length;
    if (gone.node) gone.node.remove();
  }
}
function clear() {
  blocks = []; live = ''; paused = false; $('blocks').textContent = '';
}

let loading = false;
async function earlier() {
  const first = blocks[0], key = chosen;
  if (loading || !first || first.from === 0) return;
  loading = true;
  try {
    const [id, about] = path(key);
    about.set('from', Math.max(0, first.from - (256 << 10)));
    about.set('to', first.from);
    const part = await (await ask(`${id}/part?${about}`)).json();
    if (key !== chosen || blocks[0] !== first) return;
    const pane = $('printed'), height = pane.scrollHeight;
    const made = split(part);
    if (!made.length) first.lost = first.from;
    blocks.unshift(...made); stuck = false; trim(); draw();
    pane.scrollTop += pane.scrollHeight - height;
  } catch (err) {
    say(err.message, true);
  } finally { loading = false; }
}
// parts cuts a block where the model has seen it and where not, and at its marks.
function parts(block) {
  const cuts = [];
  const seen = reading && reading.wired ? reading.spans || [] : null;
  if (seen) {
    let from = block.from;
    for (const s of seen) {
      if (s.To <= block.from || s.From >= block.next) continue;
      if (s.From > from) cuts.push([index(block, from), index(block, s.From), 'omitted']);
      from = Math.max(from, s.To);
    }
    if (from < block.next) cuts.push([index(block, from), block.text.length, seen.some(s => s.From >= block.next) ? 'omitted' : 'rest']);
  }
  const lines = [];
  for (const m of marks) {
    if (m.offset < block.from || m.offset >= block.next) continue;
    const from = index(block, m.offset);
    let to = from;
    for (let n = (m.text.match(/\n/g) || []).length; n >= 0 && to < block.text.length; n--) to = (block.text.indexOf('\n', to) + 1) || block.text.length;
    lines.push([from, block.text[to - 1] === '\n' ? to - 1 : to]);
  }
  return {cuts, lines: lines.sort((a, b) => a[0] - b[0])};
}
function paint(block, after) {
  const {cuts, lines} = parts(block);
  const last = cuts.length && cuts[cuts.length - 1];
  block.open = last && last[1] === block.text.length ? last[2] : '';
  const look = JSON.stringify([block.text.length, block.lost, cuts, lines, after]);
  if (look === block.look) return;
  block.look = look;
  if (!block.node) block.node = element('div', '', 'block');
  const parent = block.node;
  parent.textContent = '';
  if (block.lost) parent.append(element('span', `${size(block.lost)} of the output are left out here`, 'note'));
  const put = (into, from, to) => {
    for (const [a, b] of lines) {
      if (b <= from || a >= to) continue;
      if (a > from) into.append(visible(block.text.slice(from, a)));
      into.append(element('mark', visible(block.text.slice(Math.max(a, from), Math.min(b, to)))));
      from = Math.min(b, to);
    }
    if (from < to) into.append(visible(block.text.slice(from, to)));
  };
  let from = 0;
  for (const [a, b, kind] of cuts) {
    put(parent, from, a);
    const veil = element('span', undefined, `unseen ${kind}`);
    if (a > 0 || after !== kind) veil.append(element('span', `the model has not seen this${kind === 'omitted' ? ': its result left it out' : ''}`, 'veil'));
    put(veil, a, b); parent.append(veil); from = b;
  }
  put(parent, from, block.text.length);
}
function drawPrinted(p) {
  const pane = $('printed'), all = $('blocks').children, earliest = blocks.length ? blocks[0].from : 0;
  $('earlier').hidden = !earliest || blocks[0].lost > 0;
  set($('earlier'), `${size(earliest)} before this: show more`);
  let open = '';
  blocks.forEach((block, i) => {
    paint(block, open); open = block.open;
    if (all[i] !== block.node) $('blocks').insertBefore(block.node, all[i] || null);
  });
  set($('live'), visible(live));
  set($('printed-count'), (at > 0 ? size(at) : p.state === 'exited' ? 'nothing' : 'nothing so far') + (p.log_path || marks.length ? '' : ' · no marks without LogDir'));
  $('next-mark').hidden = !pane.querySelector('mark');
  set($('next-mark'), `${plural(pane.querySelectorAll('mark').length, 'mark')} ↓`);
  $('follow').hidden = stuck && !paused;
  if (stuck) pane.scrollTop = pane.scrollHeight;
  $('screen').hidden = !screen;
  if (screen) drawScreen();
}
function drawScreen() {
  const before = screen.rows.slice(0, screen.row).map(r => visible(r) + '\n').join('');
  const row = (screen.rows[screen.row] || '').padEnd(screen.col + 1);
  const look = JSON.stringify(screen);
  if ($('screen').dataset.look === look) return;
  $('screen').dataset.look = look;
  $('screen').replaceChildren(before + row.slice(0, screen.col), element('span', row[screen.col], 'cursor'),
    row.slice(screen.col + 1) + '\n' + screen.rows.slice(screen.row + 1).map(visible).join('\n'));
}

// --- what the model read
// report returns a result as a person reads it. In JSON, that is a Report's facts and words,
// and its output with real line ends; a text is shown as it is.
function report(content) {
  let r = null;
  try { r = JSON.parse(content); } catch { /* it is a text */ }
  if (!r || r.constructor !== Object) return [element('pre', visible(content))];
  const facts = [], words = [];
  const fact = ([name, v]) => v && typeof v === 'object' ? Object.entries(v).map(fact).join(' · ') : `${name} ${v}`;
  for (const [name, v] of Object.entries(r)) {
    if (name === 'output') continue;
    if (Array.isArray(v)) words.push(...v.map(one => typeof one === 'string' ? `${name}: ${one}` : fact([name, one])));
    else if (/\s/.test(v) && typeof v === 'string') words.push(`${name}: ${v}`);
    else facts.push(fact([name, v]));
  }
  const made = [facts.join(' · '), ...words].filter(Boolean).map(text => element('p', visible(text), 'fact'));
  return typeof r.output === 'string' ? [...made, element('pre', visible(r.output))] : made;
}
// called adds a call to the column. One with a process leads to it; any other has its result.
function called(c) {
  if (c.n <= lastCall) return;
  lastCall = c.n;
  const list = $('calls'), end = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  const made = element(c.id ? 'button' : 'details', undefined, `call ${c.kind || ''}`), head = c.id ? made : made.appendChild(element('summary'));
  head.append(element('b', visible(c.tool)), element('small', c.outcome || clock(c.at)), element('span', visible(c.about), 'args'));
  if (c.id) made.onclick = () => choose(keyOf(c), true);
  else made.append(...report(c.content));
  made.title = clock(c.at);
  list.append(made);
  if (list.childElementCount > 200) list.children[1].remove(); // behind the heading
  document.body.classList.add('called');
  if (end) list.scrollTop = list.scrollHeight;
}
function drawRead() {
  const pane = $('read'), results = reading ? reading.results : [];
  const end = pane.scrollHeight - pane.scrollTop - pane.clientHeight < 40;
  const first = results.length ? String(results[0].n) : '';
  if (pane.dataset.of !== chosen || pane.dataset.first !== first) { pane.textContent = ''; pane.dataset.of = chosen; pane.dataset.first = first; }
  let shown = pane.querySelectorAll('.result').length;
  pane.querySelectorAll('.note, :scope > .veil').forEach(n => n.remove());
  for (; shown < results.length; shown++) {
    const r = results[shown], made = element('article', undefined, `result${r.is_error ? ' error' : ''}`), head = element('h4');
    head.append(element('b', visible(r.tool)), element('span', clock(r.at)), element('span', `${plural(r.bytes, 'byte')} · ${r.counted ? '' : 'about '}${plural(r.tokens, 'token')}`));
    made.append(head, element('div', visible(r.arguments), 'args'), ...report(r.content));
    pane.append(made);
  }
  if (!results.length) {
    pane.append(element('p', reading && reading.wired ? 'No result of a tool has shown this process yet.' : 'Set toolset.Options.OnResult to View.Result, and what the model reads stands here.', 'note'));
  } else if (reading.dropped) { pane.prepend(element('p', `${plural(reading.dropped, 'older result')} are not kept`, 'note')); }
  const spans = (reading && reading.spans) || [];
  const missed = at - spans.reduce((n, s) => n + s.To - s.From, 0);
  if (reading && reading.wired && at > 0 && missed > 0) pane.append(element('p', `the model has not seen this: ${size(missed)} of ${size(at)}`, 'veil'));
  set($('read-count'), results.length ? `${plural(results.length, 'result')} · ${plural(results.reduce((n, r) => n + r.tokens, 0), 'token')}` : '');
  if (end) pane.scrollTop = pane.scrollHeight;
}

// --- the list
function order() {
  const chats = new Map();
  for (const [key, p] of records) { if (!chats.has(p.chat_id || '')) chats.set(p.chat_id || '', []); chats.get(p.chat_id || '').push([key, p]); }
  const before = ([, a], [, b]) => (a.state === 'exited') - (b.state === 'exited') || began(b) - began(a) || (a.id < b.id ? -1 : 1);
  for (const all of chats.values()) all.sort(before);
  return [...chats].sort(([, a], [, b]) => before(a[0], b[0]));
}
function drawList() {
  const list = $('list');
  let ended = [...records].filter(([key, p]) => p.state === 'exited' && key !== chosen);
  if (ended.length > limit + 100) { ended = ended.sort(([, a], [, b]) => began(b) - began(a)).slice(limit); for (const [key] of ended) records.delete(key); }
  let place = list.firstChild;
  const wanted = new Set();
  for (const [chat, all] of order()) {
    const name = JSON.stringify(chat);
    let group = nodes.get(name);
    if (!group) { group = element('section'); group.append(element('h2', visible(chat) || 'without a chat'), element('ul')); nodes.set(name, group); }
    wanted.add(name);
    if (group !== place) list.insertBefore(group, place);
    else place = place.nextSibling;
    let spot = group.lastChild.firstChild;
    for (const [key, p] of all) {
      const li = item(key, p);
      wanted.add(key);
      if (li !== spot) group.lastChild.insertBefore(li, spot);
      else spot = spot.nextSibling;
    }
  }
  for (const [key, node] of nodes) if (!wanted.has(key)) nodes.delete(key), node.remove();
  $('more').hidden = query !== '' && records.size >= totals.total || records.size >= totals.total;
  set($('counts'), offline ? '' : `${count(totals.live)} living, ${count(Math.max(0, totals.total - totals.live))} ended`);
}
function item(key, p) {
  let li = nodes.get(key);
  if (!li) {
    li = element('li');
    const row = element('button', undefined, 'row');
    row.type = 'button';
    row.append(element('span', undefined, 'dot'), element('span', undefined, 'cmd'), element('span', undefined, 'age'), element('span', undefined, 'state'));
    row.onclick = () => choose(key, true); li.append(row); nodes.set(key, li);
  }
  const row = li.firstChild, [, cmd, age, state] = row.children;
  set(cmd, visible(p.command.split('\n')[0].slice(0, 200)) || p.id);
  set(age, lasted(p)); set(state, stateOf(p));
  const chose = key === chosen;
  li.className = `${kindOf(p)}${chose ? ' chosen' : ''}`;
  if (chose) row.setAttribute('aria-current', 'true');
  else row.removeAttribute('aria-current');
  const ports = (p.ports || []).join(' ');
  if (li.dataset.ports !== ports) {
    li.dataset.ports = ports;
    if (row.nextSibling) row.nextSibling.remove();
    if (ports) { const all = element('div', undefined, 'ports'); for (const addr of p.ports) all.append(portLink(addr)); li.append(all); }
  }
  return li;
}
// portLink links to what listens. What listens on all addresses does so on that of the
// page.
function portLink(addr) {
  const port = addr.slice(addr.lastIndexOf(':') + 1), host = addr.slice(0, -port.length - 1);
  const link = element('a', `:${port}`);
  link.href = `http://${host === '0.0.0.0' || host === '[::]' ? location.hostname : host}:${port}/`;
  link.target = '_blank'; link.rel = 'noopener noreferrer'; link.title = addr;
  return link;
}

// --- the timeline and the facts of the process that is shown
function drawTimeline() {
  const now = Date.now(), end = q => q.state === 'exited' ? Date.parse(q.exited_at) || began(q) : now;
  const all = [...records].sort(([, a], [, b]) => began(a) - began(b));
  const from = Math.min(...all.map(([, q]) => began(q))), to = Math.max(...all.map(([, q]) => end(q)), from + 1000);
  const place = ms => 100 * Math.min(1, Math.max(0, (ms - from) / (to - from)));
  const lanes = [], bars = element('div');
  let told = 0;
  for (const [key, q] of all) {
    let lane = lanes.find(l => l.free < place(began(q)));
    if (!lane) lanes.push(lane = {node: bars.appendChild(element('div', undefined, 'lane'))});
    const until = q.detached_at ? Date.parse(q.detached_at) : end(q);
    const bar = (a, b, kind, text) => {
      const made = lane.node.appendChild(element('div', text, `bar ${kind}`));
      made.style.left = `${place(a)}%`;
      made.style.width = `${Math.max(0, place(b) - place(a))}%`;
      made.title = visible(`${q.chat_id ? `${q.chat_id}: ` : ''}${q.command.slice(0, 300)}`);
      made.onclick = () => choose(key, true);
    };
    bar(began(q), until, `${kindOf(q)}${key === chosen ? ' chosen' : ''}`, visible(q.command.split('\n')[0].slice(0, 80)));
    if (q.detached_at) bar(until, end(q), 'members', '');
    const all = (q.told || []).map(Date.parse), ticks = all.filter((at, i) => i === 0 || all[i - 1] < end(q)); // up to the one that told of the end
    for (const at of ticks) lane.node.appendChild(element('div', undefined, 'tick')).style.left = `${place(at)}%`;
    told += all.length;
    lane.free = Math.max(place(end(q)), ...ticks.map(place)) + 1;
  }
  $('bars').style.setProperty('--lanes', lanes.length);
  $('bars').classList.toggle('thin', lanes.length > 8);
  $('bars').replaceChildren(...bars.children);
  $('bars').setAttribute('aria-label', `${plural(all.length, 'process').replace('sss', 'sses')} in ${span(to - from)}; the model was told ${told === 1 ? 'once' : `${count(told)} times`}`);
  $('axis').replaceChildren(...[0, 1, 2, 3, 4].map(i => {
    const label = element('span', clock(from + i * (to - from) / 4));
    label.style.left = `${25 * i}%`;
    return label;
  }));
}
function drawFacts(p) {
  set($('command'), visible(p.command));
  const facts = [stateOf(p), lasted(p), p.started_at && `since ${clock(p.started_at)}`, p.background && 'background', p.stdin && `stdin: ${p.stdin}`];
  facts.push(p.id, p.work_dir, p.log_error && `log: ${p.log_error}`);
  set($('facts'), facts.filter(Boolean).map(visible).join(' · '));
  $('stop').hidden = readOnly || offline || p.state === 'exited';
  document.title = `${p.state === 'exited' ? '' : '● '}${visible(p.command).slice(0, 40)} – Processes`;
}

let due = 0, drawn = 0;
// later draws soon, at most five times a second.
function later() { due = due || setTimeout(draw, Math.max(0, drawn + 200 - Date.now())); }
function draw() {
  clearTimeout(due); due = 0; drawn = Date.now();
  if (!chosen && records.size) { choose([...records].reduce((a, b) => began(b[1]) > began(a[1]) ? b : a)[0]); auto = true; return; } // the newest
  const p = chosen && records.get(chosen);
  drawList(); $('one').hidden = !p; $('nothing').hidden = !!p; $('timeline').hidden = !records.size;
  set($('nothing'), records.size ? 'This process is not known.' : query ? 'No process fits.' : 'There is no process yet.');
  if (records.size) drawTimeline();
  if (!p) return;
  drawFacts(p); drawRead(); drawPrinted(p);
}
function choose(key, open) {
  auto = false;
  if (open) document.body.classList.add('opened');
  if (key !== chosen) {
    chosen = key; clear(); stream?.abort(); // what it still brings is of the process before
    [stream, screen, reading, marks, at, stuck] = [null, null, null, [], -1, true];
    clearTimeout(choose.soon);
    choose.soon = setTimeout(connect, 80); // whoever holds j down opens no stream for each
  }
  draw();
  const node = nodes.get(key);
  if (node) node.scrollIntoView({block: 'nearest'});
}

// --- stopping
function askStop() {
  const p = chosen && records.get(chosen), dialog = $('stopping');
  if (!p || readOnly || offline || p.state === 'exited' || dialog.open) return;
  dialog.dataset.of = chosen;
  set(dialog.querySelector('.command'), visible(p.command)); set(dialog.querySelector('.left'), '');
  dialog.querySelectorAll('[data-signal], .what').forEach(node => { node.hidden = false; });
  dialog.showModal();
}
async function stop(signal) {
  const dialog = $('stopping'), left = dialog.querySelector('.left'), [id, about] = path(dialog.dataset.of);
  set(left, 'Waiting for the end …');
  try {
    const now = await (await ask(`${id}/signal?${about}`, {method: 'POST', body: JSON.stringify({signal}), headers: {'Content-Type': 'application/json'}})).json();
    const over = now.process.state === 'exited';
    set(left, now.error ? visible(now.error) : over ? 'All of it has ended.' : 'It still runs.');
    dialog.querySelectorAll('[data-signal], .what').forEach(node => { node.hidden = over; });
    if (over) dialog.querySelector('.close').focus();
  } catch (err) { set(left, visible(err.message)); }
}

// --- keys and buttons
function move(by) {
  const all = order().flatMap(([, group]) => group.map(([key]) => key)), i = all.indexOf(chosen);
  const key = all[Math.min(all.length - 1, Math.max(0, i < 0 || auto ? 0 : i + by))];
  if (!key) return;
  choose(key, false);
  nodes.get(key).firstChild.focus({preventScroll: true});
}
function back() { document.body.classList.remove('opened'); const node = chosen && nodes.get(chosen); if (node) node.firstChild.focus(); }

document.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
  if (e.target.matches('input')) { if (e.key === 'Escape' || e.key === 'ArrowDown') e.preventDefault(), move(0); return; }
  const act = {j: () => move(1), k: () => move(-1), '/': () => $('search').focus(), '.': askStop, '?': () => $('help').showModal(), Escape: back,
    Enter: () => { document.body.classList.add('opened'); $('printed').focus(); }}[e.key];
  if (!act || e.key === 'Enter' && !e.target.matches('.row, body') || e.key === 'Enter' && !chosen) return;
  if (e.key === 'Enter' && e.target.matches('.row')) e.target.click();
  e.preventDefault(); act();
});

$('stop').onclick = askStop;
$('back').onclick = back;
$('earlier').onclick = earlier;
$('ask-help').onclick = () => $('help').showModal();
$('stopping').onclick = e => e.target.dataset.signal && stop(e.target.dataset.signal);
$('asking').onclose = () => {
  token = $('token').value.trim() || token;
  sessionStorage.setItem('toolproc-token', token);
  $('token').value = ''; connect();
};
$('search').oninput = () => {
  query = $('search').value.trim(); limit = 200; clearTimeout(choose.soon);
  choose.soon = setTimeout(connect, 150);
};
$('more').onclick = async () => {
  const about = new URLSearchParams({q: query, offset: records.size, limit: 200});
  const page = await (await ask(`list?${about}`)).json();
  limit += 200;
  for (const p of page.processes) records.set(keyOf(p), p);
  draw();
};
$('printed').onscroll = () => {
  const pane = $('printed');
  stuck = pane.scrollHeight - pane.scrollTop - pane.clientHeight < 30;
  $('follow').hidden = stuck && !paused;
  if (pane.scrollTop < 60 && !stuck) earlier();
};
$('follow').onclick = () => {
  stuck = true;
  if (paused) { clear(); at = -1; connect(); }
  draw();
};
$('next-mark').onclick = () => {
  const all = [...document.querySelectorAll('#printed mark')], now = all.findIndex(m => m.classList.contains('now'));
  all.forEach(m => m.classList.remove('now'));
  const next = all[(now + 1) % all.length];
  stuck = false; next.classList.add('now');
  next.scrollIntoView({block: 'center'});
};
setInterval(() => document.hidden || later(), 1000); // ages tick

if (token) connect();
else $('asking').showModal();
