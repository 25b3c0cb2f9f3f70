#!/usr/bin/env python3
"""What comes in over HTTP and should not, or comes in an unusual way: bad messages, bad requests, odd bodies, slow and greedy
clients, web pages. Each is answered, or ended; nothing of it is kept; the next good request is served."""

# ctest-timeout: 900

import json
import select

import http_client as hc
import keel_process as kp
from http_client import HttpTest, Modern, Session
from keel_process import LEGACY, MIB, MODERN, MODERN_META, call, notification, request

EVIL = "https://evil.example"


class InputTest(HttpTest):
    options = ("--threads", "1")

    def setUp(self):
        super().setUp()
        self.m = self.modern()

    def echo(self, ident=1, text="x"):
        return self.m.call(ident, "echo", {"text": text})

    def good(self, ident=1, text="x", headers=None, **how):
        """The bytes of a request that is served."""
        return self.m.request_bytes(self.echo(ident, text), headers, **how)

    def parks(self, key, ident=99):
        """The bytes of a request that would leave a trace: nobody may ever execute it."""
        return self.m.request_bytes(self.m.call(ident, "park", {"key": key}))

    def never_ran(self, key):
        self.assertFalse(self.control.status(key)["begun"], "a handler ran that must not")

    def is_echo(self, response, ident=1, text="x"):
        self.assertEqual(response.status, 200, response.fields)
        body = json.loads(response.body())
        self.m.check.sent_line(hc.text_bytes(self.echo(ident, text)))
        self.m.check.received(body)
        self.assertTrue(kp.same_id(body, ident), body)
        self.assertEqual(kp.text_of(body), text)

    def serves(self, on=None):
        """A good request on this connection or a new one."""
        if on is not None:
            on.send(self.good(7, "again"))
            return self.is_echo(on.response(), 7, "again")
        with self.server.connect() as c:
            self.serves(c)

    def census_is(self, before):
        names = ("connections", "in_flight", "descriptors")
        now = {}

        def is_back():
            now.update(self.control.census(), sessions=self.server.metrics()["keel_http_sessions"])
            return all(now[n] <= before[n] for n in (*names, "sessions"))

        try:
            kp.until(is_back, "the census to be what it was")
        except kp.Hang as e:
            raise AssertionError(f"before {before}, now {now}") from e

    def counted(self):
        return {**self.control.census(), "sessions": self.server.metrics()["keel_http_sessions"]}


# ---- messages: the HTTP column of group E ----


DEEP = 600
NOT_JSON = (
    b"", b" ", b"{", b"}", b"nonsense", b"{'a':1}", b'{"jsonrpc":"2.0","id":1,"method":"ping"', b'{"a":1}{"b":2}', b'{"a":1,}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}x', b'\x00{"jsonrpc":"2.0","id":1,"method":"ping"}', b'"unterminated', b"[1,2",
    b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', b'{"jsonrpc":"2.0","id":1,"method":"\xc0\xaf"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xed\xa0\x80"}}', b'{"a":"\x01"}', b"NaN", b"01", b"+1",
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * DEEP + b"]" * DEEP + b"}",
    b"[" * 100_000, b'{"a":' * 100_000,
)
NOT_OBJECTS = (b"7", b"-1.5", b'"text"', b"null", b"true", b"false", b"  7  ")
NOT_MESSAGES = (  # (message, the id that its error has)
    ({"id": 1, "method": "ping"}, 1), ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 1),
    ({"jsonrpc": 2.0, "id": "a", "method": "ping"}, "a"),
    ({"jsonrpc": None, "id": 0, "method": "ping"}, 0), ({"jsonrpc": "2.0", "id": 2}, 2), ({"jsonrpc": "2.0", "id": 3, "method": ""}, 3),
    ({"jsonrpc": "2.0", "id": 4, "method": 7}, 4), ({"jsonrpc": "2.0", "id": 5, "method": None}, 5),
    ({"jsonrpc": "2.0", "id": 6, "method": "ping", "result": {}}, 6), ({}, None), ({"jsonrpc": "2.0"}, None), ({"method": "ping"}, None),
)
BAD_IDS = (None, True, False, 1.5, [], [1], {}, {"a": 1}, -(2**63) - 1, 2**64, 10**30)


