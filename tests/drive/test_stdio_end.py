#!/usr/bin/env python3
"""How a stdio server ends: end of input, hang-up, signals, death of the parent."""

# ctest-labels: threads
# ctest-timeout: 600

import ctypes
import os
import signal
import subprocess
import sys

import keel_process as kp
from keel_process import HOUR, Server, call, line, lines, request


class EndOfInput(kp.DriveTest):
    def test_c1_running_handlers_are_cancelled_and_answered(self):
        """C1: at end of input every running request is answered -32603 "server shutting down", then exit 0."""
        with Server() as s:
            s.open()
            s.send(*(call(i, "sleep", {"ms": HOUR}) for i in range(10)))
            s.ping()
            s.end_input()
            rest = s.rest()
            self.assertEqual(len(rest), 10)
            for i, message in enumerate(rest):
                self.is_shutting_down(message, i)
            self.ends_well(s)

    def test_c1_received_requests_are_answered_first(self):
        """C1 (1): requests before the end of input are dispatched, and their answers are not lost."""
        with Server() as s:
            batch = [kp.initialize("open"), *(call(i, "echo", {"text": f"{i}"}) for i in range(1000)),
                     call("long", "sleep", {"ms": HOUR})]
            s.send(*batch)
            s.end_input()
            rest = s.rest()
            self.assertEqual([m["id"] for m in rest], ["open", *range(1000), "long"])
            for i in range(1000):
                self.is_text(rest[1 + i], f"{i}")
            self.is_shutting_down(rest[-1], "long")
            self.ends_well(s)

    def test_c2_handlers_waiting_on_the_client(self):
        """C2: handlers in the middle of a request to the client are woken at end of input; each is answered once."""
        with Server() as s:
            s.open(capabilities={"roots": {}})
            s.send(call(1, "ask_roots"), call(2, "ask_roots"))
            asked = [s.next("a request of the server") for _ in range(2)]
            self.assertEqual([m["method"] for m in asked], ["roots/list", "roots/list"])
            s.end_input()
            rest = s.rest()
            self.assertEqual(len(rest), 2, rest)
            self.is_shutting_down(rest[0], 1)
            self.is_shutting_down(rest[1], 2)
            self.ends_well(s)

    def test_c3_many_pending_in_both_directions(self):
        """C3: 256 handlers, each with its own request to the client, all end."""
        with Server() as s:
            s.open(capabilities={"roots": {}})
            s.send(*(call(i, "ask_roots") for i in range(256)))
            for _ in range(256):
                self.assertEqual(s.next("a request of the server")["method"], "roots/list")
            s.end_input()
            rest = s.rest()
            self.assertEqual(sorted(m["id"] for m in rest), list(range(256)))
            for message in rest:
                self.is_shutting_down(message, message["id"])
            self.ends_well(s)

    def test_c4_before_the_first_message(self):
        """C4, C13: end of input before the first message: nothing is written, exit 0."""
        with Server() as s:
            self.ends_input(s)

    def test_c4_between_initialize_and_its_confirmation(self):
        """C4: end of input after initialize, without notifications/initialized."""
        with Server() as s:
            self.assertIn("result", s.ask(kp.initialize()))
            self.ends_input(s)

    def test_c13_when_idle(self):
        """C13, STD-10: end of input with nothing in flight ends the process."""
        with Server() as s:
            s.open()
            self.is_text(s.ask(call(1, "echo", {"text": "x"})), "x")
            self.ends_input(s)
        with Server() as s:
            self.is_text(s.ask(kp.modern_call(1, "echo", {"text": "x"})), "x")
            self.ends_input(s)

    def test_c10_a_whole_message_without_newline(self):
        """C10: text after the last newline is served if it is a complete message."""
        with Server() as s:
            s.open()
            s.send_raw(line(call(7, "echo", {"text": "last words"})).rstrip(b"\n"))
            s.end_input()
            rest = s.rest()
            self.assertEqual(len(rest), 1, rest)
            self.is_text(rest[0], "last words")
            self.ends_well(s)

    def test_c10_half_a_message(self):
        """C10: a truncated message at the end is discarded without an answer."""
        whole = line(request(7, "ping")).rstrip(b"\n")
        for cut in range(1, len(whole), 7):
            with self.subTest(cut=cut), Server() as s:
                s.send_raw(whole[:cut])
                self.ends_input(s)

    def test_c1_drain_lets_handlers_finish(self):
        """C1 (3): with --drain the handlers may still answer; the drain ends with the last answer."""
        with Server("--stdio", "--drain", "1h") as s:
            s.open()
            s.send(call(1, "sleep", {"ms": 100}), call(2, "sleep", {"ms": 1}))
            s.end_input()
            answers = {m["id"]: m for m in s.rest()}
            self.assertEqual(set(answers), {1, 2})
            self.is_text(answers[1], "slept 100 ms")
            self.is_text(answers[2], "slept 1 ms")
            self.ends_well(s)

    def test_c1_a_drain_has_an_end(self):
        """C1 (3), (4): requests that are not done at the end of the drain are answered with an error."""
        with Server("--stdio", "--drain", "1ms") as s:
            s.open()
            s.send(call(1, "sleep", {"ms": HOUR}))
            s.end_input()
            rest = s.rest()
            self.assertEqual(len(rest), 1, rest)
            self.is_shutting_down(rest[0], 1)
            self.ends_well(s)

    def test_c2_drain_does_not_wait_for_the_client(self):
        """C2: with --drain, a handler that waits on the client is woken at end of input, not when the drain is over."""
        with Server("--stdio", "--drain", "1h") as s:
            s.open(capabilities={"roots": {}})
            s.send(call(1, "ask_roots"))
            self.assertEqual(s.next("a request of the server")["method"], "roots/list")
            s.end_input()
            rest = s.rest()
            self.assertEqual([m.get("id") for m in rest], [1], rest)
            self.assertTrue("error" in rest[0] or rest[0]["result"].get("isError"), rest[0])
            self.ends_well(s)

    def test_g2_unread_answers_delay_the_exit_briefly(self):
        """G2: unread answers after the end of input delay the exit by `final_write` at most."""
        with Server(read=False) as s:
            s.send(kp.initialize(), *(call(i, "echo", {"text": "x" * 1000}) for i in range(1000)))
            s.end_input()
            self.ends_well(s)


