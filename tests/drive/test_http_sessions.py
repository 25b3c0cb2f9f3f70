#!/usr/bin/env python3
"""Sessions of the older revisions over HTTP: how they begin and end, what travels on which stream, what is cancelled and
what is not. Against a real process over real sockets."""

# ctest-labels: threads
# ctest-timeout: 900

import json
import threading

import http_client as hc
import keel_process as kp
from http_client import WITH_STREAMS, HttpTest, Modern, Session, in_each
from keel_process import MIB, call, initialize, notification, request

LATEST = "2025-11-25"
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

    def test_h1_nothing_of_a_refused_request_is_kept(self):
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
                c.send_what_fits(s.request_bytes(body))
                r = c.response()
                self.assertEqual(r.status, 413)
                self.assertNotIn(hc.SESSION_HEADER, r.headers)
        self.same_census(before)
        self.still_serves()

    def same_census(self, before):
        """What can be counted is back where it was."""
        names = [n for n in ("connections", "in_flight", "sessions", "streams", "descriptors") if n in before]
        now = {}

        def is_back():
            now.update(self.control.census())
            return all(now[n] <= before[n] for n in names)

        try:
            kp.until(is_back, "the census to be what it was")
        except kp.Hang as e:
            raise AssertionError(f"before {before}, now {now}") from e

    @in_each(*WITH_STREAMS, "2024-11-05")
    def test_a_session_opens(self, version):
        """LHTTP-08 HTTP-07 HTTP-08: initialize gives a session id of visible ASCII; its confirmation is accepted, without body."""
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
        """LHTTP-08: no two ids are equal, or alike in any part; they have room for 128 bits."""
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
        """E11 LHTTP-22: a request without a session is refused with 400 and -32600; one before the confirmation is served."""
        s = self.session(version, opened=False)
        self.is_error(s.post(call(1, "echo", {"text": "x"})), 400, -32600, ident=1)
        s.initialize()
        self.assertEqual(s.text(call(2, "echo", {"text": "early"})), "early")

    def test_e14_disconnect_in_the_middle_of_a_request(self):
        """E14: the client disconnects after any byte of a request: nothing is created, nothing logged."""
        before = self.control.census()
        said = self.server.said()
        s = self.session(opened=False)
        data = s.request_bytes(initialize(0, LATEST))
        for cut in range(len(data)):
            c = self.server.connect()
            c.send(data[:cut])
            c.reset() if cut % 2 else c.close()
        self.same_census(before)
        new = [row for row in self.server.said()[len(said):].splitlines() if not row.startswith("debug")]
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
        """One request of each kind that names a session."""
        yield "POST request", s.post(call(1, "echo", {"text": "x"}), headers)
        yield "POST notification", s.post(notification("notifications/initialized"), headers)
        yield "POST answer", s.post({"jsonrpc": "2.0", "id": 1, "result": {}}, headers)
        yield "GET", s.bare("GET", headers)
        yield "DELETE", s.bare("DELETE", headers)

    @in_each()
    def test_h2_session_id_missing(self, version):
        """H2 LHTTP-22: without the id of a session every method is answered 400."""
        s = self.session(version)
        for way, e in self.each_way(s, **{"Mcp-Session-Id": None}):
            with self.subTest(way=way):
                self.refused(e, 400)
        self.assertEqual(s.text(call(2, "echo", {"text": "alive"})), "alive")

    @in_each()
    def test_h2_session_id_unknown_or_ended(self, version):
        """H2 LHTTP-10: unknown and ended sessions are answered 404, with the same answer."""
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
    def test_h4_ended_for_ever(self, version):
        """H4 LHTTP-10: after DELETE the session is answered 404, each time; a second DELETE too."""
        s = self.session(version)
        self.assertEqual(s.delete(), 200)
        for _ in range(3):
            for way, e in self.each_way(s):
                with self.subTest(way=way):
                    self.refused(e, 404)

    def test_h4_j3_sessions_leave_nothing(self):
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

        rounds(1000)  # what is reused is there now
        before = self.control.census()
        rounds(3000)
        kp.until(lambda: self.control.census()["connections"] <= before["connections"], "the connection to be forgotten")
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


class Ending(HttpTest):
    @in_each()
    def test_h3_delete_while_calls_run(self, version):
        """H3: DELETE answers 200 at once; the handlers are cancelled, their streams end without an answer, later requests get 404."""
        s = self.session(version)
        keys = [self.key() for _ in range(3)]
        running = [self.streaming(s, i, key, slow_cleanup=True) for i, key in enumerate(keys)]
        quiet = self.listening(s)
        self.assertEqual(s.delete(), 200)  # although no cleanup has ended
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
    def test_h3_delete_before_the_calls_said_anything(self, version):
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

    def test_h3_delete_does_not_touch_others(self):
        """H3 H5: DELETE of one session leaves the calls and streams of another alone."""
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


