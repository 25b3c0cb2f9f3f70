// The client of the official TypeScript SDK, version 1: `node v1-client.mjs COMMAND [ARGUMENT...]`
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ListRootsRequestSchema, McpError } from '@modelcontextprotocol/sdk/types.js';

import { converse, Tap } from './conversation.mjs';

const [command, ...args] = process.argv.slice(2);
const root = { uri: 'file:///srv/first-root', name: 'first' };

const client = new Client({ name: 'v1-client', version: '1.0.0' }, { capabilities: { roots: { listChanged: true } } });
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [root] }));
const transport = new StdioClientTransport({ command, args });
const tap = new Tap(transport);
await client.connect(transport);

await converse(
    'v1',
    {
        client,
        root,
        era: 'legacy',
        call: (name, values, options) => client.callTool({ name, arguments: values }, undefined, options),
        code: (error) => (error instanceof McpError ? error.code : undefined),
    },
    tap,
);
