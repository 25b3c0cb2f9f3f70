#!/usr/bin/env python3
"""The pages besides the protocol: the page for browsers, health, metrics; HTTPS with a certificate that is renewed while
serving; and the transport of 2024-11-05."""

import os
import ssl
import subprocess
import tempfile

import http_client as hc
import keel_process as kp
from http_client import Modern, Session
from http_connection import Connection
from http_process import HttpServer, program
from http_test import HttpTest
from keel_process import call, request


def get(client, path, **headers):
    with client.bare("GET", {"Accept": "*/*", **headers}, path=path) as e:
        return e.response.status, e.response.content_type, e.response.body().decode()


class Pages(HttpTest):
    command = ("keel", "demo")

    def test_page_for_browsers(self):
        status, kind, page = get(hc.Client(self.server), "/")
        self.assertEqual((status, kind), (200, "text/html"))
        self.assertIn(self.server.url, page)
        self.assertIn("Keel demo", page)

    def test_a_name_in_host_cannot_become_part_of_the_page(self):
        with self.start("--allow-host", "*") as server, server.connect() as c:
            c.send(b"GET / HTTP/1.1\r\nHost: a\"<b>\r\n\r\n")
            answer = c.response(to="GET")
            self.assertNotIn(b"<b>", answer.body())

    def test_head_has_the_same_head_and_no_body(self):
        with self.server.connect() as c:
            for _ in range(2):  # the connection is still usable
                c.send(hc.head("HEAD", "/health", {"Host": self.server.host_header}))
                answer = c.response(to="HEAD")
                self.assertEqual(answer.status, 200)

    def test_health_and_metrics_count_calls(self):
        status, kind, text = get(hc.Client(self.server), "/health")
        self.assertEqual((status, kind), (200, "application/json"))
        self.assertIn('"status":"ok"', text)
        before = self.server.metrics()["keel_http_requests_total"]
        modern = Modern(self.server)
        with modern.post(modern.call(1, "add", {"a": 2, "b": 40})) as e:
            self.assertEqual(kp.text_of(e.json()), "42")
        now = self.server.metrics()
        self.assertEqual(now["keel_http_requests_total"], before + 2)

    def test_health_with_any_host_name(self):
        with self.server.connect() as c:
            c.send(hc.head("GET", "/health", {"Host": "10.1.2.3"}))
            health = c.response(to="GET")
            self.assertEqual((health.status, health.body()[:1]), (200, b"{"))
            c.send(hc.head("GET", "/metrics", {"Host": "10.1.2.3"}))
            self.assertEqual(c.response(to="GET").status, 421)

    def test_unknown_paths(self):
        client = hc.Client(self.server)
        self.assertEqual(get(client, "/nothing")[0], 404)
        with client.bare("PUT", path="/health") as e:
            self.assertEqual(e.response.status, 405)
            self.assertEqual(e.headers["allow"], "GET, HEAD")

    def test_another_path(self):
        with self.start("--path", "/a/b") as server:
            self.assertTrue(server.url.endswith("/a/b"))
            modern = Modern(server)
            with modern.post(modern.request(1, "server/discover")) as e:
                self.assertEqual(e.status, 200)
            self.assertEqual(get(hc.Client(server), "/mcp")[0], 404)


def certificate(folder, name):
    """Creates a new certificate for 127.0.0.1 and replaces the files."""
    new = [os.path.join(folder, f"{name}.{kind}") for kind in ("crt", "key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", new[1], "-out", new[0]],
                   check=True, capture_output=True)
    return new