class Dropping(HttpTest):
    """H6: a lost connection is no cancellation."""

    WAYS = ("close", "reset", "half-close")

    def drop(self, e, how):
        if how == "close":
            e.close()
        elif how == "reset":
            e.reset()
        else:
            e.connection.half_close()

    @in_each()
    def test_h6_connection_dropped(self, version):
        """H6 LHTTP-18: dropped before, between or after events, in whatever way: the handler is not cancelled and ends by itself."""
        s = self.session(version)
        for how in self.WAYS:
            for events in (0, 1, 3):
                with self.subTest(how=how, events=events):
                    key = self.key()
                    sockets = self.server.sockets()
                    e = self.streaming(s, key, key, events) if events else self.parked(s, key, key)
                    self.drop(e, how)
                    if how == "reset":  # the others can be told from a client that only listens when something is written
                        kp.until(lambda: self.server.sockets() <= sockets, "the server to notice the reset")
                    self.control.emit(key, 2)
                    self.control.release(key, "after all")
                    self.assertFalse(self.control.wait(key, "finished")["cancelled"])
                    e.close()
                    kp.until(lambda: self.server.sockets() <= sockets, "the server to close the connection")
        self.nothing_runs()
        self.assertEqual(s.text(call("x", "echo", {"text": "alive"})), "alive")

    def test_h6_every_connection_dropped(self):
        """H6: a hundred connections of a session are reset at once; all handlers end by themselves, none was cancelled."""
        s = self.session()
        keys = [self.key() for _ in range(100)]
        running = [s.post(call(k, "park", {"key": k})) for k in keys]
        for key in keys:
            self.control.wait(key, "begun")
        for e in running:
            e.reset()
        for key in keys:
            self.control.release(key)
            self.assertFalse(self.control.wait(key, "finished")["cancelled"])
        self.nothing_runs()


