#!/usr/bin/env python3
"""Streams that are resumed after their connection was lost: every message arrives exactly once, in order."""

# ctest-labels: threads
# ctest-timeout: 900

import keel_process as kp
from http_resume import STEPS, ResumeTest, Sequence
from http_test import LATEST, in_each
from keel_process import MIB, call, request


class EventIds(ResumeTest):
    @in_each()
    def test_every_event_has_an_id(self, version):
        """LHTTP-05 H9: the ids of a session's events are unique over all its streams, GET and POST."""
        s = self.session(version)
        seen = Sequence(self)
        g = self.listening(s)
        for i in range(3):
            self.control.use("add_tool", name=self.key("extra"))
            while not g.event().data:
                pass
        for i in range(5):
            with s.post(call(i, "speak", {"n": 3}, {"progressToken": i})) as e:
                seen.take(e)
        seen.events += [b for b in g.stream.seen if b.id is not None]
        self.assertFalse([b for b in g.stream.seen if b.data and b.id is None])
        seen.check_ids()

    def test_first_event_of_a_stream(self):
        """LHTTP-20 H9: in 2025-11-25 a stream begins with an event that has an id and empty data."""
        s = self.session(LATEST)
        for e in (s.get(), s.post(call(1, "speak", {"n": 1}, {"progressToken": 1}))):
            with e:
                first = e.event("the first event of a stream")
                self.assertEqual(first.data, "")
                self.assertTrue(first.id)

    @in_each("2025-03-26", "2025-06-18")
    def test_no_empty_event_for_older_clients(self, version):
        """LHTTP-20 H9: older clients would take the empty event for an invalid message, so they get none."""
        s = self.session(version)
        with s.post(call(1, "speak", {"n": 1}, {"progressToken": 1})) as e:
            while (event := e.event()) is not None:
                self.assertTrue(event.data)
        g = self.listening(s)
        self.control.use("add_tool", name=self.key("extra"))
        self.assertTrue(g.event().data)
        self.assertFalse([b for b in g.stream.seen if b.data == ""])

    def test_no_ids_in_2026_07_28(self):
        """LHTTP-05 I13: 2026-07-28 has no resumption: its streams carry no ids."""
        m = self.modern()
        with m.post(m.call(1, "speak", {"n": 3}, progressToken=1)) as e:
            while (event := e.event()) is not None:
                self.assertIsNone(event.id)
                self.assertTrue(event.data)


