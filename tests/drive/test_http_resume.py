#!/usr/bin/env python3
"""Streams that are taken up again after their connection was lost: every message arrives exactly once, in order.
Against a real process over real sockets."""

# ctest-labels: threads
# ctest-timeout: 900

import random
import threading

import http_client as hc
import keel_process as kp
from http_client import WITH_STREAMS, Control, HttpTest, in_each
from keel_process import MIB, call, request

LATEST = "2025-11-25"
STEPS = 5  # messages before the answer


class Sequence:
    """What one stream has carried, over however many connections."""

    def __init__(self, test):
        self.test = test
        self.events = []

    def take(self, exchange, count=None):
        """Reads `count` events, or all there are. The number that came."""
        came = 0
        while count is None or came < count:
            event = self.next(exchange)
            if event is None:
                self.test.assertIsNone(count, f"the stream ended after {came} of {count} events")
                break
            came += 1
        return came

    def next(self, exchange):
        """Reads one; None at the end."""
        event = exchange.event("the next event of a stream")
        if event is not None and event.data == "" and event.id == getattr(exchange, "place", None):
            # A resumed stream may begin with the place where it goes on. That is no event of its own.
            event = exchange.event("the next event of a stream")
        if event is not None:
            self.events.append(event)
        return event

    @property
    def last_id(self):
        return [e.id for e in self.events if e.id][-1]

    def messages(self):
        return [e.message for e in self.events if e.data]

    def numbers(self):
        """The progress that was reported, and "answer" for the answer."""
        return [m["params"]["progress"] if "method" in m else "answer" for m in self.messages()]

    def check_ids(self):
        """Every event has an id, and no two have the same."""
        ids = [e.id for e in self.events]
        self.test.assertNotIn(None, ids)
        self.test.assertNotIn("", ids)
        self.test.assertEqual(len(ids), len(set(ids)), f"an id came twice: {ids}")


class ResumeTest(HttpTest):
    def begin(self, s, ident=1, **arguments):
        """A parked call whose stream is open. Its first message is progress 1."""
        key = self.key()
        e = self.parked(s, ident, key, **arguments)
        return key, e

    def let_go(self, e, how):
        """Loses a connection. After a reset the server has noticed; an orderly close it may notice when it writes."""
        if how == "close":
            return e.close()
        sockets = self.server.sockets()
        e.reset()
        return kp.until(lambda: self.server.sockets() < sockets, "the server to notice the reset")

    def resume(self, s, last_id, **how):
        e = self.enterContext(s.get(last_id, **how))
        self.assertEqual(e.status, 200, e.response.fields)
        self.assertEqual(e.response.content_type, "text/event-stream")
        e.place = last_id
        return e


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

    def test_no_ids_where_nobody_can_use_them(self):
        """LHTTP-05 I13: 2026-07-28 has no resumption: its streams carry no ids."""
        m = self.modern()
        with m.post(m.call(1, "speak", {"n": 3}, progressToken=1)) as e:
            while (event := e.event()) is not None:
                self.assertIsNone(event.id)
                self.assertTrue(event.data)


