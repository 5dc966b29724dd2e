// The few calls of WASI that the module makes: clocks, random numbers, and texts for the console.

const kBadDescriptor = 8;

/// Returns the imports of the module. `memory` is called at each use: memory that grows has a new buffer.
export function wasi(memory) {
  const view = () => new DataView(memory().buffer);
  const calls = {
    clock_time_get(clock, _precision, at) {
      const ms = clock === 0 ? Date.now() : performance.now();
      view().setBigUint64(at, BigInt(Math.round(ms * 1e6)), true);
      return 0;
    },
    random_get(at, size) {
      crypto.getRandomValues(new Uint8Array(memory().buffer, at, size));
      return 0;
    },
    fd_write(_descriptor, vectors, count, written) {
      let text = '', size = 0;
      for (let i = 0; i < count; ++i) {
        const at = view().getUint32(vectors + 8 * i, true), bytes = view().getUint32(vectors + 8 * i + 4, true);
        text += new TextDecoder().decode(new Uint8Array(memory().buffer, at, bytes).slice());
        size += bytes;
      }
      console.log(text);
      view().setUint32(written, size, true);
      return 0;
    },
    environ_sizes_get(count, size) {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    proc_exit(code) { throw new Error(`the inspector ended with code ${code}`); },
  };
  return new Proxy(calls, {get: (known, name) => known[name] ?? (() => kBadDescriptor)});
}