class Cancelling(HttpTest):
    @in_each()
    def test_b18_stream_with_event_ids(self, version):
        """B18 H8: a stream with event ids ends with one error answer, -32800; it ends at once, however slow the cleanup."""
        s = self.session(version)
        key = self.key()
        e = self.streaming(s, 5, key, slow_cleanup=True)
        last = [b.id for b in e.stream.seen if b.id][-1]
        self.assertEqual(s.cancel(5, "enough"), 202)
        rest = e.messages()
        self.assertEqual(len(rest), 1, rest)
        self.is_cancelled_answer(rest[0], 5)
        self.assertFalse(e.stream.broken)
        status = self.control.wait(key, "cancelled")
        self.assertEqual(status["reason"], "enough")
        self.assertFalse(status["cleaned_up"])
        self.control.use("clean_up", key=key)
        self.control.wait(key, "finished")
        # A replay ends in the same way.
        replay = self.enterContext(s.get(last)).messages()
        self.assertEqual(len(replay), 1, replay)
        self.is_cancelled_answer(replay[0], 5)
        self.nothing_runs()

    @in_each()
    def test_b18_before_the_call_said_anything(self, version):
        """B18 H8: the POST of a cancelled call without messages completes with one error answer, -32800."""
        s = self.session(version)
        key = self.key()
        e = self.parked(s, 5, key)
        self.assertEqual(s.cancel(5), 202)
        self.is_cancelled_answer(e.answer(5), 5)
        self.assertEqual(e.status, 200)
        self.control.wait(key, "cleaned_up")
        self.nothing_runs()

    @in_each()
    def test_b11_nothing_is_said_after_the_cancel(self, version):
        """B11 B14 B18: messages of the handler after the cancel are discarded, and so is its result."""
        s = self.session(version)
        key = self.key()
        e = self.streaming(s, 5, key, stubborn=True)
        self.assertEqual(s.cancel(5), 202)
        self.control.wait(key, "cancelled")
        self.control.emit(key, 100)
        self.control.release(key, "too late")
        self.control.wait(key, "finished")
        rest = e.messages()
        self.assertEqual(len(rest), 1, rest)
        self.is_cancelled_answer(rest[0], 5)
        self.nothing_runs()

    @in_each()
    def test_b19_cancel_for_what_is_not_running(self, version):
        """B19 B7 B6: unknown and finished requests: 202 without body and without effect, also on a later request of that id."""
        s = self.session(version)
        self.assertEqual(s.cancel(99), 202)
        self.assertEqual(s.text(call(99, "echo", {"text": "served"})), "served")
        self.assertEqual(s.cancel(99), 202)
        self.assertEqual(s.text(call(99, "echo", {"text": "again"})), "again")

    @in_each()
    def test_b19_ids_belong_to_their_session(self, version):
        """B19: two sessions both run id 5; a cancel in one does not touch the other."""
        a, b = self.session(version), self.session(version)
        ka, kb = self.key(), self.key()
        ea, eb = self.parked(a, 5, ka), self.streaming(b, 5, kb)
        self.assertEqual(a.cancel(5), 202)
        self.is_cancelled_answer(ea.answer(5), 5)
        self.control.wait(ka, "finished")
        self.control.release(kb, "mine")
        self.is_text(eb.answer(5), "mine")
        self.assertFalse(self.control.status(kb)["cancelled"])

    def test_b8_b9_cancels_that_mean_nothing(self):
        """B8 B9: malformed cancels are accepted and ignored; repeated cancels have no further effect."""
        s = self.session()
        key = self.key()
        e = self.streaming(s, 1, key)
        for params in (None, {}, {"requestId": True}, {"requestId": None}, {"requestId": 1.5}, {"requestId": {}},
                       {"requestId": "1"}):
            with self.subTest(params=params):
                self.assertEqual(s.notify("notifications/cancelled", params), 202)
        self.assertFalse(self.control.status(key)["cancelled"])
        with self.server.connect() as c:
            for _ in range(200):
                self.assertEqual(s.cancel(1, on=c), 202)
        self.is_cancelled_answer(e.answer(1), 1)
        self.assertEqual(e.messages(), [])

    @in_each()
    def test_a7_id_in_flight(self, version):
        """A7: a second request with an id in flight is answered 400 with an error without id; the first is undisturbed."""
        s = self.session(version)
        key = self.key()
        e = self.streaming(s, 5, key)
        other = self.key()
        self.is_error(s.post(call(5, "park", {"key": other})), 400, -32600)
        self.assertFalse(self.control.status(other)["begun"])
        self.control.emit(key)
        self.control.release(key, "first")
        self.is_text(e.answer(5), "first")

    def test_a7_id_in_flight_without_connection(self):
        """A7 H6: a request whose connection was lost is in flight all the same; when it has ended its id is free."""
        s = self.session()
        key = self.key()
        self.parked(s, 5, key).reset()
        self.is_error(s.post(call(5, "echo", {"text": "x"})), 400, -32600)
        self.control.release(key)
        self.control.wait(key, "finished")
        self.nothing_runs()
        self.assertEqual(s.text(call(5, "echo", {"text": "free"})), "free")

    def test_a4_a9_ids_again(self):
        """A4 A9: 1 is not "1"; an id is free again as soon as its request was cancelled, while the old handler still runs."""
        s = self.session()
        k1, k2, k3 = self.key(), self.key(), self.key()
        number = self.streaming(s, 1, k1, stubborn=True)
        text = self.parked(s, "1", k2)
        self.assertEqual(s.cancel(1), 202)
        self.is_cancelled_answer(number.answer(1), 1)
        again = self.parked(s, 1, k3)
        self.control.release(k1, "old")
        self.control.wait(k1, "finished")
        self.control.release(k3, "new")
        self.is_text(again.answer(1), "new")
        self.control.release(k2, "text")
        self.is_text(text.answer("1"), "text")

    @in_each(LATEST)
    def test_b12_question_of_a_cancelled_call(self, version):
        """B12 B18: the question of a cancelled call is withdrawn: one notifications/cancelled, then the error answer."""
        s = self.session(version, {"elicitation": {}})
        key = self.key()
        e = self.enterContext(s.post(call(1, "ask", {"key": key})))
        asked = e.message()
        self.assertEqual(asked["method"], "elicitation/create")
        self.assertEqual(s.cancel(1), 202)
        rest = e.messages()
        self.is_cancelled_answer(rest[-1], 1)
        withdrawn = [m for m in rest if m.get("method") == "notifications/cancelled"]
        self.assertEqual([m["params"]["requestId"] for m in withdrawn], [asked["id"]])
        self.control.wait(key, "finished")
        self.assertEqual(s.reply(asked["id"], {"action": "decline"}), 202)  # too late, and harmless

    def test_f8_too_many_in_flight(self):
        """F8: beyond 256 calls of a session 503 with Retry-After; a cancel still gets through, and makes room."""
        s = self.session()
        keys = [self.key() for _ in range(256)]
        running = [self.enterContext(s.post(call(k, "park", {"key": k}))) for k in keys]
        for key in keys:
            self.control.wait(key, "begun")
        with s.post(call("more", "echo", {"text": "x"})) as e:
            self.assertEqual(e.status, 503)
            self.assertRegex(e.headers["retry-after"], r"\A\d+\Z")
            e.done()
        self.assertEqual(self.session().text(call(1, "echo", {"text": "others"})), "others")
        self.assertEqual(s.cancel(keys[0]), 202)
        self.is_cancelled_answer(running[0].answer(keys[0]), keys[0])
        self.control.wait(keys[0], "finished")
        self.assertEqual(s.text(call("more", "echo", {"text": "room"})), "room")
        self.assertEqual(s.delete(), 200)
        self.nothing_runs()


