#!/usr/bin/env python3
"""Limits of the HTTP server: sizes, timeouts, connections, calls and sessions."""

# ctest-timeout: 900

import select

import http_client as hc
import keel_process as kp
from http_client import Session, head
from http_input import InputTest
from http_test import HttpTest
from keel_process import MIB, call


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
                self.assertFalse(r.keeps_open, "the rest is a body that is not read")
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
                while c.silent() and sent < 64 * MIB:  # it must answer long before
                    sent += c.send_until_blocked(piece * 8)
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
            c.send_until_blocked(self.good(1, "x" * (fill + 1)))
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
                c.send_until_blocked(data)
                self.assertIn(c.response().status, statuses)
                self.serves()

    def test_j4_head_without_end(self):
        """J4: an endless head is refused, whatever it contains; memory does not grow."""
        before = self.counted()
        for endless in (b"POST /mcp HTTP/1.1\r\n" + b"X: y\r\n" * 1_000_000, b"A" * (8 * MIB), b"POST /" + b"a" * (8 * MIB),
                        b"\r\n" * (4 * MIB), b"POST /mcp HTTP/1.1\r\nX: " + b" " * (8 * MIB), b"\x00" * MIB, b"\x16\x03\x01" + b"x" * MIB):
            with self.subTest(begins=endless[:24]), self.server.connect() as c:
                c.send_until_blocked(endless)
                c.socket.setblocking(True)
                said = c.ends()
                self.assertRegex(said[:12] or b"HTTP/1.1 400", rb"HTTP/1\.[01] 4\d\d")
        self.census_is(before)
        self.stays_below(self.server, 120 * MIB, "after endless heads")


class SlowClients(InputTest):
    options = ()
    settings = {"threads": 1, "head_time": 300, "body_time": 300, "idle_time": 2000}

    def times_out(self, c, sends=b""):
        """Sends a byte at short intervals until a response arrives."""
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
        with self.server.connect() as c:  # bytes do not extend the timeout
            self.times_out(c, b"POST /mcp HTTP/1.1\r\n" + b"X: y\r\n" * 1000)
        with self.server.connect() as c:  # a valid request before it makes no difference
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
            with self.server.connect() as once_more:  # the same time again
                once_more.ends()
            self.control.close()  # it was idle too
            self.control.release(key, "patience")
            self.assertEqual(kp.text_of(e.answer(1)), "patience")


class ConnectionLimit(InputTest):
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
                c.send_until_blocked(self.good())
                c.socket.setblocking(True)
                said = c.ends()
                self.assertRegex(said, rb"\AHTTP/1\.1 503 [^\0]*(?i:retry-after: \d+)")
        for c in used:
            self.serves(c)
        used[0].close()

        def one_comes_in():
            with self.server.connect() as c:
                c.send_until_blocked(self.good())
                c.socket.setblocking(True)
                r = c.response()
                return r.status == 200

        kp.until(one_comes_in, "a free slot")


class CallLimit(InputTest):
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


class SessionLimit(InputTest):
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
        kp.until(lambda: self.server.metrics()["keel_http_sessions"] == 2, "a session to be removed")
        self.assertTrue(self.session().id)


if __name__ == "__main__":
    kp.main()
