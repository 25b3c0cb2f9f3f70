"""The servers in this folder's package.json: where they are, and a process of each that serves HTTP on loopback."""

import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import keel_process as kp
import ts_clients

sys.path.insert(0, str(kp.ROOT / "tools"))

import node_packages  # noqa: E402

HERE = Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
OFFICIAL = MODULES / "@modelcontextprotocol"


def node():
    """Installs what is missing."""
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
    """A cluster that is at a port of this machine."""
    file = Path(folder) / f"kubeconfig-{port}.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
        f"clusters: [{{name: here, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n"
        "contexts: [{name: here, context: {cluster: here, user: nobody}}]\n"
        "users: [{name: nobody, user: {}}]\n")
    return str(file)


def closed_port():
    """Bound but not listening: nobody is served there, and nobody else gets it."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    return taken


def listening_ports(pid):
    """Where a process listens: for those that do not say it."""
    own = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry.path))
        if found:
            own.add(found[1])
    rows = [row.split() for row in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in own]


class HttpProcess(kp.Watched):
    """A server with a port of its own. `origin` is where it is."""

    def __init__(self, *command, says=True, **environment):
        self.log = tempfile.TemporaryFile()  # never full: the server cannot hang on its own complaints
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
