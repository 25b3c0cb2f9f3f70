// One conversation with `keel demo`, the same for every client and transport: `node conversation.mjs CLIENT WHERE...`, as
// clients.mjs and transports.mjs say. An adapter hides how the SDK versions differ.
//
//   adapter.client     connected when the conversation starts
//   adapter.server     how it reaches the server (transports.mjs)
//   adapter.tap        what passes over the transport (tap.mjs)
//   adapter.call(name, arguments, options, meta)   a tool call
//   adapter.era        'legacy' or 'modern'
//   adapter.code(error)    the JSON-RPC error code of a refused call, or undefined for any other failure
//   adapter.root       the root that the client's handler gives
//   adapter.name, adapter.revision   what the client calls itself, and the revision it speaks
//
// and what features.mjs says.

import assert from 'node:assert/strict';

import { open, run } from './clients.mjs';
import { featureSteps, only } from './features.mjs';

const text = (result) => result.content.map((block) => block.text ?? '').join('\n');

async function refusal(promise) {
    try {
        await promise;
    } catch (error) {
        return error;
    }
    assert.fail('the call succeeded');
}

function steps(adapter) {
    const { client, call, server, tap } = adapter;
    const can = server.can(adapter.era);
    // Over HTTP a cancelled request may get an answer: this error.
    const withdrawnAnswer = (message) => !server.oneStream && message.error?.code === -32800;

    // Waits until this many calls run on the server, without the one that asks.
    async function running(count) {
        while ((await call('health', {})).structuredContent.in_flight !== count + 1);
    }

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
            // Depending on the revision, invalid arguments are a protocol error or a tool-level error; both name the
            // field.
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

        ...only(can.speak, {
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
        }),

        'a sleep without a token reports nothing': async () => {
            const before = tap.received.length;
            await call('sleep', { ms: 50 });
            const notes = tap.received.slice(before).filter((m) => m.method === 'notifications/progress');
            assert.deepEqual(notes, []);
        },

        ...only(can.cancel, {
            'a cancelled sleep is never answered and the next call is': async () => {
                const controller = new AbortController();
                const options = { signal: controller.signal, timeout: 3_600_000 };
                const sleeping = refusal(call('sleep', { ms: 3_600_000 }, options));
                await running(1);
                const id = tap.idOf('sleep');
                controller.abort('no longer wanted');
                await sleeping;
                assert.equal(text(await call('echo', { text: 'and again' })), 'and again');
                await running(0);
                assert.deepEqual([...tap.withdrawn], [id]);
                assert.ok(tap.answers(id).every(withdrawnAnswer));
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
                assert.equal(tap.withdrawn.size, 101);
                await running(0);
            },
        }),

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

        ...featureSteps(adapter),

        'every request was answered once, the cancelled ones not at all or once': () => {
            for (const { id, method } of tap.sent) {
                // The handshake is complete before we listen; our answers to the server have an id and no method.
                if (id === undefined || method === undefined) continue;
                if (['initialize', 'server/discover'].includes(method)) continue;
                const count = tap.answers(id).length;
                assert.ok(tap.withdrawn.has(id) ? count <= 1 : count === 1, `${count} answers to request ${id}`);
            }
        },

        ...only(can.cancel, {
            'closing with a sleep running ends it': async () => {
                const sleeping = refusal(call('sleep', { ms: 3_600_000 }, { timeout: 3_600_000 }));
                await running(1);
                await server.leave(client);
                await sleeping;
            },
        }),
    };
}

const adapter = await open(process.argv[2], process.argv.slice(3));
await run(adapter.title, steps(adapter));
await adapter.client.close();
