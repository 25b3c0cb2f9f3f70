// The client of the official TypeScript SDK, version 2: `node v2-client.mjs MODE COMMAND [ARGUMENT...]`
//
//   legacy   the handshake of the older revisions
//   auto     asks server/discover first, on a process of its own that is ended after the answer
//   pin      2026-07-28 and nothing else
//
// On a modern connection this client answers the questions in a result by the same handlers, and calls again by itself.
import assert from 'node:assert/strict';

import { Client, ProtocolError } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { converse, Tap } from './conversation.mjs';
import { Heard } from './features.mjs';

const [mode, command, ...args] = process.argv.slice(2);
const modern = '2026-07-28';
const name = 'v2-client';
const root = { uri: 'file:///srv/first-root', name: 'first' };
const heard = new Heard();
const user = {};

const client = new Client(
    { name, version: '1.0.0' },
    {
        capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } },
        versionNegotiation: { mode: mode === 'pin' ? { pin: modern } : mode },
    },
);
client.setRequestHandler('roots/list', () => ({ roots: [root] }));
client.setRequestHandler('elicitation/create', ({ params }, context) => user.elicit(params, context.mcpReq?.signal));
client.setRequestHandler('sampling/createMessage', ({ params }) => user.sample(params));
for (const method of Heard.methods) client.setNotificationHandler(method, (notification) => heard.take(notification));
const transport = new StdioClientTransport({ command, args });
const tap = new Tap(transport);
await client.connect(transport);

const era = mode === 'legacy' ? 'legacy' : 'modern';
assert.equal(client.getProtocolEra(), era);
if (era === 'modern') assert.equal(client.getNegotiatedProtocolVersion(), modern);

// For a method that is not of the protocol the SDK wants to know what its result looks like.
const anything = { '~standard': { version: 1, vendor: 'keel', validate: (value) => ({ value }) } };

await converse(
    `v2 ${mode}`,
    {
        client,
        name,
        root,
        heard,
        user,
        era,
        revision: era === 'modern' ? modern : '2025-11-25',
        call: (tool, values, options, meta) =>
            client.callTool({ name: tool, arguments: values, ...(meta && { _meta: meta }) }, options),
        request: (method, params) => client.request({ method, params }, anything),
        code: (error) => (error instanceof ProtocolError ? error.code : undefined),
    },
    tap,
);
