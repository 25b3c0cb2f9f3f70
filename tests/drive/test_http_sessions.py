#!/usr/bin/env python3
"""Sessions of the older revisions over HTTP: how they start, expire and end, and who can use them."""

# ctest-labels: threads
# ctest-timeout: 900

import json
import threading

import http_client as hc
import keel_process as kp
from http_client import Modern, Session
from http_test import LATEST, WITH_STREAMS, HttpTest, in_each
from keel_process import MIB, call, initialize, notification, request

NO_SESSION = "0" * 32


class Opening(HttpTest):
    def refusals(self):
        """First requests that are refused, each as (name, bytes, status)."""
        s = Session(self.server, opened=False)
        first = initialize(0, LATEST)
        whole = s.request_bytes
        return [
            ("method", whole(first, method="PUT"), (405,)),
            ("path", whole(first, path="/elsewhere"), (404,)),
            ("Accept", whole(first, {"Accept": "text/html"}), (406,)),
            ("Content-Type", whole(first, {"Content-Type": "text/plain"}), (415,)),
            ("Origin", whole(first, {"Origin": "http://evil.example"}), (403,)),
            ("Host", whole(first, {"Host": "evil.example"}), (403, 421)),
            ("version", whole(first, {"MCP-Protocol-Version": "1900-01-01"}), (400,)),
            ("not JSON", whole(b'{"jsonrpc":"2.0","id":0,"method":"initialize"'), (400,)),
            ("not an object", whole(b"7"), (400,)),
            ("no id of a session", whole(call(1, "echo", {"text": "x"})), (400,)),
            ("a notification", whole(notification("notifications/initialized")), (400,)),
            ("an answer", whole({"jsonrpc": "2.0", "id": 1, "result": {}}), (400,)),
            ("unknown session", whole(first, {"Mcp-Session-Id": NO_SESSION}), (400, 404)),
            ("failed initialize", whole(request(0, "initialize", {"protocolVersion": 7})), (200, 400)),
            ("initialize without parameters", whole(request(0, "initialize")), (200, 400)),
        ]

    def test_h1_refused_requests_leak_nothing(self):
        """H1: refused requests create no session and send no session header; a thousand of them leave nothing behind."""
        before = self.control.census()
        for name, data, statuses in self.refusals():
            with self.subTest(refused=name):
                c = None
                for _ in range(1000):
                    c = c or self.server.connect()
                    c.send(data)
                    r = c.response()
                    body = r.body()
                    self.assertIn(r.status, statuses, body)
                    self.assertNotIn(hc.SESSION_HEADER, r.headers)
                    if r.content_type == "application/json" and body:
                        self.assertNotIn("result", json.loads(body))
                    if not r.keeps_open:
                        c.close()
                        c = None
                if c:
                    c.close()
        self.same_census(before)
        self.still_serves()

    def test_h1_too_large(self):
        """H1 E3: a first request with a body beyond 4 MiB is answered 413 while it is being sent; nothing is kept."""
        before = self.control.census()
        s = Session(self.server, opened=False)
        body = kp.line(initialize(0, LATEST))[:-1]
        body = body[:-1] + b',"x":"' + b"x" * (5 * MIB) + b'"}'
        for _ in range(20):
            with self.server.connect() as c:
                c.send_until_blocked(s.request_bytes(body))
                r = c.response()
                self.assertEqual(r.status, 413)
                self.assertNotIn(hc.SESSION_HEADER, r.headers)
        self.same_census(before)
        self.still_serves()

    def same_census(self, before):
        """Waits until all counts are back to their previous values."""
        names = [n for n in ("connections", "in_flight", "sessions", "streams", "descriptors") if n in before]
        now = {}

        def is_back():
            now.update(self.control.census())
            return all(now[n] <= before[n] for n in names)

        try:
            kp.until(is_back, "all counts to return to their previous values")
        except kp.Hang as e:
            raise AssertionError(f"before {before}, now {now}") from e

    @in_each(*WITH_STREAMS, "2024-11-05")
    def test_a_session_opens(self, version):
        """LHTTP-08 HTTP-07 HTTP-08: initialize returns a session id of visible ASCII; notifications/initialized is accepted, without body."""
        s = self.session(version, opened=False)
        with s.post(initialize(0, version)) as e:
            self.assertEqual(e.status, 200)
            self.assertEqual(e.answer(0)["result"]["protocolVersion"], version)
            ident = e.headers[hc.SESSION_HEADER]
            self.assertRegex(ident, r"\A[\x21-\x7e]+\Z")
        s.id, s.agreed = ident, version
        self.assertEqual(s.notify("notifications/initialized"), 202)
        self.assertEqual(s.text(call(1, "echo", {"text": version})), version)
        self.assertEqual(s.ask(request(2, "ping"))["result"], {})
        self.assertEqual(s.delete(), 200)

    @in_each()
    def test_ids_of_sessions_cannot_be_guessed(self, version):
        """LHTTP-08: session ids are unique, have no common parts, and have room for 128 bits."""
        with self.server.connect() as c:
            ids = []
            for _ in range(200):
                s = self.session(version, opened=False)
                s.initialize(on=c)
                ids.append(s.id)
        self.assertEqual(len(set(ids)), len(ids))
        for ident in ids:
            self.assertGreaterEqual(len(ident), 22, ident)
            self.assertRegex(ident, r"\A[\x21-\x7e]+\Z")
        # Neither half of an id is a counter or a constant.
        half = min(map(len, ids)) // 2
        self.assertGreater(len({i[:half] for i in ids}), 190)
        self.assertGreater(len({i[-half:] for i in ids}), 190)

    def test_h17_initialize_again(self):
        """H17: initialize on a live session is answered 400 and changes nothing."""
        s = self.session()
        with s.post(initialize(7, "2025-03-26")) as e:
            self.is_error(e, 400, ident=7)
            self.assertNotEqual(e.headers.get(hc.SESSION_HEADER, s.id), "")
        self.assertEqual(s.ask(call(8, "who"))["result"]["structuredContent"]["protocol_version"], LATEST)

    def test_h18_a_slow_initialize(self):
        """H18: clients that stall in the middle of initialize do not delay others."""
        slow = []
        for _ in range(3):
            s = self.session(opened=False)
            data = s.request_bytes(initialize(0, LATEST))
            for cut in (1, data.index(b"\r\n\r\n"), data.index(b"\r\n\r\n") + 4, len(data) - 1):
                c = self.enterContext(self.server.connect())
                c.send(data[:cut])
                slow.append((s, c, data[cut:]))
            c = self.enterContext(self.server.connect(receive_buffer=1024))
            c.send(data)
            slow.append((s, c, b""))  # it does not read
        for _ in range(100):
            self.assertTrue(self.session().id)
        for s, c, rest in slow:
            c.send(rest)
            r = c.response()
            self.assertEqual(r.status, 200)
            self.assertIn(hc.SESSION_HEADER, r.headers)

    @in_each()
    def test_e11_before_initialize(self, version):
        """E11 LHTTP-22: a request without a session is refused with 400 and -32600; one before notifications/initialized is served."""
        s = self.session(version, opened=False)
        self.is_error(s.post(call(1, "echo", {"text": "x"})), 400, -32600, ident=1)
        s.initialize()
        self.assertEqual(s.text(call(2, "echo", {"text": "early"})), "early")

    def test_e14_disconnect_in_the_middle_of_a_request(self):
        """E14: the client disconnects after any byte of a request: nothing is created, nothing logged."""
        before = self.control.census()
        said = self.server.stderr_text()
        s = self.session(opened=False)
        data = s.request_bytes(initialize(0, LATEST))
        for cut in range(len(data)):
            c = self.server.connect()
            c.send(data[:cut])
            c.reset() if cut % 2 else c.close()
        self.same_census(before)
        new = [row for row in self.server.stderr_text()[len(said):].splitlines() if not row.startswith("debug")]
        self.assertEqual(new, [])
        self.still_serves()

    def test_e14_half_closed_in_the_middle(self):
        """E14: a half-close after half a body closes the connection, and nothing is created."""
        before = self.control.census()
        data = self.session(opened=False).request_bytes(initialize(0, LATEST))
        for cut in (1, 10, data.index(b"\r\n\r\n") + 4, len(data) - 1):
            with self.server.connect() as c:
                c.send(data[:cut])
                c.half_close()
                left = c.ends()
                self.assertNotIn(b"mcp-session-id", left.lower())
        self.same_census(before)


