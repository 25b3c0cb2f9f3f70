#!/usr/bin/env python3
"""`keel demo --http` behind a real nginx with buffering: events arrive while calls run.

KEEL_BIN is the folder of the keel command, or the command itself (default: build/release/bin)."""

# ctest-labels: release_only
# ctest-timeout: 600

import keel_process as kp
from http_client import Modern
from http_connection import Connection
from nginx_proxy import Nginx
from ts_clients import ClientsTest


class BehindNginx(ClientsTest):
    def for_each(self, clients, script, *more, through=""):
        for client in clients:
            with self.subTest(client=client), self.served() as server, Nginx(server) as nginx:
                url = nginx.origin + through + server.path
                self.run_script(script, client, *(each.format(url=url, direct=server.url) for each in more))

    def test_h19_streams(self):
        """H19 I2 I3: progress and changes arrive as they happen, and a cancel ends the call, also through nginx."""
        self.for_each(("v1", "v2-legacy", "v2-pin"), "streams.mjs", "{url}", "{direct}")

    def test_h19_streams_over_http_1_0(self):
        """H19 I2 I3: the same when nginx uses HTTP/1.0 to the server, which is its default."""
        self.for_each(("v1", "v2-pin"), "streams.mjs", "{url}", "{direct}", through="/plain")

    def test_conversations(self):
        """Each client lists and calls everything in the demo."""
        self.for_each(("v1", "v2-pin"), "conversation.mjs", "http", "{url}")

    def test_h9_h11_resumption(self):
        """H9 H11: a client that loses its connection to nginx reconnects and gets each event and the response once."""
        self.for_each(("v1", "v2-pin"), "resume.mjs", "{url}")

    def test_h19_nginx_buffers_without_the_header(self):
        """H19: without the server's X-Accel-Buffering header nginx buffers the events until the call ends."""
        with self.served() as server, Nginx(server) as nginx, Connection(nginx.at) as c:
            client = Modern(server)
            asleep = client.call(1, "sleep", {"ms": 300}, progressToken="p")
            with client.post(asleep, on=c, path=f"/held{server.path}") as e:
                self.assertEqual(e.message()["params"]["progress"], 1)
                self.assertEqual(server.metrics()["keel_requests_in_flight"], 0)
                e.answer(1)


if __name__ == "__main__":
    kp.main()
