#!/usr/bin/env python3
"""Calls in sessions over HTTP: dropped connections do not cancel them, notifications/cancelled does."""

# ctest-labels: threads
# ctest-timeout: 900

import keel_process as kp
from http_test import LATEST, HttpTest, in_each
from keel_process import call


class DroppedConnections(HttpTest):
    """H6: a lost connection does not cancel its calls."""

    DISCONNECTS = ("close", "reset", "half-close")

    def drop(self, e, how):
        if how == "close":
            e.close()
        elif how == "reset":
            e.reset()
        else:
            e.connection.half_close()

    @in_each()
    def test_h6_connection_dropped(self, version):
        """H6 LHTTP-18: dropped before, between or after events, in any way: the handler is not cancelled and ends by itself."""
        s = self.session(version)
        for how in self.DISCONNECTS:
            for events in (0, 1, 3):
                with self.subTest(how=how, events=events):
                    key = self.key()
                    sockets = self.server.sockets()
                    e = self.streaming(s, key, key, events) if events else self.parked(s, key, key)
                    self.drop(e, how)
                    if how == "reset":  # other disconnects are detected only when the server writes
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
    def test_b18_before_any_message(self, version):
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
    def test_b11_no_messages_after_the_cancel(self, version):
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
    def test_b19_cancel_of_unknown_requests(self, version):
        """B19 B7 B6: unknown and finished requests: 202 without body and without effect, also on a later request with that id."""
        s = self.session(version)
        self.assertEqual(s.cancel(99), 202)
        self.assertEqual(s.text(call(99, "echo", {"text": "served"})), "served")
        self.assertEqual(s.cancel(99), 202)
        self.assertEqual(s.text(call(99, "echo", {"text": "again"})), "again")

    @in_each()
    def test_b19_ids_belong_to_their_session(self, version):
        """B19: two sessions both run id 5; a cancel in one does not affect the other."""
        a, b = self.session(version), self.session(version)
        ka, kb = self.key(), self.key()
        ea, eb = self.parked(a, 5, ka), self.streaming(b, 5, kb)
        self.assertEqual(a.cancel(5), 202)
        self.is_cancelled_answer(ea.answer(5), 5)
        self.control.wait(ka, "finished")
        self.control.release(kb, "mine")
        self.is_text(eb.answer(5), "mine")
        self.assertFalse(self.control.status(kb)["cancelled"])

    def test_b8_b9_invalid_and_repeated_cancels(self):
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
        """A7: a second request with an id in flight is answered 400 with an error without id; the first is not affected."""
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
        """A7 H6: a request whose connection was lost is still in flight; when it has ended, its id is free."""
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
        self.assertEqual(s.reply(asked["id"], {"action": "decline"}), 202)  # too late, without effect

    def test_f8_too_many_in_flight(self):
        """F8: more than 256 calls of a session get 503 with Retry-After; a cancel still works, and frees a slot."""
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


if __name__ == "__main__":
    kp.main()
