// Shared by the servers in this folder: the data behind their tools. It belongs to the process, because with 2026-07-28
// over HTTP each request has its own server object.
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

/// Calls that wait until they are cancelled. A request for a cancelled call waits until there is one that was not
/// reported yet.
export class Waits {
    #cancelled = 0;
    #asking = [];

    /// Waits until its signal is aborted.
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

/// Serves on loopback at a port chosen by the system, and prints the address.
export function listen(handle) {
    const listener = createServer(handle);
    listener.listen(0, '127.0.0.1', () => console.error(`serving http://127.0.0.1:${listener.address().port}/mcp`));
    process.on('SIGTERM', () => process.exit(0));
}