class HangUp(kp.DriveTest):
    def test_c7_closed_output_is_detected_without_writing(self):
        """C6, C7: the client closes its read end while handlers run and keeps our input open: the process exits."""
        with Server(read=False) as s:
            s.send(kp.initialize(), *(call(i, "sleep", {"ms": HOUR}) for i in range(10)))
            s.until_read()
            s.hang_up_output()
            self.ends_well(s)

    def test_c7_when_idle(self):
        """C7: the client closes its read end while nothing runs: the process exits."""
        with Server(read=False) as s:
            s.hang_up_output()
            self.ends_well(s)

    def test_c7_with_a_handler_waiting_on_the_client(self):
        """C7, D1: a request to the client is pending when the client disconnects."""
        with Server(read=False) as s:
            s.send(kp.initialize(capabilities={"roots": {}}), kp.notification("notifications/initialized"),
                   call(1, "ask_roots"))
            kp.until(lambda: kp.unread_bytes(s.in_fd) > 200, "the answer and the request in the pipe")
            s.hang_up_output()
            self.ends_well(s)

    def test_c6_closed_output_in_the_middle_of_a_frame(self):
        """C6, C8: the pipe breaks while an answer is half written: no SIGPIPE, exit 0."""
        with Server(read=False) as s:
            s.send(kp.initialize(), call(1, "echo", {"text": "x" * 1_000_000}))
            # More than the first answer, less than the second: a pipe holds 64 KiB.
            kp.until(lambda: kp.unread_bytes(s.in_fd) > 4096, "the second answer to begin")
            s.hang_up_output()
            self.ends_well(s)

    def test_c6_a_drain_ends_at_once(self):
        """C1 with C7: without a reader there is no drain."""
        with Server("--stdio", "--drain", "1h", read=False) as s:
            s.send(kp.initialize(), call(1, "sleep", {"ms": HOUR}))
            s.until_read()
            s.end_input()
            s.hang_up_output()
            self.ends_well(s)

    def test_c12_both_at_once(self):
        """C12: input and output end together, while handlers run and answers are queued."""
        with Server(read=False) as s:
            s.send(kp.initialize(), call("long", "sleep", {"ms": HOUR}),
                   *(call(i, "echo", {"text": "x" * 1000}) for i in range(500)))
            s.end_input()
            s.hang_up_output()
            self.ends_well(s)

    def test_c8_default_disposition_of_sigpipe(self):
        """C8: no SIGPIPE kills a server that was started with the default disposition."""
        def restore():
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        with Server(read=False, preexec_fn=restore) as s:
            s.hang_up_output()
            try:
                s.send(kp.initialize(), *(request(i, "ping") for i in range(1000)))
            except BrokenPipeError:
                pass  # it has exited already, as expected
            self.ends_well(s)


