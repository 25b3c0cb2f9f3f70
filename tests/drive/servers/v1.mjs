// One of each feature with the official TypeScript SDK, version 1, which supports only the older revisions: `stdio`, or
// `http` (Streamable HTTP with sessions).
import { randomUUID } from 'node:crypto';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { beginningWith, form, listen, question, sessions, state, text, Waits } from './state.mjs';

const waits = new Waits();

function addTools(server) {
    const tool = (name, inputSchema, call) => server.registerTool(name, { description: name, inputSchema }, call);
    tool('echo', { text: z.string() }, ({ text: said }) => text(said));
    server.registerTool(
        'add',
        { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
        ({ a, b }) => ({ ...text(a + b), structuredContent: { sum: a + b } }),
    );
    tool('fail', {}, () => {
        throw new Error('it went wrong');
    });
    const tellProgress = (extra, progress, total) =>
        extra.sendNotification({
            method: 'notifications/progress',
            params: { progressToken: extra._meta.progressToken, progress, total },
        });
    tool('steps', { count: z.number() }, async ({ count }, extra) => {
        for (let step = 1; step <= count; step += 1) await tellProgress(extra, step, count);
        return text(`${count} steps`);
    });
    tool('wait', {}, async (_, extra) => {
        await tellProgress(extra, 1);
        await waits.wait(extra.signal);
        return text('cancelled');
    });
    tool('cancelled', {}, async () => text(await waits.oneMoreCancelled()));
    tool('pid', {}, () => text(process.pid));
    tool('sessions', {}, () => text(sessions.size));
    tool('ask_form', {}, async () => {
        const answer = await server.server.elicitInput({ message: 'Where to?', requestedSchema: form });
        return text(JSON.stringify(answer));
    });
    tool('ask_model', {}, async () => text((await server.server.createMessage(question)).content.text));
    tool('ask_roots', {}, async () => text((await server.server.listRoots()).roots.map((root) => root.uri).join(' ')));
    tool('write', { note: z.string() }, async ({ note }) => {
        state.note = note;
        await server.server.sendResourceUpdated({ uri: 'note://today' });
        return text('written');
    });
    let grown;
    tool('grow', {}, () => {
        grown = tool('grown', {}, () => text('new'));
        return text('grown');
    });
    tool('shrink', {}, () => {
        grown.remove();
        return text('as before');
    });
    tool('log', {}, async (_, extra) => {
        await server.sendLoggingMessage({ level: 'info', logger: 'v1', data: 'unimportant' }, extra.sessionId);
        await server.sendLoggingMessage({ level: 'error', logger: 'v1', data: 'important' }, extra.sessionId);
        return text('logged');
    });
}

function makeServer() {
    const server = new McpServer(
        { name: 'sdk-v1', version: '1.0.0' },
        { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: 'Try everything.' },
    );
    addTools(server);
    const note = (uri) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: state.note }] });
    server.registerResource('today', 'note://today', { mimeType: 'text/plain' }, note);
    const complete = { argument: beginningWith };
    server.registerResource('of', new ResourceTemplate('note://of/{argument}', { list: undefined, complete }), {}, note);
    server.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
    server.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
    server.registerPrompt(
        'visit',
        { argsSchema: { argument: completable(z.string(), beginningWith) } },
        ({ argument }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Visit ${argument}` } }] }),
    );
    return server;
}

async function serveSession(req, res) {
    const id = req.headers['mcp-session-id'];
    let transport = id ? sessions.get(id) : undefined;
    if (!transport) {
        if (id) return void res.writeHead(404).end();
        transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: () => randomUUID(),
            onsessioninitialized: (made) => void sessions.set(made, transport),
        });
        transport.onclose = () => sessions.delete(transport.sessionId);
        await makeServer().connect(transport);
    }
    await transport.handleRequest(req, res);
}

if (process.argv[2] === 'http') listen(serveSession);
else await makeServer().connect(new StdioServerTransport());
