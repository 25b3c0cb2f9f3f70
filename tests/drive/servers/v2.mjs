// One of each feature with the official TypeScript SDK, version 2, for both eras: `stdio`, or `http` (2026-07-28, and
// the older revisions with sessions, at one address).
import { randomUUID } from 'node:crypto';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
    completable,
    createMcpHandler,
    inputRequired,
    isLegacyRequest,
    McpServer,
    ResourceTemplate,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { beginningWith, form, listen, question, sessions, state, text, Waits } from './state.mjs';

const waits = new Waits();

/// Questions: in the older revisions a request to the client, in 2026-07-28 an input_required result.
function addQuestions(server, era, tool) {
    const ask = (name, push, asked, show) =>
        tool(name, {}, async (_, ctx) => {
            if (era === 'legacy') return text(show(await push(ctx)));
            const answer = ctx.mcpReq.inputResponses?.it;
            if (answer) return text(`${show(answer)} ${ctx.mcpReq.requestState()}`);
            return inputRequired({ inputRequests: { it: asked }, requestState: 'as it was' });
        });
    const where = { message: 'Where to?', requestedSchema: form };
    const show = {
        form: (answer) => JSON.stringify(answer),
        model: (answer) => answer.content.text,
        roots: (answer) => answer.roots.map((root) => root.uri).join(' '),
    };
    ask('ask_form', (ctx) => ctx.mcpReq.elicitInput(where), inputRequired.elicit(where), show.form);
    ask('ask_model', (ctx) => ctx.mcpReq.requestSampling(question), inputRequired.createMessage(question), show.model);
    ask('ask_roots', () => server.server.listRoots(), inputRequired.listRoots(), show.roots);
}

function addTools(server, era, changed) {
    const tool = (name, shape, call) =>
        server.registerTool(name, { description: name, inputSchema: z.object(shape) }, call);
    tool('echo', { text: z.string() }, ({ text: said }) => text(said));
    server.registerTool(
        'add',
        { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
        ({ a, b }) => ({ ...text(a + b), structuredContent: { sum: a + b } }),
    );
    tool('fail', {}, () => {
        throw new Error('it went wrong');
    });
    const tellProgress = (ctx, progress, total) =>
        ctx.mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken: ctx.mcpReq._meta.progressToken, progress, total },
        });
    tool('steps', { count: z.number() }, async ({ count }, ctx) => {
        for (let step = 1; step <= count; step += 1) await tellProgress(ctx, step, count);
        return text(`${count} steps`);
    });
    tool('wait', {}, async (_, ctx) => {
        await tellProgress(ctx, 1);
        await waits.wait(ctx.mcpReq.signal);
        return text('cancelled');
    });
    tool('cancelled', {}, async () => text(await waits.oneMoreCancelled()));
    tool('pid', {}, () => text(process.pid));
    tool('sessions', {}, () => text(sessions.size));
    tool('write', { note: z.string() }, async ({ note }) => {
        state.note = note;
        await changed.note(server);
        return text('written');
    });
    let grown;
    const addGrown = () => {
        grown = tool('grown', {}, () => text('new'));
    };
    if (state.grown) addGrown();
    tool('grow', {}, () => {
        state.grown = true;
        changed.tools(addGrown);
        return text('grown');
    });
    tool('shrink', {}, () => {
        state.grown = false;
        changed.tools(() => grown.remove());
        return text('as before');
    });
    tool('log', {}, async (_, ctx) => {
        await ctx.mcpReq.log('info', 'unimportant', 'v2');
        await ctx.mcpReq.log('error', 'important', 'v2');
        return text('logged');
    });
    addQuestions(server, era, tool);
}

function makeServer(era, changed) {
    const server = new McpServer(
        { name: 'sdk-v2', version: '1.0.0' },
        {
            capabilities: { logging: {}, tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } },
            instructions: 'Try everything.',
        },
    );
    addTools(server, era, changed);
    const note = (uri) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: state.note }] });
    server.registerResource('today', 'note://today', { mimeType: 'text/plain' }, note);
    const complete = { argument: beginningWith };
    server.registerResource('of', new ResourceTemplate('note://of/{argument}', { list: undefined, complete }), {}, note);
    if (era === 'legacy') {
        server.server.setRequestHandler('resources/subscribe', () => ({}));
        server.server.setRequestHandler('resources/unsubscribe', () => ({}));
    }
    server.registerPrompt(
        'visit',
        { argsSchema: z.object({ argument: completable(z.string(), beginningWith) }) },
        ({ argument }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Visit ${argument}` } }] }),
    );
    return server;
}

/// Each connection has its own server object, which sends its change notifications.
const toldByServer = {
    note: (server) => server.server.sendResourceUpdated({ uri: 'note://today' }),
    tools: (change) => change(),
};

function serveHttp() {
    const modern = createMcpHandler(
        () =>
            makeServer('modern', {
                note: () => modern.notify.resourceUpdated('note://today'),
                tools: () => modern.notify.toolsChanged(),
            }),
        { legacy: 'reject' },
    );
    const serveModern = toNodeHandler(modern);
        async function serveSession(req, res, body) {
        const id = req.headers['mcp-session-id'];
        let transport = id ? sessions.get(id) : undefined;
        if (!transport) {
            if (id) return void res.writeHead(404).end();
            transport = new NodeStreamableHTTPServerTransport({
                sessionIdGenerator: () => randomUUID(),
                onsessioninitialized: (made) => void sessions.set(made, transport),
            });
            transport.onclose = () => sessions.delete(transport.sessionId);
            await makeServer('legacy', toldByServer).connect(transport);
        }
        await transport.handleRequest(req, res, body);
    }

    listen(async (req, res) => {
        let body;
        if (req.method === 'POST') {
            let sent = '';
            for await (const piece of req.setEncoding('utf8')) sent += piece;
            body = JSON.parse(sent);
        }
        const isOld = await isLegacyRequest(await toWebRequest(req, body));
        await (isOld ? serveSession(req, res, body) : serveModern(req, res, body));
    });
}

if (process.argv[2] === 'http') serveHttp();
else serveStdio(({ era }) => makeServer(era, toldByServer));
