#!/usr/bin/env python3
"""Revision 2026-07-28 over HTTP: what a request says and how it ends, clients that go away, both eras at once, several threads,
and the end of the server. Against a real process over real sockets."""

# ctest-timeout: 900

import json
import signal
import threading

import http_client as hc
import keel_process as kp
from http_client import HttpTest, Modern, Session
from keel_process import MIB, call, notification

# No comment is sent on a quiet stream while a test runs: nothing may depend on that for being noticed.
QUIET = {"keep_alive": kp.HOUR}
EVERYTHING = {"elicitation": {}, "sampling": {}, "roots": {}}


class ModernTest(HttpTest):
    settings = {**QUIET, "threads": 1}

    def setUp(self):
        super().setUp()
        self.m = self.modern()

    def park(self, key, ident=1, on=None, tool="park", **arguments):
        """Posts a call that waits, and waits until its handler runs. Nothing has been said on its exchange."""
        e = self.m.post(self.m.call(ident, tool, {"key": key, **arguments}, progressToken=key), on=on)
        self.enterContext(e)
        self.control.wait(key, "begun")
        return e

    def is_cancelled(self, key):
        """Its token has fired and its cleanup has run."""
        self.control.wait(key, "cancelled")
        self.control.wait(key, "finished")
        self.assertTrue(self.control.status(key)["cleaned_up"])

    def serves(self, on=None):
        self.assertEqual(self.m.text(self.m.call(7, "echo", {"text": "x"}), on=on), "x")

    def census_is(self, before, *names):
        now = {}

        def is_back():
            now.update(self.control.census())
            return all(now[n] <= before[n] for n in ("connections", "in_flight", "descriptors", *names))

        try:
            kp.until(is_back, "the census to be what it was")
        except kp.Hang as e:
            raise AssertionError(f"before {before}, now {now}") from e


def leave_by_fin(c):
    c.close()


def leave_by_reset(c):
    c.reset()


def leave_by_half(c):
    """FIN; the other direction stays open, and hears nothing more of the call."""
    c.half_close()


WAYS = (leave_by_fin, leave_by_reset, leave_by_half)


# ---- answers ----