class Messages(InputTest):
    def each_way(self):
        """As a client of each era would post it."""
        s = self.session()
        yield "legacy", s
        first = Session(self.server, opened=False)
        yield "legacy, without a session", first
        modern = self.modern()
        modern.headers_for = lambda message: {**modern.base_headers(), "MCP-Protocol-Version": MODERN, "Mcp-Method": "ping"}
        yield "modern", modern

    def refused_each(self, bodies, code, ident_of=lambda body: None):
        for name, client in self.each_way():
            before = self.counted()
            for body in bodies:
                with self.subTest(way=name, body=str(body)[:80]):
                    with client.post(body) as e:
                        self.is_error(e, 400, code, ident_of(body))
                        self.assertNotIn(hc.SESSION_HEADER, e.headers)
                    self.serves()
            self.census_is(before)
        self.still_serves()

    def test_e1_not_json(self):
        """E1 E0: invalid, truncated, non-UTF-8 or too deeply nested JSON: 400 and -32700 without an id."""
        self.refused_each(NOT_JSON, -32700)

    def test_e4_not_an_object(self):
        """E4 E0: JSON that is not an object: 400 and -32600 without an id."""
        self.refused_each(NOT_OBJECTS, -32600)

    def test_e6_not_a_message(self):
        """E6 E0: no version, no method, a method and a result: 400 and -32600 with the id, if it can be read."""
        ids = {json.dumps(message): ident for message, ident in NOT_MESSAGES}
        bodies = [json.dumps(message).encode() for message, _ in NOT_MESSAGES]
        self.refused_each(bodies, -32600, lambda body: ids[body.decode()])

    def test_e7_a6_ids(self):
        """E7 A6: an invalid id: 400 and -32600 without an id; nothing is executed."""
        key = self.key()
        bodies = [hc.text_bytes({**self.m.call(0, "park", {"key": key}), "id": ident}) for ident in BAD_IDS]
        self.refused_each(bodies, -32600)
        fields = self.m.headers_for(self.m.call(0, "park"))
        for body in bodies:
            with self.subTest(body=body[:60]), self.m.post(body, fields) as e:
                self.is_error(e, 400, -32600)
        self.never_ran(key)

    def test_e5_batches(self):
        """E5: an array outside of 2025-03-26: 400 and one -32600 without an id; no member is executed."""
        key = self.key()
        member = self.m.call(1, "park", {"key": key})
        bodies = [b"[]", b"[1]", b"[[]]", hc.text_bytes([member]), hc.text_bytes([request(1, "ping"), member]),
                  hc.text_bytes([notification("x")] * 1000)]
        self.refused_each(bodies, -32600)
        s = self.session("2025-06-18")
        self.is_error(s.post([call(1, "park", {"key": key})]), 400, -32600)
        self.never_ran(key)

    def test_e5_modern_in_a_batch(self):
        """E5: in 2025-03-26, too, an array with a request of 2026-07-28 in it is refused as a whole."""
        key = self.key()
        s = self.session("2025-03-26")
        for batch in ([self.m.call(1, "park", {"key": key})],
                      [call(1, "park", {"key": key}), self.m.call(2, "park", {"key": key})],
                      [self.m.call(2, "park", {"key": key}), call(1, "park", {"key": key})]):
            with self.subTest(batch=len(batch)):
                self.is_error(s.post(batch), 400, -32600)
        self.never_ran(key)
        with s.post([call(1, "echo", {"text": "a"}), notification("x"), call(2, "echo", {"text": "b"})]) as e:
            self.assertEqual(e.status, 200)
            self.assertEqual(sorted(kp.text_of(each) for each in e.json()), ["a", "b"])

    def test_e8_unknown_methods(self):
        """E8 HTTP-13: an unknown method: 404 with -32601 in 2026-07-28, 200 with -32601 before."""
        for method in ("no/such", "x", "tools/Call", "tools/call/", " ping"):
            with self.subTest(method=method):
                headers = {"Mcp-Method": hc.header_value(method)} if method.strip() == method else {"Mcp-Method": method}
                with self.m.post(self.m.request(1, method), headers) as e:
                    if method.strip() == method:
                        self.is_error(e, 404, -32601, 1)
                    else:  # a header has no room for spaces at its ends: that is another refusal
                        self.refused(e, 400)
                for version in hc.WITH_STREAMS:
                    s = self.session(version)
                    self.is_error(s.post(request(1, method)), 200, -32601, 1)
        self.still_serves()

    def test_e9_notifications(self):
        """E9 HTTP-07: unknown notifications are accepted, 202 without a body, in both eras."""
        for client in (self.m, *(self.session(v) for v in hc.WITH_STREAMS)):
            for method in ("notifications/unheard_of", "x", "notifications/roots/list_changed", "notifications/progress"):
                message = notification(method)
                with self.subTest(method=method, era=type(client).__name__):
                    with client.post(client.with_meta(message) if client is self.m else message) as e:
                        self.assertEqual((e.status, e.response.body()), (202, b""))
        self.still_serves()

    def test_e10_parameters(self):
        """E10: parameters of another type: 200 with -32602; in 2026-07-28 400, where _meta is missing with them."""
        s = self.session()
        for params in ([], [1], 7, "x", None, True):
            with self.subTest(params=params):
                self.is_error(s.post({**request(1, "tools/call"), "params": params}), 200, -32602, 1)
                message = {**request(1, "tools/call"), "params": params}
                self.is_error(self.m.post(message, {"Mcp-Name": "echo"}), 400, -32602, 1)
        for arguments in ([], 7, "x"):
            with self.subTest(arguments=arguments):
                params = {"name": "echo", "arguments": arguments}
                self.is_error(s.post(request(2, "tools/call", params)), 200, -32602, 2)
                self.is_error(self.m.post(self.m.request(2, "tools/call", params)), 200, -32602, 2)
        for params in ({}, {"name": 7}, {"name": None}, {"name": {}}):
            with self.subTest(params=params):
                self.is_error(s.post(request(3, "tools/call", params)), 200, -32602, 3)
                with self.m.post(self.m.request(3, "tools/call", params)) as e:  # there is no name to compare a header with
                    answer = e.answer(3)
                    self.assertIn(answer["error"]["code"], (-32602, -32020))
        self.still_serves()

    def test_e13_posted_answers(self):
        """E13: an answer posted in 2026-07-28: 400 and -32600 without an id."""
        for message in ({"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": "a", "error": {"code": 1, "message": "x"}},
                        {"jsonrpc": "2.0", "error": {"code": 1, "message": "x"}},
                        {"jsonrpc": "2.0", "id": 1, "result": {"_meta": MODERN_META}}):
            with self.subTest(message=message):
                self.is_error(self.m.post(message), 400, -32600)
        self.serves()

    def test_e0_again_and_again(self):
        """E0 J3: thousands of invalid messages, on one connection and on many: no memory growth, the next valid one is served."""
        bodies = [b"nonsense", b"7", b"[]", b'{"jsonrpc":"2.0","id":null,"method":"x"}', b'{"jsonrpc":"2.0","id":1,"result":{}}', b""]
        def flood(rounds):
            with self.server.connect() as c:
                for _ in range(rounds):
                    for body in bodies:
                        c.send(self.m.request_bytes(body))
                        r = c.response()
                        self.assertEqual(r.status, 400)
                        r.body()
                        self.assertTrue(r.keeps_open, "a bad message ended the connection")
                self.serves(c)
        flood(300)
        before = self.counted()
        flood(1500)
        self.census_is(before)
        if not kp.is_sanitized():
            self.assertLess(self.control.census()["resident_bytes"], before["resident_bytes"] + 2 * MIB)

    def test_e14_gone_in_the_middle(self):
        """E14: the client disconnects after any byte of a 2026-07-28 request, by FIN or reset: nothing runs, nothing is kept or logged."""
        self.serves()
        before = self.counted()
        said = self.server.said()
        key = self.key()
        data = self.parks(key)
        for cut in range(len(data)):
            c = self.server.connect()
            c.send(data[:cut])
            if cut % 3 == 0:
                c.reset()
            elif cut % 3 == 1:
                c.close()
            else:
                with c:
                    c.half_close()
                    self.assertNotIn(b"200 OK", c.ends())
        self.census_is(before)
        self.never_ran(key)
        new = [row for row in self.server.said()[len(said):].splitlines() if not row.startswith(("debug", "info: connection closed"))]
        self.assertEqual(new, [])
        self.serves()


