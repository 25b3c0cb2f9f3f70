"""Service runs `keel demo` on any endpoints, with passed sockets if wanted; ask() calls a tool over any HTTP connection."""

import fcntl
import http.client
import json
import os
import re
import socket
import subprocess
import threading

import keel_process as kp

# Moves the passed sockets to the descriptors from 3 on and sets LISTEN_PID, as a service manager does between fork and exec.
EXEC_WITH_SOCKETS = """
n=3
for fd in $PASSED; do eval "exec $n<&$fd $fd<&-"; n=$((n + 1)); done
unset PASSED
export LISTEN_PID=$$
exec "$@"
"""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=kp.SECONDS_TO_HANG)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def tcp_connection(port):
    return http.client.HTTPConnection("127.0.0.1", port, timeout=kp.SECONDS_TO_HANG)


def get(connection, path, **headers):
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def ask(connection, text="hello", path="/mcp", **headers):
    """Calls echo. Returns the status, and the text or the body of an error."""
    message = kp.modern_call(1, "echo", {"text": text})
    connection.request("POST", path, json.dumps(message), {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": kp.MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "echo", **headers})
    answer = connection.getresponse()
    body = answer.read().decode()
    return answer.status, kp.text_of(json.loads(body)) if answer.status == 200 else body


class Service(kp.Watched):
    """`keel demo` with these options. `passed` are pairs of a listening socket and its name."""

    def __init__(self, *options, passed=(), environment=None):
        command = [kp.keel_command(), "demo", *options]
        env = {**os.environ, **(environment or {})}
        # High numbers, which moving them to 3, 4, … does not overwrite.
        numbers = [fcntl.fcntl(s.fileno(), fcntl.F_DUPFD, 50) for s, _ in passed]
        if passed:
            env |= {"PASSED": " ".join(map(str, numbers)), "LISTEN_FDS": str(len(passed)),
                    "LISTEN_FDNAMES": ":".join(name for _, name in passed)}
            command = ["bash", "-c", EXEC_WITH_SOCKETS, "bash", *command]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=numbers,
                                        env=env)
        for each in numbers:
            os.close(each)
        kp.Watched.__init__(self, self.process.pid)
        self.log = []
        self.heard = threading.Condition()
        self.ended = False
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self):
        for row in self.process.stderr:
            with self.heard:
                self.log.append(row.decode(errors="replace"))
                self.heard.notify_all()
        with self.heard:
            self.ended = True
            self.heard.notify_all()

    def wait_for_line(self, pattern):
        deadline = kp.Deadline(f"a line like {pattern!r}")
        with self.heard:
            while not (found := re.search(pattern, "".join(self.log))):
                if self.ended:
                    raise AssertionError(f"ended without a line like {pattern!r}:\n{''.join(self.log)}")
                self.heard.wait(deadline.left())
            return found

    def port(self):
        return int(self.wait_for_line(r"serving http://127\.0\.0\.1:(\d+)/")[1])

    def exit_status(self):
        self.wait_for_end("the server to exit")
        status = self.process.wait()
        self.listener.join()
        return status if status >= 0 else 128 - status

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.kill()
        self.process.wait()
        self.listener.join()
        self.process.stderr.close()
        self.close()
        return False