class Streams(HttpTest):
    @in_each()
    def test_get_opens_a_stream(self, version):
        """LHTTP-01 H19: GET gives an event stream; a comment is sent at once, and X-Accel-Buffering disables proxy buffering."""
        s = self.session(version)
        g = self.listening(s)
        self.assertEqual(g.response.content_type, "text/event-stream")
        self.assertEqual(g.headers["x-accel-buffering"], "no")
        self.assertTrue(any(block.comments for block in g.stream.seen), "no comment at the start of the stream")
        self.refused(s.get(headers={"Accept": "application/json"}), 406)

    @in_each(*WITH_STREAMS, "2024-11-05")
    def test_post_stream(self, version):
        """LHTTP-17 H19 HTTP-17: progress, then the answer, then the end of the stream; a comment comes first."""
        s = self.session(version)
        e = self.enterContext(s.post(call(1, "speak", {"n": 3, "text": "done"}, {"progressToken": "t"})))
        self.assertTrue(e.is_stream)
        self.assertEqual(e.headers["x-accel-buffering"], "no")
        while not (block := e.stream.next()).comments:
            self.assertFalse(block.data, "a message before the comment")
        got = e.messages()
        self.assertEqual([m.get("params", {}).get("progress") for m in got], [1, 2, 3, None])
        self.is_text(got[-1], "done")
        self.assertFalse(e.stream.broken)

    @in_each()
    def test_json_when_nothing_was_said(self, version):
        """HTTP-08: a handler without messages before its answer is answered with plain JSON."""
        s = self.session(version)
        e = s.post(call(1, "echo", {"text": "x"}))
        self.assertEqual(e.response.content_type, "application/json")
        self.is_text(e.answer(1), "x")

    @in_each()
    def test_h12_newest_stream_receives(self, version):
        """H12 LHTTP-04: of six stand-alone streams only the newest gets messages; four older ones stay open, the oldest is closed."""
        s = self.session(version)
        streams = [self.listening(s) for _ in range(6)]
        self.control.use("add_tool", name=self.key("extra"))
        self.assertEqual(streams[-1].message()["method"], "notifications/tools/list_changed")
        self.assertEqual(streams[0].messages(), [])  # it has ended
        s.ask(request(1, "ping"))
        for e in streams[1:-1]:
            self.assertTrue(e.connection.silent(), "an older stream has ended, or was told too")
        streams[-1].close()
        self.assertEqual(s.delete(), 200)
        for e in streams[1:-1]:
            self.assertEqual(e.messages(), [])

    @in_each()
    def test_h12_newest_that_is_left(self, version):
        """H12: when the newest stream is closed, the newest remaining one gets the messages."""
        s = self.session(version)
        older, newest = self.listening(s), self.listening(s)
        sockets = self.server.sockets()
        newest.reset()
        kp.until(lambda: self.server.sockets() < sockets, "the server to notice the reset")
        self.control.use("add_tool", name=self.key("extra"))
        self.assertEqual(older.message()["method"], "notifications/tools/list_changed")

    @in_each()
    def test_h13_no_stream(self, version):
        """H13: sending a message without an open stream succeeds, and the session continues."""
        s = self.session(version)
        self.assertEqual(s.ask(request(1, "resources/subscribe", {"uri": "subject://one"}))["result"], {})
        self.assertEqual(self.control.use("touch", uri="subject://one"), "touched")
        self.control.use("add_tool", name=self.key("extra"))
        self.assertEqual(s.text(call(2, "echo", {"text": "alive"})), "alive")

    @in_each()
    def test_h15_each_message_on_its_own_stream(self, version):
        """H15 LHTTP-03 LHTTP-04 LHTTP-16 HTTP-09: messages of a call are sent on its stream, all others on the stand-alone one, once."""
        s = self.session(version)
        self.assertEqual(s.ask(request("sub", "resources/subscribe", {"uri": "subject://one"}))["result"], {})
        g = self.listening(s)
        ka, kb = self.key(), self.key()
        a, b = self.streaming(s, 1, ka), self.streaming(s, 2, kb)
        self.control.emit(ka, 1, "log")
        self.control.use("touch", uri="subject://one")
        self.control.emit(kb, 1, "log")
        self.control.use("add_tool", name=self.key("extra"))
        heard = {g.message()["method"], g.message()["method"]}
        self.assertEqual(heard, {"notifications/resources/updated", "notifications/tools/list_changed"})
        for key, e, ident in ((ka, a, 1), (kb, b, 2)):
            self.control.release(key, key)
            rest = e.messages()
            self.assertEqual([m.get("method") for m in rest], ["notifications/message", None])
            self.is_text(rest[-1], key)
            self.assertTrue(kp.same_id(rest[-1], ident))
        self.assertEqual(s.delete(), 200)
        self.assertEqual(g.messages(), [])

    @in_each()
    def test_h15_questions_on_the_stream_of_their_call(self, version):
        """H15 LHTTP-16: requests of a handler to the client are sent on the stream of its call, not on the stand-alone one."""
        s = self.session(version, {"roots": {}})
        g = self.listening(s)
        key = self.key()
        e = self.enterContext(s.post(call(1, "ask", {"key": key, "what": "roots"})))
        asked = e.message()
        self.assertEqual(asked["method"], "roots/list")
        self.assertEqual(s.reply(asked["id"], {"roots": [{"uri": "file:///x"}]}), 202)
        self.is_text(e.answer(1), "1")
        self.assertEqual(s.delete(), 200)
        self.assertEqual(g.messages(), [])

    @in_each()
    def test_h20_answer_after_the_stream_dropped(self, version):
        """H20: a question was put on a stream that then dropped: the client's answer is accepted and reaches the handler."""
        s = self.session(version, {"roots": {}})
        for how in ("close", "reset"):
            key = self.key()
            e = s.post(call(key, "ask", {"key": key, "what": "roots"}))
            asked = e.message()
            sockets = self.server.sockets()
            e.reset() if how == "reset" else e.close()
            if how == "reset":
                kp.until(lambda: self.server.sockets() < sockets, "the server to notice the reset")
            self.assertEqual(s.reply(asked["id"], {"roots": []}), 202)
            status = self.control.wait(key, "finished")
            self.assertEqual(status["value"], "0")
            self.assertFalse(status["cancelled"])

    def test_a10_answers_belong_to_their_session(self):
        """A10 B19: an answer posted in another session resolves nothing; unknown ids are accepted and ignored."""
        a, b = self.session(capabilities={"roots": {}}), self.session(capabilities={"roots": {}})
        key = self.key()
        e = self.enterContext(a.post(call(1, "ask", {"key": key, "what": "roots"})))
        asked = e.message()
        self.assertEqual(b.reply(asked["id"], {"roots": []}), 202)
        self.assertEqual(a.reply(f"{asked['id']}-unknown", {"roots": []}), 202)
        self.assertFalse(self.control.status(key)["finished"])
        self.assertEqual(a.reply(asked["id"], {"roots": [{"uri": "file:///x"}]}), 202)
        self.is_text(e.answer(1), "1")


