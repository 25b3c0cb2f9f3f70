#!/usr/bin/env python3
"""A stream is resumed while events are sent, or while its old connection is still open."""

# ctest-labels: threads
# ctest-timeout: 900

import random
import threading

import keel_process as kp
from http_process import Control
from http_resume import ResumeTest, Sequence
from http_test import LATEST, in_each


class ResumeRaces(ResumeTest):
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
                self.assertLess(len(got.events), self.MESSAGES + 5, "the stream repeats events")
                count = chance.choice((0, 1, 1, 2, 5, 20))
                while count and "answer" not in got.numbers():
                    if got.next(e) is None:
                        break
                    count -= 1
                if "answer" in got.numbers():
                    break
                # Some connections are lost, others still look open to the server.
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
            self.assertEqual(old.messages(), [])  # it ends without another message
            old = new
        self.control.release(key, "x")
        got.take(old)
        self.assertEqual(got.numbers(), [1, 2, 3, 4, 5, 6, 7, "answer"])

    def test_h11_the_newest_of_many(self):
        """H11: a client that resumes repeatedly, and closes no connection, has one open stream in the end."""
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

    def test_h11_incomplete_resume(self):
        """H11 E14: an incomplete GET with Last-Event-ID does not take over the stream."""
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


if __name__ == "__main__":
    kp.main()
