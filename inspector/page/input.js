// The user's hands: mouse, touch, keys, clipboard.
import {call, taken} from './module.js';

const kCursors = ['default', 'text', 'move', 'ns-resize', 'ew-resize', 'nesw-resize', 'nwse-resize', 'pointer', 'not-allowed'];
const kWheelStep = 100;   // pixels that a browser reports for one step of a wheel
const kRestMs = 120;      // milliseconds after which a finger that rests presses
const kFieldMs = 100, kFieldTimes = 10;  // milliseconds between two looks for a field that was tapped; number of looks
const kMoved = 6;         // pixels by which a finger that moves differs from one that rests
const kPinchStep = 1.12;  // ratio of distances that zooms as one step of a wheel

export function setCursor(canvas, shape) { canvas.style.cursor = kCursors[shape] ?? 'none'; }

/// Puts a text into the clipboard. A page that came over plain HTTP from another machine has no `navigator.clipboard`.
export function copy(text) {
  const later = () => {
    const takes = e => { e.clipboardData.setData('text/plain', text); e.preventDefault(); };
    addEventListener('copy', takes, {once: true});
    if (!document.execCommand('copy')) console.log('the browser refused to copy');
    removeEventListener('copy', takes);
  };
  navigator.clipboard ? navigator.clipboard.writeText(text).catch(later) : later();
}

/// Passes all input on this canvas to the module.
export function listen(canvas) {
  const place = e => [e.offsetX * devicePixelRatio, e.offsetY * devicePixelRatio];
  const fingers = new Map();  // by pointer: its place
  let pinch = 0;              // distance of two fingers at the last step
  const distance = () => {
    const [a, b] = fingers.values();
    return Math.hypot(a[0] - b[0], a[1] - b[1]);
  };
  const middle = () => {
    const [a, b] = fingers.values();
    return [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
  };

  // One finger scrolls a list; elsewhere it is the left button, which pans. It is pressed once the module has seen what
  // is under it, and only if it rests or does not scroll. Two zoom about their middle, as a wheel does.
  let down = null;  // the finger: where it came down, its last place, and what it does: 'rests', 'scrolls' or 'presses'
  const press = () => {
    clearTimeout(down.timer);
    down.does = 'presses';
    call.mouse(...down.first, 1, 0);
  };
  const one = (e, at) => {
    if (e.type === 'pointerdown') {
      down = {first: at, last: at, does: 'rests', timer: setTimeout(press, kRestMs)};
      return call.mouse(...at, 0, 0);
    }
    if (down === null) return;
    if (e.type === 'pointermove' && down.does === 'rests') {
      if (Math.hypot(at[0] - down.first[0], at[1] - down.first[1]) < kMoved * devicePixelRatio) return;
      const scrolls = call.scroll_step() > 0 && Math.abs(at[1] - down.first[1]) > Math.abs(at[0] - down.first[0]);
      if (scrolls) clearTimeout(down.timer), down.does = 'scrolls';
      else press();
    }
    if (e.type === 'pointermove') {
      const step = call.scroll_step();
      if (down.does === 'presses') call.mouse(...at, 1, 0);
      else if (step > 0) call.mouse(...down.first, 0, (at[1] - down.last[1]) / step);
      down.last = at;
      return;
    }
    if (down.does === 'rests' && e.type === 'pointerup') press();
    clearTimeout(down.timer);
    call.mouse(...(down.does === 'scrolls' ? down.first : at), 0, 0);
    down = null;
    if (e.type === 'pointerup') setTimeout(writeWithKeyboard, kFieldMs);
  };
  const touch = e => {
    if (e.type === 'pointerup' || e.type === 'pointercancel') fingers.delete(e.pointerId);
    else if (e.type === 'pointerdown' || fingers.has(e.pointerId)) fingers.set(e.pointerId, place(e));
    if (fingers.size === 2) {
      if (down !== null) clearTimeout(down.timer), down = null;
      if (e.type === 'pointerdown') pinch = distance(), call.mouse(...middle(), 0, 0);
      for (const sign of [1, -1])
        while ((distance() / pinch) ** sign > kPinchStep) pinch *= kPinchStep ** sign, call.mouse(...middle(), 0, sign);
    } else if (fingers.size < 2 && pinch === 0) {
      one(e, place(e));
    }
    if (fingers.size === 0) pinch = 0;
  };

  // A canvas brings up no keyboard on a display that is touched: a field that is not seen does, while the module has one.
  const field = document.getElementById('keyboard');
  const kKept = ' ';  // something for Backspace to delete
  const writeWithKeyboard = (times = kFieldTimes) => {
    field.value = kKept;
    if (call.types()) field.focus();
    else if (times > 0) setTimeout(writeWithKeyboard, kFieldMs, times - 1);
    else if (document.activeElement === field) field.blur(), canvas.focus();
  };
  const type = (name, character) => {
    call.key(...taken(name), true, 0, character);
    call.key(...taken(name), false, 0, 0);
  };
  field.addEventListener('input', e => {
    if (e.inputType === 'deleteContentBackward') type('Backspace', 0);
    for (const each of e.data ?? '') type(each, each.codePointAt(0));
    field.value = kKept;
  });
  for (const kind of ['pointermove', 'pointerdown', 'pointerup', 'pointercancel'])
    canvas.addEventListener(kind, e => {
      if (kind === 'pointerdown') canvas.focus(), canvas.setPointerCapture?.(e.pointerId);
      if (e.pointerType === 'touch') touch(e);
      else call.mouse(...place(e), e.buttons, 0);
    });
  canvas.addEventListener('pointerleave', e => e.pointerType !== 'touch' && e.buttons === 0 && call.mouse(-1e6, -1e6, 0, 0));
  canvas.addEventListener('contextmenu', e => e.preventDefault());
  canvas.addEventListener('wheel', e => {
    if (e.ctrlKey) return;  // the browser's zoom
    e.preventDefault();
    const steps = e.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? e.deltaY / kWheelStep : e.deltaY / 3;
    call.mouse(...place(e), e.buttons, -steps);
  }, {passive: false});

  const key = e => {
    const down = e.type === 'keydown';
    const modifiers = (e.ctrlKey || e.metaKey ? 1 : 0) | (e.shiftKey ? 2 : 0) | (e.altKey ? 4 : 0);
    if (modifiers & 1) {
      // The browser keeps its own keys, and copies what is selected in a notice; a paste comes as an event of its own.
      if (e.key === 'v' || !'acxyz'.includes(e.key) || !(call.types() || e.key === 'c') || `${getSelection()}` !== '') return;
    }
    if (e.key === 'Unidentified' || e.isComposing) return;  // a keyboard on the display: its text comes as an input
    const writes = down && [...e.key].length === 1 && !(modifiers & 5);
    call.key(...taken(e.key), down, modifiers, writes ? e.key.codePointAt(0) : 0);
    if (!/^F\d/.test(e.key)) e.preventDefault();
  };
  addEventListener('keydown', key);
  addEventListener('keyup', key);
  addEventListener('blur', () => call.blur());
  addEventListener('paste', e => {
    if (!call.types()) return;
    call.clipboard(...taken(e.clipboardData.getData('text')));
    call.key(...taken('v'), true, 1, 0);
    call.key(...taken('v'), false, 0, 0);
    e.preventDefault();
  });
}
