#!/usr/bin/env python3
"""The official TypeScript SDK clients, versions 1.32.2 and 2.4.0, with `keel demo --http`.

KEEL_BIN is the folder of the keel command, or the command itself (default: build/release/bin)."""

# ctest-labels: release_only
# ctest-timeout: 900

import subprocess
import tempfile
from pathlib import Path

import keel_process as kp
from ts_clients import EVERY_CLIENT, ONE_OF_EACH_ERA, ClientsTest


def make_certificate(folder):
    """A self-signed certificate for 127.0.0.1, and its key."""
    certificate, key = Path(folder) / "certificate.pem", Path(folder) / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=keel", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True)
    return str(certificate), str(key)


class OverHttp(ClientsTest):
    def converse(self, clients, *options, told=(), environment=None):
        for client in clients:
            with self.subTest(client=client, options=options), self.served(*options) as server:
                self.run_script("conversation.mjs", client, "http", server.url, *told, environment=environment)

    def test_conversations(self):
        """Each client lists and calls everything in the demo, as over stdio."""
        self.converse(EVERY_CLIENT)

    def test_threads(self):
        """The same with one thread, and with more threads than processors."""
        self.converse(ONE_OF_EACH_ERA, "--threads", "1")
        self.converse(ONE_OF_EACH_ERA, "--threads", "8")

    def test_f10_json(self):
        """F10: a server that never streams answers calls, sends change notifications, and fails at once if it cannot ask."""
        self.converse(("v1", "v2-legacy", "v2-pin"), "--json", told=("json",))

    def test_f10_stateless(self):
        """F10: a server without sessions answers older clients too, and fails at once if it cannot ask."""
        self.converse(("v1", "v2-legacy", "v2-pin"), "--stateless", told=("stateless",))

    def test_tls(self):
        """The same over HTTPS."""
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = make_certificate(folder)
            self.converse(ONE_OF_EACH_ERA, "--tls-cert", certificate, "--tls-key", key,
                          environment={"NODE_EXTRA_CA_CERTS": certificate})

    def test_h6_h9_h11_h20_resumption(self):
        """H6 H9 H11 H20: a client whose connections are cut reconnects and gets each event and the answer once."""
        for client in ("v1", "v2-legacy"):
            for threads in ("1", "4"):
                with self.subTest(client=client, threads=threads), self.served("--threads", threads) as server:
                    self.run_script("resume.mjs", client, server.url)

    def test_i2_i3_i11_lost_connections(self):
        """I2 I3 I11: in 2026-07-28 a call or a subscription ends with its connection."""
        for threads in ("1", "4"):
            with self.subTest(threads=threads), self.served("--threads", threads) as server:
                self.run_script("resume.mjs", "v2-pin", server.url)


class OverOldSse(ClientsTest):
    def test_conversations(self):
        """The transport of 2024-11-05: one stream for all messages of the server."""
        for client in ("v1", "v2-legacy"):
            with self.subTest(client=client), self.served("--old-sse") as server:
                self.run_script("conversation.mjs", client, "sse", f"{server.origin}/sse")


if __name__ == "__main__":
    kp.main()
