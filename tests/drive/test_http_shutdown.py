#!/usr/bin/env python3
"""Graceful shutdown of the HTTP server."""

# ctest-timeout: 900

import signal

import keel_process as kp
from http_client import Modern, Session
from http_connection import Broken
from http_modern import ModernTest
from http_process import Control, HttpServer
from keel_process import MIB, call


class Shutdown(ModernTest):
    settings = None
    options = ("--threads", "2")

    def is_shut_down(self, e, ident):
        """Expects one answer, an error, and the end."""
        said = [m for m in e.messages() if "method" not in m]
        self.assertEqual(len(said), 1, said)
        self.is_shutting_down(said[0], ident)

    def test_g5_running_calls(self):
        """G5 G12: SIGTERM while calls run: each is answered once, with an error; streams end; listens with their result; exit status 0."""
        s = self.session()
        quiet = [self.park(self.key(), ident=n) for n in range(5)]
        speaking = []
        for n in range(5):
            key = self.key()
            e = self.park(key, ident=n)
            self.control.emit(key)
            self.is_progress(e.message(), 1)
            speaking.append(e)
        legacy = [self.parked(s, n, self.key()) for n in range(5)]
        get = self.listening(s)
        listens = []
        for ident in (1, "1"):
            e = self.enterContext(self.m.post(self.m.listen(ident, toolsListChanged=True)))
            self.assertEqual(e.message()["method"], "notifications/subscriptions/acknowledged")
            listens.append((ident, e))
        self.server.signal(signal.SIGTERM)
        for group in (quiet, speaking, legacy):
            for n, e in enumerate(group):
                self.is_shut_down(e, n)
        for e in (*speaking, *legacy):
            self.assertFalse(e.is_stream and e.stream.broken)
        for ident, e in listens:
            last, = e.messages()
            self.assertTrue(kp.same_id(last, ident))
            self.assertEqual(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], ident)
            self.assertFalse(e.stream.broken)
        self.assertEqual(get.messages(), [])
        self.ends_well(self.server)

    def test_g5_new_work(self):
        """G5: during the drain new calls on open connections are answered 503; new connections are refused."""
        with HttpServer("--drain", "600s", "--threads", "1", command=("keel", "demo")) as server:
            m = Modern(server)
            with server.connect() as idle, server.connect() as busy, m.post(m.call(1, "sleep", {"ms": 1500}), on=busy) as e:
                self.assertEqual(m.text(m.call(2, "echo", {"text": "x"}), on=idle), "x")
                kp.until(lambda: server.metrics()["keel_requests_in_flight"] >= 1, "the call to run")
                server.signal(signal.SIGTERM)

                def is_refused():
                    with m.post(m.call(3, "echo", {"text": "x"}), on=idle) as late:
                        late.done()
                        return late.status == 503

                try:
                    kp.until(is_refused, "new work to be refused")
                except (Broken, OSError):
                    pass  # closed, which is a refusal too
                answer = e.answer(1)
                self.assertIn("result", answer, "running calls were not awaited")
            self.ends_well(server)

    def test_g5_drain(self):
        """G5: with --drain a call that ends in time is answered with its result; the server exits when the last call has ended."""
        with HttpServer("--drain", "600s", "--threads", "2", command=("keel", "demo")) as server:
            m = Modern(server)
            s = Session(server)
            held = [m.post(m.call(n, "sleep", {"ms": 1000}, **({"progressToken": n} if n % 2 else {}))) for n in range(6)]
            held += [s.post(call(n, "sleep", {"ms": 1000})) for n in range(6, 9)]
            listen = self.enterContext(m.post(m.listen("l", toolsListChanged=True)))
            self.assertIsNotNone(listen.message())
            kp.until(lambda: server.metrics()["keel_requests_in_flight"] >= 9, "the calls to run")
            server.signal(signal.SIGTERM)
            for n, e in enumerate(held):
                with e:
                    self.assertIn("result", e.answer(n))
            self.assertIn("result", listen.messages()[-1])
            self.ends_well(server)

    def test_g5_short_drain(self):
        """G5: calls that are not done at the end of the drain are answered with an error."""
        with self.start("--drain", "100ms") as server, Control(server) as control:
            m = Modern(server)
            with m.post(m.call(1, "park", {"key": "k"})) as e:
                control.wait("k", "begun")
                server.signal(signal.SIGTERM)
                self.is_shut_down(e, 1)
            self.ends_well(server)

    def test_g5_clients_that_never_read(self):
        """G5: a hundred clients that never read, with streams, calls and much unsent output: the server exits within its time limits."""
        s = self.session()
        for n in range(25):
            key = self.key()
            e = self.enterContext(self.m.post(self.m.call(1, "park", {"key": key}, progressToken=1), receive_buffer=4096))
            self.control.wait(key, "begun")
            self.control.emit(key, 50)
            self.enterContext(self.m.post(self.m.call(1, "big", {"bytes": 2 * MIB}), receive_buffer=4096))
            self.enterContext(s.get(receive_buffer=4096))
            self.enterContext(self.m.post(self.m.listen(1, toolsListChanged=True), receive_buffer=4096))
        self.control.use("add_tool", name="extra")
        self.serves()
        self.stops()

    def test_g5_unfinished_requests(self):
        """G5: clients in the middle of a head or a body, or idle: the server exits."""
        data = self.m.request_bytes(self.m.call(1, "echo", {"text": "x"}))
        for cut in (0, 1, 50, len(data) - 1):
            self.enterContext(self.server.connect()).send(data[:cut])
        self.serves(on=self.enterContext(self.server.connect()))
        self.stops()

    def test_g5_handlers_that_ignore_it(self):
        """G5 F4: a handler that ignores its stop token is answered with an error and abandoned; the server exits."""
        key = self.key()
        e = self.park(key, stubborn=True)
        self.server.signal(signal.SIGTERM)
        self.is_shut_down(e, 1)
        self.ends_well(self.server)

    def test_g5_with_cleanup(self):
        """G5 B15: the server waits for slow cleanup only for the grace time; the call was answered before."""
        e = self.park(self.key(), slow_cleanup=True)
        self.server.signal(signal.SIGTERM)
        self.is_shut_down(e, 1)
        self.ends_well(self.server)

    def test_g12_twice(self):
        """G12: a second signal ends the server at once, during the drain."""
        with self.start("--drain", "600s") as server, Control(server) as control:
            m = Modern(server)
            with m.post(m.call(1, "park", {"key": "k"})), m.post(m.listen(1, toolsListChanged=True)) as listen:
                control.wait("k", "begun")
                self.assertIsNotNone(listen.message())
                server.signal(signal.SIGTERM)
                listen.messages()  # it is stopping: streams have ended
                server.signal(signal.SIGTERM)
                self.assertIn(server.exit_status(), (0, 1, 128 + signal.SIGTERM))


if __name__ == "__main__":
    kp.main()