class Identity(HttpTest):
    def each_way(self, s, **headers):
        """One request of each kind that needs a session."""
        yield "POST request", s.post(call(1, "echo", {"text": "x"}), headers)
        yield "POST notification", s.post(notification("notifications/initialized"), headers)
        yield "POST answer", s.post({"jsonrpc": "2.0", "id": 1, "result": {}}, headers)
        yield "GET", s.bare("GET", headers)
        yield "DELETE", s.bare("DELETE", headers)

    @in_each()
    def test_h2_session_id_missing(self, version):
        """H2 LHTTP-22: without a session id every method is answered 400."""
        s = self.session(version)
        for way, e in self.each_way(s, **{"Mcp-Session-Id": None}):
            with self.subTest(way=way):
                self.refused(e, 400)
        self.assertEqual(s.text(call(2, "echo", {"text": "alive"})), "alive")

    @in_each()
    def test_h2_session_id_unknown_or_ended(self, version):
        """H2 LHTTP-10: unknown and ended sessions get the same 404 response."""
        s = self.session(version)
        unknown = s.id[:-8] + ("A" * 8 if s.id[-8:] != "A" * 8 else "B" * 8)
        dead = self.session(version)
        self.assertEqual(dead.delete(), 200)
        answers = {}
        for ident in (unknown, dead.id, "x", "x" * 500):
            for way, e in self.each_way(s, **{"Mcp-Session-Id": ident}):
                with self.subTest(way=way, ident=ident[:40]):
                    body = self.refused(e, 404)
                    said = [f for f in e.response.fields if f[0].lower() != "date"], body.replace(ident.encode(), b"")
                    self.assertEqual(answers.setdefault(way, said), said)
        self.assertEqual(s.text(call(2, "echo", {"text": "alive"})), "alive")

    @in_each()
    def test_h4_ended_permanently(self, version):
        """H4 LHTTP-10: after DELETE the session is answered 404, each time; a second DELETE too."""
        s = self.session(version)
        self.assertEqual(s.delete(), 200)
        for _ in range(3):
            for way, e in self.each_way(s):
                with self.subTest(way=way):
                    self.refused(e, 404)

    def test_h4_j3_sessions_leak_nothing(self):
        """H4 J3: thousands of sessions, each with a call and a stream, created and deleted: nothing of them remains."""
        def rounds(n):
            c = self.server.connect()
            for _ in range(n):
                s = Session(self.server, opened=False)
                s.initialize(on=c)
                e = s.post(call(1, "speak", {"n": 2}, {"progressToken": 1}), on=c)
                e.answer(1)
                e.done()
                if not e.response.keeps_open:
                    c.close()
                    c = self.server.connect()
                self.assertEqual(s.bare("DELETE", on=c).done(), 200)
            c.close()

        rounds(1000)  # reused memory is allocated now
        before = self.control.census()
        rounds(3000)
        kp.until(lambda: self.control.census()["connections"] <= before["connections"], "the connection to be removed")
        now = self.control.census()
        for name in ("sessions", "streams", "descriptors"):
            self.assertLessEqual(now.get(name, 0), before.get(name, 0), name)
        if not kp.is_sanitized():
            self.assertLess(now["resident_bytes"] - before["resident_bytes"], 4 * MIB)

    def test_header_names_in_any_case(self):
        """HDR-06: header names are case-insensitive."""
        s = self.session()
        e = s.post(call(1, "echo", {"text": "x"}), {"Mcp-Session-Id": None, "mCP-sESSION-iD": s.id})
        self.is_text(e.answer(1), "x")

    @in_each("2025-06-18", LATEST)
    def test_version_header(self, version):
        """HDR-15 HDR-21: an unsupported MCP-Protocol-Version is answered 400; without one the session's revision applies."""
        s = self.session(version)
        for wrong in ("1999-01-01", "x", "2025-13-99"):
            self.refused(s.post(call(1, "echo", {"text": "x"}), {"MCP-Protocol-Version": wrong}), 400)
        e = s.post(call(2, "who"), {"MCP-Protocol-Version": None})
        self.assertEqual(e.answer(2)["result"]["structuredContent"]["protocol_version"], version)


