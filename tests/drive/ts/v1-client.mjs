// The client of the official TypeScript SDK, version 1: `node v1-client.mjs COMMAND [ARGUMENT...]`
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as types from '@modelcontextprotocol/sdk/types.js';

import { converse, Tap } from './conversation.mjs';
import { Heard } from './features.mjs';

const [command, ...args] = process.argv.slice(2);
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
const schemas = {
    'notifications/message': types.LoggingMessageNotificationSchema,
    'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
    'notifications/resources/list_changed': types.ResourceListChangedNotificationSchema,
    'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
    'notifications/elicitation/complete': types.ElicitationCompleteNotificationSchema,
};
for (const method of Heard.methods) {
    client.setNotificationHandler(schemas[method], (notification) => heard.take(notification));
}
const transport = new StdioClientTransport({ command, args });
const tap = new Tap(transport);
await client.connect(transport);

await converse(
    'v1',
    {
        client,
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
    },
    tap,
);