class Neighbours(HttpTest):
    def test_h5_chaos_next_door(self):
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
                        pass  # closed unread
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


class JsonOnly(HttpTest):
    """The server was told to answer with JSON alone."""

    options = ("--json",)

    @in_each()
    def test_answers(self, version):
        """HTTP-08: the answer is JSON although the handler sent messages before it."""
        s = self.session(version)
        e = s.post(call(1, "speak", {"n": 3, "text": "x"}, {"progressToken": 1}))
        self.assertEqual(e.response.content_type, "application/json")
        self.is_text(e.answer(1), "x")

    @in_each()
    def test_b18_json(self, version):
        """B18 H8: with JSON answers a cancelled request is answered with an error, -32800."""
        s = self.session(version)
        key = self.key()
        e = self.parked(s, 5, key, slow_cleanup=True)
        self.control.emit(key, 3)
        self.assertEqual(s.cancel(5), 202)
        self.assertEqual(e.response.content_type, "application/json")
        self.is_cancelled_answer(e.answer(5), 5)
        self.assertEqual(e.status, 200)
        self.control.use("clean_up", key=key)
        self.control.wait(key, "finished")
        self.nothing_runs()

    @in_each()
    def test_h3_json(self, version):
        """H3: with JSON answers the POSTs of a deleted session get 404 with an error."""
        s = self.session(version)
        keys = [self.key() for _ in range(3)]
        running = [self.parked(s, i, key, slow_cleanup=True) for i, key in enumerate(keys)]
        self.assertEqual(s.delete(), 200)
        for e in running:
            self.assertEqual(e.status, 404)
            self.assertIn("error", e.json())
        for key in keys:
            self.assertTrue(self.control.wait(key, "cancelled"))
            self.control.use("clean_up", key=key)
            self.control.wait(key, "finished")
        self.nothing_runs()

    def test_h6_json(self):
        """H6 H7: with JSON answers a dropped connection cancels nothing; the answer is discarded when it comes."""
        s = self.session()
        for how in ("close", "reset"):
            key = self.key()
            sockets = self.server.sockets()
            e = self.parked(s, key, key)
            e.reset() if how == "reset" else e.close()
            if how == "reset":
                kp.until(lambda: self.server.sockets() <= sockets, "the server to notice the reset")
            self.control.release(key, "x")
            self.assertFalse(self.control.wait(key, "finished")["cancelled"])
            kp.until(lambda: self.server.sockets() <= sockets, "the server to close the connection")
        self.nothing_runs()
        self.assertEqual(s.text(call(1, "echo", {"text": "alive"})), "alive")

    def test_f10_json(self):
        """F10: with JSON-only answers, asking a legacy client fails at once; in 2026-07-28 it is an answer."""
        s = self.session(capabilities={"elicitation": {}, "roots": {}, "sampling": {}})
        for what in ("elicit", "sample", "roots"):
            key = self.key()
            answer = s.ask(call(key, "ask", {"key": key, "what": what}))
            self.assertTrue(answer["result"]["isError"], answer)
            self.assertIn("unavailable", kp.text_of(answer))
        m = self.modern({"elicitation": {}})
        answer = m.ask(m.call(1, "ask", {"key": self.key()}))
        self.assertEqual(answer["result"]["resultType"], "input_required")


