// One conversation with `keel demo --stdio`, the same for every client: an adapter hides how the SDK versions differ.
//
//   adapter.client, adapter.transport   connected when the conversation starts
//   adapter.call(name, arguments, options, meta)   a tool call
//   adapter.era        'legacy' or 'modern'
//   adapter.code(error)    the JSON-RPC error code of a refused call, or undefined for any other failure
//   adapter.root       the root that the client's handler gives
//   adapter.name, adapter.revision   what the client calls itself, and the revision it speaks
//
// and what features.mjs says.

import assert from 'node:assert/strict';

import { featureSteps } from './features.mjs';

/// Keeps what passes over a transport, in order. Sent messages are seen from the moment of the call on, received ones
/// from after the connection was made: the SDK installs its own callbacks while connecting.
export class Tap {
    constructor(transport) {
        this.sent = [];
        this.received = [];
        this.transport = transport;
        const send = transport.send.bind(transport);
        transport.send = (message, ...rest) => {
            this.sent.push(message);
            return send(message, ...rest);
        };
    }

    listen() {
        const deliver = this.transport.onmessage;
        this.transport.onmessage = (message, ...rest) => {
            this.received.push(message);
            deliver(message, ...rest);
        };
        // The SDK reaps the process by itself but does not say how it ended.
        const child = this.transport._process;
        this.exit = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
    }

    answers(id) {
        return this.received.filter((message) => message.id === id && message.method === undefined);
    }

    idOf(tool) {
        const calls = this.sent.filter((message) => message.method === 'tools/call' && message.params.name === tool);
        return calls.at(-1)?.id;
    }
}

const text = (result) => result.content.map((block) => block.text ?? '').join('\n');

async function refusal(promise) {
    try {
        await promise;
    } catch (error) {
        return error;
    }
    assert.fail('the call succeeded');
}

