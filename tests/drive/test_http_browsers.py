#!/usr/bin/env python3
"""Requests from web pages: Origin, Host and CORS."""

# ctest-timeout: 900

import http_client as hc
import keel_process as kp
from http_client import Modern, Session
from http_input import EVIL, InputTest
from keel_process import LEGACY, call


class WebPages(InputTest):
    def each_client(self):
        yield self.m, self.echo
        for version in LEGACY:
            s = self.session(version)
            yield s, lambda: call(1, "echo", {"text": "x"})

    def test_origin(self):
        """HTTP-02 HTTP-03: a request with a foreign Origin is answered 403, in every revision; without Origin it is served."""
        bad = (EVIL, "http://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1.evil.example",
               "http://evil.example:80", "file://", "x", "http://127.0.0.1@evil.example", "http://evil.example/127.0.0.1",
               "chrome-extension://abc", "", "http://", "http://[::1", "http://localhost:99999999",
               "http://127.0.0.1, http://evil.example")
        for client, message in self.each_client():
            for origin in bad:
                with self.subTest(era=type(client).__name__, origin=origin), client.post(message(), {"Origin": origin}) as e:
                    self.refused(e, 403)
                    self.assertFalse([n for n in e.headers if n.startswith("access-control")], e.response.fields)
            with client.post(message()) as e:
                self.assertEqual(kp.text_of(e.answer(1)), "x")
        self.still_serves()

    def test_origin_of_each_method(self):
        """HTTP-02 HTTP-03: a foreign Origin is refused for GET, DELETE and initialize too; no session is created."""
        s = self.session()
        for verb in ("GET", "DELETE", "OPTIONS"):
            with self.subTest(verb=verb), s.bare(verb, {"Origin": EVIL}) as e:
                self.refused(e, 403)
        self.assertEqual(s.text(call(1, "echo", {"text": "alive"})), "alive")
        before = self.counted()
        with Session(self.server, opened=False).post(kp.initialize(0), {"Origin": EVIL}) as e:
            self.refused(e, 403)
        self.census_is(before)

    def test_two_origins(self):
        """HTTP-02: two Origin headers are refused."""
        body = hc.text_bytes(self.echo())
        for pair in ((self.server.origin, EVIL), (EVIL, self.server.origin)):
            fields = [*self.m.headers_for(self.echo()).items(), ("Origin", pair[0]), ("Origin", pair[1]), ("Content-Length", len(body))]
            with self.server.connect() as c:
                c.send(hc.head("POST", self.server.path, fields) + body)
                self.assertIn(c.response().status, (400, 403))

    def test_own_origin(self):
        """HTTP-02: a page of the server's own origin may use it, without CORS headers."""
        port = self.server.port
        for origin in (self.server.origin, f"http://localhost:{port}"):
            with self.subTest(origin=origin), self.m.post(self.echo(), {"Origin": origin, "Host": origin[7:]}) as e:
                self.assertEqual(kp.text_of(e.answer(1)), "x")
                self.assertFalse([n for n in e.headers if n.startswith("access-control")], e.response.fields)

    def test_host(self):
        """HTTP-02: an unknown Host: 421, against DNS rebinding."""
        port = self.server.port
        for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"localhost.evil.example:{port}",
                     f"127.0.0.2.evil:{port}", f"xlocalhost:{port}", f"127.0.0.1@evil.example:{port}", "0x7f.evil"):
            with self.subTest(host=host), self.m.post(self.echo(), {"Host": host}) as e:
                self.refused(e, 421)
        for host in ("", "a b", "127.0.0.1:x", "[::1", "127.0.0.1,evil.example", "/"):
            with self.subTest(host=host), self.m.post(self.echo(), {"Host": host}) as e:
                self.assertIn(e.status, (400, 421))
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
            with self.subTest(host=host), self.m.post(self.echo(), {"Host": host}) as e:
                self.assertEqual(kp.text_of(e.answer(1)), "x")
        with self.m.post(self.echo(), path="http://evil.example/mcp") as e:  # an absolute request target overrides the header
            self.assertIn(e.status, (400, 421))
        for client, message in self.each_client():
            with client.post(message(), {"Host": "evil.example"}) as e:
                self.refused(e, 421)

    def test_allow_host(self):
        """HTTP-02: --allow-host allows one more host, and no other."""
        with self.start("--allow-host", "mcp.example.com", "--allow-host", "other.example:8443") as server:
            m = Modern(server)
            for host, status in (("mcp.example.com", 200), ("MCP.Example.com", 200), ("mcp.example.com:443", 200),
                                 ("x.mcp.example.com", 421), ("mcp.example.com.evil.example", 421), ("other.example:8443", 200),
                                 ("other.example:1", 421), (server.host_header, 200)):
                with self.subTest(host=host), m.post(m.call(1, "echo", {"text": "x"}), {"Host": host}) as e:
                    self.assertEqual(e.status, status)

    def preflight(self, server, origin, verb="POST", headers="content-type,mcp-protocol-version,mcp-method,mcp-name"):
        return Modern(server).bare("OPTIONS", {"Origin": origin, "Access-Control-Request-Method": verb, "Content-Type": None,
                                               "Accept": "*/*", "Access-Control-Request-Headers": headers})

    def test_no_cors(self):
        """HTTP-02: without --allow-origin no CORS headers are sent."""
        for origin in (EVIL, self.server.origin):
            with self.preflight(self.server, origin) as e:
                self.assertIn(e.status, (403, 405))
                self.assertFalse([n for n in e.headers if n.startswith("access-control")], e.response.fields)

    def test_cors(self):
        """HTTP-02 HTTP-03: --allow-origin allows that origin and sends CORS headers with every answer; others get 403."""
        app = "https://app.example.com"
        with self.start("--allow-origin", app, "--allow-origin", "http://two.example:8080") as server:
            m = Modern(server)
            for origin in (app, "http://two.example:8080"):
                for message in (m.call(1, "echo", {"text": "x"}), m.call(1, "speak", {"n": 1}, progressToken=1), m.request(1, "no/such")):
                    with self.subTest(origin=origin, message=message["method"]), m.post(message, {"Origin": origin}) as e:
                        self.assertEqual(e.headers.get("access-control-allow-origin"), origin)
                        self.assertIn("origin", e.headers.get("vary", "").lower())
                        self.assertNotIn("access-control-allow-credentials", e.headers)
                        self.assertTrue(kp.same_id(e.answer(1), 1))
            for origin in (EVIL, "https://app.example.com.evil.example", "http://app.example.com", "https://app.example.com:444", "null",
                           "https://APP.example.com.evil"):
                with self.subTest(origin=origin), m.post(m.call(1, "echo", {"text": "x"}), {"Origin": origin}) as e:
                    self.assertNotEqual(e.headers.get("access-control-allow-origin"), origin)
                    self.refused(e, 403)
                with self.preflight(server, origin) as e:
                    self.assertEqual(e.status, 403)
                    self.assertNotIn("access-control-allow-origin", e.headers)
            s = Session(server, opened=False)
            with s.post(kp.initialize(0), {"Origin": app}) as e:
                self.assertIn(hc.SESSION_HEADER, e.headers["access-control-expose-headers"].lower())

    def test_preflight(self):
        """HTTP-02: an allowed origin may use all methods and headers of the protocol, including parameter headers."""
        app = "https://app.example.com"
        wanted = ["content-type", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id", "last-event-id", "authorization",
                  "mcp-param-region"]
        with self.start("--allow-origin", app) as server:
            for verb in ("POST", "GET", "DELETE"):
                with self.subTest(verb=verb), self.preflight(server, app, verb, ",".join(wanted)) as e:
                    self.assertIn(e.status, (200, 204))
                    self.assertEqual(e.response.body(), b"")
                    self.assertEqual(e.headers["access-control-allow-origin"], app)
                    self.assertIn(verb, e.headers["access-control-allow-methods"])
                    allowed = [h.strip() for h in e.headers["access-control-allow-headers"].lower().split(",")]
                    self.assertEqual([h for h in wanted if h not in allowed], [])
                    self.assertIn("origin", e.headers["vary"].lower())
            with self.preflight(server, app, "PUT") as e:
                self.assertNotIn("PUT", e.headers.get("access-control-allow-methods", ""))

    def test_any_origin(self):
        """HTTP-02: --allow-origin '*' allows all origins, but no unknown Host."""
        with self.start("--allow-origin", "*") as server:
            m = Modern(server)
            for origin in (EVIL, "null", "http://x.example:1"):
                with self.subTest(origin=origin), m.post(m.call(1, "echo", {"text": "x"}), {"Origin": origin}) as e:
                    self.assertIn(e.headers["access-control-allow-origin"], ("*", origin))
                    self.assertEqual(kp.text_of(e.answer(1)), "x")
            with m.post(m.call(1, "echo", {"text": "x"}), {"Origin": EVIL, "Host": "evil.example"}) as e:
                self.refused(e, 421)


if __name__ == "__main__":
    kp.main()
