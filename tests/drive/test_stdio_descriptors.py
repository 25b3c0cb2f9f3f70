#!/usr/bin/env python3
"""Standard input and output of every kind: files, /dev/null, sockets, terminals, closed ones."""

# ctest-timeout: 300

import fcntl
import json
import os
import pty
import socket
import subprocess
import tempfile
import termios
import tty

import keel_process as kp
from keel_process import HOUR, Server, call, lines, request

CONVERSATION = [kp.initialize("open"), kp.notification("notifications/initialized"), call(1, "echo", {"text": "x"}),
                call(2, "sleep", {"ms": 20}, {"progressToken": 2}), call(3, "add", {"a": 1, "b": 2})]


def file_of(data):
    f = tempfile.TemporaryFile()
    f.write(data)
    f.seek(0)
    return f


class Files(kp.DriveTest):
    def is_whole_conversation(self, messages):
        answers = {m["id"]: m for m in messages if kp.is_answer(m)}
        self.assertEqual(set(answers), {"open", 1, 2, 3})
        self.is_text(answers[1], "x")
        self.is_text(answers[2], "slept 20 ms")
        self.is_text(answers[3], "3")
        self.assertEqual([m["params"]["progress"] for m in messages if "method" in m], list(range(1, 11)))

    def test_c1_input_from_a_file(self):
        """C1: input from a file gets every answer, however long the handlers take."""
        with file_of(lines(CONVERSATION)) as f, Server(stdin=f) as s:
            self.is_whole_conversation(s.rest())
            self.ends_well(s)

    def test_c1_input_from_a_file_without_last_newline(self):
        """C10: input from a file gets every answer even if the last line has no newline."""
        with file_of(lines(CONVERSATION).rstrip(b"\n")) as f, Server(stdin=f) as s:
            self.is_whole_conversation(s.rest())
            self.ends_well(s)

    def test_c1_drain_given_with_a_file(self):
        """C1: --drain applies to input from a file too."""
        with file_of(lines([kp.initialize(0), call(1, "sleep", {"ms": HOUR})])) as f, \
                Server("--stdio", "--drain", "0", stdin=f) as s:
            rest = s.rest()
            self.assertEqual([m["id"] for m in rest], [0, 1])
            self.is_shutting_down(rest[1], 1)
            self.ends_well(s)

    def test_from_the_middle_of_a_file(self):
        """A file is read from its current position, as with `{ read line; keel demo; } < file` in a shell."""
        with file_of(b"not for you\n" + lines(CONVERSATION)) as f:
            os.lseek(f.fileno(), len(b"not for you\n"), os.SEEK_SET)
            with Server(stdin=f) as s:
                self.is_whole_conversation(s.rest())
                self.ends_well(s)

    def test_file_to_file(self):
        """Input and output are both files; an output file that was opened for appending keeps its content."""
        with file_of(lines(CONVERSATION)) as f, tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out")
            with open(path, "wb") as before:
                before.write(b'{"before":1}\n')
            with open(path, "ab") as out, Server(stdin=f, stdout=out) as s:
                self.ends_well(s)
            with open(path, "rb") as out:
                written = [json.loads(each) for each in out]
            self.assertEqual(written[0], {"before": 1})
            for each in written[1:]:
                s.check.received(each)
            self.is_whole_conversation(written[1:])

    def test_pipe_to_file(self):
        """Output to a file: every answer is there after the process has ended."""
        with tempfile.TemporaryFile() as out, Server(stdout=out) as s:
            s.send(kp.initialize("open"), *(call(i, "echo", {"text": "x" * 1000}) for i in range(5000)))
            s.end_input()
            self.ends_well(s)
            out.seek(0)
            self.assertEqual([json.loads(each)["id"] for each in out], ["open", *range(5000)])

    def test_a_large_file(self):
        """A file with 100,000 calls, more than any buffer holds, into a pipe."""
        calls = (call(i, "echo", {"text": "x" * 100}) for i in range(100_000))
        with file_of(lines([kp.initialize("open"), *calls])) as f, Server(stdin=f) as s:
            rest = s.rest()
            self.assertEqual([m["id"] for m in rest], ["open", *range(100_000)])
            self.ends_well(s)

    def test_c13_input_from_dev_null(self):
        """C13: /dev/null is at its end: nothing is written, exit 0."""
        with Server(stdin=subprocess.DEVNULL) as s:
            self.assertEqual(s.rest(), [])
            self.ends_well(s)

    def test_everything_to_dev_null(self):
        """Output to /dev/null: requests are served."""
        with Server(stdout=subprocess.DEVNULL) as s:
            s.send(*CONVERSATION)
            s.end_input()
            self.ends_well(s)
        with file_of(lines(CONVERSATION)) as f, Server(stdin=f, stdout=subprocess.DEVNULL) as s:
            self.ends_well(s)

    def test_c6_a_full_device(self):
        """C6: a permanent write error ends the process without a crash."""
        with open("/dev/full", "wb") as full, Server(stdout=full) as s:
            s.send(*CONVERSATION)
            self.assertIn(s.exit_status(), (0, 1))
            self.assertNotIn("terminate called", s.stderr_text())

    def test_closed_standard_descriptors(self):
        """Standard descriptors that are closed at startup: the process serves or exits; it never hangs."""
        for missing in ((0,), (1,), (2,), (0, 1), (0, 1, 2)):
            with self.subTest(missing=missing):
                close = "; ".join(f"exec {fd}{'<' if fd == 0 else '>'}&-" for fd in missing)
                process = subprocess.Popen(["sh", "-c", f'{close}; exec "$0" demo --stdio', kp.keel_command()],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                           bufsize=0)
                try:
                    out, _ = process.communicate(lines(CONVERSATION[:3]), timeout=kp.SECONDS_TO_HANG)
                finally:
                    if process.poll() is None:
                        process.kill()
                        process.wait()
                self.assertEqual(process.returncode, 0)
                if missing == (2,):
                    self.assertEqual([json.loads(each)["id"] for each in out.splitlines()], ["open", 1])
                else:
                    self.assertEqual(out, b"")