class Answers(ModernTest):
    def test_json(self):
        """HTTP-08: a handler without messages before its answer is answered with one JSON object."""
        for message in (self.m.call(1, "echo", {"text": "ü"}), self.m.request(1, "tools/list"), self.m.request(1, "server/discover"),
                        self.m.request(1, "resources/read", {"uri": "subject://one"}), self.m.request(1, "prompts/list")):
            with self.subTest(method=message["method"]), self.m.post(message) as e:
                self.assertEqual((e.status, e.response.content_type), (200, "application/json"))
                self.assertIn("result", e.answer(1))

    def test_stream(self):
        """HTTP-08 HTTP-09 HTTP-17 HTTP-18 A2: messages before the answer open a stream, which proxies must not buffer."""
        with self.server.connect() as c:
            for _ in range(3):  # the connection goes on behind it
                e = self.m.post(self.m.call(1, "speak", {"n": 5, "text": "done"}, progressToken="p"), on=c)
                self.assertEqual((e.status, e.response.content_type), (200, "text/event-stream"))
                self.assertEqual(e.headers["x-accel-buffering"], "no")
                self.assertIn("no-cache", e.headers["cache-control"])
                self.assertNotIn(hc.SESSION_HEADER, e.headers)
                *said, answer = e.messages()
                self.assertEqual([m["params"]["progress"] for m in said], [1, 2, 3, 4, 5])
                self.assertEqual({m["params"]["progressToken"] for m in said}, {"p"})
                self.assertEqual(kp.text_of(answer), "done")
                self.assertFalse(e.stream.broken)
                self.assertTrue(all(event.id is None and event.retry is None for event in e.stream.seen), "there is nothing to resume")
                self.serves(on=c)

    def test_as_it_happens(self):
        """HTTP-09 HTTP-17: progress arrives while the call runs."""
        key = self.key()
        e = self.park(key)
        for number in range(1, 6):
            self.control.emit(key)
            self.is_progress(e.message(), number)
        self.control.release(key, "done")
        self.assertEqual(kp.text_of(e.answer(1)), "done")
        self.assertIsNone(e.message())

    def test_without_a_token(self):
        """HTTP-08: progress without a token and logs without a level are not sent, and open no stream."""
        for tool in ("speak", "log"):
            with self.subTest(tool=tool), self.m.post(self.m.call(1, tool, {"n": 3})) as e:
                self.assertEqual(e.response.content_type, "application/json")
                self.assertIn("result", e.answer(1))

    def test_logs(self):
        """HTTP-09: log messages travel on the stream of the request that asked for them."""
        with self.m.post(self.m.call(1, "log", {"n": 3, "text": "done"}, **{"io.modelcontextprotocol/logLevel": "debug"})) as e:
            *said, answer = e.messages()
            self.assertEqual([m["method"] for m in said], ["notifications/message"] * 3)
            self.assertEqual(kp.text_of(answer), "done")
        with self.m.post(self.m.call(1, "log", {"n": 3}, **{"io.modelcontextprotocol/logLevel": "error"})) as e:
            self.assertEqual(len(e.messages()), 1)

    def test_each_on_its_own_stream(self):
        """HTTP-09: concurrent calls, some with the same id, get only their own messages."""
        calls = []
        for n in range(10):
            key = self.key()
            calls.append((n % 2, key, self.park(key, ident=n % 2)))
        for round_ in range(1, 4):
            for _, key, _ in calls:
                self.control.emit(key)
        for ident, key, e in calls:
            self.control.release(key, key)
            *said, answer = e.messages()
            self.assertEqual([(m["params"]["progressToken"], m["params"]["progress"]) for m in said], [(key, 1), (key, 2), (key, 3)])
            self.assertTrue(kp.same_id(answer, ident))
            self.assertEqual(kp.text_of(answer), key)

    def test_ids(self):
        """A3 A4: ids come back with their type, 0 and the empty string among them."""
        for ident in (0, -7, 9223372036854775807, "", "a", "1", 1, "ü", "\n"):
            with self.subTest(ident=ident):
                self.assertTrue(kp.same_id(self.m.ask(self.m.call(ident, "echo", {"text": "x"})), ident))

    def test_i14_error_before_anything_was_said(self):
        """I14: a handler that fails before it sends messages is answered with plain JSON; the exception's text is not sent."""
        for kind, code in (("protocol", 4242), ("exception", -32603), ("number", -32603)):
            with self.subTest(kind=kind), self.m.post(self.m.call(1, "fail", {"kind": kind}, progressToken=1)) as e:
                self.assertEqual((e.status, e.response.content_type), (200, "application/json"))
                error = e.answer(1)["error"]
                self.assertEqual(error["code"], code)
                self.assertNotIn("secret", json.dumps(error))
        for message, status, code in ((self.m.request(1, "no/such"), 404, -32601), (self.m.call(1, "no such tool"), 200, -32602),
                                      (self.m.request(1, "resources/read", {"uri": "subject://none"}), 200, -32602)):
            with self.subTest(method=message["method"]), self.m.post(message) as e:
                self.assertEqual((e.status, e.response.content_type), (status, "application/json"))
                self.assertEqual(e.answer(1)["error"]["code"], code)

    def test_i14_error_on_the_stream(self):
        """I14: once a stream is open, the error is sent on the stream, with status 200, and ends it."""
        for kind, code in (("protocol", 4242), ("exception", -32603), ("number", -32603)):
            with self.subTest(kind=kind), self.m.post(self.m.call(1, "fail", {"kind": kind, "after": 2}, progressToken=1)) as e:
                self.assertEqual((e.status, e.response.content_type), (200, "text/event-stream"))
                *said, answer = e.messages()
                self.assertEqual(len(said), 2)
                self.assertTrue(kp.same_id(answer, 1))
                self.assertEqual(answer["error"]["code"], code)
                self.assertNotIn("secret", json.dumps(answer))
                self.assertFalse(e.stream.broken)

    def test_large_answers(self):
        """HTTP-08: answers of many megabytes arrive complete, in both forms, also for slow readers."""
        for bytes_ in (0, 1, 65_535, 65_536, 1_000_000, 6 * MIB):
            with self.subTest(bytes=bytes_), self.m.post(self.m.call(1, "big", {"bytes": bytes_}), receive_buffer=8192) as e:
                self.assertEqual(len(kp.text_of(e.answer(1))), bytes_)
        key = self.key()
        e = self.park(key)
        self.control.emit(key)
        self.control.release(key, "x" * 3_000_000)
        self.assertEqual(len(kp.text_of(e.answer(1))), 3_000_000)

    def test_i6_base_16_questions(self):
        """I6 F10 BASE-16: asking is answered with input_required; the server never sends a request."""
        answers = {"elicit": {"action": "accept", "content": {"word": "said"}},
                   "sample": {"role": "assistant", "content": {"type": "text", "text": "said"}, "model": "m"},
                   "roots": {"roots": [{"uri": "file:///a"}]}}
        m = self.modern(EVERYTHING)
        for what, reply in answers.items():
            with self.subTest(what=what):
                key = self.key()
                arguments = {"key": key, "what": what}
                with m.post(m.call(1, "ask", arguments)) as e:
                    self.assertEqual(e.status, 200)
                    result = e.answer(1)["result"]
                    self.assertEqual([x for x in e.seen if "method" in x], [])
                self.assertEqual(result["resultType"], "input_required")
                (name, _), = result["inputRequests"].items()
                again = m.call(2, "ask", arguments)
                again["params"] |= {"inputResponses": {name: reply}, "requestState": result["requestState"]}
                with m.post(again) as e:
                    self.assertEqual(kp.text_of(e.answer(2)), "1" if what == "roots" else "said")
                    self.assertEqual([x for x in e.seen if "method" in x], [])

    def test_f10_undeclared(self):
        """F10 I6: a question that the client does not support fails at once; the handler gets the reason."""
        for what in ("elicit", "sample", "roots"):
            with self.subTest(what=what):
                with self.m.post(self.m.call(1, "ask", {"key": self.key(), "what": what})) as e:
                    result = e.answer(1)["result"]
                    self.assertTrue(result["isError"])
                    self.assertEqual(e.seen, e.seen[:1])


