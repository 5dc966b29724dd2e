// The live connection with `canopy serve`: inspector/serve/protocol.h describes what both sides say.
import * as address from './address.js';
import {call, returned, taken} from './module.js';

const kFirstWait = 500, kLongestWait = 5000;  // milliseconds before the next try to connect

export class Server {
  /// `tells`: functions say(what, next) for a notice, and opened({serves, name}) once the server has named what it serves.
  constructor(token, tells) {
    this.token = token;
    this.tells = tells;
    this.wait = kFirstWait;
    this.attached = null;  // name of the feed that is shown
    this.wanted = null;    // name of a feed to attach to, once there is a connection
    this.left = false;     // the page shows something else
    this.controls = false;
    this.connect();
  }

  connect() {
    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = this.socket = new WebSocket(new URL('feed', `${scheme}//${location.host}${location.pathname}`));
    socket.binaryType = 'arraybuffer';
    this.header = false;  // the next binary message is a header
    socket.onopen = () => socket.send(`hello ${this.token}`);
    socket.onmessage = ({data}) => typeof data === 'string' ? this.hear(JSON.parse(data)) : this.take(new Uint8Array(data));
    socket.onclose = ({code, reason}) => this.closed(code, reason);
  }

  hear(said) {
    if ('serves' in said) {
      this.wait = kFirstWait;
      this.controls = said.controls;
      this.tells.opened(said);
      const wanted = this.wanted ?? this.attached ?? address.own('feed');
      this.wanted = null;
      if (said.serves === 'feeds' && wanted !== null) this.attach(wanted);
    }
    if ('feeds' in said)
      call.feeds(...taken(said.feeds.map(f => [f.name, f.process, f.program, f.page_size, f.groups, f.controls ? 1 : 0,
                                               f.ended ?? ''].map(field => String(field).replace(/[\t\n]/g, ' ')).join('\t') + '\n')
                                    .join('')));
    if ('attached' in said) {
      this.again = this.attached === said.attached;
      this.attached = said.attached;
      this.header = true;
      if (!this.again) address.feed(said.attached);
    }
    if ('lapped' in said) call.lapped();
    if ('gone' in said) call.gone(...taken(said.gone), 0);
    if ('command' in said) {
      call.answered(said.command !== 'busy');
      if (said.command === 'refused') this.tells.say(`The server refused the command: ${said.why}`, '');
    }
    if ('error' in said) this.tells.say(said.error, 'Choose another feed.');
  }

  take(bytes) {
    if (this.header) {
      this.header = false;
      const why = returned(call.attached(...taken(bytes), ...taken(this.attached), this.controls, this.again));
      this.tells.say(why ?? '', '');
    } else if (!call.events(...taken(bytes))) {
      this.socket.close();  // too many wait: begin again with the whole state
    } else if (document.hidden) {
      call.pump();  // a hidden page draws nothing, and must not fall behind
    }
  }

  closed(code, reason) {
    const kWrong = 1008, kStrange = 1003;
    if (code === kWrong || code === kStrange) {
      this.tells.say(`The server closed the connection: ${reason || code}.`,
                     'Open the address that `canopy serve` has printed: it ends with a token.');
      return;
    }
    call.gone(...taken(`the server at ${location.host} does not answer`), 1);
    this.tells.lost(this.attached !== null);
    this.next = setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(2 * this.wait, kLongestWait);
  }

  attach(name) {
    if (this.left) {
      this.left = false;
      this.attached = null;
      this.wanted = name;
      this.connect();
    } else if (this.socket.readyState === WebSocket.OPEN) {
      this.socket.send(`attach ${name}`);
    }
  }
  /// Ends the connection, because the page shows something else, until a feed is chosen again.
  leave() {
    this.left = true;
    clearTimeout(this.next);
    this.socket.onmessage = this.socket.onclose = null;
    this.socket.close();
  }
  command(bytes) { if (this.socket.readyState === WebSocket.OPEN) this.socket.send(bytes); }
}
