// The page: loads the inspector, brings it what it shows, and draws its frames.
import * as address from './address.js';
import {copy, listen, setCursor} from './input.js';
import {bytes, call, load, memorySize, returned, taken, text} from './module.js';
import {Painter} from './paint.js';
import {addNotes, alone, beside, dropped, keepNotes, loadNotes, openAddress, openFile} from './recording.js';
import {Server} from './server.js';

const element = id => document.getElementById(id);
const canvas = element('inspector'), notice = element('notice');
const kSettings = 'canopy-inspector';  // key in the browser's storage

/// Shows a message; an empty one hides it. `bar`: at the lower edge, so that the picture stays in sight.
function say(what, next = '', bar = false) {
  notice.hidden = what === '';
  notice.classList.toggle('bar', bar);
  element('what').textContent = what;
  element('next').textContent = next;
  element('progress').hidden = element('cancel').hidden = true;
}

let shows = false;  // there is a source
let server = null;

/// Opens a recording with a progress bar that can be cancelled.
async function open(begin, name) {
  let cancel = false;
  say(`Reading ${name}`, '', shows);
  const bar = element('progress'), button = element('cancel');
  bar.hidden = button.hidden = false;
  bar.value = 0;
  button.onclick = () => { cancel = true; };
  const why = await begin(share => { bar.value = share; }, () => cancel);
  if (why === null) shows = true, say('');
  else say(why, shows ? '' : 'Drop another recording on the page.', shows);
  return why === null;
}

/// Opens recordings one after the other, up to the first that cannot be opened. Returns true if the first could be.
async function openAll(recordings) {
  for (const [i, [begin, name]] of recordings.entries())
    if (!await open(begin, name)) return i > 0;
  return true;
}

function takeDrops() {
  addEventListener('dragover', e => { e.preventDefault(); canvas.classList.add('drop'); });
  addEventListener('dragleave', () => canvas.classList.remove('drop'));
  addEventListener('drop', e => {
    e.preventDefault();
    canvas.classList.remove('drop');
    // Two files, or one with Shift: the second is shown beside the first.
    const [...all] = e.dataTransfer.files, files = all.filter(file => !file.name.endsWith('.notes'));
    const notes = all.filter(file => file.name.endsWith('.notes'));
    if (files.length === 0)
      return notes.forEach(file => addNotes(file).then(why => say(why ?? '', '', shows)));
    const kinds = e.shiftKey && report().state === 'recording' ? [beside] : [dropped, beside];
    openAll(files.slice(0, kinds.length).map((file, i) => [(...how) => openFile(kinds[i], file, ...how), file.name]))
        .then(shown => {
          if (shown && kinds[0] === dropped) server?.leave();
          if (shown && notes.length > 0) say('Drop the notes once more, now that the recording is shown.', '', true);
        });
  });
}

function watchServer(token) {
  return new Server(token, {
    say: (what, next) => say(what, next, shows),
    opened(said) {
      if (said.serves === 'recording' && !shows)
        open((...how) => openAddress(alone, 'recording', said.name, token, ...how), said.name);
      else if (said.serves !== 'recording') shows = true, say('');
      else say('');
    },
    lost: attached => say(`The server at ${location.host} does not answer.`,
                          attached ? 'The page attaches again when it does; what is shown is the last state that arrived.'
                                   : 'The page tries again by itself.', shows),
  });
}

/// Gives the user a file to keep: a table, a trace, a picture.
function download(name, content) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content]));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const frames = {count: 0, ms: []};  // of frames that were drawn
let lastSettings = '';

function frame(now) {
  requestAnimationFrame(frame);
  const width = Math.round(canvas.clientWidth * devicePixelRatio), height = Math.round(canvas.clientHeight * devicePixelRatio);
  painter.begin(width, height);
  const began = performance.now();
  if (!call.frame(width, height, devicePixelRatio, now / 1000)) return;
  ++frames.count;
  frames.ms = [...frames.ms.slice(-59), performance.now() - began];
  if (!shows) return;
  address.remember(now);
  const settings = returned(call.settings());
  if (settings !== lastSettings) localStorage.setItem(kSettings, lastSettings = settings);
}

/// What is shown, by name: for the title, for scripts and for tests.
function report() {
  const lines = returned(call.report()).split('\n').filter(Boolean).map(line => line.split('\t'));
  return {...Object.fromEntries(lines.map(([key, value]) => [key, value !== '' && !isNaN(value) ? Number(value) : value])),
          frames: frames.count, frame_ms: [...frames.ms], memory: memorySize()};
}

const painter = new Painter(canvas);

async function begin() {
  if (!painter.gl) return say('This browser has no WebGL 2, which the inspector needs.', 'Try another browser, or switch it on.');
  canvas.addEventListener('webglcontextlost', e => e.preventDefault());
  canvas.addEventListener('webglcontextrestored', () => { painter.prepare(); call.renew(); });
  try {
    await load({
      texture: (...how) => painter.texture(...how),
      begin_list: (...how) => painter.list(...how),
      draw: (...how) => painter.draw(...how),
      cursor: shape => setCursor(canvas, shape),
      copy: (at, size) => copy(text(at, size)),
      attach: (at, size) => server?.attach(text(at, size)),
      save: (name, nameSize, at, size) => download(text(name, nameSize), bytes(at, size).slice()),
      picture: (at, size) => { const name = text(at, size); canvas.toBlob(png => download(name, png)); },
      load_notes: loadNotes,
      keep_notes: (at, size) => keepNotes(text(at, size)),
      command: (at, size) => server?.command(bytes(at, size).slice()),
    });
    const font = new Uint8Array(await (await fetch('font.ttf')).arrayBuffer());
    call.start(...taken(font), ...taken(lastSettings = localStorage.getItem(kSettings) ?? ''));
  } catch (error) {
    return say('The inspector could not be loaded.', String(error));
  }
  listen(canvas);
  takeDrops();
  setInterval(() => {
    const {name, state} = report();
    document.title = name ? `${name} - canopy` : 'canopy';
    if (state === 'live' && !notice.hidden && notice.classList.contains('bar') && server?.socket.readyState === 1) say('');
  }, 1000);
  window.canopy = {report};
  const recording = address.own('open'), other = address.own('beside'), token = address.own('token');
  requestAnimationFrame(frame);
  if (recording)
    await openAll([[recording, alone], [other, beside]].filter(([from]) => from).map(([from, kind]) =>
        [(...how) => openAddress(kind, from, from, token, ...how), from]));
  else if (token) server = watchServer(token);
  else say('Drop a recording on this page.', '`canopy replay ... --record FILE` makes one; `?open=ADDRESS` opens one of this server.');
}
begin();
