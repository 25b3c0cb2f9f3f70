"""Helpers of all drivers: a `keel demo` process, the connection to it, and its observation from outside.

KEEL_BIN is the folder of the keel command, or the command itself (default: build/release/bin).

Nothing here sleeps. Every wait is for an event (a line, a writable pipe, the end of a process) and has a deadline after which
the test fails as a hang.
"""

import fcntl
import json
import mmap
import os
import queue
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest
from pathlib import Path

import proof
from message_check import MessageCheck

ROOT = Path(__file__).resolve().parent.parent.parent

SECONDS_TO_HANG = 60  # long enough for a machine under load
HOUR = 3_600_000  # milliseconds for sleep(): longer than any test waits
MIB = 1024 * 1024

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
MODERN_META = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}


class Hang(AssertionError):
    """An expected event did not happen in time."""


def keel_command():
    place = Path(os.environ.get("KEEL_BIN", ROOT / "build" / "release" / "bin"))
    return str(place / "keel" if place.is_dir() else place)


def is_sanitized():
    """A sanitizer allocates memory of its own: the size of the process says nothing about Keel."""
    with open(keel_command(), "rb") as program, mmap.mmap(program.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"__asan_init") >= 0 or content.find(b"__tsan_init") >= 0


# ---- messages ----


def request(ident, method, params=None):
    message = {"jsonrpc": "2.0", "id": ident, "method": method}
    if params is not None:
        message["params"] = params
    return message


def notification(method, params=None):
    message = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return message


def call(ident, tool, arguments=None, meta=None):
    params = {"name": tool, "arguments": arguments or {}}
    if meta is not None:
        params["_meta"] = meta
    return request(ident, "tools/call", params)


def modern_call(ident, tool, arguments=None, **meta):
    return call(ident, tool, arguments, {**MODERN_META, **meta})


def cancel(ident, reason=None):
    return notification("notifications/cancelled", {"requestId": ident, **({"reason": reason} if reason else {})})


def initialize(ident=0, version="2025-11-25", capabilities=None):
    return request(ident, "initialize", {
        "protocolVersion": version,
        "capabilities": capabilities or {},
        "clientInfo": {"name": "driver", "version": "1"},
    })


def line(message):
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def lines(messages):
    return b"".join(line(each) for each in messages)


def text_of(answer):
    return "\n".join(block["text"] for block in answer["result"]["content"])


def same_id(message, ident):
    """Ids are typed: 1, "1" and True are different."""
    return "id" in message and type(message["id"]) is type(ident) and message["id"] == ident


def is_answer(message):
    return isinstance(message, dict) and "method" not in message and "id" in message


def is_anonymous(message):
    return isinstance(message, dict) and "error" in message and "id" not in message


# ---- waiting ----


class Deadline:
    def __init__(self, what):
        self.what = what
        self.at = time.monotonic() + SECONDS_TO_HANG

    def left(self):
        rest = self.at - time.monotonic()
        if rest <= 0:
            raise Hang(f"waited {SECONDS_TO_HANG} s for {self.what}")
        return rest

    def left_ms(self):
        return int(self.left() * 1000) + 1


def until(condition, what):
    """Polls a condition for which the system has no event, and yields to other processes."""
    deadline = Deadline(what)
    while not condition():
        deadline.left()
        os.sched_yield()


def write_all(fd, data, what="the server to read"):
    """Writes to a non-blocking descriptor, waiting for room."""
    view = memoryview(data)
    poller = select.poll()
    poller.register(fd, select.POLLOUT)
    while view:
        try:
            view = view[os.write(fd, view):]
        except BlockingIOError:
            if not poller.poll(Deadline(what).left_ms()):
                raise Hang(f"waited {SECONDS_TO_HANG} s for {what}") from None


def unread_bytes(fd):
    """The number of unread bytes in a pipe, seen from either end."""
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0\0\0\0"))[0]


def rest_of_file(where):
    """The bytes that a process will read from this standard input, if they are known in advance."""
    if not hasattr(where, "fileno") or not stat.S_ISREG(os.fstat(where.fileno()).st_mode):
        return b""
    at = os.lseek(where.fileno(), 0, os.SEEK_CUR)
    return os.pread(where.fileno(), os.fstat(where.fileno()).st_size, at)


# ---- a process, observed from outside ----


