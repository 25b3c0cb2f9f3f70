"""Runs bin/test-caller: sends commands, each of which has exactly one outcome."""

import itertools
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading

import keel_process as kp
from http_process import program


class Outcome(dict):
    """{"kind":…,"message":…,"result":…}"""

    @property
    def kind(self):
        return self["kind"]


class Pending:
    """A command that was sent."""

    def __init__(self, n, command):
        self.n = n
        self.command = command
        self.there = queue.SimpleQueue()
        self.tell = self.there.put

    def wait(self, seconds=None):
        try:
            return self.there.get(timeout=seconds or kp.SECONDS_TO_HANG)
        except queue.Empty:
            raise kp.Hang(f"no outcome of {json.dumps(self.command)[:300]}") from None


class Caller(kp.Watched):
    """A process with clients that the driver controls. Safe to use from several threads."""

    def __init__(self, **popen):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([program("test-caller")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, **popen)
        kp.Watched.__init__(self, self.process.pid)
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.pending = {}
        self.errors = []  # errors: two outcomes of one command, or an outcome without a command
        self.events = queue.SimpleQueue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for row in self.process.stdout:
            told = json.loads(row)
            if "event" in told:
                if told["event"] == "twice":
                    self.errors.append(told)
                self.events.put(told)
                continue
            with self.lock:
                found = self.pending.pop(told["n"], None)
            if found is None:
                self.errors.append(told)
            else:
                found.tell(Outcome(told))
        with self.lock:
            left, self.pending = self.pending, {}
        for each in left.values():
            each.tell(Outcome(kind="gone", message="test-caller has ended"))
        self.events.put(None)

    def begin(self, do, /, on_outcome=None, **command):
        """Sends a command; the outcome is waited for, or passed to `on_outcome` on the reading thread."""
        with self.lock:
            n = next(self.numbers)
            command = {"do": do, "n": n, **command}
            p = self.pending[n] = Pending(n, command)
            if on_outcome:
                p.tell = on_outcome
            try:
                self.process.stdin.write(kp.line(command))
                self.process.stdin.flush()
            except BrokenPipeError:
                raise AssertionError(f"test-caller has died:\n{self.stderr_text()}") from None
        return p

    def do(self, do, /, **command):
        return self.begin(do, **command).wait()

    def open(self, name, target, **options):
        return self.do("open", **{"as": name, "target": target, "options": options})

    def call(self, name, what, args=None, **more):
        return self.do("call", **{"as": name, "what": what, "args": args or {}, **more})

    def drop(self, name):
        return self.do("drop", **{"as": name})

    def census(self):
        return self.do("census")["result"]

    def event(self, kind, **members):
        """The next event of that kind; the others are dropped."""
        deadline = kp.Deadline(f"the event {kind}")
        while True:
            try:
                told = self.events.get(timeout=deadline.left())
            except queue.Empty:
                continue
            if told is None:
                raise AssertionError(f"test-caller ended before the event {kind}:\n{self.stderr_text()}")
            if told["event"] == kind and all(told.get(k) == v for k, v in members.items()):
                return told

    def holds(self):
        """The resources that must be released when everything has ended."""
        now = self.census()
        return {"descriptors": now["descriptors"], "threads": now["threads"], "children": now["children"]}

    def is_back(self, before):
        now = {}

        def same():
            now.clear()
            now.update(self.holds())
            return now == before

        try:
            kp.until(same, "all resources to be released")
        except kp.Hang as e:
            raise AssertionError(f"before {before}, now {now}") from e

    def stderr_text(self):
        return os.pread(self.log.fileno(), 1 << 20, 0).decode(errors="replace")

    def finish(self):
        """Ends its input: it must exit with status 0 and without errors."""
        self.process.stdin.close()
        self.wait_for_end("test-caller to exit")
        status = self.process.wait()
        said = self.stderr_text()
        if status != 0 or "Sanitizer" in said or "runtime error" in said:
            raise AssertionError(f"test-caller ended with status {status}:\n{said}")
        if self.errors:
            raise AssertionError(f"not exactly one outcome: {self.errors[:5]}")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.process.poll() is None:
            self.kill()
        self.process.wait()
        self.reader.join()
        if kind is not None and issubclass(kind, Exception):
            sys.stderr.write(f"\nstandard error of test-caller:\n{self.stderr_text()[-4000:]}\n")
        if not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        self.process.stdout.close()
        self.log.close()
        self.close()
        return False
