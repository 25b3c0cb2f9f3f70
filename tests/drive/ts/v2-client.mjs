// The client of the official TypeScript SDK, version 2, in one of its modes:
//
//   legacy   the handshake of the older revisions
//   auto     sends server/discover first (over stdio to a separate process that is ended after the answer)
//   pin      only 2026-07-28
//
// On a modern connection this client answers the questions in a result with the same handlers, and repeats the call
// itself.
import assert from 'node:assert/strict';

import { Client, ProtocolError, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { Heard } from './features.mjs';
import { Tap } from './tap.mjs';
import { reach } from './transports.mjs';

const modern = '2026-07-28';

// For a custom method the SDK needs the schema of the result.
const anything = { '~standard': { version: 1, vendor: 'keel', validate: (value) => ({ value }) } };

export async function open(mode, place, transportOptions) {
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
    const classes = { StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport };
    const server = reach(classes, place, transportOptions);
    const tap = new Tap(server.transport);
    await client.connect(server.transport);
    await server.ready();
    tap.listen();

    const era = mode === 'legacy' ? 'legacy' : 'modern';
    assert.equal(client.getProtocolEra(), era);
    if (era === 'modern') assert.equal(client.getNegotiatedProtocolVersion(), modern);
    return {
        title: `v2 ${mode} ${place[0]}`,
        client,
        server,
        tap,
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
    };
}