class DropAndResume(ResumeTest):
    def drop_after(self, s, version, k, how, away):
        """Drops after event k; `away` of the later messages are made while nobody listens, the others once it is resumed."""
        key, e = self.begin(s, ident=self.key("id"))
        got = Sequence(self)
        primed = version == LATEST
        first = max(k - primed, 0)  # messages that must be there before event k can have come
        made = max(first, 1)  # without any message there is no stream
        self.control.emit(key, made)
        got.take(e, k)
        self.let_go(e, how)
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
            self.assertLess(len(got.events), 25, f"the stream goes in circles: {got.numbers()}")
            got.take(e, 1)
            self.let_go(e, "reset" if len(got.events) % 2 else "close")
            if 0 < len(got.numbers()) < 20:
                self.control.emit(key, 1)
            e = self.resume(s, got.last_id)
        self.control.release(key, "x")
        got.take(e)
        self.assertEqual(got.numbers(), [*range(1, 21), "answer"])
        got.check_ids()

    @in_each()
    def test_lhttp_06_only_that_stream(self, version):
        """LHTTP-06 H9 H15: a replay holds the events of its own stream alone, and live ones of others stay where they belong."""
        s = self.session(version)
        g = self.listening(s)
        (ka, a), (kb, b) = self.begin(s, "a"), self.begin(s, "b")
        ga, gb = Sequence(self), Sequence(self)
        for key, e, got in ((ka, a, ga), (kb, b, gb)):
            self.control.emit(key, 1)
            got.take(e, 1)
        self.let_go(a, "close")
        self.let_go(b, "reset")
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
        self.let_go(g, "reset")
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
        self.let_go(a, "reset")
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
                continue  # nobody could know how to come back
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
        self.let_go(e, "reset")
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
        self.let_go(e, "reset")
        e = self.resume(s, got.last_id)
        got.take(e, 2)
        self.control.emit(kb, 1)
        self.control.release(kb, "b")
        got.take(e)
        self.assertEqual(got.numbers(), [1, 1, "answer", 2, "answer"])
        got.check_ids()

    @in_each()
    def test_b18_cancelled_while_away(self, version):
        """B18 H9: a request that is cancelled while its connection is lost: a resume gets the error and the end."""
        s = self.session(version)
        key, e = self.begin(s, 5)
        self.control.emit(key, 1)
        got = Sequence(self)
        got.take(e, 2 if version == LATEST else 1)
        self.let_go(e, "reset")
        self.assertEqual(s.cancel(5), 202)
        self.control.wait(key, "cleaned_up")
        for _ in range(2):
            replay = Sequence(self)
            replay.take(self.resume(s, got.last_id))
            self.assertEqual(len(replay.messages()), 1)
            self.is_cancelled_answer(replay.messages()[0], 5)

    @in_each("2025-06-18", LATEST)
    def test_h20_answered_while_away(self, version):
        """H20 H9: the client answers a question after its stream dropped; the result is in the replay."""
        s = self.session(version, {"elicitation": {}})
        key = self.key()
        e = s.post(call(1, "ask", {"key": key}))
        got = Sequence(self)
        while not got.messages():
            got.take(e, 1)
        asked = got.messages()[0]
        self.assertEqual(asked["method"], "elicitation/create")
        self.let_go(e, "reset")
        self.assertEqual(s.reply(asked["id"], {"action": "accept", "content": {"word": "hello"}}), 202)
        self.control.wait(key, "finished")
        got.take(self.resume(s, got.last_id))
        self.assertEqual(len(got.messages()), 2)
        self.is_text(got.messages()[1], "hello")

    def test_h9_question_while_away(self):
        """H9 H20: an unread question is in the replay, once, and its answer reaches the handler."""
        s = self.session(LATEST, {"elicitation": {}})
        key = self.key()
        e = s.post(call(1, "ask", {"key": key}))
        got = Sequence(self)
        got.take(e, 1)
        self.assertEqual(got.messages(), [])
        self.let_go(e, "reset")
        r = self.resume(s, got.last_id)
        got.take(r, 1)
        asked = got.messages()[0]
        self.assertEqual(asked["method"], "elicitation/create")
        self.assertEqual(s.reply(asked["id"], {"action": "decline"}), 202)
        got.take(r)
        self.assertEqual(len(got.messages()), 2)
        self.is_text(got.messages()[1], "declined")


class LettingGo(ResumeTest):
    """The server ends a connection whose stream goes on: a handler that takes long asks for it."""

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

    def test_h9_before_anything_was_said(self):
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


