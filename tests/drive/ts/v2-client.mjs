// The client of the official TypeScript SDK, version 2: `node v2-client.mjs MODE COMMAND [ARGUMENT...]`
//
//   legacy   the handshake of the older revisions
//   auto     asks server/discover first, on a process of its own that is ended after the answer
//   pin      2026-07-28 and nothing else
import assert from 'node:assert/strict';

import { Client, ProtocolError } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { converse, Tap } from './conversation.mjs';

const [mode, command, ...args] = process.argv.slice(2);
const modern = '2026-07-28';
const root = { uri: 'file:///srv/first-root', name: 'first' };

const client = new Client(
    { name: 'v2-client', version: '1.0.0' },
    {
        capabilities: { roots: { listChanged: true } },
        versionNegotiation: { mode: mode === 'pin' ? { pin: modern } : mode },
    },
);
client.setRequestHandler('roots/list', () => ({ roots: [root] }));
const transport = new StdioClientTransport({ command, args });
const tap = new Tap(transport);
await client.connect(transport);

const era = mode === 'legacy' ? 'legacy' : 'modern';
assert.equal(client.getProtocolEra(), era);
if (era === 'modern') assert.equal(client.getNegotiatedProtocolVersion(), modern);

await converse(
    `v2 ${mode}`,
    {
        client,
        root,
        era,
        call: (name, values, options) => client.callTool({ name, arguments: values }, options),
        code: (error) => (error instanceof ProtocolError ? error.code : undefined),
    },
    tap,
);