# ---- clients that go away ----


class Leaving(ModernTest):
    """A closed response stream is a cancellation, of that request alone."""

    def test_i2_i3_before_headers(self):
        """I2 I3 HTTP-11: a disconnect before any answer: the stop token fires, cleanup runs, nothing more is written."""
        for leave in WAYS:
            for stubborn in (False, True):
                with self.subTest(way=leave.__name__, slow_cleanup=stubborn):
                    key = self.key()
                    e = self.park(key, slow_cleanup=stubborn)
                    leave(e.connection)
                    self.control.wait(key, "cancelled")
                    if stubborn:
                        self.control.emit(key, 5)  # what it still says goes nowhere
                        self.control.use("clean_up", key=key)
                    self.is_cancelled(key)
                    if leave is leave_by_half:
                        self.assertNotIn(b"jsonrpc", e.connection.ends())
        self.nothing_runs()
        self.serves()

    def test_i2_between_events(self):
        """I2 HTTP-11: a disconnect after the headers and any number of events cancels the call."""
        for leave in WAYS:
            for events in (1, 2, 5):
                with self.subTest(way=leave.__name__, events=events):
                    key = self.key()
                    e = self.park(key, slow_cleanup=True)
                    self.control.emit(key, events)
                    for number in range(1, events + 1):
                        self.is_progress(e.message(), number)
                    leave(e.connection)
                    self.control.wait(key, "cancelled")
                    self.control.emit(key, 3)
                    self.control.use("clean_up", key=key)
                    self.is_cancelled(key)
                    if leave is leave_by_half:
                        left = e.connection.ends()
                        self.assertNotIn(b"jsonrpc", left)
        self.nothing_runs()
        self.serves()

    def test_i2_unread_events(self):
        """I2 HTTP-11: a disconnect with unread messages cancels the call."""
        for leave in (leave_by_fin, leave_by_reset):
            with self.subTest(way=leave.__name__):
                key = self.key()
                e = self.park(key)
                self.control.emit(key, 100)
                leave(e.connection)
                self.is_cancelled(key)
        self.nothing_runs()

    def test_i2_i3_during_the_answer(self):
        """I2 I3 B5: a disconnect in the middle of a large answer, in both forms: it is dropped, others are not affected."""
        self.serves()
        before = self.control.census()
        for leave in WAYS:
            for first in (1, 1000, 1_000_000):
                for stream in (False, True):
                    with self.subTest(way=leave.__name__, first=first, stream=stream):
                        key = self.key()
                        e = self.m.post(self.m.call(1, "park", {"key": key}, progressToken=1), receive_buffer=8192)
                        self.control.wait(key, "begun")
                        if stream:
                            self.control.emit(key)
                        self.control.release(key, "x" * 3_900_000)
                        e.connection.take(first, "the answer")  # so its handler has ended
                        leave(e.connection)
                        self.nothing_runs()
                        e.close()
        self.census_is(before)
        self.serves()

    def test_i2_worker_thread(self):
        """I2 I3: a disconnect cancels a handler on a worker thread too."""
        for leave in WAYS:
            with self.subTest(way=leave.__name__):
                key = self.key()
                e = self.park(key, tool="block")
                leave(e.connection)
                self.control.wait(key, "cancelled")
                self.control.release(key, "nobody hears this")
                self.control.wait(key, "finished")
        self.nothing_runs()

    def test_i2_nobody_else_notices(self):
        """I2 B16 H5: of a hundred calls every other one is disconnected; the others and a session are answered."""
        s = self.session()
        keys = [self.key() for _ in range(100)]
        calls = [(key, self.enterContext(self.m.post(self.m.call(1, "park", {"key": key}, progressToken=key)))) for key in keys]
        legacy = self.parked(s, 1, self.key("session"))
        for key in keys:
            self.control.wait(key, "begun")
        for key, e in calls[::4]:
            self.control.emit(key)
        for n, (key, e) in enumerate(calls[::2]):
            WAYS[n % 2](e.connection)
        for key, _ in calls[::2]:
            self.is_cancelled(key)
        for key, e in calls[1::2]:
            self.assertFalse(self.control.status(key)["cancelled"])
            self.control.release(key, key)
            self.assertEqual(kp.text_of(e.answer(1)), key)
        self.control.release("session-101", "legacy")
        self.assertEqual(kp.text_of(legacy.answer(1)), "legacy")
        self.nothing_runs()

    def test_i4_pipelined_bytes(self):
        """I4: bytes of a next request do not count as a disconnect; a disconnect after them does."""
        following = self.m.request_bytes(self.m.call(2, "echo", {"text": "next"}))
        self.m.note_sent(self.m.call(2, "echo", {"text": "next"}))
        for count in (1, 30, len(following) - 1, len(following)):
            with self.subTest(bytes=count):
                key = self.key()
                e = self.park(key)
                e.connection.send(following[:count])
                self.serves()
                self.assertFalse(self.control.status(key)["cancelled"])
                self.control.emit(key)
                self.control.release(key, "done")
                self.assertEqual(kp.text_of(e.answer(1)), "done")
                self.assertIsNone(e.message())
                e.connection.send(following[count:])
                self.assertEqual(kp.text_of(hc.Exchange(e.connection, self.m.check, owned=False).answer(2)), "next")
            for leave in WAYS:
                with self.subTest(bytes=count, way=leave.__name__):
                    key = self.key()
                    e = self.park(key)
                    e.connection.send(following[:count])
                    self.serves()
                    leave(e.connection)
                    self.is_cancelled(key)
        self.nothing_runs()

    def test_i4_disconnect_behind_much(self):
        """I4 I2: a disconnect is detected although more was pipelined than the server reads ahead."""
        data = self.m.request_bytes(self.m.call(2, "echo", {"text": "x" * 1000})) * 4000
        for leave in (leave_by_fin, leave_by_reset):
            with self.subTest(way=leave.__name__):
                key = self.key()
                e = self.park(key)
                e.connection.send_what_fits(data)
                leave(e.connection)
                self.is_cancelled(key)
        self.nothing_runs()

    def test_i2_queued_behind_another(self):
        """I2 I4: a pipelined request that is waiting when the client disconnects is never run."""
        first, second = self.key(), self.key()
        c = self.server.connect()
        c.send(self.m.request_bytes(self.m.call(1, "park", {"key": first})) + self.m.request_bytes(self.m.call(2, "park", {"key": second})))
        self.control.wait(first, "begun")
        c.reset()
        self.is_cancelled(first)
        self.nothing_runs()
        self.assertFalse(self.control.status(second)["begun"])

    def test_i5_posted_cancels(self):
        """I5: notifications/cancelled is accepted (202) and ignored: two clients run the same id, both are answered."""
        first, second = self.key(), self.key()
        one, two = self.park(first, ident=1), self.park(second, ident=1)
        self.control.emit(second)
        for ident in (1, "1", 99, None):
            message = self.m.with_meta(notification("notifications/cancelled", {"requestId": ident}))
            for on in (None, self.enterContext(self.server.connect())):
                e = self.m.post(message, on=on)
                self.assertEqual((e.status, e.response.body()), (202, b""))
                e.close_if_owned()
        for key, e in ((first, one), (second, two)):
            self.assertFalse(self.control.status(key)["cancelled"])
            self.control.release(key, key)
            self.assertEqual(kp.text_of(e.answer(1)), key)

    def test_j3_leaving_leaves_nothing(self):
        """J3 I2: a thousand disconnected calls leave nothing behind."""
        def rounds(n):
            for i in range(n):
                key = f"round-{i}"
                c = self.server.connect()
                c.send(self.m.request_bytes(self.m.call(1, "park", {"key": key}, progressToken=1)))
                self.control.wait(key, "begun")
                if i % 3 == 0:
                    self.control.emit(key)
                c.reset() if i % 2 else c.close()
                self.control.wait(key, "finished")
                self.control.use("forget", key=key)

        rounds(300)
        self.nothing_runs()
        before = self.control.census()
        rounds(1000)
        self.nothing_runs()
        self.census_is(before, "keys", "threads", "abandoned")
        if not kp.is_sanitized():
            self.assertLess(self.control.census()["resident_bytes"], before["resident_bytes"] + 2 * MIB)