class TooLarge(InputTest):
    def test_e3_by_its_length(self):
        """E3: a Content-Length beyond the limit: 413 before the body is sent; nothing is created."""
        before = self.counted()
        for client, message in ((self.m, self.echo()), (Session(self.server, opened=False), kp.initialize(0))):
            head = client.request_bytes(message, {"Content-Length": 4 * MIB + 1}).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
            with self.server.connect() as c:
                c.send(head)
                r = c.response()
                self.assertEqual(r.status, 413)
                r.body()
                self.assertFalse(r.keeps_open, "what follows is a body that nobody reads")
                c.ends()
            for length in ("99999999999999999999", "18446744073709551616", "9223372036854775808"):
                with self.subTest(length=length), self.server.connect() as c:
                    c.send(client.request_bytes(message, {"Content-Length": length}))
                    self.assertIn(c.response().status, (400, 413))
        self.census_is(before)
        self.still_serves()

    def test_e3_by_its_chunks(self):
        """E3: a chunked body that grows too large: 413 while it is being sent, in bounded memory; nothing is created."""
        before = self.counted()
        head = self.m.request_bytes(self.echo(), {"Content-Length": None, "Transfer-Encoding": "chunked"}).partition(b"\r\n\r\n")[0]
        piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        for _ in range(10):
            with self.server.connect() as c:
                c.send(head + b"\r\n\r\n")
                sent = 0
                while c.silent() and sent < 64 * MIB:  # it must speak long before
                    sent += c.send_what_fits(piece * 8)
                    select.select([c.socket], [c.socket], [], kp.SECONDS_TO_HANG)
                c.socket.setblocking(True)
                self.assertEqual(c.response().status, 413)
        self.census_is(before)
        self.stays_below(self.server, 120 * MIB, "after too large bodies")
        self.still_serves()

    def test_e3_just_large_enough(self):
        """E3: a body of exactly 4 MiB is read; one byte more is not."""
        small = hc.text_bytes(self.echo(1, ""))
        fill = 4 * MIB - len(small)
        with self.m.post(self.echo(1, "x" * fill)) as e:
            self.assertEqual(len(kp.text_of(e.answer(1))), fill)
        with self.server.connect() as c:
            c.send_what_fits(self.good(1, "x" * (fill + 1)))
            self.assertEqual(c.response().status, 413)

    def test_j4_heads(self):
        """J4: too many or too large headers: 431; nothing hangs."""
        line = {"X-Long": "x" * 20_000}
        many = {f"X-{n}": "x" for n in range(200)}
        for name, data, statuses in (("one long header", self.good(headers=line), (431,)),
                                     ("many headers", self.good(headers=many), (431,)),
                                     ("a long name", self.good(headers={"X" * 20_000: "x"}), (431,)),
                                     ("a long target", self.good(path="/mcp?" + "x" * 20_000), (414, 431))):
            with self.subTest(name=name), self.server.connect() as c:
                c.send_what_fits(data)
                self.assertIn(c.response().status, statuses)
                self.serves()

    def test_j4_head_without_end(self):
        """J4: an endless head is refused, whatever it contains; memory does not grow."""
        before = self.counted()
        for endless in (b"POST /mcp HTTP/1.1\r\n" + b"X: y\r\n" * 1_000_000, b"A" * (8 * MIB), b"POST /" + b"a" * (8 * MIB),
                        b"\r\n" * (4 * MIB), b"POST /mcp HTTP/1.1\r\nX: " + b" " * (8 * MIB), b"\x00" * MIB, b"\x16\x03\x01" + b"x" * MIB):
            with self.subTest(begins=endless[:24]), self.server.connect() as c:
                c.send_what_fits(endless)
                c.socket.setblocking(True)
                said = c.ends()
                self.assertRegex(said[:12] or b"HTTP/1.1 400", rb"HTTP/1\.[01] 4\d\d")
        self.census_is(before)
        self.stays_below(self.server, 120 * MIB, "after endless heads")


# ---- requests of HTTP ----


