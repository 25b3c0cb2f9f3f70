// Loaded before a server that would listen on every interface, at a port that it must be told: it listens on loopback, at a port
// of the system's choice, and says where.
import net from 'node:net';

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (...given) {
    this.once('listening', () => console.error(`serving http://127.0.0.1:${this.address().port}/`));
    return listen.call(this, 0, '127.0.0.1', ...given.filter((each) => typeof each === 'function'));
};
