"""Starts the servers of the HTTP benchmark, and finds the process to measure."""

import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

SERVING = re.compile(r"serving (http://\S+)")
START_SECONDS = 60  # also under callgrind


class Failed(Exception):
    """A server failed to start or to exit; the text is the reason."""


@dataclass(frozen=True)
class Running:
    url: str
    pid: int  # the process that serves


def _prepare(processors, descriptors):
    """Runs in the child before the server: sets CPU affinity and the limit of open files."""
    os.sched_setaffinity(0, processors)
    if descriptors:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, max(hard, descriptors)))


def _stop(process):
    """Terminates the server, and kills it if it does not exit."""
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


@contextlib.contextmanager
def announced(command, processors, descriptors=0, must_end_well=False):
    """A server that prints its URL on standard error."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: _prepare(processors, descriptors),
    )
    said = []
    url = threading.Event()

    def listen():  # until the end: a full pipe would block the server
        for line in process.stderr:
            said.append(line)
            if SERVING.search(line):
                url.set()
        url.set()

    listener = threading.Thread(target=listen)
    listener.start()
    status = None
    try:
        url.wait(START_SECONDS)
        found = SERVING.search("".join(said))
        if not found:
            raise Failed(f"{command[0]} did not start serving:\n{''.join(said)}")
        yield Running(found[1], process.pid)
    finally:
        status = _stop(process)
        listener.join()
    if must_end_well and status != 0:
        raise Failed(f"{command[0]} exited with status {status}:\n{''.join(said)}")


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _children(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process may have just exited
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def _wait_for_port(port, process):
    for _ in range(500):
        if process.poll() is not None:
            raise Failed(f"nginx exited with status {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise Failed("nginx does not accept connections")


def find_nginx():
    return shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


NGINX = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/errors warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    default_type application/json;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location = /mcp {{ return 200 '{body}'; }}
    }}
}}
"""


@contextlib.contextmanager
def nginx(program, body_bytes, processors):
    """nginx with one worker that sends a constant body of that size."""
    with tempfile.TemporaryDirectory() as folder:
        port = _free_port()
        config = Path(folder) / "nginx.conf"
        config.write_text(NGINX.format(folder=folder, port=port, body="x" * body_bytes))
        command = [program, "-p", folder, "-e", f"{folder}/errors", "-c", str(config)]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, preexec_fn=lambda: _prepare(processors, 0)
        )
        try:
            _wait_for_port(port, process)
            workers = _children(process.pid)
            if len(workers) != 1:
                raise Failed(f"nginx has {len(workers)} workers")
            yield Running(f"http://127.0.0.1:{port}/mcp", workers[0])
        finally:
            _stop(process)