class Verbs(InputTest):
    def test_405(self):
        """HTTP-01: other HTTP methods on the endpoint: 405 with Allow; the connection stays open if possible."""
        for verb in ("PUT", "PATCH", "HEAD", "TRACE", "OPTIONS"):
            with self.subTest(verb=verb), self.server.connect() as c:
                e = self.m.bare(verb, on=c)
                self.assertEqual(e.status, 405, e.response.fields)
                self.assertIn("POST", e.headers["allow"])
                e.response.body()
                if e.response.keeps_open:
                    self.serves(c)
        for verb in ("FOO", "post", "Post", "X" * 100):
            with self.subTest(verb=verb), self.m.bare(verb) as e:
                self.assertIn(e.status, (400, 405, 501))
        with self.m.bare("CONNECT", path="127.0.0.1:1") as e:
            self.assertIn(e.status, (400, 404, 405, 501))
        self.still_serves()

    def test_one_path(self):
        """HTTP-01: one path serves the protocol; other paths are answered 404."""
        for path in ("/", "/mcp/", "/mcpx", "/MCP", "/mcp/x", "//mcp", "/elsewhere", "/mcp%00", "/..//mcp"):
            with self.subTest(path=path), self.m.post(self.echo(), path=path) as e:
                self.assertIn(e.status, (400, 404, 405))
                self.assertNotIn(b'"result"', e.response.body())
        with self.m.post(self.echo(), path="/mcp?session=1&x") as e:
            self.assertEqual(kp.text_of(e.answer(1)), "x")
        with self.m.post(self.echo(), path=f"http://{self.server.host_header}/mcp") as e:  # absolute: every server must know it
            self.assertEqual(kp.text_of(e.answer(1)), "x")

    def test_another_path(self):
        """HTTP-01: --path sets the path of the endpoint."""
        with self.start("--path", "/a/b") as server:
            self.assertEqual(server.path, "/a/b")
            m = Modern(server)
            self.assertEqual(m.text(m.call(1, "echo", {"text": "x"})), "x")
            with m.post(m.call(1, "echo", {"text": "x"}), path="/mcp") as e:
                self.assertEqual(e.status, 404)

    def test_accept(self):
        """HTTP-08: an Accept header without both media types: 406, however the list is written."""
        for accept in ("application/json, text/event-stream", "text/event-stream,application/json", "*/*", "application/*, text/*",
                       "Application/JSON;q=0.5 , TEXT/Event-Stream;q=0.1", "text/html, */*;q=0.1",
                       "application/json;charset=utf-8, text/event-stream", ", ,application/json,,text/event-stream,"):
            with self.subTest(accept=accept), self.m.post(self.echo(), {"Accept": accept}) as e:
                self.assertEqual(kp.text_of(e.answer(1)), "x")
        for accept in ("text/html", "image/*", "application/json;q=0, text/event-stream;q=0", "application/jsonx", "json", "x", "*/*;q=0"):
            with self.subTest(accept=accept), self.m.post(self.echo(), {"Accept": accept}) as e:
                self.refused(e, 406)
        with self.server.connect() as c:  # several headers are one list
            body = hc.text_bytes(self.echo())
            fields = [(n, v) for n, v in self.m.headers_for(self.echo()).items() if n != "Accept"]
            fields += [("Accept", "application/json"), ("Content-Length", len(body)), ("Accept", "text/event-stream")]
            c.send(hc.head("POST", self.server.path, fields) + body)
            self.is_echo(c.response())

    def test_content_type(self):
        """HTTP-08: a body that is not application/json: 415."""
        for kind in ("application/json", "Application/Json", "application/json;charset=utf-8", 'application/json ; charset="UTF-8"'):
            with self.subTest(kind=kind), self.m.post(self.echo(), {"Content-Type": kind}) as e:
                self.assertEqual(kp.text_of(e.answer(1)), "x")
        for kind in (None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", "text/json",
                     "application/*", "*/*", "x", "text/plain; application/json", "text/plain, application/json"):
            with self.subTest(kind=kind), self.m.post(self.echo(), {"Content-Type": kind}) as e:
                self.refused(e, 415)
        self.still_serves()


