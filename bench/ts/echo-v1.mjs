// The echo tool with the official TypeScript SDK, version 1, written like the servers in its documentation.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'echo-v1', version: '1.0.0' });
server.registerTool('echo', { description: 'Gives the text back', inputSchema: { text: z.string() } }, ({ text }) => ({
    content: [{ type: 'text', text }],
}));
await server.connect(new StdioServerTransport());

// Version 1 does not detect the end of its input, so the process must be ended here.
process.stdin.on('end', () => process.exit(0));