class EventsOnly(HttpTest):
    """The server was told to answer with streams alone."""

    settings = {"answers": "events"}

    @in_each()
    def test_answers(self, version):
        """HTTP-08 LHTTP-08: every answer is a stream, that of initialize with the session's id in its head."""
        s = self.session(version, opened=False)
        with s.post(initialize(0, version)) as e:
            self.assertTrue(e.is_stream)
            s.id, s.agreed = e.headers[hc.SESSION_HEADER], version
            self.assertEqual(e.answer(0)["result"]["protocolVersion"], version)
            self.assertEqual(e.messages(), [])
        self.assertEqual(s.notify("notifications/initialized"), 202)
        e = s.post(call(1, "echo", {"text": "x"}))
        self.assertTrue(e.is_stream)
        self.is_text(e.answer(1), "x")
        self.assertEqual(e.messages(), [])
        self.is_error(s.post(b"{"), 400, -32700)

    @in_each()
    def test_b18_events(self, version):
        """B18: the stream of a cancelled request ends with the error if it has sent an event id, otherwise without."""
        s = self.session(version)
        key = self.key()
        e = self.parked(s, 5, key)
        self.assertTrue(e.is_stream)
        self.assertEqual(s.cancel(5), 202)
        rest = e.messages()
        if version != LATEST:
            return self.assertEqual(rest, [])
        self.assertEqual(len(rest), 1, rest)
        return self.is_cancelled_answer(rest[0], 5)


