#!/usr/bin/env python3
"""HTTP/1.1 requests: methods, paths, bodies, pipelining, and malformed requests."""

# ctest-timeout: 900

import http_client as hc
import keel_process as kp
from http_client import Modern, head
from http_input import EVIL, InputTest
from keel_process import MIB


class MethodsAndPaths(InputTest):
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
        with self.m.post(self.echo(), path=f"http://{self.server.host_header}/mcp") as e:  # absolute: must be supported
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
        with self.server.connect() as c:  # several headers form one list
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
    settings = {"threads": 1, "keep_alive": kp.HOUR}  # detecting a disconnect must not depend on comments

    def chunked(self, body, size, extension=b"", trailers=b""):
        data = b"".join(b"%x%s\r\n%s\r\n" % (len(body[at:at + size]), extension, body[at:at + size]) for at in range(0, len(body), size))
        return data + b"0" + extension + b"\r\n" + trailers + b"\r\n"

    def chunked_head(self, **headers):
        fields = {"Content-Length": None, "Transfer-Encoding": "chunked", **headers}
        return self.m.request_bytes(self.echo(), fields).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"

    def test_chunked(self):
        """HTTP-08 E14: chunked bodies, in pieces of any size, with extensions and trailers, followed directly by the next request."""
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

    def test_trailers_are_not_headers(self):
        """HDR-04: trailers are not used as mirrored headers."""
        body = hc.text_bytes(self.echo())
        with self.server.connect() as c:
            c.send(self.chunked_head(**{"Mcp-Name": None}) + self.chunked(body, 50, b"", b"Mcp-Name: echo\r\n"))
            self.is_error(hc.Exchange(c, self.m.check, owned=False), 400, -32020, 1)

    def test_byte_by_byte(self):
        """HTTP-08 J4: requests that arrive one byte at a time are served, sized and chunked."""
        with self.server.connect() as c:
            c.send_in_pieces(self.good())
            self.is_echo(c.response())
            c.send_in_pieces(self.chunked_head() + self.chunked(hc.text_bytes(self.echo()), 9, b";x", b"X-T: 1\r\n"))
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
            c.send(data)  # it does not wait for 100 Continue
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
        with self.server.connect() as c:  # kept open only if both sides agree
            c.send(plain.replace(b"Host:", b"Connection: keep-alive\r\nHost:", 1))
            r = c.response()
            self.is_echo(r)
            if r.keeps_open:
                self.serves(c)
            else:
                self.assertEqual(c.ends(), b"")
        with self.server.connect() as c:  # HTTP/1.0 needs no Host
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
            while sent < 64 * MIB and (n := c.send_until_blocked(data)):
                sent += n
                self.serves()
            self.assertLess(sent, 64 * MIB, "everything was read")
            self.serves()
            if not kp.is_sanitized():
                self.assertLess(self.server.memory(), before + 16 * MIB)
        self.control.wait(key, "cancelled")


class Malformed(InputTest):
    """Requests that can be interpreted in two ways. Each is refused and its connection closed."""

    def refused_and_closed(self, data, statuses=(400,)):
        """Expects one response and the end: the rest must not be taken for a second request."""
        key = self.key()
        with self.server.connect() as c:
            c.send_until_blocked(data.replace(b"@@@", self.parks(key)))
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
        self.refused_and_closed(self.with_fields(n).replace(b"Host: ", b"X-Host: ") + b"@@@")  # Host is required
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
        self.refused_and_closed(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400, 505))  # HTTP/2 without an upgrade

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


if __name__ == "__main__":
    kp.main()
