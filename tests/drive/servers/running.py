"""The servers in this folder's package.json: where they are, and a process of each that serves HTTP on loopback."""

import http.server
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import keel_process as kp
import ts_clients

sys.path.insert(0, str(kp.ROOT / "tools"))

import node_packages  # noqa: E402

HERE = Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
OFFICIAL = MODULES / "@modelcontextprotocol"


def node():
    """Installs missing packages."""
    try:
        with ts_clients.alone():
            return node_packages.install(HERE)
    except node_packages.Unavailable as reason:
        raise AssertionError(f"the servers cannot be run: {reason}") from None


def kubernetes():
    """The program itself, which its package starts through Node.js."""
    program, = MODULES.glob("kubernetes-mcp-server-linux-*/bin/kubernetes-mcp-server-*")
    return str(program)


def kubeconfig(folder, port):
    """A cluster at a port of this machine."""
    file = Path(folder) / f"kubeconfig-{port}.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
        f"clusters: [{{name: here, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n"
        "contexts: [{name: here, context: {cluster: here, user: nobody}}]\n"
        "users: [{name: nobody, user: {}}]\n")
    return str(file)


class Cluster:
    """A cluster whose address refuses connections until it is started. It then accepts requests for pods, but never answers them."""

    SAYS = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
            {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]}]},
    }

    def __init__(self):
        self.asked = queue.SimpleQueue()  # for the pods
        self.left = queue.SimpleQueue()  # requests whose client has disconnected
        cluster = self

        class Request(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                said = cluster.SAYS.get(self.path.partition("?")[0])
                if said is None:
                    cluster.asked.put(self.path)
                    cluster.left.put(self.rfile.read())  # until the end of the connection
                    self.close_connection = True
                    return
                body = json.dumps(said).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Request, bind_and_activate=False)
        self.server.daemon_threads = True
        self.server.socket.bind(("127.0.0.1", 0))
        self.port = self.server.socket.getsockname()[1]
        self.thread = None

    def appear(self):
        self.server.server_activate()
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        if self.thread:
            self.server.shutdown()
            self.thread.join()
        self.server.socket.close()


def listening_ports(pid):
    """The address on which a process listens, for programs that do not print it."""
    own = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry.path))
        if found:
            own.add(found[1])
    rows = [row.split() for row in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in own]


class HttpProcess(kp.Watched):
    """A server with its own port. `origin` is its URL."""

    def __init__(self, *command, says=True, **environment):
        self.log = tempfile.TemporaryFile()  # a file is never full, so logging cannot block the server
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        env={**os.environ, **environment})
        super().__init__(self.process.pid)
        self.ports = []
        try:
            kp.until(self._heard if says else self._found, f"{command[-1]} to listen")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self.origin = f"http://127.0.0.1:{self.ports[0]}"

    def said(self):
        return os.pread(self.log.fileno(), 1 << 20, 0).decode(errors="replace")

    def _lives(self):
        if self.process.poll() is not None:
            raise AssertionError(f"it ended with status {self.process.returncode}:\n{self.said()}")

    def _heard(self):
        self._lives()
        self.ports = [int(port) for port in re.findall(r"^serving http://127\.0\.0\.1:(\d+)/", self.said(), re.MULTILINE)]
        return self.ports

    def _found(self):
        self._lives()
        self.ports = listening_ports(self.pid)
        return self.ports

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.kill()
        self.process.wait()
        self.log.close()
        self.close()
        return False
