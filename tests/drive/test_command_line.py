#!/usr/bin/env python3
"""The command line of `keel` and `keel demo`: help, invalid options, exit statuses, log levels."""

# ctest-timeout: 300

import os
import socket
import subprocess

import keel_process as kp
from keel_process import HOUR, Server, call, request


def run(*arguments, data=b""):
    return subprocess.run([kp.keel_command(), *arguments], input=data, capture_output=True, timeout=kp.SECONDS_TO_HANG)


class CommandLine(kp.DriveTest):
    def test_help(self):
        """--help writes to standard output and lists every option; exit status 0."""
        for arguments in (("demo", "--help"), ("demo", "-h"), ("demo", "--stdio", "--help")):
            with self.subTest(arguments=arguments):
                done = run(*arguments)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                for option in ("--stdio", "--unix", "--tcp", "--drain", "--log-level", "--help"):
                    self.assertIn(option, done.stdout.decode())

    def test_help_of_the_command(self):
        """`keel --help` lists the commands."""
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("demo", done.stdout.decode())

    def test_invalid_command_lines(self):
        """An invalid command line: exit status 2, the reason on standard error, nothing on standard output, nothing served."""
        for arguments, named in (
                (("demo", "--no-such-option"), "--no-such-option"),
                (("demo", "extra"), "extra"),
                (("demo", "--unix"), "--unix"),
                (("demo", "--tcp"), "--tcp"),
                (("demo", "--drain"), "--drain"),
                (("demo", "--drain", "soon"), "soon"),
                (("demo", "--drain", "-1s"), "-1s"),
                (("demo", "--drain", "1 fortnight"), "fortnight"),
                (("demo", "--drain", ""), "--drain"),
                (("demo", "--drain", "nan"), "nan"),
                (("demo", "--drain", "inf"), "inf"),
                (("demo", "--log-level", "loud"), "loud"),
                (("demo", "--log-level"), "--log-level"),
                (("demo", "--stdio=yes"), "--stdio"),
                (("demo", "--http", "nowhere"), "--http"),
                (("demo", "--http", "127.0.0.1:x"), "--http"),
                (("demo", "--http", "unix:"), "--http"),
                (("demo", "--http", "0.0.0.0:0"), "--http"),
                (("demo", "--tcp", "nowhere"), "--tcp"),
                (("demo", "--unix", "x" * 200), "--unix"),
                (("demo", "--http", "0", "--monitor", "nowhere"), "--monitor"),
                (("demo", "--http", "0", "--allow-host", "a b"), "--allow-host"),
                (("demo", "--http", "0", "--tls-cert", "/no/such/file", "--tls-key", "/dev/null"), "--tls-cert"),
                (("demo", "--max-body", "big"), "--max-body"),
                (("demo", "--treads", "2"), "did you mean --threads?"),
                (("tools", "--tcp", "nowhere"), "--tcp"),
                (("tools", "--unix", "x" * 200), "--unix"),
                (("tools", "--url", "nowhere"), "--url"),
                (("no-such-command",), "no-such-command"),
                ((), ""),
        ):
            with self.subTest(arguments=arguments):
                done = run(*arguments, data=kp.line(request(1, "ping")))
                self.assertEqual(done.returncode, 2, done)
                self.assertEqual(done.stdout, b"")
                self.assertTrue(done.stderr)
                self.assertIn(named, done.stderr.decode())

    def test_invalid_variables(self):
        """An invalid environment variable: exit status 2, and the variable is named."""
        for name, value in (("KEEL_HTTP", "nowhere"), ("KEEL_THREADS", "0"), ("KEEL_WATCH_CLIENT", "perhaps")):
            with self.subTest(name=name):
                done = subprocess.run([kp.keel_command(), "demo"], input=b"", capture_output=True,
                                      timeout=kp.SECONDS_TO_HANG, env={**os.environ, name: value})
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertIn(name, done.stderr.decode())

    def test_failures_to_serve(self):
        """A valid address that cannot be used: exit status 1, and the address is named."""
        with socket.create_server(("127.0.0.1", 0)) as used:
            address = f"127.0.0.1:{used.getsockname()[1]}"
            for option in ("--http", "--tcp"):
                with self.subTest(option=option):
                    done = run("demo", option, address)
                    self.assertEqual(done.returncode, 1)
                    self.assertIn(address, done.stderr.decode())

    def test_stdio_twice(self):
        """--stdio twice is an error, and nothing is served."""
        done = run("demo", "--stdio", "--stdio", data=kp.line(request(1, "ping")))
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, b"")
        self.assertIn("--stdio may be given only once", done.stderr.decode())

    def test_stdio_is_the_default(self):
        """Without an endpoint option, stdio is served."""
        done = run("demo", data=kp.line(request(1, "ping")))
        self.assertEqual((done.returncode, done.stdout), (0, b'{"jsonrpc":"2.0","id":1,"result":{}}\n'))

    def test_both_spellings(self):
        """`--drain 5s` and `--drain=5s` are equivalent, with every unit."""
        for options in (("--drain=5s",), ("--drain", "5s"), ("--drain=500ms",), ("--drain=1.5m",), ("--drain=1h",),
                        ("--drain", "2"), ("--drain=0",), ("--log-level=debug",), ("--log-level", "emergency")):
            with self.subTest(options=options):
                done = run("demo", "--stdio", *options, data=kp.line(request(1, "ping")))
                self.assertEqual((done.returncode, done.stdout), (0, b'{"jsonrpc":"2.0","id":1,"result":{}}\n'))

    def test_log_level(self):
        """--log-level: invalid input is logged as a warning by default, but not at `error`; standard output is not affected."""
        data = b"{oops\n" + kp.line(request(1, "ping"))
        self.assertTrue(run("demo", "--stdio", data=data).stderr)
        self.assertTrue(run("demo", "--stdio", "--log-level", "debug", data=data).stderr)
        self.assertEqual(run("demo", "--stdio", "--log-level", "error", data=data).stderr, b"")
        self.assertEqual(run("demo", "--stdio", "--log-level", "error", data=data).stdout.count(b"\n"), 2)

    def test_no_log_without_errors(self):
        """An ordinary conversation writes nothing to standard error."""
        with Server() as s:
            s.open()
            self.is_text(s.ask(call(1, "echo", {"text": "x"})), "x")
            s.send(call(2, "sleep", {"ms": HOUR}), kp.cancel(2))
            s.ping()
            self.ends_input(s)
            self.assertEqual(s.stderr_text(), "")

    def test_j6_text_of_the_peer_is_escaped_in_the_log(self):
        """J6: control characters from a peer are escaped in the log."""
        red = "\x1b[31mred\n"
        data = kp.lines([kp.initialize(), request(1, red), call(2, red + "x" * 100_000)]) + red.encode()
        done = run("demo", "--stdio", "--log-level", "debug", data=data)
        self.assertEqual(done.returncode, 0)
        self.assertNotIn(b"\x1b", done.stderr)
        self.assertLess(len(done.stderr), 10_000)


if __name__ == "__main__":
    kp.main()
