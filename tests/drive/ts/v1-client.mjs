// The client of the official TypeScript SDK, version 1.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';

import { Heard } from './features.mjs';
import { Tap } from './tap.mjs';
import { reach } from './transports.mjs';

const schemas = {
    'notifications/message': types.LoggingMessageNotificationSchema,
    'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
    'notifications/resources/list_changed': types.ResourceListChangedNotificationSchema,
    'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
    'notifications/elicitation/complete': types.ElicitationCompleteNotificationSchema,
};

export async function open(place, transportOptions) {
    const name = 'v1-client';
    const root = { uri: 'file:///srv/first-root', name: 'first' };
    const heard = new Heard();
    const user = {};
    const client = new Client(
        { name, version: '1.0.0' },
        { capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } } },
    );
    client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [root] }));
    client.setRequestHandler(types.ElicitRequestSchema, ({ params }, { signal }) => user.elicit(params, signal));
    client.setRequestHandler(types.CreateMessageRequestSchema, ({ params }) => user.sample(params));
    for (const method of Heard.methods) {
        client.setNotificationHandler(schemas[method], (notification) => heard.take(notification));
    }
    const classes = { StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport };
    const server = reach(classes, place, transportOptions);
    const tap = new Tap(server.transport);
    await client.connect(server.transport);
    await server.ready();
    tap.listen();
    return {
        title: `v1 ${place[0]}`,
        client,
        server,
        tap,
        name,
        root,
        heard,
        user,
        era: 'legacy',
        revision: '2025-11-25',
        call: (tool, values, options, meta) =>
            client.callTool({ name: tool, arguments: values, ...(meta && { _meta: meta }) }, undefined, options),
        request: (method, params) => client.request({ method, params }, types.ResultSchema),
        code: (error) => (error instanceof types.McpError ? error.code : undefined),
    };
}