class Watched:
    """A process by its pid: waits for its end without reaping it."""

    def __init__(self, pid):
        self.pid = pid
        self.pidfd = os.pidfd_open(pid)

    def wait_for_end(self, what):
        poller = select.poll()
        poller.register(self.pidfd, select.POLLIN)
        if not poller.poll(Deadline(what).left_ms()):
            raise Hang(f"waited {SECONDS_TO_HANG} s for {what}")

    def kill(self):
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def close(self):
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1

    def status_field(self, name):
        for row in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if row.startswith(name + ":"):
                return row.split()[1]
        raise KeyError(name)

    def peak_memory(self):
        return int(self.status_field("VmHWM")) * 1024

    def memory(self):
        return int(self.status_field("VmRSS")) * 1024

    def descriptors(self):
        return sorted(int(name) for name in os.listdir(f"/proc/{self.pid}/fd"))

    def descriptor_flags(self, fd):
        for row in Path(f"/proc/{self.pid}/fdinfo/{fd}").read_text().splitlines():
            if row.startswith("flags:"):
                return int(row.split()[1], 8)
        raise KeyError(fd)

    def catches(self, number):
        """Whether it has installed a handler for a signal, which means that it has started."""
        return int(self.status_field("SigCgt"), 16) >> (number - 1) & 1 == 1

    def asleep(self):
        """Whether all threads are sleeping."""
        for task in os.listdir(f"/proc/{self.pid}/task"):
            stat = Path(f"/proc/{self.pid}/task/{task}/stat").read_text()
            if stat.rpartition(")")[2].split()[0] != "S":
                return False
        return True


class Reader:
    """Reads lines from a descriptor on its own thread, so that the server never waits for the driver."""

    def __init__(self, fd):
        self.fd = fd
        self.lines = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        rest = bytearray()
        while True:
            try:
                piece = os.read(self.fd, 1 << 20)
            except OSError:  # EIO: the other end of a terminal was closed. ECONNRESET: of a socket.
                piece = b""
            if not piece:
                break
            rest += piece
            if b"\n" in piece:
                *whole, last = bytes(rest).split(b"\n")
                rest = bytearray(last)
                for each in whole:
                    self.lines.put(each)
        self.lines.put(bytes(rest) if rest else None)
        if rest:
            self.lines.put(None)

    def next(self, what):
        """The next line, or None at the end of the stream."""
        try:
            return self.lines.get(timeout=Deadline(what).left())
        except queue.Empty:
            raise Hang(f"waited {SECONDS_TO_HANG} s for {what}") from None


class Wire:
    """One conversation: JSON lines in both directions, over any two descriptors."""

    def __init__(self, out_fd, in_fd, read=True):
        self.out_fd = out_fd
        self.in_fd = in_fd
        self.seen = []  # every message read, in order
        self.check = MessageCheck()  # against the official schemas
        self.reader = None
        self.ended = False
        if out_fd is not None:
            os.set_blocking(out_fd, False)
        if read and in_fd is not None:
            self.start_reading()

    def start_reading(self):
        if self.in_fd == self.out_fd:
            # Both directions of a socket share their flags, so the reader uses poll.
            self.reader = PollingReader(self.in_fd)
        else:
            self.reader = Reader(self.in_fd)

    # sending

    def send(self, *messages):
        self.send_raw(lines(messages))

    def send_raw(self, data):
        self.check.sent(data)
        write_all(self.out_fd, data)

    # receiving

    def next(self, what="a message"):
        """The next message, or None if the server has closed its output."""
        if self.ended:
            return None
        text = self.reader.next(what)
        if text is None:
            self.ended = True
            return None
        message = json.loads(text)  # raises if the line is not a message
        self.seen.append(message)
        self.check.received(message)
        return message

    def answer(self, ident):
        """Reads until the answer of one request. Earlier messages are in `seen`."""
        while (message := self.next(f"the answer to {ident!r}")) is not None:
            if is_answer(message) and same_id(message, ident):
                return message
        raise AssertionError(f"the server closed its output before it answered {ident!r}; received {self.seen[-5:]}")

    def answers(self, idents):
        """Reads until each of these requests was answered, in any order."""
        missing = set(idents)
        while missing:
            message = self.next(f"{len(missing)} more answers")
            if message is None:
                raise AssertionError(f"the server closed its output with {len(missing)} answers missing")
            if is_answer(message):
                missing.discard(message["id"])

    def rest(self):
        """All messages up to the end of the stream."""
        rest = []
        while (message := self.next("the end of the output")) is not None:
            rest.append(message)
        return rest

    def ask(self, message):
        self.send(message)
        return self.answer(message["id"])

    def ping(self, ident="ping"):
        """A round trip: afterwards the server has read all earlier messages."""
        return self.ask(request(ident, "ping"))

    def open(self, version="2025-11-25", capabilities=None):
        answer = self.ask(initialize("open", version, capabilities))
        self.send(notification("notifications/initialized"))
        return answer

    def until_read(self):
        """Waits until the server has read every byte of the pipe."""
        until(lambda: unread_bytes(self.out_fd) == 0, "the server to empty its input pipe")


class PollingReader(Reader):
    def _run(self):
        blocking = os.dup(self.fd)
        poller = select.poll()
        poller.register(blocking, select.POLLIN)
        rest = b""
        while True:
            poller.poll()
            try:
                piece = os.read(blocking, 1 << 20)
            except BlockingIOError:
                continue
            except OSError:
                piece = b""
            if not piece:
                break
            *whole, rest = (rest + piece).split(b"\n")
            for each in whole:
                self.lines.put(each)
        os.close(blocking)
        if rest:
            self.lines.put(rest)
        self.lines.put(None)


