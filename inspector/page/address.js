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

const owned = () => JSON.stringify(kOwn.map(own));
let mine = owned(), shown = '', since = 0, pushed = '';
let away = false;      // what is shown has no address
let followed = false;  // the view that comes to rest next is what the address led to, and no step of its own

function write(how, view) {
  const all = parts();
  const kept = kOwn.filter(key => all.has(key)).map(key => `${key}=${encodeURIComponent(all.get(key))}`);
  history[how](null, '', `${location.pathname}${location.search}#${[...kept, view].filter(Boolean).join('&')}`);
}

/// A feed is shown, by its name: the first one as the address says, another one as a step of its own.
export function feed(name) {
  const all = parts();
  if (all.get('feed') !== name) {
    const first = !away && !all.has('feed');
    all.set('feed', name);
    const kept = first ? all : kOwn.filter(key => all.has(key)).map(key => [key, all.get(key)]);
    history[first ? 'replaceState' : 'pushState'](null, '', `${location.pathname}${location.search}#${new URLSearchParams(kept)}`);
    mine = owned();
  }
  away = false;
  follow();
}

/// What is shown has no address: a file that was dropped.
export function leave() {
  const token = parts().get('token');
  history.pushState(null, '', location.pathname + (token ? `#token=${encodeURIComponent(token)}` : ''));
  mine = owned();
  away = true;
  follow();
}

/// Shows what the address says; without a view, what the module shows. Call it once something is shown.
export function follow() {
  shown = pushed = viewInAddress();
  since = performance.now();
  followed = true;
  if (shown !== '') call.go(...taken(shown));
}

/// Writes the view into the address, once it has rested.
export function remember(now) {
  const view = returned(call.view());
  if (view !== shown) shown = view, since = now;
  if (now - since < kSettled) return;
  if (shown !== pushed) write(followed ? 'replaceState' : 'pushState', pushed = shown);
  followed = false;
}

// Back, forward, and an address that was typed or pasted. With another token, feed or recording the page begins again.
addEventListener('popstate', () => {
  if (owned() !== mine) return location.reload();
  if (viewInAddress() === shown) return;
  follow();
  call.go(...taken(shown));
});
