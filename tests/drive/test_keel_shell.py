#!/usr/bin/env python3
"""`keel shell`: one connection, many commands; editing, history and completion in a real terminal."""

import os
import signal
import stat
from pathlib import Path

import keel_process as kp
from keel_command import CommandTest, Terminal, demo, keel, odd
from keel_process import MODERN, until

# An empty line after the prompt: the shell reads keys. While a command runs, the terminal edits lines itself, and takes DEL,
# the arrow keys and Ctrl-D.
PROMPT = "keel> \r\x1b[6C"


class Script(CommandTest):
    """Without a terminal: the lines come from standard input."""

    def test_one_connection(self):
        lines = b'# a comment\n\ntools strict\ncall strict path="a b"\nping\ncall strict \'{"path": "x"}\' --json\n'
        done = keel("shell", "--protocol", "legacy", *odd("notes=" + self.path("notes")), data=lines)
        self.ends(done, 0)
        self.assertIn("path (required): string", done.out)
        self.assertIn('{"path": "a b"}', done.out)
        self.assertIn('{"content":', done.out)
        notes = "\n".join(self.notes())
        self.assertEqual(notes.count("pid "), 1)
        self.assertEqual(notes.count('"initialize"'), 1)

    def test_errors_do_not_end_the_shell(self):
        lines = b"tols\ncall\ncall strict nope=1\ntools --url http://127.0.0.1:1/\ncall broken\ncall strict path=last\n"
        done = self.ends(keel("shell", "--protocol", "legacy", *odd(), data=lines), 0)
        for said in ("unknown command: tols; did you mean tools?", "missing tool name", "unknown argument nope",
                     "the shell is connected to one server", "Internal error"):
            self.assertIn(said, done.err)
        self.assertIn('{"path": "last"}', done.out)
        self.ends(keel("shell", "--protocol", "legacy", *odd(), data=b"call broken\n"), 3)
        self.assertIn("exit, Ctrl-D", self.ends(keel("shell", *demo(), data=b"help\nexit\nunknown\n"), 0).out)

    def test_every_command(self):
        lines = (b"tools\ncall add a=1 b=2\nresources\nresources --templates\nread demo://planets/mars\nprompts\n"
                 b"prompt greet name=Ada\nping\n")
        with self.every_wire() as wires:
            for wire, where in wires.items():
                with self.subTest(wire=wire):
                    done = self.ends(keel("shell", *where, data=lines), 0)
                    for said in ("echo", "3\n", "demo://planets/venus", "demo://planets/{name}", "The red one", "greet",
                                 "Greet Ada.", "keel-demo"):
                        self.assertIn(said, done.out)
                    self.assertEqual(done.err, "")


class InTerminal(CommandTest):
    def setUp(self):
        super().setUp()
        self.history = ("--history", self.path("history"))

    def shell(self, *words, **how):
        return Terminal("shell", *self.history, *words, **how)

    def test_editing(self):
        with self.shell(*demo()) as t:
            t.expect(PROMPT)
            t.type("call add a=1 b=1\x1b[D4\r")  # Left
            t.expect("\r\n42\r\n")
            t.expect(PROMPT)
            t.type("nonsense\x03call echo text=xyz\x7f\r")
            t.expect("\r\nxy\r\n")
            t.expect(PROMPT)
            t.type("nonsense\x01\x0bcall echo text=ä漢\r")
            t.expect("\r\nä漢\r\n")
            t.expect(PROMPT)
            t.type("\x04")
            self.assertEqual(t.end(), 0)

    def test_history(self):
        """Up shows older lines, also of an earlier shell; only the owner can read the file."""
        with self.shell(*demo()) as t:
            t.expect(PROMPT)
            t.type("call echo text=first\r")
            t.expect("\r\nfirst\r\n")
            t.expect(PROMPT)
            t.type(" call echo text=hidden\r")
            t.expect("\r\nhidden\r\n")
            t.expect(PROMPT)
            t.type("\x1b[A\x7fX\r")
            t.expect("\r\nfirsX\r\n")
            t.expect(PROMPT)
            t.type("exit\r")
            self.assertEqual(t.end(), 0)
        file = Path(self.path("history"))
        self.assertEqual(file.read_text().splitlines(), ["call echo text=first", "call echo text=firsX", "exit"])
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        with self.shell(*demo()) as t:
            t.expect(PROMPT)
            t.type("\x10\x10\x10\r")  # Ctrl-P
            t.expect("\r\nfirst\r\n")
            t.expect(PROMPT)
            t.type("\x04")
            self.assertEqual(t.end(), 0)

    def test_completion(self):
        """Tab completes commands, tools, arguments, their choices and resource URIs."""
        with self.shell(*demo()) as t:
            t.expect(PROMPT)
            for typed, line in (
                    ("pin\t", "ping "), ("call ech\t", "call echo "), ("call echo te\t", "call echo text="),
                    ("read demo://planets/ven\t", "read demo://planets/venus "), ("prompt gre\t", "prompt greet "),
                    ("prompt greet nam\t", "prompt greet name=")):
                t.type(typed)
                t.expect(line)
                t.type("\x03")
            t.type("prom\t\t")
            t.expect("prompts\r\n")
            t.type("\x03\x04")
            self.assertEqual(t.end(), 0)

    def test_changes_and_logs_appear(self):
        """A log message and a changed list are shown as they arrive."""
        for version in (kp.LEGACY[-1], MODERN):
            with self.subTest(version=version), self.shell("--log-level", "info", "--protocol", version, *demo()) as t:
                t.expect(PROMPT)
                t.type("call log level=info text=heard\r")
                t.expect("heard")
                t.expect(PROMPT)
                t.type("call toggle_extra\r")
                t.expect("[changed] tools\r\n")
                t.expect(PROMPT)  # the call may not have ended
                t.type("\x04")
                self.assertEqual(t.end(), 0)

    def test_ctrl_c_cancels_the_call(self):
        """Ctrl-C during a call cancels it; the shell continues, and the next Ctrl-C cancels again."""
        with self.shell("--protocol", "legacy", *odd("notes=" + self.path("notes"))) as t:
            for number in (1, 2):
                t.expect(PROMPT)
                t.type("call hang\r")
                until(lambda: "".join(self.notes()).count('"tools/call"') == number, "the call to arrive")
                t.type("\x03")
                t.expect("keel: cancelled")
            t.expect(PROMPT)
            t.type("call strict path=alive\r")
            t.expect('\r\n{"path": "alive"}\r\n')
            t.expect(PROMPT)
            t.type("\x04")
            self.assertEqual(t.end(), 0)

    def test_signals_end_the_shell(self):
        with self.shell(*demo()) as t:
            t.expect(PROMPT)
            os.kill(t.process.pid, signal.SIGTERM)
            self.assertEqual(t.end(), 143)


if __name__ == "__main__":
    kp.main()