class Credentials(HttpTest):
    """The server authenticates clients: `Authorization: Bearer NAME` is NAME."""

    settings = {"identify": 1}
    credential = "tester"

    @in_each()
    def test_h2_session_of_another(self, version):
        """H2 LHTTP-13: a session can be used only by its owner: others get 404, as for an unknown session, not 401."""
        alice = self.session(version, credential="alice")
        self.assertIn("alice", alice.text(call(1, "who")))
        bob = Session(self.server, version, credential="bob", opened=False)
        bob.agreed = version
        said = []
        for bob.id in (alice.id, NO_SESSION):
            said.append([])
            for message in (call(1, "echo", {"text": "x"}), notification("notifications/initialized"), kp.cancel(1)):
                said[-1].append(self.refused(bob.post(message), 404))
            said[-1].append(self.refused(bob.get(), 404))
            said[-1].append(self.refused(bob.bare("DELETE"), 404))
        self.assertEqual(*said)
        self.refused(alice.post(call(2, "echo", {"text": "x"}), {"Authorization": None}), 401)
        self.assertEqual(alice.text(call(3, "echo", {"text": "alive"})), "alive")

    def test_h2_streams_of_another(self):
        """H2 H16: the streams of a session cannot be resumed by others, even with its id and event ids."""
        alice = self.session(credential="alice")
        key = self.key()
        e = self.streaming(alice, 1, key)
        last = [b.id for b in e.stream.seen if b.id][-1]
        bob = self.session(credential="bob")
        self.refused(bob.get(last, {"Mcp-Session-Id": alice.id}), 404)
        self.refused(bob.get(last), 400)
        self.control.release(key, "mine")
        self.is_text(e.answer(1), "mine")