class Https(HttpTest):
    command = ("keel", "demo")

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.files = [os.path.join(self.folder, "served." + kind) for kind in ("crt", "key")]
        self.install("first")
        self.tls = ssl.create_default_context()
        self.tls.load_verify_locations(os.path.join(self.folder, "first.crt"))
        super().setUp()

    def install(self, name):
        for made, served in zip(reversed(certificate(self.folder, name)), reversed(self.files)):
            os.rename(made, served) if name != "first" else os.link(made, served)
        if name != "first":
            subprocess.run(["cp", self.files[0], os.path.join(self.folder, name + ".crt")], check=True)

    def start(self, *more, **how):
        options = ("--tls-cert", self.files[0], "--tls-key", self.files[1], "--log-level", "notice")
        return super().start(*options, *more, tls=self.tls, **how)

    def test_both_eras_over_tls(self):
        self.assertTrue(self.server.url.startswith("https://"))
        modern = Modern(self.server)
        with modern.post(modern.call(1, "echo", {"text": "hidden"})) as e:
            self.assertEqual(kp.text_of(e.json()), "hidden")
        session = self.session()
        with session.post(call(2, "sleep", {"ms": 20}, {"progressToken": 1})) as e:
            self.assertTrue(e.is_stream)
            self.assertEqual(kp.text_of(e.messages()[-1]), "slept 20 ms")
        self.stops()

    def test_a_renewed_certificate_needs_no_restart(self):
        with self.server.connect() as before:
            self.install("second")
            self.server.wait_for_line("TLS certificate reloaded")
            fresh = ssl.create_default_context()
            fresh.load_verify_locations(os.path.join(self.folder, "second.crt"))
            with Connection((self.server.host, self.server.port), tls=fresh) as after:
                for c in (before, after):  # open connections continue
                    c.send(hc.head("GET", "/health", {"Host": self.server.host_header}))
                    self.assertEqual(c.response(to="GET").status, 200)

    def test_an_invalid_certificate_is_logged_and_the_old_one_kept(self):
        with open(self.files[0], "w") as f:
            f.write("no certificate\n")
        self.server.wait_for_line("cannot reload the TLS certificate")
        with self.server.connect() as c:
            c.send(hc.head("GET", "/health", {"Host": self.server.host_header}))
            self.assertEqual(c.response(to="GET").status, 200)

    def test_unusable_files_are_reported_at_startup(self):
        for cert, status in (("/nowhere.crt", 2), (self.files[1], 1)):
            done = subprocess.run([program("keel"), "demo", "--http", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", self.files[1]],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(cert, done.stderr)


EVERY_REVISION = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


class EveryRevision(HttpTest):
    """Rules that apply to all revisions."""

    def client(self, server, version, credential=None):
        if version == "2026-07-28":
            return Modern(server, credential=credential)
        return Session(server, version, credential=credential)

    def echo(self, client, ident, text):
        if isinstance(client, Modern):
            return client.call(ident, "echo", {"text": text})
        return call(ident, "echo", {"text": text})

    def test_http_15_a_port_alone(self):
        """HTTP-15: without a host the server binds to the loopback address only."""
        for version in EVERY_REVISION:
            with self.subTest(version), HttpServer("--threads", "1", host="") as server:
                self.assertEqual(server.host, "127.0.0.1")
                client = self.client(server, version)
                with client.post(self.echo(client, 1, "near")) as e:
                    self.assertEqual(kp.text_of(e.json()), "near")

    def test_http_01_one_path(self):
        """HTTP-01: one path for everything: POST, and for older clients GET."""
        for version in EVERY_REVISION:
            with self.subTest(version):
                client = self.client(self.server, version)
                with client.post(self.echo(client, 1, "posted")) as e:
                    self.assertEqual(kp.text_of(e.json()), "posted")
                if version != "2026-07-28":
                    with client.get() as stream:
                        self.assertEqual((stream.status, stream.is_stream), (200, True))

    def test_http_16_authentication(self):
        """HTTP-16: with `identify`, requests without authentication are refused."""
        with HttpServer(settings={"identify": "1", "threads": "1"}) as server:
            for version in EVERY_REVISION:
                with self.subTest(version):
                    known = self.client(server, version, credential="ann")
                    with known.post(self.echo(known, 1, "it is me")) as e:
                        self.assertEqual(kp.text_of(e.json()), "it is me")
                    nobody = Modern(server)
                    message = self.echo(nobody, 2, "x") if version == "2026-07-28" else request(2, "initialize", {
                        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}})
                    with server.connect() as c:
                        c.send(nobody.request_bytes(message))
                        answer = c.response()
                        self.assertEqual(answer.status, 401)
                        self.assertIn("www-authenticate", answer.headers)


class OldTransport(HttpTest):
    """LHTTP-14: HTTP+SSE of 2024-11-05, off by default."""

    options = ("--old-sse", "--threads", "1")

    def opened(self):
        """Returns the stream, and the path for POST requests."""
        client = hc.Client(self.server)
        stream = self.enterContext(client.bare("GET", {"Accept": "text/event-stream"}, path="/sse"))
        first = stream.stream.next()
        self.assertEqual(first.event, "endpoint")
        return client, stream, first.data

    def send(self, client, path, message):
        with client.post(message, {"Accept": "*/*"}, path=path) as e:
            self.assertEqual(e.status, 202)

    def answer(self, stream):
        event = stream.stream.next()
        while event.only_comments:
            event = stream.stream.next()
        self.assertEqual(event.event, "message")
        stream.check.received(event.message)
        return event.message

    def test_a_conversation_lhttp_14(self):
        """LHTTP-14: the first event contains the URL for POST requests; answers are message events of the stream."""
        client, stream, path = self.opened()
        self.send(client, path, request(1, "initialize", {"protocolVersion": "2024-11-05", "capabilities": {},
                                                          "clientInfo": {"name": "old", "version": "1"}}))
        self.assertEqual(self.answer(stream)["result"]["protocolVersion"], "2024-11-05")
        self.send(client, path, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.send(client, path, call(2, "echo", {"text": "old"}))
        self.assertEqual(kp.text_of(self.answer(stream)), "old")

    def test_the_stream_is_the_session(self):
        client, stream, path = self.opened()
        self.send(client, path, request(1, "initialize", {"protocolVersion": "2024-11-05", "capabilities": {},
                                                          "clientInfo": {"name": "old", "version": "1"}}))
        self.answer(stream)
        self.send(client, path, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.send(client, path, call(2, "park", {"key": "left"}))
        self.control.wait("left", "begun")
        stream.reset()
        self.control.wait("left", "cancelled")
        with client.post(call(3, "echo", {"text": "x"}), {"Accept": "*/*"}, path=path) as e:
            self.assertEqual(e.status, 404)

    def test_off_by_default(self):
        with super().start() as asked, HttpServer("--threads", "1") as plain:
            with hc.Client(plain).bare("GET", {"Accept": "text/event-stream"}, path="/sse") as e:
                self.assertEqual(e.response.status, 404)


if __name__ == "__main__":
    kp.main()
