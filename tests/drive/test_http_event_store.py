#!/usr/bin/env python3
"""The event store of a session: what cannot be resumed, and the limits on events, bytes and age."""

# ctest-labels: threads
# ctest-timeout: 900

import keel_process as kp
from http_resume import ResumeTest, Sequence
from http_test import LATEST, in_each
from keel_process import MIB, call


class InvalidEventIds(ResumeTest):
    def is_refused(self, s, last_id):
        """Expects 400 with a reason; the session continues."""
        with s.get(last_id) as e:
            body = self.is_error(e, 400)
            self.assertTrue(body["error"]["message"])
        self.assertEqual(s.text(call(self.key(), "echo", {"text": "alive"})), "alive")

    @in_each()
    def test_h16_unknown_ids(self, version):
        """H16: an id that is malformed, unknown or of another session is answered 400 with a reason; the session continues."""
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

    def test_h16_revision_without_ids(self):
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
        self.drop(e, "reset")
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
        self.drop(e, "close")
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
        self.drop(e, "reset")
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
    """The server stores no events."""

    settings = {"max_events": 0}

    @in_each()
    def test_h7_h16_nothing_is_stored(self, version):
        """H7 H16 H13: without a store any Last-Event-ID is answered 400; the answer of a dropped stream is discarded."""
        s = self.session(version)
        key, e = self.begin(s)
        self.control.emit(key, 1)
        while not (event := e.event()).data:
            pass
        self.drop(e, "reset")
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
    """Streams that have ended are stored only briefly."""

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

        kp.until(is_forgotten, "the stream to be removed")
        self.assertEqual(s.text(call(2, "echo", {"text": "alive"})), "alive")

    def test_h9_running_stream_stays(self):
        """H9 J5: a stream whose call still runs can be resumed, however long the client is disconnected."""
        s = self.session()
        key, e = self.begin(s, "running")
        got = Sequence(self)
        self.control.emit(key, 1)
        got.take(e, 2)
        self.drop(e, "close")
        self.test_h16_j5_too_old()  # the time limit has passed
        r = self.resume(s, got.last_id)
        self.control.release(key, "x")
        got.take(r)
        self.assertEqual(got.numbers(), [1, "answer"])


if __name__ == "__main__":
    kp.main()
