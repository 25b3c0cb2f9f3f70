// Loaded before a server that would listen on all interfaces at a given port: it listens on loopback at a port chosen
// by the system, and prints the address.
import net from 'node:net';

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (...given) {
    this.once('listening', () => console.error(`serving http://127.0.0.1:${this.address().port}/`));
    return listen.call(this, 0, '127.0.0.1', ...given.filter((each) => typeof each === 'function'));
};