class LeavingStreams(Leaving):
    """The same where every answer is a stream: it is open before the handler has said anything."""
    settings = {**QUIET, "answers": "events", "threads": 1}

    def test_h19_opens_at_once(self):
        """H19: the stream opens with a comment at once, before the handler sends a message."""
        key = self.key()
        e = self.park(key)
        self.assertTrue(e.stream.next("the comment that opens a stream").only_comments)
        self.control.release(key, "done")
        self.assertEqual(kp.text_of(e.answer(1)), "done")

    def test_i14_errors(self):
        """I14: with stream-only answers an error of the handler is a stream; a refused request is not."""
        with self.m.post(self.m.call(1, "fail", {"kind": "protocol"})) as e:
            self.assertTrue(e.is_stream)
            self.assertEqual(e.answer(1)["error"]["code"], 4242)
        with self.m.post(self.m.request(1, "no/such")) as e:
            self.is_error(e, 404, -32601, 1)


class LeavingQuietStreams(ModernTest):
    """A call that says nothing for long is answered with a stream that carries comments."""
    settings = {"keep_alive": 30, "threads": 1}

    def test_i2_after_headers(self):
        """I2 H19 HTTP-11: a disconnect after the headers, before any event: the stop token fires, cleanup runs, nothing more is written."""
        for leave in WAYS:
            for comments in (1, 3):
                with self.subTest(way=leave.__name__, comments=comments):
                    key = self.key()
                    e = self.park(key)
                    for _ in range(comments):
                        self.assertTrue(e.stream.next("a comment").only_comments)
                    leave(e.connection)
                    self.is_cancelled(key)
                    if leave is leave_by_half:
                        self.assertNotIn(b"jsonrpc", e.connection.ends())
        self.nothing_runs()

    def test_answer_behind_comments(self):
        """HTTP-17 HTTP-13: the answer is sent on the stream and ends it; refusals are not streamed."""
        key = self.key()
        e = self.park(key)
        self.assertTrue(e.stream.next("a comment").only_comments)
        self.control.release(key, "late")
        self.assertEqual(kp.text_of(e.answer(1)), "late")
        self.assertIsNone(e.message())
        self.assertFalse(e.stream.broken)
        self.is_error(self.m.post(self.m.request(1, "no/such")), 404, -32601, 1)