class StandardError(kp.DriveTest):
    def test_j6_unread_standard_error(self):
        """J6: a host that never reads standard error does not block the server: lines are dropped."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        for size in (4096, 1):
            try:
                while True:
                    os.write(writing, b"x" * size)
            except BlockingIOError:
                pass  # full
        os.set_blocking(writing, True)
        with Server(stderr=writing) as s:
            s.open()
            s.send_raw(b"{oops\n")
            s.send(call(1, "fail", {"kind": "exception"}))
            self.assertEqual(s.answer(1)["error"]["code"], -32603)
            self.assertEqual(s.ping()["result"], {})
            self.ends_input(s)
        os.close(reading)
        os.close(writing)

    def test_j6_closed_standard_error(self):
        """J6, C8: a closed reader of standard error does not end the server."""
        reading, writing = os.pipe()
        os.close(reading)
        with Server(stderr=writing) as s:
            os.close(writing)
            s.open()
            s.send_raw(b"{oops\n")
            self.is_anonymous_error(s.next(), -32700)
            self.assertEqual(s.ping()["result"], {})
            self.ends_input(s)


class Sockets(kp.DriveTest):
    def test_one_socket_for_both(self):
        """Standard input and output are one socket, as from inetd; half-close is the end of input (C1)."""
        ours, theirs = socket.socketpair()
        with Server(stdin=theirs, stdout=theirs) as s, kp.SocketWire(ours) as w:
            theirs.close()
            w.open()
            self.is_text(w.ask(call(1, "echo", {"text": "x" * 500_000})), "x" * 500_000)
            w.send(call(2, "sleep", {"ms": HOUR}))
            w.end_input()
            rest = w.rest()
            self.assertEqual(len(rest), 1)
            self.is_shutting_down(rest[0], 2)
            self.ends_well(s)

    def test_two_sockets(self):
        """Two socket pairs, as some programs start their children."""
        (in_ours, in_theirs), (out_ours, out_theirs) = socket.socketpair(), socket.socketpair()
        with in_ours, out_ours, Server(stdin=in_theirs, stdout=out_theirs) as s:
            in_theirs.close()
            out_theirs.close()
            w = kp.Wire(in_ours.fileno(), out_ours.fileno())
            w.open()
            self.is_text(w.ask(call(1, "echo", {"text": "x"})), "x")
            w.send(call(2, "sleep", {"ms": HOUR}))
            in_ours.shutdown(socket.SHUT_WR)
            rest = w.rest()
            self.assertEqual(len(rest), 1)
            self.is_shutting_down(rest[0], 2)
            self.ends_well(s)
            w.reader.thread.join()

    def test_c7_hang_up_of_a_socket(self):
        """C5, C7: the socket is closed in both directions while a handler runs."""
        ours, theirs = socket.socketpair()
        with Server(stdin=theirs, stdout=theirs) as s:
            theirs.close()
            with kp.SocketWire(ours) as w:
                w.open()
                w.send(call(1, "sleep", {"ms": HOUR}))
                w.ping()
            self.ends_well(s)

    def test_flags_are_restored(self):
        """Shared descriptors have their original blocking mode after the server has ended."""
        ours, theirs = socket.socketpair()
        with theirs, Server(stdin=theirs, stdout=theirs) as s, kp.SocketWire(ours) as w:
            before = fcntl.fcntl(theirs, fcntl.F_GETFL)
            w.open()
            w.end_input()
            self.ends_well(s)
            self.assertEqual(fcntl.fcntl(theirs, fcntl.F_GETFL), before)
        reading, writing = os.pipe()
        other_reading, other_writing = os.pipe()
        with Server(stdin=reading, stdout=other_writing) as s:
            w = kp.Wire(writing, other_reading)
            w.open()
            self.assertFalse(fcntl.fcntl(reading, fcntl.F_GETFL) & os.O_NONBLOCK)
            self.assertFalse(fcntl.fcntl(other_writing, fcntl.F_GETFL) & os.O_NONBLOCK)
            os.close(writing)
            self.ends_well(s)
            self.assertFalse(fcntl.fcntl(reading, fcntl.F_GETFL) & os.O_NONBLOCK)
            self.assertFalse(fcntl.fcntl(other_writing, fcntl.F_GETFL) & os.O_NONBLOCK)
            os.close(reading)
            os.close(other_writing)
            w.reader.thread.join()
            os.close(other_reading)


class Terminal(kp.DriveTest):
    def open_terminal(self, raw):
        master, slave = pty.openpty()
        if raw:
            tty.setraw(slave)
        else:
            mode = termios.tcgetattr(slave)
            mode[3] &= ~termios.ECHO
            termios.tcsetattr(slave, termios.TCSANOW, mode)
        return master, slave

    def converses(self, s, w):
        w.open()
        self.is_text(w.ask(call(1, "echo", {"text": "typed"})), "typed")
        w.send(call(2, "sleep", {"ms": HOUR}))
        self.assertEqual(w.ping()["result"], {})

    def test_typed_by_hand(self):
        """A terminal in its usual mode: lines are read, answers are written, Ctrl-D is the end of input."""
        master, slave = self.open_terminal(raw=False)
        with Server(stdin=slave, stdout=slave) as s:
            w = kp.Wire(None, None)
            w.out_fd = w.in_fd = master
            os.set_blocking(master, False)
            w.start_reading()
            self.converses(s, w)
            w.send_raw(b"\x04")
            self.is_shutting_down(w.next("the last answer"), 2)
            self.ends_well(s)
            self.assertFalse(fcntl.fcntl(slave, fcntl.F_GETFL) & os.O_NONBLOCK, "the terminal is left non-blocking")
            os.close(slave)
            w.reader.thread.join()
        os.close(master)

    def test_c7_the_terminal_is_closed(self):
        """C5, C7: the terminal is closed while a handler runs."""
        master, slave = self.open_terminal(raw=True)
        with Server(stdin=slave, stdout=slave) as s:
            os.close(slave)
            os.write(master, lines([kp.initialize(0), call(1, "sleep", {"ms": HOUR}), request(2, "ping")]))
            seen = b""
            while seen.count(b"\n") < 2:
                seen += os.read(master, 65536)
            os.close(master)
            self.ends_well(s)


if __name__ == "__main__":
    kp.main()
