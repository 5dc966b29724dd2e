// The address holds the view, so that a link shows a colleague what one sees, and back and forward work.
import {call, returned, taken} from './module.js';

const kOwn = ['token', 'open', 'beside', 'feed'];  // the page's own keys; all others are the module's (shell/address.h)
const kSettled = 600;            // milliseconds after which a view is worth a step of back and forward

const parts = () => new URLSearchParams(location.hash.slice(1));

/// The page's own values in the address.
export const own = key => parts().get(key) ?? (['open', 'beside'].includes(key) ? new URLSearchParams(location.search).get(key) : null);

const viewInAddress = () => {
  const all = parts();
  for (const key of kOwn) all.delete(key);
  return all.toString();
};

/// Sets one of the page's own values.
export function keep(key, value) {
  const all = parts();
  if (all.get(key) === value) return;
  all.set(key, value);
  history.replaceState(null, '', `${location.pathname}${location.search}#${all}`);
}

let shown = '', since = 0, pushed = '';

/// Shows what the address says. Call it once something is shown, and when the user goes back or forward.
export function follow() {
  shown = pushed = viewInAddress();
  call.go(...taken(decodeURIComponent(shown)));
}

/// Writes the view into the address, once it has rested.
export function remember(now) {
  const view = returned(call.view());
  if (view !== shown) shown = view, since = now;
  if (shown === pushed || now - since < kSettled) return;
  const all = parts();
  const kept = kOwn.filter(key => all.has(key)).map(key => `${key}=${encodeURIComponent(all.get(key))}`);
  history.pushState(null, '', `${location.pathname}${location.search}#${[...kept, view].filter(Boolean).join('&')}`);
  pushed = shown;
}

addEventListener('popstate', () => viewInAddress() !== shown && follow());
