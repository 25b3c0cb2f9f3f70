// Lost connections: `node resume.mjs CLIENT URL`. The older revisions resume their streams; in 2026-07-28 a lost
// connection ends the call. Each step has its own session and proxy.
import assert from 'node:assert/strict';

import { open, run } from './clients.mjs';
import { deferred, traveller } from './features.mjs';
import { CuttingProxy } from './proxy.mjs';
import { untilHealth } from './transports.mjs';

const [which, url] = process.argv.slice(2);
const other = await open(which, ['http', url]);  // its connections are not cut

const text = (result) => result.content.map((block) => block.text ?? '').join('\n');
const toTen = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const counter = 'demo://counter';

/// A client whose connections can be cut, for one step.
function cuttable(step) {
    return async () => {
        const proxy = await CuttingProxy.open(url);
        const adapter = await open(which, ['http', proxy.url.href], {
            reconnectionOptions: {
                initialReconnectionDelay: 1, maxReconnectionDelay: 1, reconnectionDelayGrowFactor: 1, maxRetries: 100,
            },
        });
        try {
            await step(proxy, adapter);
            if (adapter.era === 'legacy') answeredOnce(adapter.tap);
        } finally {
            resumptions.push(...resumed(adapter));
            await adapter.server.end(adapter.client);
            proxy.close();
        }
    };
}

function answeredOnce(tap) {
    for (const { id, method } of tap.sent) {
        if (method === 'tools/call') assert.equal(tap.answers(id).length, 1, `answers to request ${id}`);
    }
}

const resumptions = [];  // of all steps
const resumed = ({ server }) => server.requests.filter(({ headers }) => headers.has('last-event-id'));

/// The demo's sleep sends ten progress notifications. Calls `each` with every one; in the end all of them and the
/// answer must have arrived once.
async function sleepThrough(adapter, each, options = {}) {
    const seen = [];
    const onprogress = ({ progress }) => {
        seen.push(progress);
        each(progress);
    };
    assert.equal(text(await adapter.call('sleep', { ms: 300 }, { ...options, onprogress })), 'slept 300 ms');
    assert.deepEqual(seen, toTen);
}

const olderSteps = {
    'cut after any of its events, a call goes on: each event and the answer once': async () => {
        for (const at of toTen.slice(0, -1)) {
            await cuttable((proxy, adapter) => sleepThrough(adapter, (progress) => progress === at && proxy.cut()))();
        }
    },

    'cut after each of its events, a call goes on': cuttable((proxy, adapter) =>
        sleepThrough(adapter, (progress) => progress < 10 && proxy.cut())),

    'cut at the first sign of a stream, a call goes on': cuttable(async (proxy, adapter) => {
        const tokens = [];
        const onresumptiontoken = (token) => tokens.push(token) === 1 && proxy.cut();
        await sleepThrough(adapter, () => {}, { onresumptiontoken });
    }),

    'reports and an answer that were lost on the way come again': cuttable((proxy, adapter) =>
        sleepThrough(adapter, (progress) => {
            if (progress === 3) proxy.mute('slept 300 ms').then(() => proxy.cut());
        })),

    'many calls are cut at once and all go on': cuttable(async (proxy, adapter) => {
        let begun = 0;
        const count = 20;
        const all = Array.from({ length: count }, () =>
            sleepThrough(adapter, (progress) => {
                if (progress === 1 && ++begun === count) proxy.cut();
            }));
        await Promise.all(all);
    }),

    'what changes while the stand-alone stream is down is told when it is back': cuttable(async (proxy, adapter) => {
        const { client, call, heard } = adapter;
        await client.subscribeResource({ uri: counter });
        for (let times = 0; times < 4; ++times) {
            const updated = heard.next('notifications/resources/updated');
            // After the first connection the client has an event id to resume from.
            if (times > 0) {
                proxy.hold();
                proxy.cut();
            }
            await other.call('bump', {});
            proxy.release();
            assert.equal((await updated).params.uri, counter);
            await call('echo', { text: 'once each' });
            assert.equal(heard.of('notifications/resources/updated').length, times + 1);
        }
        assert.ok(resumed(adapter).length >= 3);
    }),

    'the user is asked over connections that are cut in every round': cuttable(async (proxy, adapter) => {
        const seen = [];
        const fill = traveller(seen);
        let back;
        adapter.user.elicit = async (params) => {
            const answer = fill(params);
            // Answers are sent once and must not be lost: do not cut while the answer to the other question of this
            // round may be in transit, and send none before the client has noticed the cut.
            if (seen.length !== 3) {
                back = adapter.server.nextAnswered(({ headers }) => headers.has('last-event-id'));
                proxy.cut();
            }
            await back;
            return answer;
        };
        assert.match(text(await adapter.call('book_trip', {})), /^booking \d+: Ada goes to Oslo/);
        assert.equal(seen.length, 4);
    }),

    // A single cut proves nothing: the rest may have arrived with the event at which it was made.
    'streams were resumed, and none of them in vain': () => {
        assert.ok(resumptions.length > 10, `${resumptions.length} resumptions`);
        for (const { method, status } of resumptions) assert.deepEqual([method, status], ['GET', 200]);
    },
};

const modernSteps = {
    'a cut connection ends the call, at the server too': cuttable(async (proxy, { call }) => {
        const sleeping = assert.rejects(call('sleep', { ms: 3_600_000 }, { timeout: 3_600_000 }));
        await untilHealth(url, ({ inFlight }) => inFlight === 1);
        proxy.cut();
        await sleeping;
        await untilHealth(url, ({ inFlight }) => inFlight === 0);
        assert.equal(text(await call('echo', { text: 'after' })), 'after');
    }),

    'cut after an event, a call is over at the server': cuttable(async (proxy, { call }) => {
        const controller = new AbortController();
        const begun = deferred();
        const options = { signal: controller.signal, timeout: 3_600_000, onprogress: begun.resolve };
        const sleeping = assert.rejects(call('sleep', { ms: 30_000 }, options));
        await begun.promise;
        proxy.cut();
        await untilHealth(url, ({ inFlight }) => inFlight === 0);
        controller.abort();  // the SDK would wait until its timeout
        await sleeping;
    }),

    'a cut listener is told, and listens again': cuttable(async (proxy, { client, heard }) => {
        for (let times = 0; times < 3; ++times) {
            const subscription = await client.listen({ resourceSubscriptions: [counter] });
            const updated = heard.next('notifications/resources/updated');
            await other.call('bump', {});
            assert.equal((await updated).params.uri, counter);
            proxy.cut();
            assert.equal(await subscription.closed, 'remote');
        }
    }),
};

await run(`${other.title} cut`, other.era === 'modern' ? modernSteps : olderSteps);
await other.server.leave(other.client);