class Ending(HttpTest):
    @in_each()
    def test_h3_delete_while_calls_run(self, version):
        """H3: DELETE answers 200 at once; the handlers are cancelled, their streams end without an answer, later requests get 404."""
        s = self.session(version)
        keys = [self.key() for _ in range(3)]
        running = [self.streaming(s, i, key, slow_cleanup=True) for i, key in enumerate(keys)]
        quiet = self.listening(s)
        self.assertEqual(s.delete(), 200)  # before any cleanup has ended
        self.refused(s.post(call(9, "echo", {"text": "x"})), 404)
        for e in running:
            self.assertEqual(e.messages(), [])
            self.assertFalse(e.stream.broken)
        self.assertEqual(quiet.messages(), [])
        for key in keys:
            self.control.wait(key, "cancelled")
            self.assertFalse(self.control.status(key)["cleaned_up"])
            self.control.use("clean_up", key=key)
            self.control.wait(key, "finished")
        self.nothing_runs()

    @in_each()
    def test_h3_delete_before_any_message(self, version):
        """H3: the POSTs of calls without messages complete, with 404 and an error or as a stream without an answer."""
        s = self.session(version)
        keys = [self.key() for _ in range(3)]
        running = [self.parked(s, i, key) for i, key in enumerate(keys)]
        self.assertEqual(s.delete(), 200)
        for i, e in enumerate(running):
            if e.is_stream:
                self.assertEqual(e.messages(), [])
            else:
                self.assertEqual(e.status, 404)
                self.assertIn("error", e.json())
        for key in keys:
            self.control.wait(key, "cleaned_up")
        self.nothing_runs()

    def test_h3_delete_does_not_affect_others(self):
        """H3 H5: DELETE of one session does not affect the calls and streams of another."""
        a, b = self.session(), self.session()
        ka, kb = self.key(), self.key()
        self.streaming(a, 1, ka)
        theirs = self.streaming(b, 1, kb)
        self.assertEqual(a.delete(), 200)
        self.control.wait(ka, "finished")
        self.control.release(kb, "untouched")
        self.is_text(theirs.answer(1), "untouched")

    @in_each()
    def test_h3_question_open(self, version):
        """H3 D1: DELETE while a handler waits for an answer of the client: the question fails, the call ends."""
        s = self.session(version, {"roots": {}})
        key = self.key()
        e = self.enterContext(s.post(call(1, "ask", {"key": key, "what": "roots"})))
        self.assertEqual(e.message()["method"], "roots/list")
        self.assertEqual(s.delete(), 200)
        self.control.wait(key, "finished")
        self.assertFalse([m for m in e.messages() if kp.is_answer(m)])


class Expiry(HttpTest):
    """Sessions expire after a short idle time."""

    settings = {"session_idle": 300}

    def sessions(self):
        return self.server.metrics()["keel_http_sessions"]

    def until_idle_sessions_are_gone(self, left):
        """Opens another session and waits until it has expired: at least the idle time has passed."""
        self.session()
        kp.until(lambda: self.sessions() <= left, "idle sessions to expire")

    @in_each()
    def test_h14_idle_session(self, version):
        """H14 H2 H4: an idle session expires, and is answered 404 from then on."""
        s = self.session(version)
        kp.until(lambda: self.sessions() == 0, "the session to expire")
        self.refused(s.post(call(1, "echo", {"text": "x"})), 404)
        self.refused(s.get(), 404)
        self.refused(s.bare("DELETE"), 404)

    def test_h14_busy_session(self):
        """H14: a session with a call in flight does not expire, however long the call takes; afterwards it does."""
        s = self.session()
        key = self.key()
        e = self.parked(s, 1, key)
        for _ in range(10):
            self.until_idle_sessions_are_gone(1)
        self.control.release(key, "still here")
        self.is_text(e.answer(1), "still here")
        kp.until(lambda: self.sessions() == 0, "the session to expire")
        self.refused(s.post(call(2, "echo", {"text": "x"})), 404)

    def test_h14_call_without_connection(self):
        """H14 H6: a session with a running call does not expire, even if the connection of the call is closed."""
        s = self.session()
        key = self.key()
        e = self.streaming(s, 1, key)
        last = [b.id for b in e.stream.seen if b.id][-1]
        e.reset()
        for _ in range(3):
            self.until_idle_sessions_are_gone(1)
        self.control.release(key, "still here")
        with s.get(last) as r:
            self.is_text(r.answer(1), "still here")

    def test_h14_open_stream(self):
        """H14: a session with an open stream does not expire; when the stream is closed, it does."""
        s = self.session()
        g = self.listening(s)
        for _ in range(3):
            self.until_idle_sessions_are_gone(1)
        self.assertEqual(s.text(call(1, "echo", {"text": "alive"})), "alive")
        self.control.use("add_tool", name=self.key("extra"))
        self.assertEqual(g.message()["method"], "notifications/tools/list_changed")
        g.reset()
        kp.until(lambda: self.sessions() == 0, "the session to expire")


