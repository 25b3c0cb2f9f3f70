"""Base class of the tests of the HTTP server: one server process per test, and common checks."""

import functools
import json
import signal
import sys

import keel_process as kp
from http_client import Modern, Session
from http_process import Control, HttpServer
from keel_process import call

WITH_STREAMS = ("2025-03-26", "2025-06-18", "2025-11-25")  # the older revisions with Streamable HTTP
LATEST = "2025-11-25"  # the newest revision with sessions


def in_each(*versions):
    """Runs a test in each of these revisions, which is passed as its argument."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            for version in versions or WITH_STREAMS:
                with self.subTest(version=version):
                    test(self, version)
        return run
    return decorate


class HttpTest(kp.DriveTest):
    """Starts a server for each test: `command` with `options` or `settings`."""

    options = ()
    settings = None
    command = ("test-subject",)
    credential = None  # default credential of clients

    def setUp(self):
        self.server = self.enterContext(self.start())
        self.server.credential = self.credential
        self.addCleanup(self.server_ends_well)  # after every connection of the test was closed
        if self.command[0] == "test-subject":
            self.control = self.enterContext(Control(self.server))
        self.keys = 0

    def start(self, *more, **how):
        return HttpServer(*self.options, *more, command=self.command, **{"settings": self.settings, **how})

    def run(self, result=None):
        before = len(result.failures) + len(result.errors) if result else 0
        super().run(result)
        if result and len(result.failures) + len(result.errors) > before and getattr(self, "server", None):
            sys.stderr.write(f"\nstandard error of the server:\n{self.server.stderr_text()}\n")

    def key(self, what="call"):
        """A unique key for a call."""
        self.keys += 1
        return f"{what}-{self.keys}"

    def session(self, version="2025-11-25", capabilities=None, **how):
        return Session(self.server, version, capabilities, **how)

    def modern(self, capabilities=None):
        return Modern(self.server, capabilities)

    def server_ends_well(self):
        """After any test, the server must stop on request, and sanitizers must not have reported an error."""
        if self.server.process.poll() is None:
            return self.stops()
        return self.is_clean(self.server)

    def is_clean(self, server):
        for bad in ("Sanitizer", "terminate called", "runtime error"):
            self.assertNotIn(bad, server.stderr_text())

    def stops(self, server=None):
        """Sends SIGTERM and expects a graceful shutdown."""
        server = server or self.server
        server.signal(signal.SIGTERM)
        self.ends_well(server)

    # ---- calls of test-subject ----

    def parked(self, session, ident, key, **arguments):
        """Posts a call that waits until it is released, and waits until its handler runs."""
        exchange = self.enterContext(session.post(call(ident, "park", {"key": key, **arguments}, {"progressToken": key})))
        self.control.wait(key, "begun")
        return exchange

    def streaming(self, session, ident, key, n=1, **arguments):
        """The same, and the call has sent `n` messages, which are read: its answer is a stream."""
        exchange = self.parked(session, ident, key, **arguments)
        self.control.emit(key, n)
        for number in range(1, n + 1):
            self.is_progress(exchange.message(), number)
        return exchange

    def listening(self, session, last_event_id=None, **how):
        """Opens a GET stream and reads its start, which is not a message."""
        exchange = self.enterContext(session.get(last_event_id, **how))
        self.assertEqual(exchange.status, 200, exchange.response.fields)
        start = exchange.stream.next("the start of a stream")
        if session.agreed == "2025-11-25" and start.id is None:
            start = exchange.stream.next("the first event of a stream")
        self.assertFalse(start.data, "a message before the start of the stream is complete")
        return exchange

    # ---- checks ----

    def is_progress(self, message, number):
        self.assertIsNotNone(message, f"the stream ended before progress {number}")
        self.assertEqual(message.get("method"), "notifications/progress", message)
        self.assertEqual(message["params"]["progress"], number)

    def is_cancelled_answer(self, message, ident):
        self.assertTrue(kp.same_id(message, ident), message)
        self.assertEqual(message["error"]["code"], -32800)

    def nothing_runs(self, but=1):
        """Waits until no call is left in the server, except the one that asks."""
        kp.until(lambda: self.control.census()["in_flight"] == but, "the last call to be removed")

    def is_error(self, exchange, status, code=None, ident=None):
        """Checks the status and the JSON-RPC error in the body: with this id, or without one. Returns the body."""
        self.assertEqual(exchange.status, status, exchange.response.fields)
        body = exchange.json()
        self.assertIsInstance(body, dict)
        self.assertIn("error", body)
        if ident is None:
            self.assertTrue(body.get("id") is None, body)
        else:
            self.assertTrue(kp.same_id(body, ident), body)
        if code is not None:
            self.assertEqual(body["error"]["code"], code, body)
        exchange.close_if_owned()
        return body

    def refused(self, exchange, status):
        """Checks the status, and that the body is not a result."""
        self.assertEqual(exchange.status, status, exchange.response.fields)
        body = exchange.response.body()
        if exchange.response.content_type == "application/json":
            self.assertNotIn("result", json.loads(body))
        exchange.close_if_owned()
        return body

    def still_serves(self):
        """Checks that both eras are served."""
        self.assertEqual(self.modern().text(self.modern().call(1, "echo", {"text": "modern"})), "modern")
        s = self.session()
        self.assertEqual(s.text(call(1, "echo", {"text": "legacy"})), "legacy")
        self.assertEqual(s.delete(), 200)
