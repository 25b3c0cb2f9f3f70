// The clients by name, and how their steps are run and counted.
import * as v1 from './v1-client.mjs';
import * as v2 from './v2-client.mjs';

/// An adapter (see conversation.mjs) of the client v1, v2-legacy, v2-auto or v2-pin, connected to a server (see
/// transports.mjs).
export function open(which, place, transportOptions) {
    const [version, mode] = which.split('-');
    return version === 'v1' ? v1.open(place, transportOptions) : v2.open(mode, place, transportOptions);
}

/// Runs all steps, also after one has failed, and prints how many passed. The exit status is 1 if any failed.
export async function run(title, steps) {
    let passed = 0;
    let failed = 0;
    for (const [name, step] of Object.entries(steps)) {
        try {
            await step();
            passed += 1;
            console.log(`ok      ${title}: ${name}`);
        } catch (error) {
            failed += 1;
            console.log(`FAILED  ${title}: ${name}\n${error?.stack ?? error}`);
        }
    }
    console.log(JSON.stringify({ passed, failed }));
    process.exitCode = failed === 0 ? 0 : 1;
}
