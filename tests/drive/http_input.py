"""Base class of the tests that send invalid or unusual input to the HTTP server."""

import json

import http_client as hc
import keel_process as kp
from http_test import HttpTest

EVIL = "https://evil.example"  # an origin that is not allowed


class InputTest(HttpTest):
    options = ("--threads", "1")

    def setUp(self):
        super().setUp()
        self.m = self.modern()

    def echo(self, ident=1, text="x"):
        return self.m.call(ident, "echo", {"text": text})

    def good(self, ident=1, text="x", headers=None, **how):
        """The bytes of a valid request."""
        return self.m.request_bytes(self.echo(ident, text), headers, **how)

    def parks(self, key, ident=99):
        """The bytes of a request that would be visible if it were executed, which must not happen."""
        return self.m.request_bytes(self.m.call(ident, "park", {"key": key}))

    def never_ran(self, key):
        self.assertFalse(self.control.status(key)["begun"], "a handler ran that must not run")

    def is_echo(self, response, ident=1, text="x"):
        self.assertEqual(response.status, 200, response.fields)
        body = json.loads(response.body())
        self.m.check.sent_line(hc.text_bytes(self.echo(ident, text)))
        self.m.check.received(body)
        self.assertTrue(kp.same_id(body, ident), body)
        self.assertEqual(kp.text_of(body), text)

    def serves(self, on=None):
        """Sends a valid request on this connection or a new one."""
        if on is not None:
            on.send(self.good(7, "again"))
            return self.is_echo(on.response(), 7, "again")
        with self.server.connect() as c:
            self.serves(c)

    def census_is(self, before):
        names = ("connections", "in_flight", "descriptors")
        now = {}

        def is_back():
            now.update(self.control.census(), sessions=self.server.metrics()["keel_http_sessions"])
            return all(now[n] <= before[n] for n in (*names, "sessions"))

        try:
            kp.until(is_back, "all counts to return to their previous values")
        except kp.Hang as e:
            raise AssertionError(f"before {before}, now {now}") from e

    def counted(self):
        return {**self.control.census(), "sessions": self.server.metrics()["keel_http_sessions"]}
