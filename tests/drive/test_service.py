#!/usr/bin/env python3
"""`keel demo` as a service: SIGHUP, notifications to a service manager."""

# ctest-labels: release_only
# ctest-timeout: 300

import os
import pty
import signal
import socket
import tempfile
from pathlib import Path

import keel_process as kp
from http_client import Modern
from http_process import HttpServer
from keel_process import Server
from test_http_pages import certificate


class HangUp(kp.DriveTest):
    def test_stdio_server_stays(self):
        """SIGHUP does not end a server on pipes."""
        with Server("--stdio", "--log-level", "notice") as s:
            s.ping()
            s.process.send_signal(signal.SIGHUP)
            kp.until(lambda: "SIGHUP: reloaded" in s.stderr_text(), "the reload")
            s.ping("again")
            self.ends_input(s)

    def test_stdio_server_on_a_terminal_ends(self):
        """SIGHUP ends a server whose standard input is a terminal: the terminal has hung up."""
        ours, theirs = pty.openpty()
        with Server("--stdio", stdin=theirs, read=False) as s:
            kp.until(lambda: s.catches(signal.SIGHUP), "the server to start")
            s.process.send_signal(signal.SIGHUP)
            s.wait_for_end("the server to exit")
            self.assertEqual(s.process.wait(), 0)
        os.close(theirs)
        os.close(ours)

    def test_certificate(self):
        """SIGHUP reloads the certificate; an invalid one is logged and does not end the server."""
        with tempfile.TemporaryDirectory() as folder:
            chain, key = certificate(folder, "first")
            options = ("--tls-cert", chain, "--tls-key", key, "--log-level", "notice")
            with HttpServer(*options, command=("keel", "demo")) as server:
                Path(chain).write_text("no certificate\n")
                server.signal(signal.SIGHUP)
                server.wait_for_line("SIGHUP: cannot reload the TLS certificate: ")
                server.wait_for_line("SIGHUP: reloaded")
                server.signal(signal.SIGTERM)
                self.assertEqual(server.exit_status(), 0)


class ServiceManager:
    """The socket of a service manager; `name` is the value of NOTIFY_SOCKET."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(kp.SECONDS_TO_HANG)
        self.socket.bind("\0" + name[1:] if name.startswith("@") else name)
        self.name = name

    def next(self):
        return self.socket.recv(4096).decode()

    def next_but_watchdog(self):
        while (text := self.next()) == "WATCHDOG=1":
            pass
        return text

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.socket.close()


class Notifications(kp.DriveTest):
    def check_life(self, name):
        with ServiceManager(name) as manager:
            environment = {**os.environ, "NOTIFY_SOCKET": name}
            with HttpServer(command=("keel", "demo"), env=environment) as server:
                self.assertEqual(manager.next(), "READY=1")
                server.signal(signal.SIGHUP)
                reloading, when = manager.next().split("\n")
                self.assertEqual(reloading, "RELOADING=1")
                self.assertRegex(when, r"^MONOTONIC_USEC=\d+$")
                self.assertEqual(manager.next(), "READY=1")
                server.signal(signal.SIGTERM)
                self.assertEqual(manager.next(), "STOPPING=1")
                self.assertEqual(server.exit_status(), 0)

    def test_path(self):
        """READY=1, RELOADING=1 and STOPPING=1 are sent to a socket file."""
        with tempfile.TemporaryDirectory() as folder:
            self.check_life(f"{folder}/notify")

    def test_abstract_name(self):
        """The same to a socket with an abstract name."""
        self.check_life(f"@keel-test-{os.getpid()}")

    def test_stdio(self):
        """A stdio server sends them too."""
        with ServiceManager(f"@keel-test-stdio-{os.getpid()}") as manager:
            with Server("--stdio", env={**os.environ, "NOTIFY_SOCKET": manager.name}) as s:
                self.assertEqual(manager.next(), "READY=1")
                self.ends_input(s)
                self.assertEqual(manager.next(), "STOPPING=1")

    def test_watchdog(self):
        """WATCHDOG=1 is sent as long as the loop runs, if the watchdog is for this process."""
        with ServiceManager(f"@keel-test-watchdog-{os.getpid()}") as manager:
            environment = {**os.environ, "NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "20000"}
            with HttpServer(command=("keel", "demo"), env=environment):
                self.assertEqual([manager.next() for _ in range(4)], ["READY=1"] + ["WATCHDOG=1"] * 3)
        with ServiceManager(f"@keel-test-other-{os.getpid()}") as manager:
            environment = {**os.environ, "NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}
            with HttpServer(command=("keel", "demo"), env=environment) as server:
                self.assertEqual(manager.next(), "READY=1")
                Modern(server).ask(Modern(server).call(1, "echo", {"text": "x"}))
                server.signal(signal.SIGTERM)
                self.assertEqual(manager.next(), "STOPPING=1")

    def test_invalid_environment(self):
        """Invalid variables: exit status 2, and the message names the variable."""
        for name, value in (("NOTIFY_SOCKET", "relative"), ("NOTIFY_SOCKET", "@"), ("NOTIFY_SOCKET", "/" + "x" * 200),
                            ("WATCHDOG_USEC", "soon"), ("WATCHDOG_USEC", "0")):
            with self.subTest(name=name, value=value), Server("--stdio", env={**os.environ, name: value}) as s:
                s.wait_for_end("the server to exit")
                self.assertEqual(s.process.wait(), 2)
                self.assertIn(name, s.stderr_text())


if __name__ == "__main__":
    kp.main()
