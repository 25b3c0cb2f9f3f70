/// Records the messages of a transport, in order. Sent messages are recorded from the call on, received ones after the
/// connection was opened, because the SDK installs its own callbacks while connecting.
export class Tap {
    constructor(transport) {
        this.sent = [];
        this.received = [];
        this.withdrawn = new Set();  // ids of requests that the client cancelled, by message or by closing their stream
        this.transport = transport;
        const send = transport.send.bind(transport);
        transport.send = (message, options) => {
            this.sent.push(message);
            if (message.method === 'notifications/cancelled') this.withdrawn.add(message.params.requestId);
            options?.requestSignal?.addEventListener('abort', () => this.withdrawn.add(message.id));
            return send(message, options);
        };
    }

    listen() {
        const deliver = this.transport.onmessage;
        this.transport.onmessage = (message, ...rest) => {
            this.received.push(message);
            deliver(message, ...rest);
        };
    }

    answers(id) {
        return this.received.filter((message) => message.id === id && message.method === undefined);
    }

    idOf(tool) {
        const calls = this.sent.filter((message) => message.method === 'tools/call' && message.params.name === tool);
        return calls.at(-1)?.id;
    }
}