class LeavingJson(ModernTest):
    """The same where every answer is JSON."""
    settings = {**QUIET, "answers": "json", "threads": 1}

    def test_i3_json(self):
        """I3 HTTP-11: a disconnect while a JSON answer is pending cancels the call, whatever the handler has sent."""
        for leave in WAYS:
            for said in (0, 3):
                with self.subTest(way=leave.__name__, said=said):
                    key = self.key()
                    e = self.park(key)
                    if said:
                        self.control.emit(key, said)
                    self.assertTrue(e.connection.silent())
                    leave(e.connection)
                    self.is_cancelled(key)
                    if leave is leave_by_half:
                        self.assertEqual(e.connection.ends(), b"")
        self.nothing_runs()
        self.serves()

    def test_progress_is_dropped(self):
        """HTTP-08: with --json the answer is one object; earlier messages are dropped."""
        for tool, meta in (("speak", {"progressToken": 1}), ("log", {"io.modelcontextprotocol/logLevel": "debug"})):
            with self.subTest(tool=tool), self.m.post(self.m.call(1, tool, {"n": 3, "text": "done"}, **meta)) as e:
                self.assertEqual(e.response.content_type, "application/json")
                self.assertEqual(kp.text_of(e.answer(1)), "done")
        with self.m.post(self.m.call(1, "fail", {"kind": "protocol", "after": 3}, progressToken=1)) as e:
            self.assertEqual((e.status, e.json()["error"]["code"]), (200, 4242))

    def test_f10_questions(self):
        """F10 I6: with --json asking is an answer in 2026-07-28, and fails at once before."""
        m = self.modern(EVERYTHING)
        self.assertEqual(m.ask(m.call(1, "ask", {"key": self.key()}))["result"]["resultType"], "input_required")
        s = self.session(capabilities={"elicitation": {}})
        answer = s.ask(call(1, "ask", {"key": self.key()}))
        self.assertTrue(answer["result"]["isError"])


