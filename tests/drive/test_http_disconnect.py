#!/usr/bin/env python3
"""Clients of 2026-07-28 that disconnect: their requests are cancelled."""

# ctest-timeout: 900

import http_client as hc
import keel_process as kp
from http_modern import (
    ALL_CAPABILITIES, DISCONNECTS, QUIET, ModernTest, disconnect_by_fin, disconnect_by_half_close, disconnect_by_reset)
from keel_process import MIB, call, notification


class Disconnect(ModernTest):
    """A closed response stream cancels its request, and no other."""

    def test_i2_i3_before_headers(self):
        """I2 I3 HTTP-11: a disconnect before any answer: the stop token fires, cleanup runs, nothing more is written."""
        for disconnect in DISCONNECTS:
            for stubborn in (False, True):
                with self.subTest(way=disconnect.__name__, slow_cleanup=stubborn):
                    key = self.key()
                    e = self.park(key, slow_cleanup=stubborn)
                    disconnect(e.connection)
                    self.control.wait(key, "cancelled")
                    if stubborn:
                        self.control.emit(key, 5)  # its later messages are dropped
                        self.control.use("clean_up", key=key)
                    self.is_cancelled(key)
                    if disconnect is disconnect_by_half_close:
                        self.assertNotIn(b"jsonrpc", e.connection.ends())
        self.nothing_runs()
        self.serves()

    def test_i2_between_events(self):
        """I2 HTTP-11: a disconnect after the headers and any number of events cancels the call."""
        for disconnect in DISCONNECTS:
            for events in (1, 2, 5):
                with self.subTest(way=disconnect.__name__, events=events):
                    key = self.key()
                    e = self.park(key, slow_cleanup=True)
                    self.control.emit(key, events)
                    for number in range(1, events + 1):
                        self.is_progress(e.message(), number)
                    disconnect(e.connection)
                    self.control.wait(key, "cancelled")
                    self.control.emit(key, 3)
                    self.control.use("clean_up", key=key)
                    self.is_cancelled(key)
                    if disconnect is disconnect_by_half_close:
                        left = e.connection.ends()
                        self.assertNotIn(b"jsonrpc", left)
        self.nothing_runs()
        self.serves()

    def test_i2_unread_events(self):
        """I2 HTTP-11: a disconnect with unread messages cancels the call."""
        for disconnect in (disconnect_by_fin, disconnect_by_reset):
            with self.subTest(way=disconnect.__name__):
                key = self.key()
                e = self.park(key)
                self.control.emit(key, 100)
                disconnect(e.connection)
                self.is_cancelled(key)
        self.nothing_runs()

    def test_i2_i3_during_the_answer(self):
        """I2 I3 B5: a disconnect in the middle of a large answer, in both forms: it is dropped, others are not affected."""
        self.serves()
        before = self.control.census()
        for disconnect in DISCONNECTS:
            for first in (1, 1000, 1_000_000):
                for stream in (False, True):
                    with self.subTest(way=disconnect.__name__, first=first, stream=stream):
                        key = self.key()
                        e = self.m.post(self.m.call(1, "park", {"key": key}, progressToken=1), receive_buffer=8192)
                        self.control.wait(key, "begun")
                        if stream:
                            self.control.emit(key)
                        self.control.release(key, "x" * 3_900_000)
                        e.connection.take(first, "the answer")  # its handler has ended
                        disconnect(e.connection)
                        self.nothing_runs()
                        e.close()
        self.census_is(before)
        self.serves()

    def test_i2_worker_thread(self):
        """I2 I3: a disconnect cancels a handler on a worker thread too."""
        for disconnect in DISCONNECTS:
            with self.subTest(way=disconnect.__name__):
                key = self.key()
                e = self.park(key, tool="block")
                disconnect(e.connection)
                self.control.wait(key, "cancelled")
                self.control.release(key, "nobody hears this")
                self.control.wait(key, "finished")
        self.nothing_runs()

    def test_i2_others_are_not_affected(self):
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
            DISCONNECTS[n % 2](e.connection)
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
            for disconnect in DISCONNECTS:
                with self.subTest(bytes=count, way=disconnect.__name__):
                    key = self.key()
                    e = self.park(key)
                    e.connection.send(following[:count])
                    self.serves()
                    disconnect(e.connection)
                    self.is_cancelled(key)
        self.nothing_runs()

    def test_i4_disconnect_behind_pipelined_requests(self):
        """I4 I2: a disconnect is detected although more was pipelined than the server reads ahead."""
        data = self.m.request_bytes(self.m.call(2, "echo", {"text": "x" * 1000})) * 4000
        for disconnect in (disconnect_by_fin, disconnect_by_reset):
            with self.subTest(way=disconnect.__name__):
                key = self.key()
                e = self.park(key)
                e.connection.send_until_blocked(data)
                disconnect(e.connection)
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

    def test_j3_disconnects_leak_nothing(self):
        """J3 I2: a thousand disconnected calls disconnect nothing behind."""
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


class DisconnectFromStreams(Disconnect):
    """The same if every answer is a stream, which is open before the handler sends a message."""
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


class DisconnectFromIdleStreams(ModernTest):
    """A call without messages for a long time is answered with a stream of comments."""
    settings = {"keep_alive": 30, "threads": 1}

    def test_i2_after_headers(self):
        """I2 H19 HTTP-11: a disconnect after the headers, before any event: the stop token fires, cleanup runs, nothing more is written."""
        for disconnect in DISCONNECTS:
            for comments in (1, 3):
                with self.subTest(way=disconnect.__name__, comments=comments):
                    key = self.key()
                    e = self.park(key)
                    for _ in range(comments):
                        self.assertTrue(e.stream.next("a comment").only_comments)
                    disconnect(e.connection)
                    self.is_cancelled(key)
                    if disconnect is disconnect_by_half_close:
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


class DisconnectFromJson(ModernTest):
    """The same if every answer is JSON."""
    settings = {**QUIET, "answers": "json", "threads": 1}

    def test_i3_json(self):
        """I3 HTTP-11: a disconnect while a JSON answer is pending cancels the call, whatever the handler has sent."""
        for disconnect in DISCONNECTS:
            for said in (0, 3):
                with self.subTest(way=disconnect.__name__, said=said):
                    key = self.key()
                    e = self.park(key)
                    if said:
                        self.control.emit(key, said)
                    self.assertTrue(e.connection.silent())
                    disconnect(e.connection)
                    self.is_cancelled(key)
                    if disconnect is disconnect_by_half_close:
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
        m = self.modern(ALL_CAPABILITIES)
        self.assertEqual(m.ask(m.call(1, "ask", {"key": self.key()}))["result"]["resultType"], "input_required")
        s = self.session(capabilities={"elicitation": {}})
        answer = s.ask(call(1, "ask", {"key": self.key()}))
        self.assertTrue(answer["result"]["isError"])


if __name__ == "__main__":
    kp.main()
