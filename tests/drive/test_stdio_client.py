#!/usr/bin/env python3
"""A stdio server ends when its client process dies, even if another process still holds its pipes open.

The driver is that other process: it makes the pipes and keeps its ends, so it can also talk to the server.
"""

# ctest-timeout: 600

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import keel_process as kp
from keel_process import call

# Starts the server with the pipes that it inherited. Prints a line when the server was started, and one after the step that it is
# told to take. argv: fd of input, fd of output, step, command.
CLIENT = """
import ctypes, os, subprocess, sys, threading
read_fd, write_fd, step = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def start():
    subprocess.Popen(sys.argv[4:], stdin=read_fd, stdout=write_fd, close_fds=True)
    os.close(read_fd)
    os.close(write_fd)
if step == "thread":
    starter = threading.Thread(target=start)
    starter.start()
    starter.join()
else:
    start()
def rest():
    print("started", flush=True)
    sys.stdin.readline()
    print("done", flush=True)
    sys.stdin.read()
    os._exit(0)
if step == "main thread":
    threading.Thread(target=rest).start()
    sys_exit = 60 if os.uname().machine == "x86_64" else 93
    ctypes.CDLL(None).syscall(sys_exit, 0)  # ends this thread only
rest()
"""

WRAPPER = ("sh", "-c", '"$@"; exit $?', "sh")
PR_SET_CHILD_SUBREAPER = 36


def children_of(pid):
    # Threads of the client may have started the children.
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


class Chain(kp.Wire):
    """A client process, wrappers, and a server (test-subject), each the child of the one before."""

    def __init__(self, *options, wrappers=1, step="", fifo=False, environment=None):
        # The processes of a killed client become children of the driver, which can then wait for them.
        if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError("prctl")
        self.folder = tempfile.TemporaryDirectory()
        if fifo:
            path = os.path.join(self.folder.name, "input")
            os.mkfifo(path)
            server_in = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            to_server = os.open(path, os.O_WRONLY)
            os.set_blocking(server_in, True)
        else:
            server_in, to_server = os.pipe()
        from_server, server_out = os.pipe()
        self.log = open(os.path.join(self.folder.name, "log"), "w+b")
        server = (os.path.join(os.path.dirname(kp.keel_command()), "test-subject"), "--stdio", *options)
        self.client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(server_in), str(server_out), step, *(WRAPPER * wrappers), *server],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, pass_fds=(server_in, server_out), bufsize=0,
            env={**os.environ, **(environment or {})})
        os.close(server_in)
        os.close(server_out)
        kp.Wire.__init__(self, to_server, from_server)
        self.client.stdout.readline()
        self.ping()  # the server has started
        self.processes = []  # the wrappers and the server
        pid = self.client.pid
        for _ in range(wrappers + 1):
            (pid,) = children_of(pid)
            self.processes.append(kp.Watched(pid))
        self.server = self.processes[-1]

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None and issubclass(kind, AssertionError):
            sys.stderr.write(f"\nstandard error of the server:\n{self.said()}\n")
        self.kill_client()
        for each in self.processes:
            each.kill()
            each.wait_for_end("the end of a killed process")
            each.close()
        self.end_input()
        self.reader.thread.join()
        os.close(self.in_fd)
        self.log.close()
        self.folder.cleanup()

    def said(self):
        return Path(self.log.name).read_text()

    def kill_client(self):
        self.client.kill()
        self.client.wait()
        self.client.stdin.close()
        self.client.stdout.close()

    def end_input(self):
        if self.out_fd is not None:
            os.close(self.out_fd)
            self.out_fd = None

    def still_serves(self):
        # An event that was pending before is handled at the latest with the first message.
        for i in range(3):
            self.ping(f"ping {i}")

    def status(self):
        """The exit status of the server."""
        self.server.wait_for_end("the end of the server")
        self.kill_client()  # its children become those of the driver
        # A wrapper that lives waits for the server and exits with the same status.
        for process in reversed(self.processes):
            process.wait_for_end("the end of a wrapper")
            try:
                return os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
            except ChildProcessError:
                pass
        raise AssertionError("the server is not a descendant of the driver")


class ClientDies(kp.DriveTest):
    def ends_with_client(self, **how):
        with Chain(**how) as c:
            note = os.path.join(c.folder.name, "note")
            c.open()
            c.send(call(1, "park", {"key": "a", "note": note}))
            c.ping()
            c.kill_client()
            self.assertEqual(c.status(), 0, c.said())
            self.assertEqual(Path(note).read_text(), "cleaned up\n")
            self.assertEqual(c.rest(), [])  # as C7: nothing is written

    def test_c7_client_killed_while_another_process_holds_the_pipe(self):
        """C7, G13: client, shell, server: the client is killed; the running call is cancelled and cleans up; exit 0."""
        self.ends_with_client()

    def test_c7_without_a_wrapper(self):
        """C7, G13: the client is the parent."""
        self.ends_with_client(wrappers=0)

    def test_c7_two_wrappers(self):
        """C7, G13: a chain of two wrappers, as with npx."""
        self.ends_with_client(wrappers=2)

    def test_c7_server_was_started_by_a_thread_that_has_ended(self):
        """C7, G13: the thread that started the server has ended; the end of the process counts."""
        self.ends_with_client(step="thread")


class ClientLives(kp.DriveTest):
    def leaves(self, c):
        c.end_input()
        self.assertEqual(c.status(), 0, c.said())

    def test_g13_a_thread_of_the_client_ends(self):
        """G13: the exit of the thread that started the server is not the end of the client."""
        for step in ("thread", "main thread"):
            with self.subTest(step), Chain(step=step) as c:
                c.client.stdin.write(b"go\n")
                self.assertEqual(c.client.stdout.readline(), b"done\n")
                c.still_serves()
                self.leaves(c)

    def test_g13_wrappers_end(self):
        """G13: the wrappers are killed, the client lives: the server continues."""
        with Chain(wrappers=2) as c:
            for wrapper in c.processes[:-1]:
                wrapper.kill()
                wrapper.wait_for_end("the end of a wrapper")
            c.still_serves()
            self.leaves(c)

    def test_g13_no_client_is_found(self):
        """G13: a server that reads a named pipe has no client process: only the end of input counts."""
        with Chain(fifo=True) as c:
            c.kill_client()
            c.still_serves()
            self.leaves(c)

    def test_g13_turned_off(self):
        """G13: with --no-watch-client or KEEL_WATCH_CLIENT=off only the end of input counts."""
        for how in ({"options": ["--no-watch-client"]}, {"environment": {"KEEL_WATCH_CLIENT": "off"}}):
            options = how.pop("options", [])
            with self.subTest(options=options, **how), Chain(*options, **how) as c:
                c.kill_client()
                c.still_serves()
                self.leaves(c)

    def test_an_invalid_environment_is_an_error(self):
        """KEEL_WATCH_CLIENT has two values."""
        done = subprocess.run([kp.keel_command(), "demo"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={**os.environ, "KEEL_WATCH_CLIENT": "maybe"})
        self.assertEqual(done.returncode, 2)
        self.assertIn('KEEL_WATCH_CLIENT: invalid value "maybe" (on or off)', done.stderr)


if __name__ == "__main__":
    kp.main()
