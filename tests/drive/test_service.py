#!/usr/bin/env python3
"""`keel demo` as a service: SIGHUP, notifications to a service manager, passed sockets, Unix sockets, readiness; and the User-Agent
of the client."""

# ctest-labels: release_only
# ctest-timeout: 300

import json
import os
import pty
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import keel_process as kp
from http_client import Modern
from http_process import HttpServer
from keel_process import Server
from service_process import Service, UnixConnection, ask, get, tcp_connection
from test_http_pages import certificate


class HangUp(kp.DriveTest):
    def test_stdio_server_stays(self):
        """SIGHUP does not end a server on pipes."""
        with Server("--stdio", "--log-level", "notice") as s:
            s.ping()
            s.process.send_signal(signal.SIGHUP)
            kp.until(lambda: "SIGHUP: reloaded" in s.stderr_text(), "the reload")
            s.ping("again")
            self.ends_input(s)

    def test_stdio_server_on_a_terminal_ends(self):
        """SIGHUP ends a server whose standard input is a terminal: the terminal has hung up."""
        ours, theirs = pty.openpty()
        with Server("--stdio", stdin=theirs, read=False) as s:
            kp.until(lambda: s.catches(signal.SIGHUP), "the server to start")
            s.process.send_signal(signal.SIGHUP)
            s.wait_for_end("the server to exit")
            self.assertEqual(s.process.wait(), 0)
        os.close(theirs)
        os.close(ours)

    def test_certificate(self):
        """SIGHUP reloads the certificate; an invalid one is logged and does not end the server."""
        with tempfile.TemporaryDirectory() as folder:
            chain, key = certificate(folder, "first")
            options = ("--tls-cert", chain, "--tls-key", key, "--log-level", "notice")
            with HttpServer(*options, command=("keel", "demo")) as server:
                Path(chain).write_text("no certificate\n")
                server.signal(signal.SIGHUP)
                server.wait_for_line("SIGHUP: cannot reload the TLS certificate: ")
                server.wait_for_line("SIGHUP: reloaded")
                server.signal(signal.SIGTERM)
                self.assertEqual(server.exit_status(), 0)