class Stateless(HttpTest):
    """The older revisions without sessions."""

    options = ("--stateless",)

    @in_each()
    def test_no_session(self, version):
        """LHTTP-01 H1: initialize gives no session id, calls need none, GET and DELETE are answered 405."""
        s = self.session(version, opened=False)
        self.assertEqual(s.open()["result"]["protocolVersion"], version)
        self.assertIsNone(s.id)
        self.assertEqual(s.text(call(1, "echo", {"text": "x"})), "x")
        e = s.post(call(2, "speak", {"n": 2, "text": "y"}, {"progressToken": 1}))
        self.is_text(e.answer(2), "y")
        for method in ("GET", "DELETE"):
            e = s.bare(method)
            self.assertIn("POST", e.headers.get("allow", ""))
            self.refused(e, 405)

    def test_version_header(self):
        """HDR-21 HDR-15: the header sets the revision; without one 2025-03-26 is assumed; an unknown one is answered 400."""
        s = self.session("2025-03-26", opened=False)
        s.check.session, s.check.server_capabilities = "2025-03-26", {}
        e = s.post(call(1, "who"))
        self.assertEqual(json.loads(kp.text_of(e.answer(1)))["protocol_version"], "2025-03-26")
        for version in ("2025-06-18", LATEST):
            s = self.session(version, opened=False)
            s.check.session, s.check.server_capabilities = version, {}
            e = s.post(call(1, "who"), {"MCP-Protocol-Version": version})
            self.assertEqual(e.answer(1)["result"]["structuredContent"]["protocol_version"], version)
        self.refused(s.post(call(2, "who"), {"MCP-Protocol-Version": "1900-01-01"}), 400)

    def test_f10_stateless(self):
        """F10: without sessions, asking a client that has declared nothing fails at once, in all revisions."""
        s = self.session(capabilities={"elicitation": {}, "roots": {}})
        for what in ("elicit", "roots"):
            key = self.key()
            answer = s.ask(call(key, "ask", {"key": key, "what": what}))
            self.assertTrue(answer["result"]["isError"], answer)
            self.assertIn("unavailable", kp.text_of(answer))
        m = self.modern()
        answer = m.ask(m.call(1, "ask", {"key": self.key()}))  # it has not said that it can be asked
        self.assertTrue("error" in answer or answer["result"]["isError"], answer)

    def test_h7_answer_without_a_store(self):
        """H7 H6: the answer of a dropped stream with nowhere to store it: the call ends, nothing else happens."""
        s = self.session()
        for how in ("close", "reset"):
            key = self.key()
            sockets = self.server.sockets()
            e = self.streaming(s, 1, key)
            e.reset() if how == "reset" else e.close()
            if how == "reset":
                kp.until(lambda: self.server.sockets() <= sockets, "the server to notice the reset")
            self.control.emit(key, 5)
            self.control.release(key, "x")
            self.assertFalse(self.control.wait(key, "finished")["cancelled"])
            kp.until(lambda: self.server.sockets() <= sockets, "the server to close the connection")
        self.nothing_runs()
        self.assertEqual(s.text(call(1, "echo", {"text": "alive"})), "alive")

    def test_b19_stateless(self):
        """B19: a cancel without a session is accepted and ignored."""
        s = self.session()
        key = self.key()
        e = self.streaming(s, 5, key)
        self.assertEqual(s.cancel(5), 202)
        self.assertFalse(self.control.status(key)["cancelled"])
        self.control.release(key, "x")
        self.is_text(e.answer(5), "x")


class WithoutStore(HttpTest):
    """The server keeps no events, so its events need no ids."""

    settings = {"max_events": 0}

    @in_each()
    def test_b18_stream_without_event_ids(self, version):
        """B18 H8: a stream on which no event id was ever sent ends without an answer, however slow the cleanup."""
        s = self.session(version)
        key = self.key()
        e = self.streaming(s, 5, key, slow_cleanup=True)
        self.assertFalse([b.id for b in e.stream.seen if b.id is not None])
        self.assertEqual(s.cancel(5), 202)
        self.assertEqual(e.messages(), [])
        self.assertFalse(e.stream.broken)
        self.assertFalse(self.control.status(key)["cleaned_up"])
        self.control.use("clean_up", key=key)
        self.control.wait(key, "cleaned_up")
        self.nothing_runs()

    def test_h7_answer_is_counted_and_dropped(self):
        """H7 H6: the answer of a dropped stream is discarded when it is produced, and counted; the session lives."""
        s = self.session()
        key = self.key()
        sockets = self.server.sockets()
        before = self.server.metrics()["keel_http_undeliverable_total"]
        e = self.streaming(s, 1, key)
        e.reset()
        kp.until(lambda: self.server.sockets() <= sockets, "the server to notice the reset")
        self.control.release(key, "for nobody")
        self.assertFalse(self.control.wait(key, "finished")["cancelled"])
        kp.until(lambda: self.server.metrics()["keel_http_undeliverable_total"] > before, "the answer to be counted")
        self.assertEqual(s.text(call(2, "echo", {"text": "alive"})), "alive")
        self.nothing_runs()


class Credentials(HttpTest):
    """The server knows who is there: `Authorization: Bearer NAME` is NAME."""

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


class Expiry(HttpTest):
    """Sessions expire when they have been idle for a moment."""

    settings = {"session_idle": 300}

    def sessions(self):
        return self.server.metrics()["keel_http_sessions"]

    def until_idle_sessions_are_gone(self, left):
        """A session of its own comes and goes: so long has passed at least."""
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
        """H14: a session with a call in flight does not expire, however long it takes; afterwards it does."""
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


class KeepAlive(HttpTest):
    settings = {"keep_alive": 50}

    @in_each()
    def test_h19_quiet_streams(self, version):
        """H19: an idle stream carries keep-alive comments, on GET and on POST."""
        s = self.session(version)
        g = self.listening(s)
        key = self.key()
        e = self.streaming(s, 1, key)
        for quiet in (g, e):
            for _ in range(5):
                block = quiet.stream.next("a comment on a quiet stream")
                self.assertTrue(block.comments)
                self.assertTrue(block.only_comments)
        self.control.release(key, "x")
        self.is_text(e.answer(1), "x")