function steps(adapter, tap) {
    const { client, call } = adapter;
    return {
        'the server says who it is and that it has tools': () => {
            assert.ok(client.getServerVersion()?.name);
            assert.ok(client.getServerCapabilities()?.tools);
        },

        'all tools are listed, with schemas of objects': async () => {
            const { tools } = await client.listTools();
            const names = tools.map((tool) => tool.name);
            for (const name of ['echo', 'add', 'sleep', 'fail', 'ask_roots']) assert.ok(names.includes(name), name);
            for (const tool of tools) assert.equal(tool.inputSchema.type, 'object', tool.name);
            const echo = tools.find((tool) => tool.name === 'echo');
            assert.deepEqual(echo.inputSchema.required, ['text']);
            assert.equal(echo.inputSchema.properties.text.type, 'string');
        },

        'echo gives back any text unchanged': async () => {
            const samples = ['hello', '', 'line\nbreak "quoted" \\ \u0000 \u2028', 'žluť 漢字 🛶', 'x'.repeat(300_000)];
            for (const sample of samples) {
                const result = await call('echo', { text: sample });
                assert.ok(!result.isError);
                assert.equal(text(result), sample);
            }
        },

        'add adds': async () => {
            assert.equal(Number(text(await call('add', { a: 2, b: 3 }))), 5);
            assert.equal(Number(text(await call('add', { a: -7, b: 7 }))), 0);
        },

        'five hundred calls at once are answered each with its own text': async () => {
            const texts = Array.from({ length: 500 }, (_, i) => `call ${i}`);
            const results = await Promise.all(texts.map((sample) => call('echo', { text: sample })));
            assert.deepEqual(results.map(text), texts);
        },

        'wrong arguments and unknown tools are refused, and the session goes on': async () => {
            // Revisions differ in whether wrong arguments are a protocol error or a failed tool; both name the field.
            let said;
            try {
                const result = await call('echo', { text: 5 });
                assert.equal(result.isError, true);
                said = text(result);
            } catch (error) {
                assert.equal(adapter.code(error), -32602);
                said = error.message;
            }
            assert.match(said, /text/);
            assert.equal(adapter.code(await refusal(call('no_such_tool', {}))), -32602);
            assert.equal(text(await call('echo', { text: 'still here' })), 'still here');
        },

        'a sleep reports progress that only grows, all of it before its answer': async () => {
            const seen = [];
            const result = await call('sleep', { ms: 300 }, { onprogress: (progress) => seen.push(progress) });
            assert.ok(!result.isError);
            assert.ok(seen.length > 0, 'no progress was reported');
            seen.reduce((last, next) => {
                assert.ok(next.progress > last.progress, 'progress must increase');
                return next;
            });
            const id = tap.idOf('sleep');
            const token = tap.sent.find((message) => message.id === id).params._meta.progressToken;
            const order = tap.received.filter(
                (message) => message.id === id || message.params?.progressToken === token,
            );
            assert.equal(order.at(-1).id, id, 'the answer comes last');
        },

        'a sleep without a token reports nothing': async () => {
            const before = tap.received.length;
            await call('sleep', { ms: 50 });
            const notes = tap.received.slice(before).filter((m) => m.method === 'notifications/progress');
            assert.deepEqual(notes, []);
        },

        'a cancelled sleep is never answered and the next call is': async () => {
            const controller = new AbortController();
            const options = { signal: controller.signal, timeout: 3_600_000 };
            const sleeping = refusal(call('sleep', { ms: 3_600_000 }, options));
            // The server takes messages in order: with this answer it has also read the sleep.
            await call('echo', { text: 'the sleep has begun' });
            const id = tap.idOf('sleep');
            controller.abort('no longer wanted');
            await sleeping;
            assert.equal(text(await call('echo', { text: 'and again' })), 'and again');
            const told = tap.sent.filter((message) => message.method === 'notifications/cancelled');
            assert.deepEqual(told.map((message) => message.params.requestId), [id]);
            assert.deepEqual(tap.answers(id), []);
        },

        'many sleeps are cancelled at once, each beside a call that is answered': async () => {
            const pairs = Array.from({ length: 100 }, (_, i) => {
                const controller = new AbortController();
                const options = { signal: controller.signal, timeout: 3_600_000 };
                const sleeping = refusal(call('sleep', { ms: 3_600_000 }, options));
                const answered = call('echo', { text: `beside ${i}` }).finally(() => controller.abort());
                return Promise.all([sleeping, answered]);
            });
            const results = await Promise.all(pairs);
            results.forEach(([, result], i) => assert.equal(text(result), `beside ${i}`));
            assert.equal(tap.sent.filter((message) => message.method === 'notifications/cancelled').length, 101);
        },

        'fail(tool) is a result that says so': async () => {
            const result = await call('fail', { kind: 'tool' });
            assert.equal(result.isError, true);
            assert.ok(text(result).length > 0);
        },

        'fail(protocol) is an error with its own code': async () => {
            const code = adapter.code(await refusal(call('fail', { kind: 'protocol' })));
            assert.ok(Number.isInteger(code), `code ${code}`);
            assert.notEqual(code, -32603);
        },

        'fail(exception) is an internal error': async () => {
            assert.equal(adapter.code(await refusal(call('fail', { kind: 'exception' }))), -32603);
        },

        ...featureSteps(adapter, tap),

        'every request was answered once, the cancelled ones not at all or once': () => {
            const cancelled = new Set(
                tap.sent.filter((m) => m.method === 'notifications/cancelled').map((m) => m.params.requestId),
            );
            for (const { id, method } of tap.sent) {
                // The handshake is over before we listen; our answers to the server have an id and no method.
                if (id === undefined || method === undefined) continue;
                if (['initialize', 'server/discover'].includes(method)) continue;
                const count = tap.answers(id).length;
                assert.ok(cancelled.has(id) ? count <= 1 : count === 1, `${count} answers to request ${id}`);
            }
        },

        'closing with a sleep running ends the process with status 0': async () => {
            const sleeping = refusal(call('sleep', { ms: 3_600_000 }, { timeout: 3_600_000 }));
            await call('echo', { text: 'the sleep has begun' });
            await client.close();
            await sleeping;
            assert.deepEqual(await tap.exit, { code: 0, signal: null });
        },
    };
}

/// Runs all steps, also after one has failed, and says how many passed. The exit status is 1 if any failed.
export async function converse(title, adapter, tap) {
    tap.listen();
    let passed = 0;
    let failed = 0;
    for (const [name, step] of Object.entries(steps(adapter, tap))) {
        try {
            await step();
            passed += 1;
            console.log(`ok      ${title}: ${name}`);
        } catch (error) {
            failed += 1;
            console.log(`FAILED  ${title}: ${name}\n${error?.stack ?? error}`);
        }
    }
    await adapter.client.close();
    console.log(JSON.stringify({ passed, failed }));
    process.exitCode = failed === 0 ? 0 : 1;
}
