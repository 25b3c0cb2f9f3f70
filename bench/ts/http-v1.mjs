// The echo tool with the official TypeScript SDK, version 1, over Streamable HTTP: Express and a table of sessions,
// like the servers in its documentation. Responses are JSON, which is cheaper than event streams.
import { randomUUID } from 'node:crypto';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

function makeServer() {
    const server = new McpServer({ name: 'http-v1', version: '1.0.0' });
    const config = { description: 'Gives the text back', inputSchema: { text: z.string() } };
    server.registerTool('echo', config, ({ text }) => ({ content: [{ type: 'text', text }] }));
    return server;
}

function refuse(res, status, message) {
    res.status(status).json({ jsonrpc: '2.0', error: { code: -32000, message }, id: null });
}

const sessions = new Map();
const app = createMcpExpressApp();

app.post('/mcp', async (req, res) => {
    const id = req.headers['mcp-session-id'];
    let transport = id ? sessions.get(id) : undefined;
    if (!transport) {
        if (id) return refuse(res, 404, 'Session not found');
        if (!isInitializeRequest(req.body)) return refuse(res, 400, 'No session');
        transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: () => randomUUID(),
            enableJsonResponse: true,
            onsessioninitialized: (made) => void sessions.set(made, transport),
        });
        transport.onclose = () => sessions.delete(transport.sessionId);
        await makeServer().connect(transport);
    }
    await transport.handleRequest(req, res, req.body);
});

const listener = app.listen(0, '127.0.0.1', () => {
    console.error(`serving http://127.0.0.1:${listener.address().port}/mcp`);
});
