// How a client connects to the server, given by the end of the command line:
//
//   stdio COMMAND [ARGUMENT...]   a server process, ended with the conversation
//   http URL [json] [stateless]   Streamable HTTP, and the options of the server
//   sse URL                       the transport of 2024-11-05
//
//   reach.transport      for the SDK's client
//   reach.ready()        waits until the server can send messages of its own
//   reach.oneStream      all messages of the server arrive in one order
//   reach.can(era)       the supported features besides plain calls:
//                        speak     messages before the answer
//                        ask       requests to the client
//                        remember  log levels and subscriptions
//                        cancel
//   reach.leave(client)  ends the conversation and waits until the server has noticed

import assert from 'node:assert/strict';

const everything = { speak: true, ask: true, remember: true, cancel: true };

class Stdio {
    can = () => everything;
    oneStream = true;

    constructor({ StdioClientTransport }, [command, ...args]) {
        this.transport = new StdioClientTransport({ command, args });
    }

    async ready() {
        // The SDK reaps the process but does not report how it ended.
        const child = this.transport._process;
        this.exit = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
    }

    async leave(client) {
        await client.close();
        assert.deepEqual(await this.exit, { code: 0, signal: null });
    }
}

/// Polls the health of the server until the condition is true.
export async function untilHealth(origin, condition) {
    while (!condition(await (await fetch(new URL('/health', origin))).json()));
}

class Http {
    oneStream = false;

    constructor({ StreamableHTTPClientTransport }, [url, ...told], options = {}) {
        this.url = new URL(url);
        this.json = told.includes('json');
        this.stateless = told.includes('stateless');
        this.requests = [];  // method, headers and status of each, in the order of the responses
        this.waiting = [];
        this.transport = new StreamableHTTPClientTransport(this.url, {
            ...options,
            fetch: async (where, init) => {
                const response = await fetch(where, init);
                const seen = { method: init.method, headers: new Headers(init.headers), status: response.status };
                this.requests.push(seen);
                this.waiting = this.waiting.filter(({ wanted, resolve }) => !wanted(seen) || resolve(seen));
                return response;
            },
        });
    }

    can(era) {
        // A request of 2026-07-28 is self-contained, and its questions are results. In the older revisions questions
        // need a stream to the client, and everything else needs a session.
        const session = era === 'modern' || !this.stateless;
        const questions = era === 'modern' || !(this.stateless || this.json);
        return { speak: !this.json, ask: questions, remember: session, cancel: session };
    }

    /// The next request with a response that matches.
    nextAnswered(wanted) {
        return new Promise((resolve) => this.waiting.push({ wanted, resolve }));
    }

    /// The SDK opens the GET stream after connect() has returned, and only in a session.
    async ready() {
        if (this.transport.sessionId === undefined) return;
        const isListening = ({ method }) => method === 'GET';
        assert.equal((this.requests.find(isListening) ?? (await this.nextAnswered(isListening))).status, 200);
    }

    async end(client) {
        await this.transport.terminateSession();
        await client.close();
    }

    async leave(client) {
        await this.end(client);
        await untilHealth(this.url, ({ sessions, inFlight }) => sessions === 0 && inFlight === 0);
    }
}

class Sse {
    can = () => everything;
    oneStream = true;

    constructor({ SSEClientTransport }, [url]) {
        this.url = new URL(url);
        this.transport = new SSEClientTransport(this.url);
    }

    async ready() {}

    async leave(client) {
        await client.close();
        await untilHealth(this.url, ({ sessions, inFlight }) => sessions === 0 && inFlight === 0);
    }
}

export function reach(sdk, [kind, ...where], options) {
    const kinds = { stdio: Stdio, http: Http, sse: Sse };
    return new kinds[kind](sdk, where, options);
}