class Bodies(InputTest):
    options = ()
    settings = {"threads": 1, "keep_alive": kp.HOUR}  # nothing may depend on comments for being noticed

    def chunked(self, body, size, extension=b"", trailers=b""):
        data = b"".join(b"%x%s\r\n%s\r\n" % (len(body[at:at + size]), extension, body[at:at + size]) for at in range(0, len(body), size))
        return data + b"0" + extension + b"\r\n" + trailers + b"\r\n"

    def chunked_head(self, **headers):
        fields = {"Content-Length": None, "Transfer-Encoding": "chunked", **headers}
        return self.m.request_bytes(self.echo(), fields).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"

    def test_chunked(self):
        """HTTP-08 E14: chunked bodies, in pieces of any size, with extensions and trailers; the next request follows right behind."""
        body = hc.text_bytes(self.echo())
        with self.server.connect() as c:
            for size in (1, 2, 7, 64, len(body), 10_000):
                for extension, trailers in ((b"", b""), (b";name=value", b""), (b';n="v"', b"X-T: 1\r\nX-U: 2\r\n")):
                    with self.subTest(size=size, extension=extension):
                        c.send(self.chunked_head() + self.chunked(body, size, extension, trailers))
                        self.is_echo(c.response())
            c.send(self.chunked_head(**{"Transfer-Encoding": "Chunked"}) + self.chunked(body, 5))
            self.is_echo(c.response())
            self.serves(c)

    def test_trailers_are_no_headers(self):
        """HDR-04: trailers are not used as mirrored headers."""
        body = hc.text_bytes(self.echo())
        with self.server.connect() as c:
            c.send(self.chunked_head(**{"Mcp-Name": None}) + self.chunked(body, 50, b"", b"Mcp-Name: echo\r\n"))
            self.is_error(hc.Exchange(c, self.m.check, owned=False), 400, -32020, 1)

    def test_byte_by_byte(self):
        """HTTP-08 J4: requests that arrive one byte at a time are served, sized and chunked."""
        with self.server.connect() as c:
            c.dribble(self.good())
            self.is_echo(c.response())
            c.dribble(self.chunked_head() + self.chunked(hc.text_bytes(self.echo()), 9, b";x", b"X-T: 1\r\n"))
            self.is_echo(c.response())
            self.serves(c)

    def test_cut_anywhere(self):
        """HTTP-08: a request in two segments, cut at every byte."""
        data = self.good()
        with self.server.connect() as c:
            for cut in range(1, len(data)):
                c.send(data[:cut])
                c.send(data[cut:])
                self.is_echo(c.response())

    def test_empty_lines_before_a_request(self):
        """HTTP-08: an empty line before a request is skipped."""
        with self.server.connect() as c:
            c.send(b"\r\n" + self.good())
            self.is_echo(c.response())
            c.send(b"\r\n" + self.good())
            self.is_echo(c.response())

    def test_expect_continue(self):
        """HTTP-08: Expect: 100-continue is answered with 100 and then the response; a refusal is sent without 100."""
        data = self.good(headers={"Expect": "100-continue"})
        cut = data.index(b"\r\n\r\n") + 4
        with self.server.connect() as c:
            for expect in ("100-continue", "100-Continue"):
                data = self.good(headers={"Expect": expect})
                c.send(data[:cut])
                self.assertEqual(c.response().status, 100)
                c.send(data[cut:])
                self.is_echo(c.response())
            head = self.chunked_head(Expect="100-continue")
            c.send(head)
            self.assertEqual(c.response().status, 100)
            c.send(self.chunked(hc.text_bytes(self.echo()), 10))
            self.is_echo(c.response())
            c.send(data)  # it does not wait for us
            r = c.response()
            self.is_echo(c.response() if r.status == 100 else r)
            self.serves(c)

    def test_expect_and_refuse(self):
        """HTTP-08 E3: no 100 Continue for a body that is too large; other refusals may follow it; unknown expectations get 417."""
        for headers, status in (({"Content-Length": 5 * MIB}, 413), ({"Origin": EVIL}, 403), ({"Host": "evil.example"}, 421),
                                ({"Content-Type": "text/plain"}, 415), ({"Accept": "text/html"}, 406)):
            with self.subTest(headers=headers), self.server.connect() as c:
                data = self.good(headers={"Expect": "100-continue", **headers})
                cut = data.index(b"\r\n\r\n") + 4
                c.send(data[:cut])
                r = c.response()
                if r.status == 100 and status != 413:
                    c.send(data[cut:])
                    r = c.response()
                self.assertEqual(r.status, status)
        with self.m.post(self.echo(), {"Expect": "a miracle"}) as e:
            self.assertEqual(e.status, 417)
        self.serves()

    def test_http_1_0(self):
        """HTTP-08 HTTP-17: HTTP/1.0 responses are not chunked; the end of the connection ends the response."""
        plain = self.good().replace(b"HTTP/1.1", b"HTTP/1.0")
        with self.server.connect() as c:
            c.send(plain)
            r = c.response()
            self.assertNotIn("transfer-encoding", r.headers)
            self.is_echo(r)
            self.assertEqual(c.ends(), b"")
        message = self.m.call(2, "speak", {"n": 3, "text": "done"}, progressToken=1)
        self.m.note_sent(message)
        with self.server.connect() as c:
            c.send(self.m.request_bytes(message).replace(b"HTTP/1.1", b"HTTP/1.0"))
            e = hc.Exchange(c, self.m.check, owned=False)
            self.assertEqual(e.response.framing, "close")
            self.assertEqual([m.get("method") for m in e.messages()], ["notifications/progress"] * 3 + [None])
            self.assertFalse(e.stream.broken)
        with self.server.connect() as c:  # kept open only if both say so
            c.send(plain.replace(b"Host:", b"Connection: keep-alive\r\nHost:", 1))
            r = c.response()
            self.is_echo(r)
            if r.keeps_open:
                self.serves(c)
            else:
                self.assertEqual(c.ends(), b"")
        with self.server.connect() as c:  # no Host was needed then
            c.send(plain.replace(b"Host: " + self.server.host_header.encode() + b"\r\n", b""))
            self.assertIn(c.response().status, (200, 400, 421))

    def test_connection_close(self):
        """HTTP-08 HTTP-17: Connection: close closes the connection after the answer, JSON or stream; later input is not read."""
        key = self.key()
        for option in ("close", "Close", "keep-alive, close", "close, x"):
            with self.subTest(option=option), self.server.connect() as c:
                c.send(self.good(headers={"Connection": option}) + self.parks(key))
                r = c.response()
                self.assertIn("close", r.headers.get("connection", "").lower())
                self.is_echo(r)
                self.assertEqual(c.ends(), b"")
        with self.server.connect() as c:
            e = self.m.post(self.m.call(2, "speak", {"n": 3}, progressToken=1), {"Connection": "close"}, on=c)
            self.assertEqual(len(e.messages()), 4)
            self.assertFalse(e.stream.broken)
            self.assertEqual(c.ends(), b"")
        self.never_ran(key)

    def test_pipelined(self):
        """HTTP-08 I4: pipelined requests are answered in order, each once."""
        with self.server.connect() as c:
            c.send(b"".join(self.good(n, f"text {n}") for n in range(200)))
            for n in range(200):
                self.is_echo(c.response(), n, f"text {n}")
            self.assertTrue(c.silent())

    def test_pipelined_behind_a_slow_one(self):
        """HTTP-08 I4: requests pipelined behind a slow one wait for it, and are then answered in order: JSON, a stream, a refusal, JSON."""
        key = self.key()
        m = self.m
        slow, speak, bad = m.call(1, "park", {"key": key}), m.call(2, "speak", {"n": 2}, progressToken=1), m.request(3, "no/such")
        for message in (slow, speak, bad):
            m.note_sent(message)
        with self.server.connect() as c:
            c.send(b"".join(map(m.request_bytes, (slow, speak, bad))) + self.good(4))
            self.control.wait(key, "begun")
            self.assertTrue(c.silent())
            self.control.release(key, "at last")
            self.assertEqual(kp.text_of(hc.Exchange(c, m.check, owned=False).answer(1)), "at last")
            self.assertEqual(len(hc.Exchange(c, m.check, owned=False).messages()), 3)
            self.is_error(hc.Exchange(c, m.check, owned=False), 404, -32601, 3)
            self.is_echo(c.response(), 4)
        self.assertFalse(self.control.status(key)["cancelled"])

    def test_pipelined_without_end(self):
        """J4 J1 I4: reading pauses for a client that sends requests and reads nothing; other clients are served."""
        before = self.server.memory()
        with self.server.connect(receive_buffer=4096) as c:
            data = self.good(1, "x" * 1000) * 64
            sent = 0
            key = self.key()
            c.send(self.parks(key))
            self.control.wait(key, "begun")
            while sent < 64 * MIB and (n := c.send_what_fits(data)):
                sent += n
                self.serves()
            self.assertLess(sent, 64 * MIB, "it was all taken in")
            self.serves()
            if not kp.is_sanitized():
                self.assertLess(self.server.memory(), before + 16 * MIB)
        self.control.wait(key, "cancelled")


