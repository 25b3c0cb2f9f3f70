// A TCP proxy that drops connections on request.
import net from 'node:net';

export class CuttingProxy {
    constructor(target) {
        this.target = new URL(target);
        this.pairs = new Set();
        this.held = undefined;  // new connections that wait for release()
        this.muted = undefined;  // output of the server that the client does not get
    }

    /// Listens on a port chosen by the system; `url` is the URL of the target through the proxy.
    static async open(target) {
        const proxy = new CuttingProxy(target);
        proxy.listener = net.createServer((client) => proxy.#take(client));
        await new Promise((resolve) => proxy.listener.listen(0, '127.0.0.1', resolve));
        proxy.url = new URL(target);
        proxy.url.port = proxy.listener.address().port;
        return proxy;
    }

    close() {
        this.cut();
        this.listener.close();
    }

    /// Resets every connection, on both sides.
    cut() {
        this.muted = undefined;
        for (const { client, server } of this.pairs) {
            client.resetAndDestroy();
            server.resetAndDestroy();
        }
        this.pairs.clear();
    }

    /// New connections get no answer until release().
    hold() {
        this.held ??= [];
    }

    release() {
        const waiting = this.held ?? [];
        this.held = undefined;
        for (const client of waiting) this.#take(client);
    }

    /// Drops the output of the server until the connections are cut. Resolves when the output contains these words.
    mute(words) {
        return new Promise((resolve) => { this.muted = { said: '', words, resolve }; });
    }

    #take(client) {
        client.on('error', () => {});  // errors of a reset connection are checked by the clients
        if (this.held) {
            this.held.push(client);
            return;
        }
        const server = net.connect(Number(this.target.port), this.target.hostname);
        server.on('error', () => {});
        const pair = { client, server };
        this.pairs.add(pair);
        client.on('data', (bytes) => server.write(bytes));
        server.on('data', (bytes) => this.#pass(client, bytes));
        client.on('close', () => server.destroy());
        server.on('close', () => {
            client.destroy();
            this.pairs.delete(pair);
        });
    }

    #pass(client, bytes) {
        if (!this.muted) {
            client.write(bytes);
            return;
        }
        this.muted.said += bytes.toString('latin1');
        if (this.muted.said.includes(this.muted.words)) this.muted.resolve();
    }
}
