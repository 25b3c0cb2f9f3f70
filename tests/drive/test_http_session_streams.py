#!/usr/bin/env python3
"""Which stream of a session carries which message over HTTP, with event streams, JSON only, and without an event store."""

# ctest-labels: threads
# ctest-timeout: 900

import http_client as hc
import keel_process as kp
from http_test import LATEST, WITH_STREAMS, HttpTest, in_each
from keel_process import call, initialize, request


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
    def test_json_without_messages(self, version):
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
            self.assertTrue(e.connection.silent(), "an older stream has ended, or got the message too")
        streams[-1].close()
        self.assertEqual(s.delete(), 200)
        for e in streams[1:-1]:
            self.assertEqual(e.messages(), [])

    @in_each()
    def test_h12_newest_remaining_stream(self, version):
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
        """H20: the stream with a question was dropped: the client's answer is accepted and reaches the handler."""
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


class JsonOnly(HttpTest):
    """The server answers with JSON only."""

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
        """H6 H7: with JSON answers a dropped connection cancels nothing; the answer is discarded."""
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
    """The server answers with streams only."""

    settings = {"answers": "events"}

    @in_each()
    def test_answers(self, version):
        """HTTP-08 LHTTP-08: every answer is a stream; the head of the initialize response has the session id."""
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


class WithoutStore(HttpTest):
    """The server stores no events, so its events need no ids."""

    settings = {"max_events": 0}

    @in_each()
    def test_b18_stream_without_event_ids(self, version):
        """B18 H8: a stream without event ids ends without an answer, however slow the cleanup."""
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
        """H7 H6: the answer of a dropped stream is discarded when it is produced, and counted; the session continues."""
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
                block = quiet.stream.next("a comment on an idle stream")
                self.assertTrue(block.comments)
                self.assertTrue(block.only_comments)
        self.control.release(key, "x")
        self.is_text(e.answer(1), "x")


if __name__ == "__main__":
    kp.main()