class DropAndResume(ResumeTest):
    def drop_after(self, s, version, k, how, away):
        """Drops the connection after event k; `away` of the later messages are sent while it is closed, the others after the
        resume."""
        key, e = self.begin(s, ident=self.key("id"))
        got = Sequence(self)
        primed = version == LATEST
        first = max(k - primed, 0)  # messages that must have been sent before event k
        made = max(first, 1)  # without messages there is no stream
        self.control.emit(key, made)
        got.take(e, k)
        self.drop(e, how)
        before = min(away, STEPS - made)
        if before:
            self.control.emit(key, before)
        released = away > STEPS - made
        if released:
            self.control.release(key, "done")
            self.control.wait(key, "finished")
        r = self.resume(s, got.last_id)
        if not released:
            if STEPS - made - before:
                self.control.emit(key, STEPS - made - before)
            self.control.release(key, "done")
        got.take(r)
        self.assertFalse(r.stream.broken)
        self.assertEqual(got.numbers(), [*range(1, STEPS + 1), "answer"])
        self.is_text(got.messages()[-1], "done")
        got.check_ids()
        return got

    @in_each()
    def test_h9_drop_after_every_event(self, version):
        """H9 LHTTP-03 LHTTP-17: dropped after each event k and resumed: both connections together carry everything, once, in order."""
        s = self.session(version)
        primed = version == LATEST
        for k in range(1, primed + STEPS + 1):
            for away in (0, 1, STEPS + 1):
                for how in ("close", "reset"):
                    with self.subTest(k=k, away=away, how=how):
                        self.drop_after(s, version, k, how, away)
        self.nothing_runs()

    @in_each()
    def test_h9_resumed_from_every_event_after_the_end(self, version):
        """H9: a stream that has ended is replayed from any of its events, then ends; any number of times."""
        s = self.session(version)
        whole = Sequence(self)
        with s.post(call(1, "speak", {"n": STEPS, "text": "x"}, {"progressToken": 1})) as e:
            whole.take(e)
        for _ in range(2):
            for at, event in enumerate(whole.events):
                replay = Sequence(self)
                r = self.resume(s, event.id)
                replay.take(r)
                self.assertFalse(r.stream.broken)
                later = [e for e in whole.events[at + 1:] if e.data]
                self.assertEqual([(e.id, e.data) for e in replay.events if e.data], [(e.id, e.data) for e in later])

    @in_each()
    def test_h9_one_event_on_each_connection(self, version):
        """H9: every connection is lost after one event; all of them together carry the sequence."""
        s = self.session(version)
        key, e = self.begin(s)
        got = Sequence(self)
        self.control.emit(key, 1)
        while got.numbers()[-1:] != [20]:
            self.assertLess(len(got.events), 25, f"the stream repeats events: {got.numbers()}")
            got.take(e, 1)
            self.drop(e, "reset" if len(got.events) % 2 else "close")
            if 0 < len(got.numbers()) < 20:
                self.control.emit(key, 1)
            e = self.resume(s, got.last_id)
        self.control.release(key, "x")
        got.take(e)
        self.assertEqual(got.numbers(), [*range(1, 21), "answer"])
        got.check_ids()

    @in_each()
    def test_lhttp_06_only_that_stream(self, version):
        """LHTTP-06 H9 H15: a replay contains only the events of its own stream; live events of other streams stay on theirs."""
        s = self.session(version)
        g = self.listening(s)
        (ka, a), (kb, b) = self.begin(s, "a"), self.begin(s, "b")
        ga, gb = Sequence(self), Sequence(self)
        for key, e, got in ((ka, a, ga), (kb, b, gb)):
            self.control.emit(key, 1)
            got.take(e, 1)
        self.drop(a, "close")
        self.drop(b, "reset")
        for _ in range(3):
            self.control.emit(ka, 1)
            self.control.emit(kb, 1)
        ra = self.resume(s, ga.last_id)
        self.control.emit(kb, 1)
        self.control.emit(ka, 1)
        self.control.release(kb, "b")
        self.control.release(ka, "a")
        ga.take(ra)
        rb = self.resume(s, gb.last_id)
        gb.take(rb)
        for got, tokens, name in ((ga, ka, "a"), (gb, kb, "b")):
            self.assertEqual(got.numbers(), [1, 2, 3, 4, 5, "answer"])
            self.assertEqual({m["params"]["progressToken"] for m in got.messages() if "method" in m}, {tokens})
            self.is_text(got.messages()[-1], name)
        self.assertEqual(s.delete(), 200)
        self.assertEqual(g.messages(), [])

    @in_each()
    def test_h9_stand_alone_stream(self, version):
        """H9 LHTTP-06 H13: the stand-alone stream is resumed too: missed changes are sent once."""
        s = self.session(version)
        for uri in ("subject://one", "subject://two"):
            s.ask(request(uri, "resources/subscribe", {"uri": uri}))
        got = Sequence(self)
        g = self.listening(s)
        self.control.use("add_tool", name=self.key("extra"))
        while not got.messages():
            got.take(g, 1)
        self.drop(g, "reset")
        self.control.use("touch", uri="subject://one")
        self.control.use("touch", uri="subject://two")
        g = self.resume(s, got.last_id)
        while len(got.messages()) < 3:
            got.take(g, 1)
        self.control.use("add_tool", name=self.key("extra"))
        while len(got.messages()) < 4:
            got.take(g, 1)
        told = [m["params"].get("uri", "") if "params" in m else "" for m in got.messages()]
        self.assertEqual(told[0], "")
        self.assertEqual(sorted(told[1:3]), ["subject://one", "subject://two"])
        self.assertEqual(told[3], "")
        self.assertEqual(s.delete(), 200)
        self.assertEqual(g.messages(), [])

    @in_each()
    def test_lhttp_06_two_stand_alone_streams(self, version):
        """LHTTP-06 LHTTP-04 H12: of two stand-alone streams each is resumed by itself: events of the other are not repeated."""
        s = self.session(version)
        for uri in ("subject://one", "subject://two"):
            s.ask(request(uri, "resources/subscribe", {"uri": uri}))
        first, second, third = Sequence(self), Sequence(self), Sequence(self)
        a = self.listening(s)
        self.control.use("add_tool", name=self.key("extra"))
        while not first.messages():
            first.take(a, 1)
        b = self.listening(s)
        self.control.use("touch", uri="subject://one")
        while not second.messages():
            second.take(b, 1)
        self.drop(a, "reset")
        a = self.resume(s, first.last_id)
        self.control.use("touch", uri="subject://two")
        while "subject://two" not in [m.get("params", {}).get("uri") for m in third.messages()]:
            third.take(a, 1)
        self.assertEqual(s.delete(), 200)  # ends both
        third.take(a)
        second.take(b)
        told = [m.get("params", {}).get("uri") for m in first.messages() + second.messages() + third.messages()]
        self.assertEqual(sorted(map(str, told)), ["None", "subject://one", "subject://two"])

    @in_each()
    def test_h9_dropped_at_every_byte(self, version):
        """H9: the connection is lost after any byte of the stream; incomplete events are sent again, and nothing else."""
        s = self.session(version)
        with self.server.connect() as c:
            e = s.post(call("whole", "speak", {"n": 3, "text": "x"}, {"progressToken": 1}), on=c)
            whole = Sequence(self)
            whole.take(e)
            length = sum(len(b.raw) for b in e.stream.seen)
        for cut in range(1, length, 1 if version == LATEST else 5):
            e = s.post(call(cut, "speak", {"n": 3, "text": "x"}, {"progressToken": 1}))
            got = Sequence(self)
            read = b""
            while len(read) < cut:
                piece = e.response.piece()
                if not piece:
                    break
                read += piece
            e.reset()
            e.stream.rest, e.stream.ended = read[:cut], True
            got.take(e)
            if not [x for x in got.events if x.id]:
                continue  # without an id the client cannot resume
            got.take(self.resume(s, got.last_id))
            self.assertEqual(got.numbers(), [1, 2, 3, "answer"], f"dropped after {cut} bytes")
            got.check_ids()

    @in_each()
    def test_h9_dropped_in_a_large_answer(self, version):
        """H9 H6: the connection is lost in the middle of an answer of a MiB; it is sent again completely."""
        s = self.session(version)
        key = self.key()
        e = s.post(call(1, "park", {"key": key}, {"progressToken": 1}), receive_buffer=4096)
        self.control.wait(key, "begun")
        self.control.emit(key, 1)
        got = Sequence(self)
        got.take(e, 2 if version == LATEST else 1)
        text = "y" * MIB
        self.control.release(key, text)
        e.response.piece("the beginning of a large answer")
        self.drop(e, "reset")
        got.take(self.resume(s, got.last_id))
        self.assertEqual(got.numbers(), [1, "answer"])
        self.is_text(got.messages()[-1], text)

    def test_h9_e5_batch(self):
        """H9 E5: the calls of a batch (2025-03-26) share a stream, which can be resumed and ends with the last of their answers."""
        s = self.session("2025-03-26")
        ka, kb = self.key(), self.key()
        e = s.post([call("a", "park", {"key": ka}, {"progressToken": "a"}),
                    call("b", "park", {"key": kb}, {"progressToken": "b"})])
        self.control.wait(ka, "begun")
        self.control.wait(kb, "begun")
        self.control.emit(ka, 1)
        got = Sequence(self)
        got.take(e, 1)
        self.control.emit(kb, 1)
        self.control.release(ka, "a")
        self.drop(e, "reset")
        e = self.resume(s, got.last_id)
        got.take(e, 2)
        self.control.emit(kb, 1)
        self.control.release(kb, "b")
        got.take(e)
        self.assertEqual(got.numbers(), [1, 1, "answer", 2, "answer"])
        got.check_ids()

    @in_each()
    def test_b18_cancelled_while_disconnected(self, version):
        """B18 H9: a request that is cancelled while its connection is lost: a resume gets the error and the end."""
        s = self.session(version)
        key, e = self.begin(s, 5)
        self.control.emit(key, 1)
        got = Sequence(self)
        got.take(e, 2 if version == LATEST else 1)
        self.drop(e, "reset")
        self.assertEqual(s.cancel(5), 202)
        self.control.wait(key, "cleaned_up")
        for _ in range(2):
            replay = Sequence(self)
            replay.take(self.resume(s, got.last_id))
            self.assertEqual(len(replay.messages()), 1)
            self.is_cancelled_answer(replay.messages()[0], 5)

    @in_each("2025-06-18", LATEST)
    def test_h20_answered_while_disconnected(self, version):
        """H20 H9: the client answers a question after its stream dropped; the result is in the replay."""
        s = self.session(version, {"elicitation": {}})
        key = self.key()
        e = s.post(call(1, "ask", {"key": key}))
        got = Sequence(self)
        while not got.messages():
            got.take(e, 1)
        asked = got.messages()[0]
        self.assertEqual(asked["method"], "elicitation/create")
        self.drop(e, "reset")
        self.assertEqual(s.reply(asked["id"], {"action": "accept", "content": {"word": "hello"}}), 202)
        self.control.wait(key, "finished")
        got.take(self.resume(s, got.last_id))
        self.assertEqual(len(got.messages()), 2)
        self.is_text(got.messages()[1], "hello")

    def test_h9_question_while_disconnected(self):
        """H9 H20: an unread question is in the replay, once, and its answer reaches the handler."""
        s = self.session(LATEST, {"elicitation": {}})
        key = self.key()
        e = s.post(call(1, "ask", {"key": key}))
        got = Sequence(self)
        got.take(e, 1)
        self.assertEqual(got.messages(), [])
        self.drop(e, "reset")
        r = self.resume(s, got.last_id)
        got.take(r, 1)
        asked = got.messages()[0]
        self.assertEqual(asked["method"], "elicitation/create")
        self.assertEqual(s.reply(asked["id"], {"action": "decline"}), 202)
        got.take(r)
        self.assertEqual(len(got.messages()), 2)
        self.is_text(got.messages()[1], "declined")