class Server(Wire, Watched):
    """`keel demo` with the given options, by default over two pipes. Leaving the with statement ends it."""

    def __init__(self, *options, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None, read=True, **popen):
        given = rest_of_file(stdin)
        self.log = tempfile.TemporaryFile()  # a file is never full, so logging cannot block the server
        self.process = subprocess.Popen(
            [keel_command(), "demo", *(options or ("--stdio",))],
            stdin=stdin, stdout=stdout, stderr=self.log if stderr is None else stderr, bufsize=0, **popen)
        Watched.__init__(self, self.process.pid)
        Wire.__init__(self,
                      self.process.stdin.fileno() if self.process.stdin else None,
                      self.process.stdout.fileno() if self.process.stdout else None,
                      read)
        self.check.sent(given)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.process.poll() is None:
            self.kill()
        self.process.wait()
        self.close()
        if kind is not None and issubclass(kind, AssertionError):
            sys.stderr.write(f"\nstandard error of the server:\n{self.stderr_text()}\n")
        self.log.close()
        self.hang_up_input()
        if self.reader:
            self.reader.thread.join()
        self.hang_up_output()
        return False

    def stderr_text(self):
        """The standard error of the server so far."""
        return os.pread(self.log.fileno(), 1 << 20, 0).decode(errors="replace")

    def end_input(self):
        self.process.stdin.close()

    def hang_up_input(self):
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()

    def hang_up_output(self):
        """Closes our end of its output. Only if that is not being read."""
        if self.process.stdout and not self.process.stdout.closed:
            self.process.stdout.close()

    def signal(self, number):
        self.process.send_signal(number)

    def exit_status(self):
        """Waits for its end. Returns the status like a shell: 128 + n if signal n killed it."""
        self.wait_for_end("the server to exit")
        status = self.process.wait()
        return status if status >= 0 else 128 - status


def connect(address):
    """A stream socket that is connected to a server: a path, or (host, port)."""
    s = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(SECONDS_TO_HANG)
    s.connect(address)
    s.setblocking(False)
    return s


class SocketWire(Wire):
    """A conversation over a connected socket."""

    def __init__(self, s, read=True):
        self.socket = s
        s.setblocking(False)
        Wire.__init__(self, s.fileno(), s.fileno(), read)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.hang_up()
        return False

    def end_input(self):
        self.socket.shutdown(socket.SHUT_WR)

    def hang_up(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)  # otherwise the reader's copy of the descriptor keeps it open
        except OSError:
            pass  # the other side has closed it already
        if self.reader:
            self.reader.thread.join()
        self.socket.close()


# ---- checks ----


class DriveTest(unittest.TestCase):
    maxDiff = 4000

    def ends_well(self, server):
        """Checks for exit status 0, and for no sign of a crash on standard error."""
        self.assertEqual(server.exit_status(), 0, server.stderr_text())
        for bad in ("Sanitizer", "terminate called", "runtime error"):
            self.assertNotIn(bad, server.stderr_text())

    def ends_input(self, server):
        """Ends the input gracefully: no more output may follow, and the exit status must be 0."""
        server.end_input()
        self.assertEqual(server.rest(), [])
        self.ends_well(server)

    def is_shutting_down(self, message, ident):
        self.assertTrue(same_id(message, ident), message)
        self.assertEqual(message["error"]["code"], -32603)
        self.assertEqual(message["error"]["message"], "server shutting down")

    def is_anonymous_error(self, message, code):
        self.assertTrue(is_anonymous(message), message)
        self.assertEqual(message["error"]["code"], code)

    def is_text(self, answer, text):
        self.assertIn("result", answer)
        self.assertEqual(text_of(answer), text)
        self.assertFalse(answer["result"].get("isError", False))

    def each_answered_at_most_once(self, messages):
        """Checks that no id was answered twice."""
        ids = [(type(m["id"]), m["id"]) for m in messages if is_answer(m)]
        self.assertEqual(len(ids), len(set(ids)), "an id was answered twice")

    def stays_below(self, server, bytes_, what):
        if is_sanitized():
            return
        peak = server.peak_memory()
        self.assertLess(peak, bytes_, f"{what}: {peak / MIB:.1f} MiB")


def main():
    """Runs the tests of the calling file and prints a line of counts."""
    runner = unittest.TextTestRunner(verbosity=2, resultclass=proof.Result)
    program = unittest.main(module="__main__", exit=False, testRunner=runner)
    result = program.result
    if program.testNames is None and not program.testNamePatterns:  # only if all of them ran
        proof.write(sys.argv[0], Path(keel_command()).parent)
    # A test with several failing subtests is one failing test.
    bad = len({getattr(test, "test_case", test).id() for test, _ in (*result.failures, *result.errors)})
    print(f"{result.testsRun - bad - len(result.skipped)} passed, {bad} failed, {len(result.skipped)} skipped")
    sys.exit(1 if bad or result.testsRun == 0 else 0)