class Signals(kp.DriveTest):
    def stops_gracefully(self, number):
        with Server() as s:
            s.open()
            s.send(call(1, "sleep", {"ms": HOUR}), call(2, "sleep", {"ms": HOUR}))
            s.ping()
            s.signal(number)
            rest = s.rest()
            self.assertEqual(len(rest), 2, rest)
            self.is_shutting_down(rest[0], 1)
            self.is_shutting_down(rest[1], 2)
            self.ends_well(s)

    def test_g12_sigterm(self):
        """G12: SIGTERM shuts the server down gracefully: running calls are answered -32603, exit 0, though input is open."""
        self.stops_gracefully(signal.SIGTERM)

    def test_g12_sigint(self):
        """G12: SIGINT shuts the server down gracefully."""
        self.stops_gracefully(signal.SIGINT)

    def test_g12_sigterm_when_idle(self):
        """G12: SIGTERM ends an idle server."""
        with Server() as s:
            s.ping()
            s.signal(signal.SIGTERM)
            self.assertEqual(s.rest(), [])
            self.ends_well(s)

    def ends_at_once(self, first, second):
        """After the first signal the server would drain for an hour; the second one ends it."""
        with Server("--stdio", "--drain", "1h") as s:
            s.open()
            s.send(call(1, "sleep", {"ms": HOUR}))
            s.ping()
            s.signal(first)
            # New work is refused once the signal has taken effect.
            for i in range(10**6):
                if "error" in s.ping(f"ping {i}"):
                    break
            self.assertIsNone(s.process.poll())
            s.signal(second)
            self.assertEqual(s.exit_status(), 128 + second, s.stderr_text())

    def test_g12_sigterm_twice(self):
        """G12: the second SIGTERM exits at once, with 128 + 15."""
        self.ends_at_once(signal.SIGTERM, signal.SIGTERM)

    def test_g12_sigint_twice(self):
        """G12: the second SIGINT exits at once, with 128 + 2."""
        self.ends_at_once(signal.SIGINT, signal.SIGINT)

    def test_g12_sigint_then_sigterm(self):
        """G12: SIGTERM and SIGINT count together."""
        self.ends_at_once(signal.SIGINT, signal.SIGTERM)

    def test_g12_drain_after_sigterm(self):
        """G5, G12: with --drain a running call is finished, new ones are refused, then exit 0."""
        with Server("--stdio", "--drain", "1h") as s:
            s.open(capabilities={"roots": {}})
            s.send(call(1, "ask_roots"))
            asked = s.next("a request of the server")
            s.signal(signal.SIGTERM)
            for i in range(10**6):
                answer = s.ping(f"ping {i}")
                if "error" in answer:
                    break
            self.assertEqual(answer["error"]["code"], -32603)
            s.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}})
            rest = s.rest()
            self.assertEqual([m["id"] for m in rest], [1])
            self.is_text(rest[0], "0 roots")
            self.ends_well(s)

    def test_c12_signal_and_end_of_input_together(self):
        """C12: SIGTERM and end of input at the same time: one teardown, each request answered once, exit 0."""
        for _ in range(20):
            with Server() as s:
                s.open()
                s.send(call(1, "sleep", {"ms": HOUR}))
                s.ping()
                s.signal(signal.SIGTERM)
                s.end_input()
                rest = s.rest()
                self.assertEqual(len(rest), 1, rest)
                self.is_shutting_down(rest[0], 1)
                self.ends_well(s)


PARENT = """
import subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
server.stdin.write(sys.stdin.buffer.readline())
server.stdin.write(sys.stdin.buffer.readline())
server.stdin.write(sys.stdin.buffer.readline())
server.stdout.readline()
server.stdout.readline()
print(server.pid, flush=True)
sys.stdin.read()
"""

PR_SET_CHILD_SUBREAPER = 36


class ParentDies(kp.DriveTest):
    def killed_parent(self, *messages):
        """Starts the server under its own parent process, kills the parent, and waits for the server."""
        # So that we can get the status of a grandchild.
        self.assertEqual(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0)
        parent = subprocess.Popen([sys.executable, "-c", PARENT, kp.keel_command(), "demo", "--stdio"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        try:
            parent.stdin.write(lines(messages))
            server = kp.Watched(int(parent.stdout.readline()))
        finally:
            parent.kill()
            parent.wait()
            parent.stdin.close()
            parent.stdout.close()
        try:
            server.wait_for_end("the server to notice that its parent was killed")
        except kp.Hang:
            server.kill()
            raise
        finally:
            _, status = os.waitpid(server.pid, 0)
            server.close()
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def test_g13_idle(self):
        """G13: the parent is killed with SIGKILL: the server sees the end of its input and exits."""
        self.killed_parent(kp.initialize(), request(1, "ping"), kp.notification("notifications/initialized"))

    def test_g13_with_a_handler_running(self):
        """G13: the parent is killed while a handler runs: the server exits."""
        self.killed_parent(kp.initialize(), call(1, "sleep", {"ms": HOUR}), request(2, "ping"))

    def test_g10_a_second_server_holds_no_descriptors(self):
        """G10: with two running servers, the input of the first is closed: it exits while the second continues."""
        with Server() as first, Server() as second:
            first.open()
            second.open()
            first.send(call(1, "sleep", {"ms": HOUR}))
            first.ping()
            first.end_input()
            rest = first.rest()
            self.assertEqual(len(rest), 1)
            self.is_shutting_down(rest[0], 1)
            self.ends_well(first)
            self.is_text(second.ask(call(1, "echo", {"text": "still here"})), "still here")
            self.ends_input(second)

    def test_g10_descriptors_are_close_on_exec(self):
        """G10: every descriptor that the server opened is close-on-exec."""
        with Server() as s:
            s.open()
            for fd in s.descriptors():
                if fd > 2:
                    self.assertTrue(s.descriptor_flags(fd) & os.O_CLOEXEC, f"descriptor {fd}")
            self.ends_input(s)


if __name__ == "__main__":
    kp.main()
