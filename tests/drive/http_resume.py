"""Helpers of the tests that resume streams with Last-Event-ID."""

import keel_process as kp
from http_test import HttpTest

STEPS = 5  # messages before the answer


class Sequence:
    """The events of one stream, over any number of connections."""

    def __init__(self, test):
        self.test = test
        self.events = []

    def take(self, exchange, count=None):
        """Reads `count` events, or all. Returns the number."""
        came = 0
        while count is None or came < count:
            event = self.next(exchange)
            if event is None:
                self.test.assertIsNone(count, f"the stream ended after {came} of {count} events")
                break
            came += 1
        return came

    def next(self, exchange):
        """Reads one event; None at the end."""
        event = exchange.event("the next event of a stream")
        if event is not None and event.data == "" and event.id == getattr(exchange, "place", None):
            # A resumed stream may begin with the id from which it continues. That is not an event of the sequence.
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
        """The reported progress, and "answer" for the answer."""
        return [m["params"]["progress"] if "method" in m else "answer" for m in self.messages()]

    def check_ids(self):
        """Checks that every event has a unique id."""
        ids = [e.id for e in self.events]
        self.test.assertNotIn(None, ids)
        self.test.assertNotIn("", ids)
        self.test.assertEqual(len(ids), len(set(ids)), f"duplicate event id: {ids}")


class ResumeTest(HttpTest):
    def begin(self, s, ident=1, **arguments):
        """A parked call whose stream is open. Its first message is progress 1."""
        key = self.key()
        e = self.parked(s, ident, key, **arguments)
        return key, e

    def drop(self, e, how):
        """Drops a connection. After a reset the server has noticed it; a normal close it may notice only when it writes."""
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
