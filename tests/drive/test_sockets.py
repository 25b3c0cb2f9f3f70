#!/usr/bin/env python3
"""`keel demo --unix` and `--tcp`: the same conversations over sockets, many at a time."""

# ctest-labels: threads
# ctest-timeout: 300

import functools
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import tempfile

import keel_process as kp
from keel_process import HOUR, Server, call, cancel, modern_call, request


class SocketTest(kp.DriveTest):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name="keel.sock"):
        return os.path.join(self.folder.name, name)

    def announced(self, s):
        """Waits until the server prints its address. The last number in it is the port."""
        kp.until(lambda: "serving" in s.stderr_text() and s.stderr_text().endswith("\n") or s.process.poll() is not None,
                 "the server to say where it listens")
        found = re.search(r"serving (.*?)(\d*)\n", s.stderr_text())
        self.assertTrue(found, s.stderr_text())
        return found.group(2) or found.group(1)

    def stops(self, s):
        s.signal(signal.SIGTERM)
        self.ends_well(s)


def over_both(*more):
    """Runs a test over both kinds of sockets, with the server and a function that connects to it."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            for options in (("--unix", self.path()), ("--tcp", "127.0.0.1:0")):
                with self.subTest(over=options[0]), Server(*options, *more, stdin=subprocess.DEVNULL) as s:
                    said = self.announced(s)
                    address = options[1] if options[0] == "--unix" else ("127.0.0.1", int(said))
                    test(self, s, lambda read=True: kp.SocketWire(kp.connect(address), read))
        return run
    return decorate


class OverBoth(SocketTest):
    @over_both()
    def test_a_conversation(self, s, connect):
        """Clients of all revisions use separate connections; the end of one does not end the server."""
        with connect() as w:
            w.open()
            self.is_text(w.ask(call(1, "echo", {"text": "x" * 500_000})), "x" * 500_000)
            w.end_input()
            self.assertEqual(w.rest(), [])
        with connect() as w:
            self.is_text(w.ask(modern_call(1, "echo", {"text": "y"})), "y")
        self.stops(s)

    @over_both()
    def test_c1_half_close(self, s, connect):
        """C1: the client ends its direction while handlers run: they are answered -32603, then the socket is closed."""
        with connect() as w:
            w.open()
            w.send(call(1, "sleep", {"ms": HOUR}), call(2, "echo", {"text": "x"}))
            w.end_input()
            rest = w.rest()
            self.assertEqual([m["id"] for m in rest], [2, 1])
            self.is_shutting_down(rest[1], 1)
        self.stops(s)

    @over_both()
    def test_h5_clients_are_isolated(self, s, connect):
        """H5: one client sends invalid input, one disconnects, one never reads; the fourth is served."""
        with connect() as good, connect() as rubbish, connect(read=False) as deaf:
            good.open()
            rubbish.send_raw(b"\xff\xfe{[\n" * 1000)
            deaf.send(kp.initialize(0), *(call(i, "echo", {"text": "x" * 10_000}) for i in range(1, 400)))
            with connect() as vanishing:
                vanishing.open()
                vanishing.send(call(1, "sleep", {"ms": HOUR}))
                vanishing.ping()
            for i in range(100):
                self.is_text(good.ask(call(i, "echo", {"text": f"{i}"})), f"{i}")
            self.is_anonymous_error(rubbish.next(), -32700)
        self.stops(s)

    @over_both()
    def test_b19_ids_belong_to_their_connection(self, s, connect):
        """Two connections use the same id; a cancel on one does not affect the other."""
        with connect() as a, connect() as b:
            for w in (a, b):
                w.open(capabilities={"roots": {}})
                w.send(call(5, "ask_roots"))
            asked = [w.next()["id"] for w in (a, b)]
            a.send(cancel(5))
            self.assertEqual(a.next()["method"], "notifications/cancelled")
            a.ping()
            b.send({"jsonrpc": "2.0", "id": asked[1], "result": {"roots": []}})
            self.is_text(b.answer(5), "0 roots")
        self.stops(s)

    @over_both()
    def test_c5_reset(self, s, connect):
        """C5: a connection is reset (TCP RST) while a handler runs; the server continues and frees it."""
        with connect() as keeper:
            keeper.open()
            before = s.descriptors()
            for _ in range(50):
                sock = connect(read=False)
                sock.send(kp.initialize(0), call(1, "sleep", {"ms": HOUR}))
                if sock.socket.family == socket.AF_INET:
                    sock.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.socket.close()
            kp.until(lambda: s.descriptors() == before, "the server to close the reset connections")
            self.is_text(keeper.ask(call(1, "echo", {"text": "x"})), "x")
        self.stops(s)

    @over_both()
    def test_200_connections(self, s, connect):
        """J3, J4: 200 connections at a time, each with a call running; all end; no descriptor is left."""
        before = s.descriptors()
        all_ = [connect() for _ in range(200)]
        for w in all_:
            w.send(kp.initialize("open"), call(1, "sleep", {"ms": HOUR}), request(2, "ping"))
        for w in all_:
            w.answer(2)
        for w in all_:
            w.hang_up()
        kp.until(lambda: s.descriptors() == before, "the server to close the remaining connections")
        self.stops(s)

    @over_both()
    def test_g12_sigterm_with_clients(self, s, connect):
        """G5, G12: SIGTERM: every running call on every connection is answered, connections are closed, exit 0."""
        clients = [connect() for _ in range(20)]
        for w in clients:
            w.send(kp.initialize("open"), call(1, "sleep", {"ms": HOUR}), request(2, "ping"))
            w.answer(2)
        s.signal(signal.SIGTERM)
        for w in clients:
            rest = w.rest()
            self.assertEqual(len(rest), 1, rest)
            self.is_shutting_down(rest[0], 1)
            w.hang_up()
        self.ends_well(s)

    @over_both("--drain", "1h")
    def test_g12_twice(self, s, connect):
        """G12: a drain of an hour after the first SIGTERM; the second ends it at once."""
        with connect() as w:
            w.open()
            w.send(call(1, "sleep", {"ms": HOUR}))
            w.ping()
            s.signal(signal.SIGTERM)
            for i in range(10**6):
                if "error" in w.ping(f"{i}"):
                    break
            s.signal(signal.SIGTERM)
            self.assertEqual(s.exit_status(), 128 + signal.SIGTERM)

    @over_both()
    def test_g10_descriptors_are_close_on_exec(self, s, connect):
        """G10: the listening socket and the accepted ones are close-on-exec."""
        with connect() as w:
            w.open()
            for fd in s.descriptors():
                if fd > 2:
                    self.assertTrue(s.descriptor_flags(fd) & os.O_CLOEXEC, f"descriptor {fd}")
        self.stops(s)


class UnixSocket(SocketTest):
    def test_the_file_is_private_and_removed(self):
        """Only its owner can use the socket, and its file is removed at the end."""
        with Server("--unix", self.path(), stdin=subprocess.DEVNULL) as s:
            self.announced(s)
            mode = os.stat(self.path()).st_mode
            self.assertTrue(stat.S_ISSOCK(mode))
            self.assertEqual(stat.S_IMODE(mode) & 0o077, 0)
            self.stops(s)
        self.assertFalse(os.path.exists(self.path()))

    def test_a_file_left_by_a_dead_server(self):
        """A stale socket file is replaced."""
        with Server("--unix", self.path(), stdin=subprocess.DEVNULL) as s:
            self.announced(s)
            s.kill()
            s.exit_status()
        self.assertTrue(os.path.exists(self.path()))
        with Server("--unix", self.path(), stdin=subprocess.DEVNULL) as s:
            self.announced(s)
            with kp.SocketWire(kp.connect(self.path())) as w:
                w.open()
            self.stops(s)

    def test_an_address_in_use(self):
        """A path that another server uses, or that is not a socket: an error message, exit 1, nothing is changed."""
        with Server("--unix", self.path(), stdin=subprocess.DEVNULL) as s:
            self.announced(s)
            with Server("--unix", self.path(), stdin=subprocess.DEVNULL) as second:
                self.assertEqual(second.exit_status(), 1)
                self.assertIn(self.path(), second.stderr_text())
            with kp.SocketWire(kp.connect(self.path())) as w:
                w.open()
            self.stops(s)
        with open(self.path("precious"), "w") as f:
            f.write("data")
        for place, status in ((self.path("precious"), 1), (self.path("no/such/folder"), 1), ("/" + "x" * 200, 2)):
            with self.subTest(place=place), Server("--unix", place, stdin=subprocess.DEVNULL) as s:
                self.assertEqual(s.exit_status(), status)
                self.assertTrue(s.stderr_text())
        with open(self.path("precious")) as f:
            self.assertEqual(f.read(), "data")


class Tcp(kp.DriveTest):
    def test_an_address_in_use(self):
        """A port in use: an error message, exit 1."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with Server("--tcp", f"127.0.0.1:{port}", stdin=subprocess.DEVNULL) as s:
                self.assertEqual(s.exit_status(), 1)
                self.assertIn(str(port), s.stderr_text())

    def test_an_invalid_address(self):
        """An invalid address: an error message with the option, exit 2."""
        for address in ("127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", ":", "", "256.0.0.1:1", "[::g]:1"):
            with self.subTest(address=address), Server("--tcp", address, stdin=subprocess.DEVNULL) as s:
                self.assertEqual(s.exit_status(), 2)
                self.assertIn("--tcp", s.stderr_text())


class BesideStdio(SocketTest):
    def test_c13_the_program_ends_with_the_client_that_started_it(self):
        """With --stdio and a socket, the end of standard input ends the program and closes the socket's connections."""
        with Server("--stdio", "--unix", self.path()) as s:
            self.announced(s)
            with kp.SocketWire(kp.connect(self.path())) as w:
                w.open()
                s.open()
                w.send(call(1, "sleep", {"ms": HOUR}))
                w.ping()
                s.end_input()
                self.assertEqual(w.answer(1)["error"]["code"], -32603)
            self.ends_well(s)


if __name__ == "__main__":
    kp.main()
