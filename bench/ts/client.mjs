// Calls the echo tool repeatedly with the official TypeScript SDK, version 1 or 2, like bench/client_load.cpp with
// Keel's client. Prints one JSON object on standard output.
//   node client.mjs v1|v2 CALLS IN_FLIGHT legacy|modern URL
//   node client.mjs v1|v2 CALLS IN_FLIGHT legacy|modern COMMAND [WORDS...]
import { performance } from 'node:perf_hooks';

const [, , which, callsText, inFlightText, era, target, ...words] = process.argv;
const calls = Number(callsText);
const inFlight = Number(inFlightText);

async function parts() {
    if (which === 'v1') {
        const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
        const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
        const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
        return { Client, StdioClientTransport, StreamableHTTPClientTransport };
    }
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
    return { Client, StdioClientTransport, StreamableHTTPClientTransport };
}

const { Client, StdioClientTransport, StreamableHTTPClientTransport } = await parts();
const options = which === 'v2' ? { versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' } } : {};
const client = new Client({ name: 'bench', version: '1.0.0' }, { capabilities: {}, ...options });
const transport = target.startsWith('http')
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args: words });
await client.connect(transport);

async function inTurn(count) {
    for (let i = 0; i < count; i++) {
        const result = await client.callTool({ name: 'echo', arguments: { text: 'hello' } });
        if (result.content[0].text !== 'hello') throw new Error('unexpected result');
    }
}
const sideBySide = (count) => Promise.all(Array.from({ length: inFlight }, () => inTurn(Math.ceil(count / inFlight))));

await sideBySide(Math.min(calls, 500));
const before = process.cpuUsage();
const begun = performance.now();
await sideBySide(calls);
const used = process.cpuUsage(before);
const done = Math.ceil(calls / inFlight) * inFlight;
console.log(JSON.stringify({
    cpu_us_per_call: (used.user + used.system) / done,
    calls_per_second: (done / (performance.now() - begun)) * 1000,
}));
await client.close();
process.exit(0);
