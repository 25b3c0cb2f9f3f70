"""Helpers of the tests of revision 2026-07-28 over HTTP."""

import keel_process as kp
from http_test import HttpTest

# No keep-alive comments are sent on idle streams during a test: detecting a disconnect must not depend on them.
QUIET = {"keep_alive": kp.HOUR}
ALL_CAPABILITIES = {"elicitation": {}, "sampling": {}, "roots": {}}


class ModernTest(HttpTest):
    settings = {**QUIET, "threads": 1}

    def setUp(self):
        super().setUp()
        self.m = self.modern()

    def park(self, key, ident=1, on=None, tool="park", **arguments):
        """Posts a call that waits, and waits until its handler runs. No message has been sent on its exchange."""
        e = self.m.post(self.m.call(ident, tool, {"key": key, **arguments}, progressToken=key), on=on)
        self.enterContext(e)
        self.control.wait(key, "begun")
        return e

    def is_cancelled(self, key):
        """Waits until its stop token was triggered and its cleanup has run."""
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
            kp.until(is_back, "all counts to return to their previous values")
        except kp.Hang as e:
            raise AssertionError(f"before {before}, now {now}") from e


def disconnect_by_fin(c):
    c.close()


def disconnect_by_reset(c):
    c.reset()


def disconnect_by_half_close(c):
    """FIN; the other direction stays open, but gets no more messages of the call."""
    c.half_close()


DISCONNECTS = (disconnect_by_fin, disconnect_by_reset, disconnect_by_half_close)