class Malformed(InputTest):
    """Requests that two readers could understand in two ways. Each is refused and its connection closed."""

    def refused_and_closed(self, data, statuses=(400,)):
        """One answer, then the end; what might be taken for a second request is none."""
        key = self.key()
        with self.server.connect() as c:
            c.send_what_fits(data.replace(b"@@@", self.parks(key)))
            c.socket.setblocking(True)
            r = c.response()
            self.assertIn(r.status, statuses, r.fields)
            r.body()
            self.assertFalse(r.keeps_open, r.fields)
            self.assertEqual(c.ends(), b"", "a second answer")
        self.never_ran(key)
        self.serves()

    def with_fields(self, *rows, body=None, line=b"POST /mcp HTTP/1.1"):
        """A request with these lines instead of Content-Length."""
        fields = {**self.m.headers_for(self.echo())}
        head = line + b"\r\n" + b"".join(f"{n}: {v}\r\n".encode() for n, v in fields.items())
        return head + b"".join(row + b"\r\n" for row in rows) + b"\r\n" + (hc.text_bytes(self.echo()) if body is None else body)

    def test_lengths(self):
        """HTTP-08 E0: invalid or duplicate lengths: 400."""
        n = b"%d" % len(hc.text_bytes(self.echo()))
        for rows in ((b"Content-Length: +" + n,), (b"Content-Length: -1",), (b"Content-Length: 0x10",), (b"Content-Length: " + n + b".0",),
                     (b"Content-Length: 1e2",), (b"Content-Length: ",), (b"Content-Length: x",), (b"Content-Length: 1 1",),
                     (b"Content-Length: " + n, b"Content-Length: 5"), (b"Content-Length: 5", b"Content-Length: " + n),
                     (b"Content-Length: 5, " + n,), (b"Content-Length: " + n + b";x",), (b"Content-Length: " + n + b"\x0b",),
                     (b"Content-Length: 99999999999999999999",), (b"Content-Length: 18446744073709551617",),
                     (b"Content-Length: \xd9\xa1",)):
            with self.subTest(rows=rows):
                self.refused_and_closed(self.with_fields(*rows) + b"@@@", (400, 413))

    def test_codings(self):
        """HTTP-08 E0: a length with a coding, or unknown codings: 400 or 501; the inner request is never run."""
        for rows in ((b"Content-Length: 5", b"Transfer-Encoding: chunked"), (b"Transfer-Encoding: chunked", b"Content-Length: 5"),
                     (b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"), (b"Transfer-Encoding: chunked, chunked",),
                     (b"Transfer-Encoding: chunked, identity",), (b"Transfer-Encoding: identity",), (b"Transfer-Encoding: gzip",),
                     (b"Transfer-Encoding: gzip, chunked",), (b"Transfer-Encoding: xchunked",), (b"Transfer-Encoding: chunked;q=1",),
                     (b"Transfer-Encoding: \x0bchunked",), (b"Transfer-Encoding:", ), (b'Transfer-Encoding: "chunked"',),
                     (b"Transfer-Encoding: identity", b"Transfer-Encoding: chunked"), (b"Transfer-Encoding: x", b"Content-Length: 5"),
                     (b"Transfer-Encoding : chunked",), (b"Transfer-Encoding\t: chunked",), (b" Transfer-Encoding: chunked",),
                     (b"X: y\r\n Transfer-Encoding: chunked",), (b"Transfer_Encoding: chunked\x00",), (b"Transfer-Encoding\n: chunked",)):
            with self.subTest(rows=rows):
                self.refused_and_closed(self.with_fields(*rows, body=b"0\r\n\r\n@@@"), (400, 411, 415, 501))

    def test_501(self):
        """HTTP-08: an unsupported coding: 501."""
        for coding in (b"gzip", b"gzip, chunked", b"br"):
            with self.subTest(coding=coding):
                self.refused_and_closed(self.with_fields(b"Transfer-Encoding: " + coding, body=b"0\r\n\r\n"), (501,))

    def test_coding_in_http_1_0(self):
        """HTTP-08 E0: transfer codings in HTTP/1.0 are refused, or the connection is closed afterwards."""
        key = self.key()
        data = self.with_fields(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + self.parks(key), line=b"POST /mcp HTTP/1.0")
        with self.server.connect() as c:
            c.send(data)
            self.assertEqual(c.response().status, 400)
            c.ends()
        self.never_ran(key)

    def test_chunks(self):
        """HTTP-08 E0: invalid chunk sizes, and chunks that do not end at their size: 400."""
        for body in (b"0x5\r\nhello\r\n0\r\n\r\n@@@", b"-5\r\nhello\r\n0\r\n\r\n@@@", b"+5\r\nhello\r\n0\r\n\r\n@@@",
                 b"5\nhello\n0\n\n@@@",
                     b" 5\r\nhello\r\n0\r\n\r\n@@@", b"g\r\nhello\r\n0\r\n\r\n@@@", b"\r\nhello\r\n0\r\n\r\n@@@",
                     b";x\r\nhello\r\n0\r\n\r\n@@@",
                     b"5\r\nhelloX\r\n0\r\n\r\n@@@", b"5\r\nhello0\r\n\r\n@@@", b"5\r\nhello\n0\r\n\r\n@@@", b"5\r\rhello\r\n0\r\n\r\n@@@",
                     b"5\x00\r\nhello\r\n0\r\n\r\n@@@", b"10000000000000005\r\nhello\r\n0\r\n\r\n@@@", b"5;\x00\r\nhello\r\n0\r\n\r\n@@@",
                     b"5;a\nb\r\nhello\r\n0\r\n\r\n@@@", b"5,5\r\nhello\r\n0\r\n\r\n@@@", b"5;" + b"x" * 100_000 + b"\r\nhello\r\n0\r\n\r\n@@@",
                     b"ffffffffffffffff\r\nhello\r\n0\r\n\r\n@@@", b"0000000000000000000000000000000000000000005\r\nhello\r\n0\r\n\r\n@@@",
                     b"5\r\nhello\r\n0\r\nX: y\r\n" + b"X: y\r\n" * 10_000 + b"\r\n@@@", b"5\r\nhello\r\n0\r\n folded\r\n\r\n@@@"):
            with self.subTest(body=body[:60]):
                self.refused_and_closed(self.with_fields(b"Transfer-Encoding: chunked", body=body), (400, 413, 431))

    def test_heads(self):
        """HTTP-08 E0: invalid heads: 400."""
        n = b"Content-Length: %d" % len(hc.text_bytes(self.echo()))
        for rows in ((b"No colon", n), (b": no name", n), (b"Bad name: x", n), (b"Bad\x00name: x", n), (b"X: a\x00b", n), (b"X: a\rb", n),
                     (b"Name : x", n), (b"Name\t: x", n), (b"X: y", b" folded", n), (b"X: y", b"\tfolded", n), (b"(x): y", n),
                     (b"X\x80: y", n),
                     (b"X: \x7f", n), (b"X: \x1b", n), (n, b"Host: " + self.server.host_header.encode())):
            with self.subTest(rows=rows):
                self.refused_and_closed(self.with_fields(*rows) + b"@@@")
        self.refused_and_closed(self.with_fields(n).replace(b"Host: ", b"X-Host: ") + b"@@@")  # a Host there must be
        self.refused_and_closed(b"POST /mcp HTTP/1.1\r\n Host: x\r\n\r\n@@@")

    def test_bare_newlines(self):
        """HTTP-08 E0: lines that end with LF alone are refused, and never end a head."""
        n = b"Content-Length: %d" % len(hc.text_bytes(self.echo()))
        good = self.with_fields(n)
        for data in (good.replace(b"\r\n", b"\n"), good.replace(b"\r\n\r\n", b"\r\n\n", 1), good.replace(b"\r\n\r\n", b"\n\r\n", 1),
                     good.replace(b"\r\n", b"\r"), good.replace(b"\r\n", b"\n", 1), good.replace(b"Host", b"X: y\nHost"),
                     good.replace(b"Host", b"X: y\rHost")):
            with self.subTest(data=data[:80]):
                self.refused_and_closed(data + b"\r\n\r\n@@@")

    def test_request_lines(self):
        """HTTP-08 E0: invalid request lines: 400; another HTTP version: 505."""
        n = b"Content-Length: %d" % len(hc.text_bytes(self.echo()))
        for line in (b"POST  /mcp HTTP/1.1", b"POST /mcp  HTTP/1.1", b"POST /mcp HTTP/1.1 ", b" POST /mcp HTTP/1.1", b"POST /mcp", b"POST",
                     b"POST /m cp HTTP/1.1", b"POST\t/mcp\tHTTP/1.1", b"POST /mcp HTTP/1.1\x00", b"POST /mcp http/1.1",
                     b"POST /mcp HTTP/1.1x",
                     b"POST /mcp HTTP/11", b"POST /mcp HTTP/1", b"POST /mcp HTTP/ 1.1", b"P(ST /mcp HTTP/1.1", b"POST mcp HTTP/1.1",
                     b"POST /mcp\x00 HTTP/1.1", b"POST /mcp\x7f HTTP/1.1", b"POST /\xff HTTP/1.1", b"POST * HTTP/1.1",
                     b"POST /mcp#x HTTP/1.1",
                     b"POST /mcp HTTPS/1.1", b"POST /mcp HTTP/1.10", b"POST /mcp HTTP/01.1"):
            with self.subTest(line=line):
                self.refused_and_closed(self.with_fields(n, line=line) + b"@@@", (400, 404, 505))
        for line in (b"POST /mcp HTTP/2.0", b"POST /mcp HTTP/3.0", b"POST /mcp HTTP/0.9", b"POST /mcp HTTP/9.9"):
            with self.subTest(line=line):
                self.refused_and_closed(self.with_fields(n, line=line) + b"@@@", (505,))
        self.refused_and_closed(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400, 505))  # HTTP/2, without having asked

    def test_garbage(self):
        """HTTP-08 E0 J4: input that is not HTTP is answered 400 or closed, at once."""
        for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), b"\x00" * 100 + b"\r\n\r\n", b"{}\r\n\r\n",
                     b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n\r\n', b"\xff" * 100 + b"\r\n\r\n", b"SSH-2.0-x\r\n\r\n",
                     b"EHLO x\r\n\r\n"):
            with self.subTest(data=data[:20]), self.server.connect() as c:
                c.send(data)
                said = c.ends()
                self.assertTrue(said == b"" or said.startswith(b"HTTP/1.1 400") or b" 505 " in said[:20], said[:100])
        self.serves()

    def test_body_of_a_get(self):
        """HTTP-08 E0: an unexpected body is read as a body, not as the next request."""
        key = self.key()
        inner = self.parks(key)
        for verb in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD"):
            with self.subTest(verb=verb), self.server.connect() as c:
                c.send(hc.head(verb, "/elsewhere", {"Host": self.server.host_header, "Content-Length": len(inner)}) + inner)
                r = c.response(verb)
                r.body()
                if r.keeps_open:
                    self.serves(c)
                else:
                    self.assertEqual(c.ends(), b"")
        self.never_ran(key)


