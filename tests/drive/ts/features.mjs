// All features of the demo besides its plain tools: resources, prompts, completion, logs, changes, and elicitation. For
// this the adapter (see conversation.mjs) has
//
//   adapter.heard      the notifications that the SDK passed to its handlers
//   adapter.user       the handlers of server requests: elicit(params, signal) and sample(params)
//   adapter.request(method, params)   a custom request

import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';

/// The notifications that the SDK passed to its handlers, and a way to wait for the next one.
export class Heard {
    constructor() {
        this.all = [];
        this.waiting = [];
    }

    static methods = [
        'notifications/message',
        'notifications/resources/updated',
        'notifications/resources/list_changed',
        'notifications/tools/list_changed',
        'notifications/elicitation/complete',
    ];

    take(notification) {
        this.all.push(notification);
        this.waiting = this.waiting.filter(({ method, resolve }) => {
            if (method !== notification.method) return true;
            resolve(notification);
            return false;
        });
    }

    of(method) {
        return this.all.filter((notification) => notification.method === method);
    }

    next(method) {
        return new Promise((resolve) => this.waiting.push({ method, resolve }));
    }
}

/// Steps that apply only under a condition.
export const only = (condition, steps) => (condition ? steps : {});

const text = (result) => result.content.map((block) => block.text ?? '').join('\n');
const png = '89504e470d0a1a0a';
const counter = 'demo://counter';
const everyAnswer = {
    'Where to, and for how long?': { city: 'Oslo', days: 4 },
    'Which room?': { kind: 'twin', sea_view: true },
    'Who travels?': { name: 'Ada', email: 'ada@example.com' },
};

/// A user who fills in every form, except for the one with this message.
export function traveller(seen, otherwise = {}) {
    return ({ message, requestedSchema }) => {
        seen.push(message);
        assert.equal(requestedSchema.type, 'object');
        if (message in otherwise) return otherwise[message];
        return { action: 'accept', content: everyAnswer[message] ?? { book: true } };
    };
}

function toolSteps(adapter) {
    const { client, call } = adapter;
    return {
        'a tool shows title, annotations, icon and output schema': async () => {
            const { tools } = await client.listTools();
            const weather = tools.find((tool) => tool.name === 'weather');
            assert.equal(weather.title, 'Weather');
            assert.equal(weather.annotations.readOnlyHint, true);
            assert.equal(weather.annotations.openWorldHint, false);
            assert.match(weather.icons[0].src, /^data:image\/png;base64,/);
            assert.equal(weather.outputSchema.type, 'object');
            assert.equal(weather._meta['com.example/source'], 'made up');
        },

        'every kind of content arrives': async () => {
            const { content } = await call('show_content', {});
            assert.deepEqual(
                content.map((block) => block.type),
                ['text', 'image', 'audio', 'resource', 'resource', 'resource_link'],
            );
            assert.deepEqual(content[0].annotations.audience, ['user', 'assistant']);
            assert.equal(Buffer.from(content[1].data, 'base64').subarray(0, 8).toString('hex'), png);
            assert.equal(Buffer.from(content[2].data, 'base64').subarray(8, 12).toString(), 'WAVE');
            assert.equal(content[3].resource.text, 'An embedded text');
            assert.deepEqual([...Buffer.from(content[4].resource.blob, 'base64')], [0, 1, 2]);
            assert.equal(content[5].uri, 'demo://readme');
        },

        // The SDK checks structured content against the output schema after it has listed the tools.
        'structured content fits its schema': async () => {
            const result = await call('weather', { city: 'Cairo', in: 'fahrenheit' });
            assert.deepEqual(result.structuredContent, {
                city: 'Cairo', temperature: 87.8, in: 'fahrenheit', warnings: ['heat'],
            });
            assert.deepEqual(JSON.parse(text(result)), result.structuredContent);
        },

        'trace context reaches the tool': async () => {
            const _meta = {
                traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
                tracestate: 'vendor=1',
                baggage: 'user=ada',
            };
            const { structuredContent } = await call('request_facts', {}, undefined, _meta);
            assert.equal(structuredContent.protocol_version, adapter.revision);
            // Without a session the server does not store who has opened it.
            assert.equal(structuredContent.client, adapter.server.can(adapter.era).remember ? adapter.name : '');
            assert.equal(structuredContent.traceparent, _meta.traceparent);
            assert.equal(structuredContent.tracestate, _meta.tracestate);
            assert.equal(structuredContent.baggage, _meta.baggage);
        },

        'the server says how it is': async () => {
            const { structuredContent } = await call('health', {});
            assert.ok(structuredContent.connections >= 1);
            assert.ok(structuredContent.in_flight >= 1);
        },

        'instructions, and a method of the server\'s own': async () => {
            assert.match(client.getInstructions(), /book_trip/);
            const { echo } = await adapter.request('demo/echo', { a: [1, 'x'] });
            assert.deepEqual(echo, { a: [1, 'x'] });
            // Extensions exist since 2026-07-28.
            const declared = client.getServerCapabilities().extensions?.['com.example/demo-echo'];
            assert.deepEqual(declared, adapter.era === 'modern' ? { methods: ['demo/echo'] } : undefined);
        },
    };
}

