// Brings the bytes of a recording into the module: from an address, or from a file that was dropped on the page.
import * as address from './address.js';
import {bytes, call, returned, taken} from './module.js';

let notesKey = null;  // of the recording that is shown, in the browser's storage

/// Gives the module the notes that the browser keeps for the recording that is shown.
export function loadNotes() {
  let text = '';
  try {
    text = localStorage.getItem(notesKey) ?? '';
  } catch {
    // a browser that keeps nothing has no notes
  }
  call.notes(...taken(text));
}

/// Keeps the notes of the recording that is shown. Returns 1, or 0 if the browser cannot.
export function keepNotes(text) {
  try {
    localStorage.setItem(notesKey, text);
    return 1;
  } catch {
    return 0;
  }
}

function begin(at, size, name) {
  const why = returned(call.open(at, size, ...taken(name)));
  if (why !== null) return why;
  notesKey = `canopy-notes ${name.split('/').pop()} ${size}`;
  return null;
}

/// Shows a recording, as the address says.
export function alone(at, size, name) {
  const why = begin(at, size, name);
  if (why === null) address.follow();
  return why;
}

/// Shows a recording that was dropped on the page.
export function dropped(at, size, name) {
  const why = begin(at, size, name);
  if (why === null) address.leave();
  return why;
}

/// Adds the notes of a dropped file to the recording that is shown. Returns why they cannot be read, or null.
export async function addNotes(file) {
  return returned(call.add_notes(...taken(new Uint8Array(await file.arrayBuffer())), ...taken(file.name)));
}

/// Shows a recording beside the one that is shown. Half of the progress is reading its operations.
export async function beside(at, size, name, progress, cancelled) {
  const why = returned(call.beside(at, size, ...taken(name)));
  if (why !== null) return why;
  for (let share = 0; share < 1; progress((1 + share) / 2)) {
    await new Promise(requestAnimationFrame);
    if (cancelled()) return call.beside_stop(), `${name}: cancelled`;
    share = call.beside_read();
  }
  return null;
}

/// Reads a stream of `size` bytes straight into the module's memory, and shows it with `how`: alone or beside. Returns
/// why it cannot be shown; null if it can. `progress` gets a share of 1; `cancelled` is asked after each piece.
async function show(how, stream, size, name, progress, cancelled) {
  const at = call.alloc(size || 1);
  if (at === 0) {
    stream.cancel();
    return `${name}: it has ${(size / 2 ** 20).toFixed(0)} MiB, and a page cannot hold that much. ` +
        'canopy-inspector open shows it in a window.';
  }
  const reader = stream.getReader();
  let read = 0;
  try {
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      if (read + value.length > size) throw new Error('it grew while it was read');
      bytes(at + read, value.length).set(value);
      read += value.length;
      progress(how === beside ? read / size / 2 : read / size);
      if (cancelled()) throw new Error('cancelled');
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    call.free(at);
    return `${name}: ${error.message}`;
  }
  return how(at, read, name, progress, cancelled);
}

export function openFile(how, file, progress, cancelled) {
  return show(how, file.stream(), file.size, file.name, progress, cancelled);
}

/// `token`: for the server that sent the page; null for a folder of files.
export async function openAddress(how, from, name, token, progress, cancelled) {
  const url = new URL(from, location.href);
  if (url.origin !== location.origin)
    return `${from}: a recording must be on the server of the page, ${location.origin}`;
  let answer;
  try {
    answer = await fetch(url, token ? {headers: {Authorization: `Bearer ${token}`}} : {});
  } catch {
    return `${from}: the server does not answer`;
  }
  if (!answer.ok) return `${from}: the server says ${answer.status} ${answer.statusText}`;
  const size = Number(answer.headers.get('Content-Length'));
  if (!answer.headers.has('Content-Length') || answer.headers.has('Content-Encoding')) {
    const all = await answer.blob();
    return show(how, all.stream(), all.size, name, progress, cancelled);
  }
  return show(how, answer.body, size, name, progress, cancelled);
}