# ---- web pages ----


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
        with self.m.post(self.echo(), path="http://evil.example/mcp") as e:  # the target wins over the header
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


# ---- limits ----


class SlowClients(InputTest):
    options = ()
    settings = {"threads": 1, "head_time": 300, "body_time": 300, "idle_time": 2000}

    def times_out(self, c, sends=b""):
        """Sends a byte whenever nothing has come for a moment, until something has."""
        at = 0
        deadline = kp.Deadline("an answer")
        poller = select.poll()
        poller.register(c.socket, select.POLLIN)
        while not poller.poll(5):
            deadline.left()
            if at < len(sends):
                c.send(sends[at:at + 1])
                at += 1
        r = c.response()
        self.assertEqual(r.status, 408)
        r.body()
        self.assertFalse(r.keeps_open)
        self.assertEqual(c.ends(), b"")

    def test_j4_slow_heads(self):
        """J4: a head that is not complete in time: 408, then the connection is closed; others are served meanwhile."""
        data = self.good()
        end = data.index(b"\r\n\r\n")
        for first in (1, 20, end, end + 3):
            with self.subTest(first=first), self.server.connect() as c:
                c.send(data[:first])
                self.serves()
                self.times_out(c)
        with self.server.connect() as c:  # bytes do not buy time
            self.times_out(c, b"POST /mcp HTTP/1.1\r\n" + b"X: y\r\n" * 1000)
        with self.server.connect() as c:  # nor does it matter that there was a good request before
            self.serves(c)
            c.send(b"POST")
            self.times_out(c)

    def test_j4_slow_bodies(self):
        """J4: a body that is not complete in time, sized or chunked: 408, then the connection is closed; nothing ran."""
        key = self.key()
        data = self.parks(key)
        start = data.index(b"\r\n\r\n") + 4
        for cut in (start, start + 1, len(data) - 1):
            with self.subTest(cut=cut), self.server.connect() as c:
                c.send(data[:cut])
                self.serves()
                self.times_out(c)
        with self.server.connect() as c:
            c.send(data[:start].replace(b"Content-Length: ", b"Content-Length: 9"))
            self.times_out(c, b" " * 2000)
        with self.server.connect() as c:
            chunked = self.m.request_bytes(self.echo(), {"Content-Length": None, "Transfer-Encoding": "chunked"})
            c.send(chunked.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
            self.times_out(c, b"1\r\n \r\n" * 500)
        self.never_ran(key)

    def test_j4_idle(self):
        """J4: an idle connection is closed, at its start or between requests; one that waits for an answer is not."""
        key = self.key()
        with self.server.connect() as silent, self.server.connect() as used, self.m.post(self.m.call(1, "park", {"key": key})) as e:
            self.control.wait(key, "begun")
            self.serves(used)
            for c in (silent, used):
                left = c.ends()
                self.assertTrue(left == b"" or b" 408 " in left[:20], left)
            with self.server.connect() as once_more:  # so long again
                once_more.ends()
            self.control.close()  # it was idle, too
            self.control.release(key, "patience")
            self.assertEqual(kp.text_of(e.answer(1)), "patience")


class FewConnections(InputTest):
    options = ()
    settings = {"threads": 1, "max_connections": 4}

    def setUp(self):
        HttpTest.setUp(self)
        self.m = self.modern()

    def test_j4_connections(self):
        """J4: connections beyond the limit get 503 and are closed at once; when one closes, another is served."""
        self.control.close()
        used = []
        for _ in range(4):
            c = self.enterContext(self.server.connect())
            self.serves(c)
            used.append(c)
        for _ in range(20):
            with self.server.connect() as c:
                c.send_what_fits(self.good())
                c.socket.setblocking(True)
                said = c.ends()
                self.assertRegex(said, rb"\AHTTP/1\.1 503 [^\0]*(?i:retry-after: \d+)")
        for c in used:
            self.serves(c)
        used[0].close()

        def one_comes_in():
            with self.server.connect() as c:
                c.send_what_fits(self.good())
                c.socket.setblocking(True)
                r = c.response()
                return r.status == 200

        kp.until(one_comes_in, "a place to be free")


class FewCalls(InputTest):
    options = ()
    settings = {"threads": 1, "max_in_flight": 1000, "max_in_flight_total": 5}

    def running(self):
        return self.server.metrics()["keel_requests_in_flight"]

    def test_f8_j4_calls(self):
        """F8 J4: calls beyond the limit get 503 with Retry-After at once, in all revisions; accepted ones are answered."""
        s = self.session()
        keys = [self.key() for _ in range(5)]
        held = [self.enterContext(self.m.post(self.m.call(n, "park", {"key": key}))) for n, key in enumerate(keys)]
        kp.until(lambda: self.running() == 5, "five calls to run")
        excess = self.key()
        for _ in range(20):
            for client, message in ((self.m, self.m.call(9, "park", {"key": excess})), (s, call(9, "park", {"key": excess}))):
                with client.post(message) as e:
                    self.assertEqual(e.status, 503)
                    self.assertRegex(e.headers["retry-after"], r"\A\d+\Z")
                    body = e.json()
                    if body is not None:
                        self.assertEqual(body["error"]["code"], -32603)
        with self.m.bare("GET", {"Accept": "*/*"}, path="/health") as e:
            self.assertEqual(e.status, 200)
        held[0].reset()  # a cancel still works
        kp.until(lambda: self.running() == 4, "a call to be cancelled")
        self.assertTrue(self.control.status(keys[0])["cancelled"])
        self.assertFalse(self.control.status(excess)["begun"])
        for n, key in enumerate(keys[1:], 1):
            self.control.release(key, key)
            self.assertEqual(kp.text_of(held[n].answer(n)), key)
        self.nothing_runs()


class FewSessions(InputTest):
    options = ()
    settings = {"threads": 1, "max_sessions": 3}

    def test_j4_sessions(self):
        """J4: beyond the limit of sessions initialize is answered 503; existing sessions continue; 2026-07-28 requests need no session."""
        sessions = [self.session() for _ in range(3)]
        for _ in range(10):
            with Session(self.server, opened=False).post(kp.initialize(0)) as e:
                self.assertEqual(e.status, 503)
                self.assertNotIn(hc.SESSION_HEADER, e.headers)
                self.assertIn("retry-after", e.headers)
        for s in sessions:
            self.assertEqual(s.text(call(1, "echo", {"text": "x"})), "x")
        self.serves()
        self.assertEqual(sessions[0].delete(), 200)
        kp.until(lambda: self.server.metrics()["keel_http_sessions"] == 2, "a session to be forgotten")
        self.assertTrue(self.session().id)


if __name__ == "__main__":
    kp.main()