class ServiceManager:
    """The socket of a service manager; `name` is the value of NOTIFY_SOCKET."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(kp.SECONDS_TO_HANG)
        self.socket.bind("\0" + name[1:] if name.startswith("@") else name)
        self.name = name

    def next(self):
        return self.socket.recv(4096).decode()

    def next_but_watchdog(self):
        while (text := self.next()) == "WATCHDOG=1":
            pass
        return text

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.socket.close()


class Notifications(kp.DriveTest):
    def check_life(self, name):
        with ServiceManager(name) as manager:
            environment = {**os.environ, "NOTIFY_SOCKET": name}
            with HttpServer(command=("keel", "demo"), env=environment) as server:
                self.assertEqual(manager.next(), "READY=1")
                server.signal(signal.SIGHUP)
                reloading, when = manager.next().split("\n")
                self.assertEqual(reloading, "RELOADING=1")
                self.assertRegex(when, r"^MONOTONIC_USEC=\d+$")
                self.assertEqual(manager.next(), "READY=1")
                server.signal(signal.SIGTERM)
                self.assertEqual(manager.next(), "STOPPING=1")
                self.assertEqual(server.exit_status(), 0)

    def test_path(self):
        """READY=1, RELOADING=1 and STOPPING=1 are sent to a socket file."""
        with tempfile.TemporaryDirectory() as folder:
            self.check_life(f"{folder}/notify")

    def test_abstract_name(self):
        """The same to a socket with an abstract name."""
        self.check_life(f"@keel-test-{os.getpid()}")

    def test_stdio(self):
        """A stdio server sends them too."""
        with ServiceManager(f"@keel-test-stdio-{os.getpid()}") as manager:
            with Server("--stdio", env={**os.environ, "NOTIFY_SOCKET": manager.name}) as s:
                self.assertEqual(manager.next(), "READY=1")
                self.ends_input(s)
                self.assertEqual(manager.next(), "STOPPING=1")

    def test_watchdog(self):
        """WATCHDOG=1 is sent as long as the loop runs, if the watchdog is for this process."""
        with ServiceManager(f"@keel-test-watchdog-{os.getpid()}") as manager:
            environment = {**os.environ, "NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "20000"}
            with HttpServer(command=("keel", "demo"), env=environment):
                self.assertEqual([manager.next() for _ in range(4)], ["READY=1"] + ["WATCHDOG=1"] * 3)
        with ServiceManager(f"@keel-test-other-{os.getpid()}") as manager:
            environment = {**os.environ, "NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}
            with HttpServer(command=("keel", "demo"), env=environment) as server:
                self.assertEqual(manager.next(), "READY=1")
                Modern(server).ask(Modern(server).call(1, "echo", {"text": "x"}))
                server.signal(signal.SIGTERM)
                self.assertEqual(manager.next(), "STOPPING=1")

    def test_invalid_environment(self):
        """Invalid variables: exit status 2, and the message names the variable."""
        for name, value in (("NOTIFY_SOCKET", "relative"), ("NOTIFY_SOCKET", "@"), ("NOTIFY_SOCKET", "/" + "x" * 200),
                            ("WATCHDOG_USEC", "soon"), ("WATCHDOG_USEC", "0")):
            with self.subTest(name=name, value=value), Server("--stdio", env={**os.environ, name: value}) as s:
                s.wait_for_end("the server to exit")
                self.assertEqual(s.process.wait(), 2)
                self.assertIn(name, s.stderr_text())


class Readiness(kp.DriveTest):
    def test_shutdown_delay(self):
        """After SIGTERM /ready answers 503 while new connections and requests are served; then the server stops."""
        with Service("--http", "0", "--shutdown-delay", "1s", "--threads", "2") as s:
            port = s.port()
            self.assertEqual(get(tcp_connection(port), "/ready"), (200, '{"status":"ready"}\n'))
            s.process.send_signal(signal.SIGTERM)
            kp.until(lambda: get(tcp_connection(port), "/ready")[0] == 503, "the server to be unready")
            self.assertEqual(get(tcp_connection(port), "/health")[0], 200)
            self.assertEqual(ask(tcp_connection(port)), (200, "hello"))
            self.assertEqual(s.exit_status(), 0)

    def test_second_signal(self):
        """A second SIGTERM ends the process at once, also during the delay."""
        with Service("--http", "0", "--shutdown-delay", "1h") as s:
            port = s.port()
            s.process.send_signal(signal.SIGTERM)
            kp.until(lambda: get(tcp_connection(port), "/ready")[0] == 503, "the server to be unready")
            s.process.send_signal(signal.SIGTERM)
            self.assertEqual(s.exit_status(), 128 + signal.SIGTERM)

    def test_stdio_has_no_delay(self):
        """Without HTTP the delay does not apply."""
        with Server("--stdio", "--shutdown-delay", "1h") as s:
            s.ping()
            s.process.send_signal(signal.SIGTERM)
            s.wait_for_end("the server to exit")
            self.assertEqual(s.process.wait(), 0)

    def test_monitor_address(self):
        """The page is on the monitor address only, if there is one."""
        with tempfile.TemporaryDirectory() as folder, \
                Service("--http", "0", "--monitor", f"unix:{folder}/monitor") as s:
            port = s.port()
            self.assertEqual(get(UnixConnection(f"{folder}/monitor"), "/ready")[0], 200)
            self.assertEqual(get(tcp_connection(port), "/ready")[0], 404)


class UnixSockets(kp.DriveTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/mcp.sock"

    def test_http(self):
        """HTTP on a Unix socket: only the user may connect; the file is removed at the end."""
        with Service("--http", f"unix:{self.path}") as s:
            s.wait_for_line(rf"serving http://unix:{self.path}:/mcp")
            self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
            c = UnixConnection(self.path)
            self.assertEqual(ask(c), (200, "hello"))
            self.assertEqual(ask(c, "again"), (200, "again"))
            s.process.send_signal(signal.SIGTERM)
            self.assertEqual(s.exit_status(), 0)
        self.assertFalse(os.path.exists(self.path))

    def test_mode_and_stale_file(self):
        """--socket-mode sets the permissions; a stale file is replaced, another file is not."""
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(self.path)
        stale.close()
        with Service("--http", f"unix:{self.path}", "--socket-mode", "660") as s:
            s.wait_for_line("serving")
            self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o660)
            with Service("--http", f"unix:{self.path}") as second:
                self.assertEqual(second.exit_status(), 1)
            self.assertEqual(ask(UnixConnection(self.path)), (200, "hello"))
        Path(self.path).unlink()
        Path(self.path).write_text("a file\n")
        with Service("--http", f"unix:{self.path}") as s:
            self.assertEqual(s.exit_status(), 1)
        self.assertEqual(Path(self.path).read_text(), "a file\n")

    def test_host_names(self):
        """Host is checked as on a loopback address: local names and --allow-host are accepted, others are not."""
        with Service("--http", f"unix:{self.path}", "--allow-host", "mcp.example.com") as s:
            s.wait_for_line("serving")
            for name, status in (("localhost", 200), ("mcp.example.com", 200), ("evil.example", 421)):
                with self.subTest(name=name):
                    self.assertEqual(ask(UnixConnection(self.path), Host=name)[0], status)


def listening(family=socket.AF_INET, at=("127.0.0.1", 0)):
    s = socket.socket(family)
    s.bind(at)
    s.listen()
    return s


class PassedSockets(kp.DriveTest):
    def test_all_endpoints(self):
        """HTTP on TCP and Unix sockets, the monitor page and plain connections, each on a socket that was passed."""
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: f"{folder}/{name}" for name in ("web", "lines", "monitor")}
            sockets = {name: listening(socket.AF_UNIX, path) for name, path in paths.items()}
            port = listening()
            passed = [(sockets["monitor"], "monitor"), (port, "tcp"), (sockets["lines"], "lines"),
                      (sockets["web"], "web")]
            with Service("--http", "systemd", "--tcp", "systemd:lines", "--monitor", "systemd:monitor",
                         passed=passed) as s:
                self.assertEqual(ask(UnixConnection(paths["web"])), (200, "hello"))
                self.assertEqual(ask(tcp_connection(port.getsockname()[1])), (200, "hello"))
                self.assertEqual(get(UnixConnection(paths["monitor"]), "/ready")[0], 200)
                with socket.socket(socket.AF_UNIX) as plain:
                    plain.connect(paths["lines"])
                    plain.sendall(kp.line(kp.request(1, "ping")))
                    self.assertEqual(json.loads(plain.makefile().readline()), {"jsonrpc": "2.0", "id": 1, "result": {}})
                s.process.send_signal(signal.SIGTERM)
                self.assertEqual(s.exit_status(), 0)
            # They belong to the service manager, which may start the server again.
            self.assertTrue(all(os.path.exists(path) for path in paths.values()))

    def test_no_client_is_refused_during_a_restart(self):
        """A client that connects while no server runs is served by the next one."""
        port = listening()
        with Service("--http", "systemd", passed=[(port, "web")]) as s:
            s.port()
            s.process.send_signal(signal.SIGTERM)
            self.assertEqual(s.exit_status(), 0)
        c = tcp_connection(port.getsockname()[1])
        c.connect()
        with Service("--http", "systemd", passed=[(port, "web")]):
            self.assertEqual(ask(c), (200, "hello"))

    def test_errors(self):
        """No such socket, a wrong name, not a socket that listens: exit status 2, and the option is named."""
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for passed, options, named in (
                ((), ("--http", "systemd"), "--http systemd"),
                ([(listening(), "web")], ("--http", "systemd:other"), "--http systemd:other"),
                ([(datagrams, "web")], ("--http", "systemd"), "listening"),
                ([(listening(at=("0.0.0.0", 0)), "web")], ("--http", "systemd"), "--allow-host"),
        ):
            with self.subTest(options=options), Service(*options, passed=passed) as s:
                self.assertEqual(s.exit_status(), 2)
                self.assertIn(named, "".join(s.log))

    def test_variables_for_another_process_are_ignored(self):
        """LISTEN_PID of another process: there are no passed sockets."""
        with Service("--http", "systemd", environment={"LISTEN_PID": "1", "LISTEN_FDS": "1"}) as s:
            self.assertEqual(s.exit_status(), 2)

    if shutil.which("systemd-socket-activate"):
        def test_systemd_socket_activate(self):
            """The tool of systemd starts the server at the first connection."""
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/web"
                process = subprocess.Popen(["systemd-socket-activate", "-l", path, "--fdname=web", kp.keel_command(),
                                            "demo", "--http", "systemd:web"], stderr=subprocess.PIPE)
                self.addCleanup(process.wait)
                self.addCleanup(process.kill)
                self.assertIn(b"Listening", process.stderr.readline())
                self.assertEqual(ask(UnixConnection(path)), (200, "hello"))
                process.stderr.close()


class Limits(kp.DriveTest):
    def test_limits(self):
        """Limits on the command line and in the environment take effect."""
        with Service("--http", "0", "--max-body", "1K", environment={"KEEL_MAX_CONNECTIONS": "1"}) as s:
            port = s.port()
            first = tcp_connection(port)
            self.assertEqual(ask(first), (200, "hello"))
            self.assertEqual(get(tcp_connection(port), "/health")[0], 503)
            self.assertEqual(ask(first, "x" * 1024)[0], 413)

    def test_calls_in_flight(self):
        """--max-in-flight-each: a further call on the same connection is refused."""
        with Server("--stdio", "--max-in-flight-each", "1") as s:
            s.open()
            s.send(kp.call(1, "sleep", {"ms": kp.HOUR}), kp.call(2, "echo", {"text": "x"}))
            self.assertIn("error", s.answer(2))


class UserAgent(kp.DriveTest):
    def head_of_first_request(self, *options):
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(kp.SECONDS_TO_HANG)
            url = f"http://127.0.0.1:{server.getsockname()[1]}/mcp"
            client = subprocess.Popen([kp.keel_command(), "ping", "--url", url, *options], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(client.wait)
            self.addCleanup(client.kill)
            with server.accept()[0] as c, c.makefile("rb") as lines:
                c.settimeout(kp.SECONDS_TO_HANG)
                return [row.decode().rstrip() for row in iter(lines.readline, b"\r\n")]

    def test_default(self):
        """The client names its program and Keel, each with its version."""
        head = [row for row in self.head_of_first_request() if row.lower().startswith("user-agent:")]
        self.assertEqual(len(head), 1)
        self.assertRegex(head[0], r"^User-Agent: keel[^ ]*/\d[^ ]* keel/\d+\.\d+\.\d+$")

    def test_own_header(self):
        """A header of the user replaces it."""
        head = self.head_of_first_request("--header", "user-agent: mine/2")
        self.assertEqual([row for row in head if row.lower().startswith("user-agent:")], ["user-agent: mine/2"])


if __name__ == "__main__":
    kp.main()
