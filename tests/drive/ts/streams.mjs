// Events arrive while the call runs, not at its end: `node streams.mjs CLIENT URL DIRECT`, where DIRECT is the same
// server without the proxy.
import assert from 'node:assert/strict';

import { open, run } from './clients.mjs';
import { deferred } from './features.mjs';
import { untilHealth } from './transports.mjs';

const [which, url, direct] = process.argv.slice(2);
const adapter = await open(which, ['http', url]);
const other = await open(which, ['http', direct]);
const { client, call, heard } = adapter;
const modern = adapter.era === 'modern';
const counter = 'demo://counter';

await run(`${adapter.title} streams`, {
    'progress comes while the call runs, and giving up ends the call at the server': async () => {
        const controller = new AbortController();
        const begun = deferred();
        // Ten progress notifications in total. The call is cancelled at the first one, which never arrives if events
        // are buffered.
        const options = { signal: controller.signal, timeout: 3_600_000, onprogress: begun.resolve };
        const sleeping = assert.rejects(call('sleep', { ms: 30_000 }, options));
        assert.equal((await begun.promise).progress, 1);
        await untilHealth(direct, ({ inFlight }) => inFlight === 1);
        controller.abort('seen enough');
        await sleeping;
        await untilHealth(direct, ({ inFlight }) => inFlight === 0);
    },

    'a call that has said nothing yet is given up, and ends at the server': async () => {
        const controller = new AbortController();
        const sleeping = assert.rejects(call('sleep', { ms: 3_600_000 }, { signal: controller.signal, timeout: 3_600_000 }));
        await untilHealth(direct, ({ inFlight }) => inFlight === 1);
        controller.abort('no longer wanted');
        await sleeping;
        await untilHealth(direct, ({ inFlight }) => inFlight === 0);
    },

    'changes that another client makes come as they happen': async () => {
        const wanted = { resourceSubscriptions: [counter] };
        const subscription = modern ? await client.listen(wanted) : await client.subscribeResource({ uri: counter });
        for (let times = 0; times < 5; ++times) {
            const updated = heard.next('notifications/resources/updated');
            await other.call('bump', {});
            assert.equal((await updated).params.uri, counter);
        }
        await (modern ? subscription.close() : client.unsubscribeResource({ uri: counter }));
    },
});
await other.server.end(other.client);
await adapter.server.leave(client);