class SessionIsolation(HttpTest):
    def test_h5_errors_in_another_session(self):
        """H5: errors in one session do not affect the answers of another."""
        victim = self.session()
        stop = threading.Event()
        problems = []

        def chaos():
            s = Session(self.server)
            try:
                rounds = 0
                while not stop.is_set():
                    rounds += 1
                    for kind in ("exception", "number", "protocol", "tool"):
                        with s.post(call(1, "fail", {"kind": kind, "after": rounds % 3}, {"progressToken": 1})) as e:
                            e.done()
                    with s.post(b'{"jsonrpc":"2.0","id":') as e:
                        e.done()
                    data = s.request_bytes(call(2, "big", {"bytes": 1000}))
                    for cut in (5, len(data) // 2, len(data)):
                        c = self.server.connect()
                        c.send(data[:cut])
                        c.reset()
                    with s.post(call(f"r{rounds}", "big", {"bytes": 100_000}), receive_buffer=2048):
                        pass  # closed without reading
            except BaseException as e:
                problems.append(e)

        workers = [threading.Thread(target=chaos) for _ in range(2)]
        for w in workers:
            w.start()
        try:
            for i in range(300):
                e = victim.post(call(i, "speak", {"n": 3, "text": f"{i}"}, {"progressToken": i}))
                got = e.messages()
                self.assertEqual([m["params"]["progress"] for m in got[:-1]], [1, 2, 3])
                self.is_text(got[-1], f"{i}")
                e.close()
        finally:
            stop.set()
            for w in workers:
                w.join()
        self.assertEqual(problems, [])
        self.nothing_runs()

    def test_j2_one_slow_stream(self):
        """J2 H5: a stream that is not read delays neither other streams of its session nor other sessions."""
        s = self.session()
        key = self.key()
        deaf = self.enterContext(s.post(call(1, "park", {"key": key}, {"progressToken": 1}), receive_buffer=2048))
        self.control.wait(key, "begun")
        for _ in range(20):
            self.control.use("emit", key=key, n=4, bytes=100_000)
        for i in range(2, 30):
            self.assertEqual(s.text(call(i, "echo", {"text": f"{i}"})), f"{i}")
        e = self.enterContext(s.post(call("p", "speak", {"n": 2, "text": "x"}, {"progressToken": 2})))
        self.is_text(e.answer("p"), "x")
        self.assertEqual(self.session().text(call(1, "echo", {"text": "other"})), "other")
        self.control.release(key, "at last")
        self.is_text(deaf.answer(1), "at last")
        numbers = [m["params"]["progress"] for m in deaf.seen if "method" in m]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual(numbers[-1], 80)


class BothEras(HttpTest):
    def test_both_eras_at_once(self):
        """HTTP-01 H5: sessions and requests of 2026-07-28 share the endpoint, and even a connection."""
        s, m = self.session(), self.modern()
        with self.server.connect() as c:
            for i in range(50):
                self.assertEqual(s.text(call(i, "echo", {"text": "old"}), on=c), "old")
                self.assertEqual(m.text(m.call(i, "echo", {"text": "new"}), on=c), "new")

    def test_modern_requests_ignore_the_session(self):
        """HTTP-20 I13: a request of 2026-07-28 with the id of an open or unknown session is served, and the response has no session id."""
        s = self.session()
        m = Modern(self.server)
        for ident in (s.id, NO_SESSION):
            with m.post(m.call(1, "echo", {"text": "x"}), {"Mcp-Session-Id": ident, "Last-Event-ID": "7"}) as e:
                self.is_text(e.answer(1), "x")
                self.assertNotIn(hc.SESSION_HEADER, e.headers)


if __name__ == "__main__":
    kp.main()
