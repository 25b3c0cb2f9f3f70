"""Runs the `keel` client commands, with and without a terminal."""

import contextlib
import fcntl
import http.server
import os
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import unicodedata
from pathlib import Path

import keel_process as kp
from keel_process import Deadline, Server, Watched, until

ODD_SERVER = str(Path(__file__).resolve().parent / "odd_server.py")
COMMANDS = ("tools", "call", "resources", "read", "prompts", "prompt", "ping")
# Characters of a server that must never reach a terminal. The colors of the command itself are removed first.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]")


def demo():
    return ("--", kp.keel_command(), "demo")


def odd(*how):
    return ("--", sys.executable, ODD_SERVER, *how)


def keel(*words, data=b"", **how):
    """Runs the command without a terminal."""
    how.setdefault("start_new_session", True)  # no controlling terminal either
    done = subprocess.run([kp.keel_command(), *words], input=data, capture_output=True, timeout=kp.SECONDS_TO_HANG,
                          **how)
    done.out, done.err = done.stdout.decode(errors="replace"), done.stderr.decode()
    for bad in ("Sanitizer", "terminate called", "runtime error"):
        if bad in done.err:
            raise AssertionError(done.err)
    return done


class Terminal:
    """keel in its own pseudo-terminal. Standard input may be redirected."""

    def __init__(self, *words, columns=80, stdin=None, env=None, echo=False):
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        modes = termios.tcgetattr(slave)
        if not echo:
            modes[3] &= ~termios.ECHO  # typed text is not echoed
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        self.process = subprocess.Popen(
            [kp.keel_command(), *words], stdin=slave if stdin is None else stdin, stdout=slave, stderr=slave,
            start_new_session=True, preexec_fn=self._prepare,
            env={**os.environ, "TERM": "xterm", **(env or {})})
        os.close(slave)
        self.watched = Watched(self.process.pid)
        self.seen = ""
        self.at = 0
        self.rest = b""

    @staticmethod
    def _prepare():
        fcntl.ioctl(2, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell ignores it in background jobs

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.process.poll() is None:
            self.watched.kill()
        self.process.wait()
        self.watched.close()
        os.close(self.master)
        if kind is not None:
            sys.stderr.write(f"\nthe terminal:\n{self.seen!r}\n")
        return False

    def _more(self, what):
        poller = select.poll()
        poller.register(self.master, select.POLLIN)
        if not poller.poll(Deadline(what).left_ms()):
            raise kp.Hang(f"waited for {what}")
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # EIO: the other side is closed
            return False
        self.rest += piece
        whole = self.rest.decode(errors="ignore") if piece else ""
        self.seen, self.rest = self.seen + whole, b"" if whole else self.rest
        return bool(piece)

    def expect(self, text):
        """Reads until this text appears after the previously expected text. Returns the text between."""
        while (found := self.seen.find(text, self.at)) < 0:
            if not self._more(f"{text!r} in the terminal"):
                raise AssertionError(f"the command ended without writing {text!r}: {self.seen!r}")
        before = self.seen[self.at:found]
        self.at = found + len(text)
        return before

    def echoes(self):
        return termios.tcgetattr(self.master)[3] & termios.ECHO != 0

    def type(self, text):
        os.write(self.master, text.encode())

    def answer(self, question, text):
        self.expect(question)
        self.type(text + "\n")

    def end(self):
        """Reads all output and returns the exit status."""
        while self._more("the end of the command"):
            pass
        self.watched.wait_for_end("the command to exit")
        return self.process.wait()


def without_own_colours(text):
    """Removes the sequences that the command itself writes: bold, colors, plain, erase line."""
    return re.sub("\x1b\\[(1m|0m|3[2-6]m|K)", "", text).replace("\r\n", "\n").replace("\r", "")


def columns_of(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@contextlib.contextmanager
def serving(handler):
    """Runs an HTTP server with this handler and yields its port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as s:
        thread = threading.Thread(target=s.serve_forever)
        thread.start()
        try:
            yield s.server_port
        finally:
            s.shutdown()
            thread.join()


class CommandTest(kp.DriveTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def ends(self, done, status):
        self.assertEqual(done.returncode, status, (done.out, done.err))
        return done

    def is_clean(self, text):
        found = CONTROL.search(without_own_colours(text))
        self.assertIsNone(found, repr(text))

    @contextlib.contextmanager
    def every_wire(self):
        """The options that select a demo server, for each transport."""
        with contextlib.ExitStack() as stack:
            def serve(*options):
                s = stack.enter_context(Server(*options, stdin=subprocess.DEVNULL))
                until(lambda: "serving" in s.stderr_text() and s.stderr_text().endswith("\n") or s.process.poll() is not None,
                      "the server to say where it listens")
                return re.search(r"serving (?:\S+ )?(\S+)\n", s.stderr_text()).group(1)
            yield {
                "stdio": demo(),
                "unix": ("--unix", (serve("--unix", self.path("s")), self.path("s"))[1]),
                "tcp": ("--tcp", serve("--tcp", "127.0.0.1:0").removeprefix("tcp://")),
                "http": ("--url", serve("--http", "127.0.0.1:0")),
            }

    def notes(self, name="notes"):
        with contextlib.suppress(FileNotFoundError):
            return Path(self.path(name)).read_text().splitlines()
        return []
