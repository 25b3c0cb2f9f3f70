#!/usr/bin/env python3
"""The samples in examples/deploy: nginx and HAProxy in front of `keel demo`, the units of systemd, the Dockerfile."""

# ctest-labels: release_only
# ctest-timeout: 300

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import keel_process as kp
from service_process import Service, ask, get, tcp_connection

SAMPLES = kp.ROOT / "examples" / "deploy"
PATH = f"{os.environ['PATH']}:/usr/sbin"
HOST = "mcp.example.com"

NGINX_MAIN = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/sample.conf;
}}
"""


def replaced(text, old, new):
    """Fails if a sample no longer has the text that the test replaces."""
    if old not in text:
        raise AssertionError(f"the sample has no {old!r}")
    return text.replace(old, new)


class Proxy:
    """A proxy as a child process, with a listening socket that it inherits. Leaving the with statement ends it."""

    def __init__(self, command, listener, **environment):
        self.port = listener.getsockname()[1]
        self.process = subprocess.Popen(command, pass_fds=(listener.fileno(),), stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, env={**os.environ, "PATH": PATH, **environment})
        listener.close()
        self.log = []
        self.heard = threading.Condition()
        self.reader = threading.Thread(target=self._listen, daemon=True)
        self.reader.start()

    def _listen(self):
        for row in self.process.stderr:
            with self.heard:
                self.log.append(row.decode(errors="replace"))
                self.heard.notify_all()

    def wait_for_line(self, pattern):
        deadline = kp.Deadline(f"a line like {pattern!r}")
        with self.heard:
            while not re.search(pattern, "".join(self.log)):
                self.heard.wait(deadline.left())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        died = self.process.poll()
        if died is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()
        if died is not None:
            raise AssertionError(f"the proxy ended with status {died}:\n{''.join(self.log)}")
        return False


def new_listener():
    return socket.create_server(("127.0.0.1", 0), backlog=128)


class Deploy(kp.DriveTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)  # the workers of nginx may run as another user

    def test_nginx(self):
        """nginx.conf: requests reach the server on its Unix socket, with the name of the host; only the endpoint is public."""
        path = f"{self.folder}/mcp.sock"
        listener = new_listener()
        sample = replaced((SAMPLES / "nginx.conf").read_text(), "/run/keel-demo.sock", path)
        sample = replaced(sample, "listen 80;", f"listen 127.0.0.1:{listener.getsockname()[1]};")
        Path(self.folder, "sample.conf").write_text(sample)
        Path(self.folder, "nginx.conf").write_text(NGINX_MAIN.format(folder=self.folder))
        command = ["nginx", "-p", self.folder, "-e", "stderr", "-c", f"{self.folder}/nginx.conf"]
        with Service("--http", f"unix:{path}", "--socket-mode", "666", "--allow-host", HOST) as server:
            server.wait_for_line("serving")
            with Proxy(command, listener, NGINX=f"{listener.fileno()};") as proxy:
                c = tcp_connection(proxy.port)
                for text in ("one", "two"):
                    self.assertEqual(ask(c, text, Host=HOST), (200, text))
                self.assertEqual(get(tcp_connection(proxy.port), "/metrics", Host=HOST)[0], 404)

    def test_haproxy(self):
        """haproxy.cfg: when one of two servers shuts down, HAProxy uses the other one before the first refuses connections."""
        listener = new_listener()
        options = ("--http", "0", "--allow-host", HOST, "--shutdown-delay", "1h")
        with Service(*options) as first, Service(*options) as second:
            sample = (SAMPLES / "haproxy.cfg").read_text()
            sample = replaced(sample, "bind :80", f"bind fd@{listener.fileno()}")
            sample = replaced(sample, "127.0.0.1:8848\n    server", f"127.0.0.1:{first.port()}\n    server")
            sample = replaced(sample, "127.0.0.1:8849", f"127.0.0.1:{second.port()}")
            sample = replaced(sample, "inter 2s", "inter 20ms")
            Path(self.folder, "haproxy.cfg").write_text(sample)
            with Proxy(["haproxy", "-db", "-f", f"{self.folder}/haproxy.cfg"], listener) as proxy:
                for n in range(4):
                    self.assertEqual(ask(tcp_connection(proxy.port), str(n), Host=HOST), (200, str(n)))
                first.process.send_signal(signal.SIGTERM)
                proxy.wait_for_line("keel_demo/first is DOWN")
                first.process.send_signal(signal.SIGTERM)  # a second signal ends the delay and the process
                first.exit_status()
                for n in range(4):
                    self.assertEqual(ask(tcp_connection(proxy.port), str(n), Host=HOST), (200, str(n)))

    def test_haproxy_keeps_sessions_together(self):
        """haproxy.cfg: all requests of a session reach the server that opened it."""
        listener = new_listener()
        options = ("--http", "0", "--allow-host", HOST)
        with Service(*options) as first, Service(*options) as second:
            sample = (SAMPLES / "haproxy.cfg").read_text()
            sample = replaced(sample, "bind :80", f"bind fd@{listener.fileno()}")
            sample = replaced(sample, "127.0.0.1:8848\n    server", f"127.0.0.1:{first.port()}\n    server")
            sample = replaced(sample, "127.0.0.1:8849", f"127.0.0.1:{second.port()}")
            Path(self.folder, "haproxy.cfg").write_text(sample)
            with Proxy(["haproxy", "-db", "-f", f"{self.folder}/haproxy.cfg"], listener) as proxy:
                def post(message, **headers):
                    c = tcp_connection(proxy.port)
                    c.request("POST", "/mcp", json.dumps(message), {
                        "Host": HOST, "Content-Type": "application/json",
                        "Accept": "application/json, text/event-stream", **headers})
                    answer = c.getresponse()
                    answer.read()
                    return answer
                for _ in range(2):
                    opened = post(kp.initialize())
                    session = opened.headers["Mcp-Session-Id"]
                    for n in range(4):
                        answer = post(kp.request(n, "ping"), **{"Mcp-Session-Id": session})
                        self.assertEqual(answer.status, 200)

    def test_dockerfile(self):
        """Every line of the Dockerfile is an instruction, a comment or a continuation; it runs as an ordinary user."""
        text = (SAMPLES / "Dockerfile").read_text().replace("\\\n", " ")
        rows = [row.split(None, 1) for row in text.splitlines() if row.strip() and not row.startswith("#")]
        known = {"FROM", "RUN", "COPY", "USER", "ENV", "EXPOSE", "ENTRYPOINT"}
        self.assertEqual({row[0] for row in rows}, known)
        self.assertEqual(rows[0][0], "FROM")
        words = dict(rows)
        self.assertEqual(json.loads(words["ENTRYPOINT"]), ["/usr/local/bin/my_server"])
        self.assertRegex(words["USER"], r"^\d+:\d+$")
        variables = dict(each.split("=", 1) for each in words["ENV"].split())
        # The program accepts the variables; without KEEL_ALLOW_HOST it refuses to be reachable from other machines.
        with Service(environment=variables) as s:
            self.assertEqual(s.exit_status(), 2)
            self.assertIn("--allow-host", "".join(s.log))
        with Service(environment={**variables, "KEEL_HTTP": "127.0.0.1:0", "KEEL_ALLOW_HOST": HOST}) as s:
            self.assertEqual(ask(tcp_connection(s.port()), Host=HOST), (200, "hello"))

    def test_units(self):
        """The service unit has only options and variables that the program accepts."""
        service = (SAMPLES / "keel-demo.service").read_text()
        start = re.search(r"^ExecStart=/usr/bin/keel demo (.*)$", service, re.M)[1].split()
        variables = dict(each.split("=", 1) for each in re.findall(r"^Environment=(.*)$", service, re.M))
        self.assertIn("KEEL_SHUTDOWN_DELAY", variables)
        with socket.create_server(("127.0.0.1", 0)) as s, \
                Service(*start, passed=[(s, "keel-demo.socket")], environment=variables):
            self.assertEqual(ask(tcp_connection(s.getsockname()[1]), Host=HOST), (200, "hello"))

    if shutil.which("systemd-analyze"):
        def test_systemd_accepts_the_units(self):
            """systemd-analyze verify has nothing to say about the units."""
            for name in ("keel-demo.service", "keel-demo.socket"):
                # The program that the unit starts must exist.
                text = (SAMPLES / name).read_text().replace("/usr/bin/keel", kp.keel_command())
                Path(self.folder, name).write_text(text)
            done = subprocess.run(["systemd-analyze", "verify", f"{self.folder}/keel-demo.service",
                                   f"{self.folder}/keel-demo.socket"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


if __name__ == "__main__":
    kp.main()