class Stateless(ModernTest):
    settings = None
    options = ("--stateless", "--threads", "1")

    def test_i13_http_19_get_and_delete(self):
        """I13 HTTP-19: without sessions GET and DELETE are answered 405 with Allow: POST."""
        for verb in ("GET", "DELETE"):
            for headers in ({}, {"Mcp-Session-Id": "abc"}, {"MCP-Protocol-Version": "2025-11-25"}, {"Last-Event-ID": "1"}):
                with self.subTest(verb=verb, headers=headers), self.m.bare(verb, {"Accept": "text/event-stream", **headers}) as e:
                    self.assertEqual(e.status, 405)
                    self.assertEqual(e.headers["allow"], "POST")
                    self.assertNotIn(hc.SESSION_HEADER, e.headers)
        self.serves()

    def test_i13_http_20_headers_of_the_older_era(self):
        """I13 HTTP-20: Mcp-Session-Id and Last-Event-ID are ignored, never sent or echoed."""
        for headers in ({"Mcp-Session-Id": "abc"}, {"Last-Event-ID": "1"}, {"Mcp-Session-Id": "", "Last-Event-ID": "\t"}):
            for message in (self.m.call(1, "echo", {"text": "x"}), self.m.call(1, "speak", {"n": 1, "text": "x"}, progressToken=1)):
                with self.subTest(headers=headers), self.m.post(message, headers) as e:
                    self.assertEqual(kp.text_of(e.answer(1)), "x")
                    self.assertNotIn(hc.SESSION_HEADER, e.headers)
        with Session(self.server, opened=False).post(kp.initialize(1)) as e:
            self.assertIn("result", e.answer(1))
            self.assertNotIn(hc.SESSION_HEADER, e.headers)


