// The user's hands: mouse, touch, keys, clipboard.
import {call, taken} from './module.js';

const kCursors = ['default', 'text', 'move', 'ns-resize', 'ew-resize', 'nesw-resize', 'nwse-resize', 'pointer', 'not-allowed'];
const kWheelStep = 100;   // pixels that a browser reports for one step of a wheel
const kPinchStep = 1.12;  // ratio of distances that zooms as one step of a wheel

export function setCursor(canvas, shape) { canvas.style.cursor = kCursors[shape] ?? 'none'; }

export function copy(text) { navigator.clipboard?.writeText(text).catch(() => console.log('the browser refused to copy')); }

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

  // One finger is the left button: it pans. Two zoom about their middle, as a wheel does.
  const touch = e => {
    if (e.type === 'pointerup' || e.type === 'pointercancel') fingers.delete(e.pointerId);
    else if (e.type === 'pointerdown' || fingers.has(e.pointerId)) fingers.set(e.pointerId, place(e));
    if (fingers.size === 2) {
      if (e.type === 'pointerdown') pinch = distance(), call.mouse(...middle(), 0, 0);
      for (const sign of [1, -1])
        while ((distance() / pinch) ** sign > kPinchStep) pinch *= kPinchStep ** sign, call.mouse(...middle(), 0, sign);
    } else if (fingers.size < 2 && pinch === 0) {
      if (e.type === 'pointerdown') call.mouse(...place(e), 0, 0);  // what is under a finger, before it is pressed
      call.mouse(...place(e), fingers.size, 0);
    }
    if (fingers.size === 0) pinch = 0;
  };
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
      // The browser keeps its own keys; a paste comes as an event of its own.
      if (e.key === 'v' || !'acxyz'.includes(e.key) || !call.types()) return;
    }
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