class OldTransport(HttpTest):
    """HTTP+SSE of 2024-11-05, on its own two paths."""

    settings = {"old_sse": 1}

    def open(self):
        client = hc.Client(self.server)
        stream = self.enterContext(client.bare("GET", {"Accept": "text/event-stream"}, path="/sse"))
        self.assertEqual(stream.status, 200)
        while (first := stream.stream.next("the first event")).only_comments:
            pass
        self.assertEqual(first.event, "endpoint")
        return client, stream, first.data

    def tell(self, client, where, message):
        with client.post(message, path=where.removeprefix(self.server.origin)) as e:
            e.response.body()
            return e.status

    def next(self, stream):
        event = stream.event()
        self.assertIn(event.event, ("message", None))
        return event.message

    def test_conversation(self):
        """LHTTP-14 LHTTP-15: the first event names where to post; answers and requests of the server come as messages."""
        client, stream, where = self.open()
        self.assertIn(self.tell(client, where, initialize(0, "2024-11-05", {"roots": {}})), (200, 202))
        self.assertEqual(self.next(stream)["result"]["protocolVersion"], "2024-11-05")
        self.tell(client, where, notification("notifications/initialized"))
        self.tell(client, where, call(1, "speak", {"n": 2, "text": "x"}, {"progressToken": 1}))
        got = [self.next(stream) for _ in range(3)]
        self.assertEqual([m["params"]["progress"] for m in got[:2]], [1, 2])
        self.is_text(got[2], "x")
        key = self.key()
        self.tell(client, where, call(2, "ask", {"key": key, "what": "roots"}))
        asked = self.next(stream)
        self.assertEqual(asked["method"], "roots/list")
        self.tell(client, where, {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}})
        self.is_text(self.next(stream), "0")

    def test_two_clients(self):
        """LHTTP-14 LHTTP-04 B19: each client has its own endpoint and gets only its own answers."""
        (a, sa, wa), (b, sb, wb) = self.open(), self.open()
        self.assertNotEqual(wa, wb)
        for client, stream, where in ((a, sa, wa), (b, sb, wb)):
            self.tell(client, where, initialize(0, "2024-11-05"))
            self.next(stream)
        self.tell(a, wa, call(1, "echo", {"text": "a"}))
        self.tell(b, wb, call(1, "echo", {"text": "b"}))
        self.is_text(self.next(sa), "a")
        self.is_text(self.next(sb), "b")

    def test_the_end_of_the_stream_is_the_end_of_the_client(self):
        """LHTTP-14 C5: a stream of this transport cannot be resumed: its calls are cancelled with it."""
        client, stream, where = self.open()
        self.tell(client, where, initialize(0, "2024-11-05"))
        self.next(stream)
        key = self.key()
        self.tell(client, where, call(1, "park", {"key": key}))
        self.control.wait(key, "begun")
        stream.reset()
        self.control.wait(key, "cleaned_up")
        self.assertIn(self.tell(client, where, call(2, "echo", {"text": "x"})), (400, 404))

    def test_endpoint_of_nobody(self):
        """LHTTP-14 H1: a message to an endpoint that names no stream is refused and creates nothing."""
        _, _, where = self.open()
        client = hc.Client(self.server)
        for wrong in (where + "x", where.split("?")[0]):
            self.assertIn(self.tell(client, wrong, initialize(0, "2024-11-05")), (400, 404))


class Beside(HttpTest):
    def test_old_transport_is_off(self):
        """LHTTP-14: the transport of 2024-11-05 is off by default."""
        client = hc.Client(self.server)
        self.refused(client.bare("GET", {"Accept": "text/event-stream"}, path="/sse"), 404)
        self.refused(client.post(initialize(0, "2024-11-05"), path="/messages"), 404)

    def test_both_eras_at_once(self):
        """HTTP-01 H5: sessions and requests of 2026-07-28 share the endpoint, and even a connection."""
        s, m = self.session(), self.modern()
        with self.server.connect() as c:
            for i in range(50):
                self.assertEqual(s.text(call(i, "echo", {"text": "old"}), on=c), "old")
                self.assertEqual(m.text(m.call(i, "echo", {"text": "new"}), on=c), "new")

    def test_modern_requests_ignore_the_session(self):
        """HTTP-20 I13: a request of 2026-07-28 with the id of a session, alive or not, is served and gets none back."""
        s = self.session()
        m = Modern(self.server)
        for ident in (s.id, NO_SESSION):
            with m.post(m.call(1, "echo", {"text": "x"}), {"Mcp-Session-Id": ident, "Last-Event-ID": "7"}) as e:
                self.is_text(e.answer(1), "x")
                self.assertNotIn(hc.SESSION_HEADER, e.headers)


if __name__ == "__main__":
    kp.main()