class BothEras(ModernTest):
    settings = {**QUIET, "threads": 2}

    def test_one_connection(self):
        """HTTP-01 BASE-23: requests of all revisions can share one connection."""
        with self.server.connect() as c:
            s = Session(self.server, opened=False)
            s.open(on=c)
            for n in range(20):
                self.serves(on=c)
                self.assertEqual(s.text(call(n, "echo", {"text": "legacy"}), on=c), "legacy")
            self.assertEqual(s.bare("DELETE", on=c).done(), 200)
            self.serves(on=c)

    def test_http_20_with_a_live_session(self):
        """HTTP-20 I13: a 2026-07-28 request with a session id is served outside the session."""
        s = self.session()
        answer = self.m.ask(self.m.call(1, "who"), {"Mcp-Session-Id": s.id})
        self.assertEqual(answer["result"]["structuredContent"]["protocol_version"], "2026-07-28")
        self.assertEqual(s.ask(call(1, "who"))["result"]["structuredContent"]["protocol_version"], "2025-11-25")

    def test_sessions_from_both_loops(self):
        """HTTP-01 H15: a session is used from many connections, on any loop; 2026-07-28 calls run beside it."""
        s = self.session()
        stream = self.listening(s)
        held = []
        for n in range(40):
            key = self.key()
            held.append((n, key, self.parked(s, n, key) if n % 2 else self.park(key, ident=n)))
        for n, key, _ in held:
            self.control.emit(key, 2)
        self.control.use("add_tool", name="extra")
        self.assertEqual(stream.message()["method"], "notifications/tools/list_changed")
        for n, key, e in held[20:]:
            self.control.release(key, key)
        for n, key, e in held[20:]:
            *said, answer = e.messages()
            self.assertEqual([m["params"]["progress"] for m in said], [1, 2])
            self.assertTrue(kp.same_id(answer, n))
            self.assertEqual(kp.text_of(answer), key)
        for n, key, e in held[:20]:
            if n % 2:
                self.assertEqual(s.cancel(n), 202)
                self.is_cancelled_answer(e.answer(n), n)
            else:
                e.reset()
        for n, key, _ in held[:20]:
            self.is_cancelled(key)
        self.assertEqual(s.delete(), 200)
        self.nothing_runs()

    def test_many_clients_at_once(self):
        """HTTP-01 H5: clients of both eras on many threads, each with several connections: each gets its own answers."""
        failures = []

        def guarded(work):
            def run():
                try:
                    work()
                except BaseException as e:
                    failures.append(e)
            return run

        def says(e, n):
            *said, answer = e.messages()
            self.assertEqual([m["params"]["progress"] for m in said], list(range(1, n % 3 + 1)))
            self.assertTrue(kp.same_id(answer, n))
            self.assertEqual(kp.text_of(answer), str(n))

        def modern():
            m = Modern(self.server)
            with self.server.connect() as c:
                for n in range(100):
                    says(m.post(m.call(n, "speak", {"n": n % 3, "text": str(n)}, progressToken=n), on=c), n)

        def legacy():
            s = Session(self.server)
            for n in range(30):
                with s.post(call(n, "speak", {"n": n % 3, "text": str(n)}, {"progressToken": n})) as e:
                    says(e, n)
            self.assertEqual(s.delete(), 200)

        threads = [threading.Thread(target=guarded(work)) for work in (modern, legacy) * 4]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])
        self.nothing_runs()


# ---- the end of the server ----


