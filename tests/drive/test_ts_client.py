#!/usr/bin/env python3
"""The official TypeScript SDK clients, versions 1.32.2 and 2.4.0, as the other side of `keel demo --stdio`.

KEEL_BIN names the folder of the keel command, or the command itself. Without it build/release/bin is used.
"""

# ctest-labels: release_only
# ctest-timeout: 300

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent / "ts"
sys.path.insert(0, str(ROOT / "tools"))

import node_packages  # noqa: E402

CLIENTS = (
    ("v1-client.mjs",),
    ("v2-client.mjs", "legacy"),
    ("v2-client.mjs", "auto"),
    ("v2-client.mjs", "pin"),
)
HANGS_AFTER = 60  # seconds; a conversation takes about one


def keel_command():
    place = Path(os.environ.get("KEEL_BIN", ROOT / "build" / "release" / "bin"))
    return str(place / "keel" if place.is_dir() else place)


def converse(node, client, server):
    """Runs one client against a server of its own; how many of its steps passed and failed."""
    script, *arguments = client
    try:
        done = subprocess.run(
            [node, "--no-warnings", str(HERE / script), *arguments, *server],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            timeout=HANGS_AFTER,
        )
    except subprocess.TimeoutExpired as stuck:
        print((stuck.stdout or b"").decode(errors="replace"), end="")
        print(f"FAILED  {' '.join(client)}: the conversation did not end")
        return 0, 1
    *lines, last = done.stdout.splitlines() or [""]
    try:
        counts = json.loads(last)
    except ValueError:
        # It never came to the count, so it did not even connect.
        print("\n".join([*lines, last]))
        print(f"FAILED  {' '.join(client)}: ended with status {done.returncode} before the last step")
        return 0, 1
    print("\n".join(lines))
    if done.returncode != 0 and counts["failed"] == 0:
        print(f"FAILED  {' '.join(client)}: ended with status {done.returncode}")
        return counts["passed"], 1
    return counts["passed"], counts["failed"]


def main():
    try:
        node = node_packages.install(HERE)
    except node_packages.Unavailable as reason:
        sys.exit(f"the TypeScript clients cannot be run: {reason}")
    server = [keel_command(), "demo", "--stdio"]
    results = [converse(node, client, server) for client in CLIENTS]
    passed, failed = (sum(column) for column in zip(*results))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
