// What the servers beside this file have in common: the facts behind their tools. They belong to the process, because with
// 2026-07-28 over HTTP each request meets a server object of its own.
import { createServer } from 'node:http';

export const form = {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', default: 3 } },
    required: ['city'],
};
export const question = { messages: [{ role: 'user', content: { type: 'text', text: 'Say yes.' } }], maxTokens: 10 };
export const cities = ['Bergen', 'Berlin', 'Oslo'];
export const beginningWith = (typed) => cities.filter((city) => city.startsWith(typed));

export const text = (said) => ({ content: [{ type: 'text', text: String(said) }] });

export const state = { note: 'nothing yet', grown: false };
export const sessions = new Map();  // of the older revisions over HTTP

/// Calls that never end by themselves. Who asks for a cancelled one waits until there is one that nobody has been told of.
export class Waits {
    #cancelled = 0;
    #asking = [];

    /// Until its signal says stop.
    async wait(signal) {
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        this.#cancelled += 1;
        this.#tell();
    }

    oneMoreCancelled() {
        return new Promise((resolve) => {
            this.#asking.push(resolve);
            this.#tell();
        });
    }

    #tell() {
        while (this.#cancelled > 0 && this.#asking.length > 0) {
            this.#cancelled -= 1;
            this.#asking.shift()('one was cancelled');
        }
    }
}

/// Serves at a port of the system's choice on loopback, and says where.
export function listen(handle) {
    const listener = createServer(handle);
    listener.listen(0, '127.0.0.1', () => console.error(`serving http://127.0.0.1:${listener.address().port}/mcp`));
    process.on('SIGTERM', () => process.exit(0));
}