class ReleasedStreams(ResumeTest):
    """The server closes a connection whose stream continues, because a slow handler requests it."""

    def test_h9_retry_comes_first(self):
        """H9 LHTTP-21: before the connection ends `retry` sets when to reconnect; everything else is sent after the resume."""
        s = self.session(LATEST)
        key, e = self.begin(s)
        got = Sequence(self)
        self.control.emit(key, 2)
        got.take(e, 3)
        for number in range(3, 6):
            self.control.use("let_go", key=key, retry=50 + number)
            got.take(e)
            self.assertFalse(e.stream.broken)
            self.assertEqual([b.retry for b in e.stream.seen if b.retry is not None], [50 + number])
            self.assertEqual(e.stream.seen[-1].retry, 50 + number)
            self.control.emit(key, 1)
            e = self.resume(s, got.last_id)
        self.control.release(key, "x")
        got.take(e)
        self.assertEqual(got.numbers(), [1, 2, 3, 4, 5, "answer"])

    def test_h9_before_any_message(self):
        """H9 LHTTP-20 LHTTP-21: the stream of a call without messages opens with an event id, then is released."""
        s = self.session(LATEST)
        key, e = self.begin(s)
        self.control.use("let_go", key=key, retry=1)
        got = Sequence(self)
        got.take(e)
        self.assertEqual([x.data for x in got.events if x.data is not None], [""])
        self.assertEqual([x.retry for x in got.events if x.retry is not None], [1])
        self.control.release(key, "x")
        self.control.wait(key, "finished")
        again = Sequence(self)
        again.take(self.resume(s, got.last_id))
        self.assertEqual(again.numbers(), ["answer"])

    @in_each("2025-03-26", "2025-06-18")
    def test_older_clients_keep_their_stream(self, version):
        """LHTTP-17 H9: older clients do not reconnect, so their stream is not closed before the answer."""
        s = self.session(version)
        key, e = self.begin(s)
        self.control.emit(key, 1)
        self.control.use("let_go", key=key, retry=1)
        self.control.emit(key, 1)
        self.control.release(key, "x")
        got = Sequence(self)
        got.take(e)
        self.assertEqual(got.numbers(), [1, 2, "answer"])
        self.assertFalse([b.retry for b in e.stream.seen if b.retry is not None])


if __name__ == "__main__":
    kp.main()
