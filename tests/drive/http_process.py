"""HttpServer runs a server program on a port chosen by the system; Control calls the tools of `test-subject` that observe and
control other calls."""

import contextlib
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import keel_process as kp
from http_client import Client, Modern
from http_connection import Connection
from keel_process import Deadline


def program(name):
    place = Path(os.environ.get("KEEL_BIN", kp.ROOT / "build" / "release" / "bin"))
    return str((place if place.is_dir() else place.parent) / name)


class HttpServer(kp.Watched):
    """A server program on a port chosen by the system. Leaving the with statement ends it.

    `settings` are for test-subject only: limits that the command line does not offer (tests/subject/settings.cpp)."""

    def __init__(self, *options, command=("test-subject",), host="127.0.0.1", port=0, tls=None, settings=None, **popen):
        self.tls = tls  # an ssl.SSLContext for our side
        self.credential = None  # default credential of clients
        where = ("--http-with" if settings else "--http", f"{host}:{port}")
        said = [f"{name}={value}" for name, value in (settings or {}).items()]
        self.process = subprocess.Popen(
            [program(command[0]), *command[1:], *where, *options, *said],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **popen)
        kp.Watched.__init__(self, self.process.pid)
        self.log = []
        self.heard = threading.Condition()
        self.log_ended = False
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()
        try:
            self._read_address()
        except BaseException:
            self._end()
            raise

    def _listen(self):
        for row in self.process.stderr:
            with self.heard:
                self.log.append(row.decode(errors="replace"))
                self.heard.notify_all()
        with self.heard:
            self.log_ended = True
            self.heard.notify_all()

    def _read_address(self):
        row = self.wait_for_line(r"serving (https?)://(\[[0-9a-f:]+\]|[^/:]+):(\d+)(/\S*)")
        self.scheme, self.path = row[1], row[4]
        self.host, self.port = row[2].strip("[]"), int(row[3])
        self.host_header = f"{row[2]}:{row[3]}"
        self.origin = f"{self.scheme}://{self.host_header}"
        self.url = self.origin + self.path

    def wait_for_line(self, pattern):
        """Waits until standard error has a line that matches; returns the match."""
        deadline = Deadline(f"a line like {pattern!r} on standard error")
        at = 0
        with self.heard:
            while True:
                for row in self.log[at:]:
                    if found := re.search(pattern, row):
                        return found
                at = len(self.log)
                if self.log_ended:
                    raise AssertionError(f"the server ended without a line like {pattern!r}:\n{''.join(self.log)}")
                self.heard.wait(deadline.left())

    def stderr_text(self):
        with self.heard:
            return "".join(self.log)

    def connect(self, **options):
        return Connection((self.host, self.port), tls=self.tls, **options)

    def signal(self, number):
        self.process.send_signal(number)

    def exit_status(self):
        """Waits for its end. Returns the status like a shell: 128 + n if signal n killed it."""
        self.wait_for_end("the server to exit")
        status = self.process.wait()
        self.listener.join()
        return status if status >= 0 else 128 - status

    def sockets(self):
        """The number of its descriptors that are sockets."""
        count = 0
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                count += os.readlink(f"/proc/{self.pid}/fd/{name}").startswith("socket:")
        return count

    def metrics(self):
        """The metrics without labels, by name."""
        with Client(self).bare("GET", {"Accept": "*/*"}, path="/metrics") as e:
            rows = e.response.body().decode().splitlines()
        return {name: float(value) for name, value in (row.split() for row in rows if row[:1] != "#" and "{" not in row)}

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        died = self.process.poll()
        self._end()
        if kind is not None and issubclass(kind, Exception):
            sys.stderr.write(f"\nstandard error of the server:\n{self.stderr_text()}\n")
        if died is not None and died < 0 and kind is None:
            raise AssertionError(f"the server was killed by signal {-died}:\n{self.stderr_text()}")
        return False

    def _end(self):
        if self.process.poll() is None:
            self.kill()
        self.process.wait()
        self.listener.join()
        self.process.stderr.close()
        self.close()


class Control:
    """Calls the tools of `test-subject` that observe and control other calls, over its own connection (2026-07-28)."""

    def __init__(self, server):
        self.client = Modern(server)
        self.connection = None
        self.count = 0

    def __enter__(self):
        self.use("echo", text="")  # so that its connection is counted from the start
        return self

    def __exit__(self, *error):
        self.close()
        return False

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def use(self, tool, **arguments):
        """Calls a tool; returns its structured content, or its text without one."""
        self.count += 1
        if self.connection and not self.connection.silent():  # the server closes idle connections
            self.close()
        if self.connection is None:
            self.connection = self.client.server.connect()
        ident = f"control-{self.count}"
        e = self.client.post(self.client.call(ident, tool, arguments), on=self.connection)
        answer = e.answer(ident)
        e.done()
        if not e.response.keeps_open:
            self.close()
        if "result" not in answer or answer["result"].get("isError"):
            raise AssertionError(f"{tool}({arguments}): {answer}")
        return answer["result"].get("structuredContent", kp.text_of(answer))

    def wait(self, key, what):
        """Waits until this has happened to the call: begun, cancelled, cleaned_up, finished, asked."""
        return self.use("wait_status", key=key, what=what)

    def status(self, key):
        return self.use("status", key=key)

    def release(self, key, value=""):
        return self.use("release", key=key, value=value)

    def emit(self, key, n=1, kind="progress"):
        return self.use("emit", key=key, n=n, kind=kind)

    def census(self):
        """The resources that the server holds, including this call and its connection."""
        counted = self.use("census")
        for name, value in self.client.server.metrics().items():
            if name in ("keel_http_sessions", "keel_http_streams"):
                counted[name.removeprefix("keel_http_")] = int(value)
        return counted
