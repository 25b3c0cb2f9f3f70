#!/usr/bin/env python3
"""The official TypeScript SDK clients, versions 1.32.2 and 2.4.0, with `keel demo --stdio`.

KEEL_BIN is the folder of the keel command, or the command itself (default: build/release/bin)."""

# ctest-labels: release_only
# ctest-timeout: 300

import keel_process as kp
from ts_clients import EVERY_CLIENT, ClientsTest


class OverStdio(ClientsTest):
    def test_conversations(self):
        """Each client lists and calls everything in the demo."""
        for client in EVERY_CLIENT:
            with self.subTest(client=client):
                self.run_script("conversation.mjs", client, "stdio", kp.keel_command(), "demo", "--stdio")


if __name__ == "__main__":
    kp.main()