function readingSteps(adapter) {
    const { client, tap } = adapter;
    return {
        'resources are listed, those behind the template too': async () => {
            const { resources } = await client.listResources();
            const uris = resources.map((resource) => resource.uri);
            for (const name of ['readme', 'boat.png', 'bundle', 'counter', 'planets/earth', 'planets/venus']) {
                assert.ok(uris.includes(`demo://${name}`), name);
            }
            assert.equal(new Set(uris).size, uris.length);
            assert.equal(uris.filter((uri) => uri.startsWith('demo://planets/')).length, 8);
            const { resourceTemplates } = await client.listResourceTemplates();
            assert.deepEqual(resourceTemplates.map((each) => each.uriTemplate), ['demo://planets/{name}']);
        },

        'text, bytes, several contents and a template are read': async () => {
            const [readme] = (await client.readResource({ uri: 'demo://readme' })).contents;
            assert.equal(readme.mimeType, 'text/markdown');
            assert.match(readme.text, /^# Keel demo/);
            const [boat] = (await client.readResource({ uri: 'demo://boat.png' })).contents;
            assert.equal(Buffer.from(boat.blob, 'base64').subarray(0, 8).toString('hex'), png);
            const bundle = await client.readResource({ uri: 'demo://bundle' });
            assert.deepEqual(bundle.contents.map((each) => 'blob' in each), [false, true]);
            const [mars] = (await client.readResource({ uri: 'demo://planets/mars' })).contents;
            assert.equal(mars.text, 'The red one');
            assert.equal(mars.uri, 'demo://planets/mars');
        },

        'what is not there is said to be not found': async () => {
            for (const uri of ['demo://planets/pluto', 'demo://planets/..', 'demo://nothing']) {
                await assert.rejects(client.readResource({ uri }));
                // Version 2 of the SDK maps -32002 to -32602, so check the message that was sent.
                const { error } = tap.received.at(-1);
                assert.equal(error.code, adapter.era === 'modern' ? -32602 : -32002, uri);
                assert.deepEqual(error.data, { uri });
            }
        },

        'prompts are listed and filled in': async () => {
            const { prompts } = await client.listPrompts();
            assert.deepEqual(prompts.map((prompt) => prompt.name), ['greet', 'boat']);
            assert.deepEqual(
                prompts[0].arguments.map(({ name, required }) => [name, required ?? false]),
                [['name', true], ['language', false], ['how', false]],
            );
            const greeting = await client.getPrompt({
                name: 'greet', arguments: { name: 'Ada', language: 'Greek', how: 'grand' },
            });
            assert.deepEqual(greeting.messages, [
                { role: 'user', content: { type: 'text', text: 'Write a grand greeting to Ada in Greek.' } },
            ]);
            const boat = await client.getPrompt({ name: 'boat' });
            assert.deepEqual(
                boat.messages.map(({ role, content }) => [role, content.type]),
                [['user', 'image'], ['user', 'resource'], ['user', 'text'], ['assistant', 'text']],
            );
            const missing = await client.getPrompt({ name: 'greet' }).then(() => undefined, (reason) => reason);
            assert.equal(adapter.code(missing), -32602);
        },

        'arguments of prompts and variables of templates are completed': async () => {
            const language = (value, chosen) => client.complete({
                ref: { type: 'ref/prompt', name: 'greet' },
                argument: { name: 'language', value },
                ...(chosen && { context: { arguments: chosen } }),
            });
            assert.deepEqual((await language('G')).completion.values, ['German', 'Greek']);
            assert.equal((await language('', { name: 'Dupont' })).completion.values[0], 'French');
            const planet = await client.complete({
                ref: { type: 'ref/resource', uri: 'demo://planets/{name}' },
                argument: { name: 'name', value: 'm' },
            });
            assert.deepEqual(planet.completion.values, ['mars', 'mercury']);
        },
    };
}

function changeSteps(adapter) {
    const { client, call, heard, server } = adapter;
    const modern = adapter.era === 'modern';
    const { speak, remember } = server.can(adapter.era);
    const names = async () => (await client.listTools()).tools.map((tool) => tool.name);
    const read = async () => Number((await client.readResource({ uri: counter })).contents[0].text);

    // The notifications that the client requests. In the older revisions list changes are sent to all clients.
    async function subscribe() {
        if (!modern) {
            await client.subscribeResource({ uri: counter });
            return () => client.unsubscribeResource({ uri: counter });
        }
        const wanted = { toolsListChanged: true, resourceSubscriptions: [counter] };
        const subscription = await client.listen(wanted);
        assert.deepEqual(subscription.honoredFilter, wanted);
        return async () => {
            await subscription.close();
            assert.equal(await subscription.closed, 'local');
        };
    }

    // Waits until all earlier messages of the server have arrived. If answers and changes have separate streams,
    // another change shows this.
    async function settled() {
        if (server.oneStream) return call('echo', { text: 'messages come in order' });
        const unsubscribe = modern ? await client.listen({ toolsListChanged: true }) : undefined;
        for (let times = 0; times < 2; ++times) {
            const changed = heard.next('notifications/tools/list_changed');
            await call('toggle_extra', {});
            await changed;
        }
        return unsubscribe?.close();
    }

    const logSteps = {
        'a log message comes if the client wants its level': async () => {
            // Version 2 of the SDK sends logging/setLevel on a modern connection too, where the method does not exist:
            // the level is part of each request.
            const _meta = modern ? { 'io.modelcontextprotocol/logLevel': 'warning' } : undefined;
            if (!modern) await client.setLoggingLevel('warning');
            await call('log', { level: 'info', text: 'quiet' }, undefined, _meta);
            const next = heard.next('notifications/message');
            await call('log', { level: 'error', text: 'loud' }, undefined, _meta);
            assert.deepEqual((await next).params.data, { text: 'loud' });
            assert.equal((await next).params.level, 'error');
            assert.equal((await next).params.logger, 'demo');
            if (modern) await call('log', { level: 'emergency', text: 'nobody asked' });
            assert.equal(heard.of('notifications/message').length, 1);
        },
    };

    const subscriptionSteps = {
        'a subscriber is told of a change, and after unsubscribing no more': async () => {
            const before = await read();
            const unsubscribe = await subscribe();
            const updated = heard.next('notifications/resources/updated');
            assert.equal(Number(text(await call('bump', {}))), before + 1);
            assert.equal((await updated).params.uri, counter);
            assert.equal(await read(), before + 1);
            await unsubscribe();
            const told = heard.of('notifications/resources/updated').length;
            await call('bump', {});
            await settled();
            assert.equal(heard.of('notifications/resources/updated').length, told);
        },

        'a tool comes and goes, and whoever listens is told': async () => {
            const unsubscribe = await subscribe();
            assert.ok(!(await names()).includes('extra'));
            let changed = heard.next('notifications/tools/list_changed');
            assert.equal(text(await call('toggle_extra', {})), 'extra is here');
            await changed;
            assert.ok((await names()).includes('extra'));
            assert.equal(text(await call('extra', {})), 'here for now');
            changed = heard.next('notifications/tools/list_changed');
            assert.equal(text(await call('toggle_extra', {})), 'extra is gone');
            await changed;
            assert.ok(!(await names()).includes('extra'));
            await unsubscribe();
        },
    };

    return { ...only(speak && remember, logSteps), ...only(remember, subscriptionSteps) };
}

function askingSteps(adapter) {
    const { call, heard, tap } = adapter;
    const modern = adapter.era === 'modern';
    const calls = (tool) => tap.sent.filter((m) => m.method === 'tools/call' && m.params.name === tool);
    const questions = () => tap.received.filter((m) => m.method !== undefined && m.id !== undefined);

    return {
        'a trip is booked in three rounds, the second with two questions': async () => {
            const seen = [];
            const [asked, sent] = [questions().length, calls('book_trip').length];
            adapter.user.elicit = traveller(seen);
            const result = await call('book_trip', {});
            const offer = 'Ada goes to Oslo for 4 days, twin room with a view of the sea';
            assert.equal(text(result), `booking 1: ${offer}`);
            assert.deepEqual(
                [seen[0], new Set(seen.slice(1, 3)), seen[3]],
                ['Where to, and for how long?', new Set(['Which room?', 'Who travels?']), `${offer}. Book it?`],
            );
            assert.equal(seen.length, 4);
            // Older revisions: four requests to the client. 2026-07-28: none, but the call is sent four times.
            assert.equal(questions().length - asked, modern ? 0 : 4);
            assert.equal(calls('book_trip').length - sent, modern ? 4 : 1);
            if (modern) assert.ok(calls('book_trip').at(-1).params.requestState.length > 0);
        },

        'the user may decline or cancel in every round': async () => {
            for (const action of ['decline', 'cancel']) {
                for (const message of Object.keys(everyAnswer)) {
                    adapter.user.elicit = traveller([], { [message]: { action } });
                    assert.equal(
                        text(await call('book_trip', {})),
                        `no trip: ${action === 'decline' ? 'declined' : 'cancelled'}`,
                    );
                }
            }
            // The step in `once` ran once in each call so far: one booking and four calls that ended in the second
            // round.
            adapter.user.elicit = traveller([]);
            assert.match(text(await call('book_trip', {})), /^booking 6: /);
        },

        'an answer that does not fit the form is refused': async () => {
            adapter.user.elicit = traveller([], {
                'Where to, and for how long?': { action: 'accept', content: { city: 'X', days: 400 } },
            });
            // The SDKs validate it themselves; whichever side detects it first, the call fails and the session
            // continues.
            await assert.rejects(call('book_trip', {}));
            assert.equal(text(await call('echo', { text: 'still here' })), 'still here');
        },

        'a call is given up while the user is asked': async () => {
            const controller = new AbortController();
            const asked = deferred();
            const gone = deferred();
            adapter.user.elicit = (params, signal) => {
                asked.resolve();
                signal?.addEventListener('abort', () => gone.resolve());
                return gone.promise.then(() => ({ action: 'cancel' }));
            };
            const booking = assert.rejects(call('book_trip', {}, { signal: controller.signal }));
            await asked.promise;
            controller.abort('changed my mind');
            await booking;
            // Older revisions: the server cancels the request.
            if (!modern) await gone.promise;
            gone.resolve();
            assert.equal(text(await call('echo', { text: 'after' })), 'after');
        },

        'the user is sent to a web page': async () => {
            const seen = [];
            adapter.user.elicit = (params) => {
                seen.push(params);
                return { action: 'accept' };
            };
            // Older revisions send a completion notification; 2026-07-28 does not have it.
            const complete = modern ? undefined : heard.next('notifications/elicitation/complete');
            assert.equal(text(await call('open_page', {})), 'the user agreed to open it');
            assert.equal(seen.length, 1);
            assert.equal(seen[0].mode, 'url');
            assert.equal(seen[0].url, 'https://example.com/handbook');
            if (!modern) assert.equal((await complete).params.elicitationId, seen[0].elicitationId);
            adapter.user.elicit = () => ({ action: 'decline' });
            assert.equal(text(await call('open_page', {})), 'not opened: declined');
        },

        'the client\'s model writes a summary': async () => {
            const seen = [];
            adapter.user.sample = (params) => {
                seen.push(params);
                return { role: 'assistant', model: 'small-one', content: { type: 'text', text: 'It is long.' } };
            };
            assert.equal(text(await call('summarize', { text: 'a long text' })), 'It is long.\n(small-one)');
            assert.equal(seen.length, 1);
            assert.equal(seen[0].maxTokens, 200);
            assert.match(JSON.stringify(seen[0].messages), /a long text/);
            assert.equal(seen[0].modelPreferences.speedPriority, 0.8);
        },

        'the client tells its roots': async () => {
            const result = await call('ask_roots', {});
            assert.ok(!result.isError, text(result));
            assert.equal(text(result), `1 root\n${adapter.root.uri} (${adapter.root.name})`);
        },
    };
}

/// If the client cannot be asked, a tool that asks fails at once.
function unaskedSteps({ call, code }) {
    const asking = { book_trip: {}, open_page: {}, summarize: { text: 'a long text' }, ask_roots: {} };
    return {
        'a tool that asks fails where nobody can be asked, and the next call is answered': async () => {
            for (const [tool, values] of Object.entries(asking)) {
                const failure = await call(tool, values).then(({ isError }) => isError, code);
                assert.ok(failure === true || Number.isInteger(failure), `${tool}: ${failure}`);
            }
            assert.equal(text(await call('echo', { text: 'still here' })), 'still here');
        },
    };
}

export function deferred() {
    let resolve;
    const promise = new Promise((done) => { resolve = done; });
    return { promise, resolve };
}

export function featureSteps(adapter) {
    return {
        ...toolSteps(adapter),
        ...readingSteps(adapter),
        ...changeSteps(adapter),
        ...(adapter.server.can(adapter.era).ask ? askingSteps(adapter) : unaskedSteps(adapter)),
    };
}
