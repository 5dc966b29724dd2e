// The inspector's module: its memory, and texts and bytes across the border.
import {wasi} from './wasi.js';

let exports = null;
const memory = () => exports.memory;

/// Loads the module. `page`: its imports, see page.cpp.
export async function load(page) {
  const {instance} = await WebAssembly.instantiateStreaming(fetch('inspector.wasm'),
                                                            {wasi_snapshot_preview1: wasi(memory), page});
  exports = instance.exports;
  exports._initialize();
}

/// The exported functions of page.cpp.
export const call = new Proxy({}, {get: (_, name) => exports[`web_${name}`]});

/// Bytes of the module's memory. They are valid until the next call into the module.
export const bytes = (at, size) => new Uint8Array(memory().buffer, at, size);
export const text = (at, size) => new TextDecoder().decode(bytes(at, size).slice());
export const memorySize = () => memory().buffer.byteLength;

/// A text that the module returned, up to its zero; null for a null pointer.
export function returned(at) {
  if (at === 0) return null;
  const all = new Uint8Array(memory().buffer);
  return text(at, all.indexOf(0, at) - at);
}

/// Copies bytes into memory of the module. Returns the two arguments of a function that takes them.
export function taken(what) {
  const from = typeof what === 'string' ? new TextEncoder().encode(what) : what;
  const at = call.alloc(from.length || 1);
  if (at === 0) throw new Error('the page has no more memory');
  bytes(at, from.length).set(from);
  return [at, from.length];
}