class WhileItHappens(ResumeTest):
    MESSAGES = 300

    @in_each()
    def test_h10_events_during_the_replay(self, version):
        """H10: events that are made while a replay is sent appear exactly once, after the replayed ones."""
        for seed in range(3):
            with self.subTest(seed=seed):
                self.storm(version, random.Random(seed))

    def storm(self, version, chance):
        s = self.session(version)
        key, e = self.begin(s)
        self.control.emit(key, 1)
        problems = []

        def speak():
            try:
                with Control(self.server) as other:
                    for _ in range(self.MESSAGES - 1):
                        other.emit(key, 1)
                    other.release(key, "end")
            except BaseException as problem:
                problems.append(problem)

        got = Sequence(self)
        got.take(e, 2 if version == LATEST else 1)
        speaker = threading.Thread(target=speak)
        speaker.start()
        try:
            while "answer" not in got.numbers():
                self.assertLess(len(got.events), self.MESSAGES + 5, "the stream goes in circles")
                count = chance.choice((0, 1, 1, 2, 5, 20))
                while count and "answer" not in got.numbers():
                    if got.next(e) is None:
                        break
                    count -= 1
                if "answer" in got.numbers():
                    break
                # Some connections are lost, others still look alive to the server.
                if chance.random() < 0.5:
                    e.reset()
                e = self.resume(s, got.last_id)
        finally:
            speaker.join()
        self.assertEqual(problems, [])
        self.assertEqual(got.numbers(), [*range(1, self.MESSAGES + 1), "answer"])
        got.check_ids()

    @in_each()
    def test_h11_old_connection_looks_alive(self, version):
        """H11: a stream is resumed while its old connection is still open: the new one takes over, the old one is closed."""
        s = self.session(version)
        key, old = self.begin(s)
        got = Sequence(self)
        self.control.emit(key, 2)
        got.take(old, 2)
        while got.numbers() != [1, 2]:
            got.take(old, 1)
        for _ in range(5):
            new = self.resume(s, got.last_id)
            self.control.emit(key, 1)
            got.take(new, 1)
            self.assertEqual(old.messages(), [])  # it ends, without another message
            old = new
        self.control.release(key, "x")
        got.take(old)
        self.assertEqual(got.numbers(), [1, 2, 3, 4, 5, 6, 7, "answer"])

    def test_h11_the_newest_of_many(self):
        """H11: a client that resumes again and again, and never closes anything, has one open stream in the end."""
        s = self.session()
        key, e = self.begin(s)
        self.control.emit(key, 1)
        got = Sequence(self)
        got.take(e, 2)
        streams = [e]
        for _ in range(50):
            streams.append(self.resume(s, got.last_id))
        for each in streams[:-1]:
            self.assertEqual(each.messages(), [])
        self.control.release(key, "x")
        got.take(streams[-1])
        self.assertEqual(got.numbers(), [1, "answer"])

    def test_h11_stand_alone(self):
        """H11 LHTTP-04: a resume of the stand-alone stream replaces its old connection."""
        s = self.session()
        got = Sequence(self)
        old = self.listening(s)
        self.control.use("add_tool", name=self.key("extra"))
        while not got.messages():
            got.take(old, 1)
        new = self.resume(s, got.last_id)
        self.control.use("add_tool", name=self.key("extra"))
        while len(got.messages()) < 2:
            got.take(new, 1)
        self.assertEqual(old.messages(), [])

    def test_h11_half_a_resume(self):
        """H11 E14: a GET with Last-Event-ID of which only a part arrives does not take the stream away."""
        s = self.session()
        key, e = self.begin(s)
        self.control.emit(key, 1)
        got = Sequence(self)
        got.take(e, 2)
        data = s.request_bytes(None, {"Last-Event-ID": got.last_id}, method="GET")
        for cut in (1, len(data) // 2, len(data) - 1):
            c = self.server.connect()
            c.send(data[:cut])
            c.reset()
        self.control.emit(key, 1)
        got.take(e, 1)
        self.control.release(key, "x")
        got.take(e)
        self.assertEqual(got.numbers(), [1, 2, "answer"])


class NotToBeResumed(ResumeTest):
    def is_refused(self, s, last_id):
        """400 with a reason, and the session lives."""
        with s.get(last_id) as e:
            body = self.is_error(e, 400)
            self.assertTrue(body["error"]["message"])
        self.assertEqual(s.text(call(self.key(), "echo", {"text": "alive"})), "alive")

    @in_each()
    def test_h16_ids_that_name_nothing(self, version):
        """H16: an id that is malformed, unknown or of another session is answered 400 with a reason; the session lives."""
        other = self.session(version)
        ids = Sequence(self)
        for i in range(20):
            with other.post(call(i, "speak", {"n": 2}, {"progressToken": 1})) as e:
                ids.take(e)
        s = self.session(version)
        foreign = ids.last_id
        for wrong in ("x", "-1", "0", "99999999999999999999999999", "1/2/3/4", "a b", "%00", "\xff\xfe", "x" * 2000,
                      foreign, foreign + "x", "x" + foreign, foreign + "999"):
            with self.subTest(last_event_id=wrong[:40]):
                self.is_refused(s, wrong)

    @in_each()
    def test_h16_of_an_ended_session(self, version):
        """H16 H4: the events of a deleted session are gone with it."""
        s = self.session(version)
        ids = Sequence(self)
        with s.post(call(1, "speak", {"n": 2}, {"progressToken": 1})) as e:
            ids.take(e)
        self.assertEqual(s.delete(), 200)
        self.refused(s.get(ids.last_id), 404)
        self.is_refused(self.session(version), ids.last_id)

    def test_h16_no_ids_no_store(self):
        """H16: a session of 2024-11-05 has no event ids: any is answered 400."""
        self.is_refused(self.session("2024-11-05"), "1")

    @in_each()
    def test_h16_j5_too_many_events(self, version):
        """H16 J5: of a session's events the last 1000 are kept; evicted ones are answered 400, stored ones are replayed."""
        s = self.session(version)
        key, e = self.begin(s)
        got = Sequence(self)
        for tens in range(1, 121):  # a few at a time, so that the client is never slow
            self.control.emit(key, 10)
            got.take(e, 10 * tens + (version == LATEST) - len(got.events))
        self.assertEqual(got.numbers(), list(range(1, 1201)))
        self.let_go(e, "reset")
        self.is_refused(s, got.events[0].id)
        self.is_refused(s, got.events[100].id)
        r = self.resume(s, got.events[-900].id)
        again = Sequence(self)
        again.take(r, 899)
        self.assertEqual([x.id for x in again.events], [x.id for x in got.events[-899:]])
        self.control.release(key, "x")
        again.take(r)
        self.is_text(again.messages()[-1], "x")

    def test_h16_j5_too_many_bytes(self):
        """H16 J5: of a session's events at most 8 MiB are kept."""
        s = self.session()
        key, e = self.begin(s)
        got = Sequence(self)
        for number in range(1, 21):
            self.control.use("emit", key=key, n=1, kind="log", bytes=MIB)
            got.take(e, 1 if number > 1 else 2)
        self.let_go(e, "close")
        self.is_refused(s, got.events[0].id)
        self.is_refused(s, got.events[8].id)
        r = self.resume(s, got.events[-5].id)
        again = Sequence(self)
        again.take(r, 4)
        self.assertEqual([x.id for x in again.events], [x.id for x in got.events[-4:]])
        self.control.release(key, "x")
        again.take(r)
        self.is_text(again.messages()[-1], "x")

    def test_j5_memory(self):
        """J5 H7: endless messages of a call without a listener do not fill the memory."""
        s = self.session()
        key, e = self.begin(s)
        self.control.emit(key, 1)
        got = Sequence(self)
        got.take(e, 2)
        self.let_go(e, "reset")
        for _ in range(200):
            self.control.use("emit", key=key, n=1, kind="log", bytes=MIB)
        self.stays_below(self.server, 100 * MIB, "200 MiB of events for nobody")
        self.is_refused(s, got.last_id)
        self.control.release(key, "x")
        self.control.wait(key, "finished")
        self.nothing_runs()

    def test_j5_every_session_has_its_own_store(self):
        """J5 H5: what one session stores evicts nothing of another."""
        quiet, loud = self.session(), self.session()
        got = Sequence(self)
        with quiet.post(call(1, "speak", {"n": 2, "text": "kept"}, {"progressToken": 1})) as e:
            got.take(e)
        for i in range(20):
            with loud.post(call(i, "speak", {"n": 200}, {"progressToken": 1})) as e:
                e.answer(i)
        again = Sequence(self)
        again.take(self.resume(quiet, got.events[0].id))
        self.is_text(again.messages()[-1], "kept")


class WithoutStore(ResumeTest):
    """The server keeps no events."""

    settings = {"max_events": 0}

    @in_each()
    def test_h7_h16_nothing_is_stored(self, version):
        """H7 H16 H13: without a store any Last-Event-ID is answered 400; the answer of a dropped stream is discarded."""
        s = self.session(version)
        key, e = self.begin(s)
        self.control.emit(key, 1)
        while not (event := e.event()).data:
            pass
        self.let_go(e, "reset")
        self.control.emit(key, 5)
        self.control.release(key, "for nobody")
        self.assertFalse(self.control.wait(key, "finished")["cancelled"])
        self.nothing_runs()
        for last_id in (event.id or "1", "x"):
            with s.get(last_id) as r:
                self.is_error(r, 400)
        self.control.use("add_tool", name=self.key("extra"))
        self.assertEqual(s.text(call(2, "echo", {"text": "alive"})), "alive")


class Age(ResumeTest):
    """Streams that have ended are kept for a moment only."""

    settings = {"ended_stream": 200}

    @in_each()
    def test_h16_j5_too_old(self, version):
        """H16 J5: a stream that ended long ago cannot be resumed: 400; the session continues."""
        s = self.session(version)
        got = Sequence(self)
        with s.post(call(1, "speak", {"n": 2}, {"progressToken": 1})) as e:
            got.take(e)

        def is_forgotten():
            with s.get(got.events[0].id) as r:
                if r.status == 200:
                    self.is_text(r.messages()[-1], "")
                    return False
                self.is_error(r, 400)
                return True

        kp.until(is_forgotten, "the stream to be forgotten")
        self.assertEqual(s.text(call(2, "echo", {"text": "alive"})), "alive")

    def test_h9_running_stream_stays(self):
        """H9 J5: a stream whose call still runs can be resumed, however long the client is disconnected."""
        s = self.session()
        key, e = self.begin(s, "running")
        got = Sequence(self)
        self.control.emit(key, 1)
        got.take(e, 2)
        self.let_go(e, "close")
        self.test_h16_j5_too_old()  # so long has passed
        r = self.resume(s, got.last_id)
        self.control.release(key, "x")
        got.take(r)
        self.assertEqual(got.numbers(), [1, "answer"])


if __name__ == "__main__":
    kp.main()
