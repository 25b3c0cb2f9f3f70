// The echo tool with the official TypeScript SDK, version 2, over Streamable HTTP, on Node's own server as in its
// documentation. Without an argument it serves revision 2026-07-28; with `sessions`, the older revisions with a table
// of sessions and JSON responses. The eras are separate, so that neither pays for detecting the era.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import {
    localhostHostValidation,
    localhostOriginValidation,
    NodeStreamableHTTPServerTransport,
    toNodeHandler,
} from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

function makeServer() {
    const server = new McpServer({ name: 'http-v2', version: '1.0.0' });
    const config = { description: 'Gives the text back', inputSchema: z.object({ text: z.string() }) };
    server.registerTool('echo', config, ({ text }) => ({ content: [{ type: 'text', text }] }));
    return server;
}

const sessions = new Map();

async function serveSession(req, res) {
    const id = req.headers['mcp-session-id'];
    let transport = id ? sessions.get(id) : undefined;
    if (!transport) {
        if (id) return void res.writeHead(404).end();
        // Without a session the transport refuses everything except `initialize`.
        transport = new NodeStreamableHTTPServerTransport({
            sessionIdGenerator: () => randomUUID(),
            enableJsonResponse: true,
            onsessioninitialized: (made) => void sessions.set(made, transport),
        });
        transport.onclose = () => sessions.delete(transport.sessionId);
        await makeServer().connect(transport);
    }
    await transport.handleRequest(req, res);
}

const serve = process.argv[2] === 'sessions' ? serveSession : toNodeHandler(createMcpHandler(makeServer));
const validHost = localhostHostValidation();
const validOrigin = localhostOriginValidation();

const listener = createServer(async (req, res) => {
    if (validHost(req, res) && validOrigin(req, res)) await serve(req, res);
});
listener.listen(0, '127.0.0.1', () => console.error(`serving http://127.0.0.1:${listener.address().port}/mcp`));
