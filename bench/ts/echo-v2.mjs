// The echo tool with the official TypeScript SDK, version 2, serving both eras from one factory.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
    const server = new McpServer({ name: 'echo-v2', version: '1.0.0' });
    const config = { description: 'Gives the text back', inputSchema: z.object({ text: z.string() }) };
    server.registerTool('echo', config, ({ text }) => ({ content: [{ type: 'text', text }] }));
    return server;
});