class Stopping(ModernTest):
    settings = None
    options = ("--threads", "2")

    def is_shut_down(self, e, ident):
        """One answer, an error, and the end."""
        said = [m for m in e.messages() if "method" not in m]
        self.assertEqual(len(said), 1, said)
        self.is_shutting_down(said[0], ident)

    def test_g5_running_calls(self):
        """G5 G12: SIGTERM while calls run: each is answered once, with an error; streams end; listens with their result; exit status 0."""
        s = self.session()
        quiet = [self.park(self.key(), ident=n) for n in range(5)]
        speaking = []
        for n in range(5):
            key = self.key()
            e = self.park(key, ident=n)
            self.control.emit(key)
            self.is_progress(e.message(), 1)
            speaking.append(e)
        legacy = [self.parked(s, n, self.key()) for n in range(5)]
        get = self.listening(s)
        listens = []
        for ident in (1, "1"):
            e = self.enterContext(self.m.post(self.m.listen(ident, toolsListChanged=True)))
            self.assertEqual(e.message()["method"], "notifications/subscriptions/acknowledged")
            listens.append((ident, e))
        self.server.signal(signal.SIGTERM)
        for group in (quiet, speaking, legacy):
            for n, e in enumerate(group):
                self.is_shut_down(e, n)
        for e in (*speaking, *legacy):
            self.assertFalse(e.is_stream and e.stream.broken)
        for ident, e in listens:
            last, = e.messages()
            self.assertTrue(kp.same_id(last, ident))
            self.assertEqual(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], ident)
            self.assertFalse(e.stream.broken)
        self.assertEqual(get.messages(), [])
        self.ends_well(self.server)

    def test_g5_new_work(self):
        """G5: during the drain new calls on open connections are answered 503; new connections are refused."""
        with hc.HttpServer("--drain", "600s", "--threads", "1", command=("keel", "demo")) as server:
            m = Modern(server)
            with server.connect() as idle, server.connect() as busy, m.post(m.call(1, "sleep", {"ms": 1500}), on=busy) as e:
                self.assertEqual(m.text(m.call(2, "echo", {"text": "x"}), on=idle), "x")
                kp.until(lambda: server.metrics()["keel_requests_in_flight"] >= 1, "the call to run")
                server.signal(signal.SIGTERM)

                def is_refused():
                    with m.post(m.call(3, "echo", {"text": "x"}), on=idle) as late:
                        late.done()
                        return late.status == 503

                try:
                    kp.until(is_refused, "new work to be refused")
                except (hc.Broken, OSError):
                    pass  # closed: refused too
                answer = e.answer(1)
                self.assertIn("result", answer, "what ran was not waited for")
            self.ends_well(server)

    def test_g5_drain(self):
        """G5: with --drain a call that ends in time is answered with its result; the server ends as soon as the last has."""
        with hc.HttpServer("--drain", "600s", "--threads", "2", command=("keel", "demo")) as server:
            m = Modern(server)
            s = Session(server)
            held = [m.post(m.call(n, "sleep", {"ms": 1000}, **({"progressToken": n} if n % 2 else {}))) for n in range(6)]
            held += [s.post(call(n, "sleep", {"ms": 1000})) for n in range(6, 9)]
            listen = self.enterContext(m.post(m.listen("l", toolsListChanged=True)))
            self.assertIsNotNone(listen.message())
            kp.until(lambda: server.metrics()["keel_requests_in_flight"] >= 9, "the calls to run")
            server.signal(signal.SIGTERM)
            for n, e in enumerate(held):
                with e:
                    self.assertIn("result", e.answer(n))
            self.assertIn("result", listen.messages()[-1])
            self.ends_well(server)

    def test_g5_short_drain(self):
        """G5: calls that are not done at the end of the drain are answered with an error."""
        with self.start("--drain", "100ms") as server, hc.Control(server) as control:
            m = Modern(server)
            with m.post(m.call(1, "park", {"key": "k"})) as e:
                control.wait("k", "begun")
                server.signal(signal.SIGTERM)
                self.is_shut_down(e, 1)
            self.ends_well(server)

    def test_g5_clients_that_never_read(self):
        """G5: a hundred clients that never read, with streams, calls and much unsent output: the server ends within its time limits."""
        s = self.session()
        for n in range(25):
            key = self.key()
            e = self.enterContext(self.m.post(self.m.call(1, "park", {"key": key}, progressToken=1), receive_buffer=4096))
            self.control.wait(key, "begun")
            self.control.emit(key, 50)
            self.enterContext(self.m.post(self.m.call(1, "big", {"bytes": 2 * MIB}), receive_buffer=4096))
            self.enterContext(s.get(receive_buffer=4096))
            self.enterContext(self.m.post(self.m.listen(1, toolsListChanged=True), receive_buffer=4096))
        self.control.use("add_tool", name="extra")
        self.serves()
        self.stops()

    def test_g5_unfinished_requests(self):
        """G5: clients in the middle of a head or a body, or idle: the server ends."""
        data = self.m.request_bytes(self.m.call(1, "echo", {"text": "x"}))
        for cut in (0, 1, 50, len(data) - 1):
            self.enterContext(self.server.connect()).send(data[:cut])
        self.serves(on=self.enterContext(self.server.connect()))
        self.stops()

    def test_g5_handlers_that_ignore_it(self):
        """G5 F4: a handler that ignores its stop token is answered with an error and abandoned; the server ends."""
        key = self.key()
        e = self.park(key, stubborn=True)
        self.server.signal(signal.SIGTERM)
        self.is_shut_down(e, 1)
        self.ends_well(self.server)

    def test_g5_with_cleanup(self):
        """G5 B15: slow cleanup is awaited for the grace time only; the call was answered before."""
        e = self.park(self.key(), slow_cleanup=True)
        self.server.signal(signal.SIGTERM)
        self.is_shut_down(e, 1)
        self.ends_well(self.server)

    def test_g12_twice(self):
        """G12: a second signal ends the server at once, during the drain."""
        with self.start("--drain", "600s") as server, hc.Control(server) as control:
            m = Modern(server)
            with m.post(m.call(1, "park", {"key": "k"})), m.post(m.listen(1, toolsListChanged=True)) as listen:
                control.wait("k", "begun")
                self.assertIsNotNone(listen.message())
                server.signal(signal.SIGTERM)
                listen.messages()  # it has begun to stop: streams have ended
                server.signal(signal.SIGTERM)
                self.assertIn(server.exit_status(), (0, 1, 128 + signal.SIGTERM))


if __name__ == "__main__":
    kp.main()
