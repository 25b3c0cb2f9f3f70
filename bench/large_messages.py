#!/usr/bin/env python3
"""Measures the `echo` of large texts over stdio and HTTP: `bench/large_echo.cpp`, the official TypeScript SDK, and a floor.

For each size: processor time of the server per byte of text, relative to 100 KB in the same round and to the better TypeScript server,
and the peak of its resident memory above the idle value, relative to the size of the message. The servers and sizes take turns; the
figures are medians. With --strace also the system calls per echo. docs/performance.md has the targets.

The floor reads the message, copies it once, and writes it: no server can be cheaper, so its own ratio shows what the processor's caches
allow. The exit status is 1 if a target is missed.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import node_packages  # noqa: E402

SIZES = (100_000, 1_000_000, 10_000_000)
BYTES_PER_ROUND = 40_000_000
PATIENCE = 60  # seconds for one server and size; a server that needs longer is stopped
COST_TARGET = 1.3
TYPESCRIPT_TARGET = 0.25
MEMORY_TARGET = 3


def program(name):
    place = Path(os.environ.get("KEEL_BIN", ROOT / "build" / "release" / "bin"))
    return str(place / f"bench-{name}")


def cpu_seconds(pid):
    """Processor time of all threads, from the scheduler."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        total += int(Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
    return total / 1e9


def status_field(pid, name):
    for row in Path(f"/proc/{pid}/status").read_text().splitlines():
        if row.startswith(name + ":"):
            return int(row.split()[1]) * 1024
    raise KeyError(name)


def initialize():
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}


def text(size):
    """As in a file: lines of 60 characters with quotes, so that a server cannot pass the text on without looking at it."""
    line = 'The quick brown fox says "hello" and jumps over the lazy do.\n'
    return (line * (size // len(line) + 1))[:size]


def echo(size):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
               "params": {"name": "echo", "arguments": {"text": text(size)}}}
    return json.dumps(message, separators=(",", ":")).encode()


class Refused(Exception):
    """The server does not accept messages of this size."""


class Stopped(Exception):
    """The server has ended."""


class Stdio:
    name = "stdio"

    def __init__(self, command, prefix=()):
        self.process = subprocess.Popen([*prefix, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, bufsize=0)
        self.send(json.dumps(initialize()).encode())

    def send(self, body):
        # Written and read in turns: the server answers while we write only if the message is complete.
        view = memoryview(body + b"\n")
        while view:
            view = view[os.write(self.process.stdin.fileno(), view):]
        size = 0
        while True:
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                raise Stopped("the server closed its output")
            size += len(piece)
            if piece.endswith(b"\n"):
                break
        if size < len(body) - 200:  # without the name of the method
            raise SystemExit(f"the answer has only {size} bytes")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Http:
    name = "HTTP"

    def __init__(self, command, prefix=()):
        self.process = subprocess.Popen([*prefix, *command], stderr=subprocess.PIPE)
        port = int(re.search(rb":(\d+)/", self.process.stderr.readline())[1])
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.session = ""
        self.send(json.dumps(initialize()).encode())

    def send(self, body):
        head = ("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                "Accept: application/json, text/event-stream\r\n"
                f"Content-Length: {len(body)}\r\n{self.session}\r\n")
        try:
            self.socket.sendall(head.encode() + body)
        except (BrokenPipeError, ConnectionResetError) as e:
            raise Refused from e
        answer = bytearray()
        while b"\r\n\r\n" not in answer:
            answer += self.receive()
        head_end = answer.index(b"\r\n\r\n") + 4
        lines = bytes(answer[:head_end]).decode()
        if not re.match(r"HTTP/1.1 20", lines):
            raise Refused(lines.splitlines()[0])
        if found := re.search(r"(?i)mcp-session-id: (\S+)", lines):
            self.session = f"Mcp-Session-Id: {found[1]}\r\nMCP-Protocol-Version: 2025-11-25\r\n"
        if length := re.search(r"(?i)content-length: *(\d+)", lines):
            left = int(length[1]) - (len(answer) - head_end)
            while left > 0:
                left -= len(self.receive())
        else:  # chunked
            while not answer.endswith(b"0\r\n\r\n"):
                answer = answer[-8:] + self.receive()

    def receive(self):
        try:
            piece = self.socket.recv(1 << 20)
        except ConnectionResetError as e:
            raise Refused from e
        if not piece:
            raise Refused("the server closed the connection")
        return piece

    def close(self):
        self.socket.close()
        # Under strace the server is its child.
        if self.process.poll() is None:
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            os.kill(int(children[0]) if children else self.process.pid, signal.SIGTERM)
        self.process.wait()


class Measured:
    """One kind of server over one transport."""

    def __init__(self, name, transport, command, volume=BYTES_PER_ROUND, least=4):
        self.name, self.transport, self.command = name, transport, command
        self.volume, self.least = volume, least  # bytes and calls in each round
        self.costs = {size: [] for size in SIZES}  # nanoseconds per byte, by round
        self.peaks = {size: [] for size in SIZES}  # above idle, relative to the message
        self.at_least = set()  # sizes whose cost is a lower bound, because the server was stopped

    def run(self, size):
        if size in self.at_least:
            return
        server = self.transport(self.command)
        spent = []

        def stop():
            spent.append(cpu_seconds(server.process.pid))
            server.process.kill()

        watchdog = threading.Timer(PATIENCE, stop)
        watchdog.start()
        try:
            body = echo(size)
            server.send(echo(10))
            pid = server.process.pid
            idle = status_field(pid, "VmRSS")
            for _ in range(self.least // 2):
                server.send(body)
            calls = max(self.least, self.volume // size)
            before = cpu_seconds(pid)
            for _ in range(calls):
                server.send(body)
            self.costs[size].append((cpu_seconds(pid) - before) * 1e9 / (calls * size))
            self.peaks[size].append((status_field(pid, "VmHWM") - idle) / len(body))
        except (Refused, Stopped, BrokenPipeError):
            self.costs[size], self.peaks[size] = [], []
        finally:
            watchdog.cancel()
            server.close()
        if spent:  # it has not answered all calls: at most this many bytes
            self.at_least.add(size)
            self.costs[size] = [spent[0] * 1e9 / (size * (self.least // 2 + max(self.least, self.volume // size)))]

    def cost(self, size):
        return statistics.median(self.costs[size]) if self.costs[size] else None

    def ratio(self, size):
        rounds = zip(self.costs[size], self.costs[SIZES[0]])
        return statistics.median(here / base for here, base in rounds) if self.costs[size] else None


def list_servers(with_typescript):
    found = [Measured("floor", Stdio, [program("large_floor")])]
    for transport, arguments in ((Stdio, []), (Http, ["--http"])):
        found.append(Measured("Keel", transport, [program("large_echo"), *arguments]))
    if with_typescript:
        folder = ROOT / "bench" / "ts"
        try:
            node = node_packages.install(folder)
            for transport, kind in ((Stdio, "echo"), (Http, "http")):
                for version in ("v1", "v2"):
                    command = [node, str(folder / f"{kind}-{version}.mjs")]
                    # Its cost grows with the square of the size: one call of 10 MB takes seconds.
                    found.append(Measured(f"TypeScript {version}", transport, command, BYTES_PER_ROUND // 10, least=1))
        except node_packages.Unavailable as reason:
            print(f"The TypeScript servers are not measured: {reason}", file=sys.stderr)
    return found


def system_calls(server, size, calls=20):
    with tempfile.NamedTemporaryFile("r") as out:
        running = server.transport(server.command, prefix=("strace", "-f", "-c", "-o", out.name))
        for _ in range(calls):
            running.send(echo(size))
        running.close()
        found = {}
        for row in out.read().splitlines():
            words = row.split()
            if len(words) >= 5 and words[3].isdigit() and words[-1] != "total":
                found[words[-1]] = int(words[3]) / calls
        return {name: round(n, 1) for name, n in found.items() if n >= 1}


def show(servers):
    """Prints the figures and returns the number of missed targets."""
    missed = 0
    for server in servers:
        transport = server.transport.name
        others = [s for s in servers if s.name.startswith("TypeScript") and s.transport is server.transport]
        for size in SIZES:
            if server.cost(size) is None:
                print(f"{transport:5} {server.name:13} {size:>10,} bytes: refused")
                continue
            if size in server.at_least:
                print(f"{transport:5} {server.name:13} {size:>10,} bytes: more than {server.cost(size):.0f} ns/byte, stopped "
                      f"after {PATIENCE} s")
                continue
            peak = statistics.median(server.peaks[size])
            row = (f"{transport:5} {server.name:13} {size:>10,} bytes: {server.cost(size):6.2f} ns/byte, "
                   f"{server.ratio(size):.2f} x the cost at 100 KB, peak {peak:.2f} x the message")
            if server.name == "Keel":
                checks = {f"cost {server.ratio(size):.2f} > {COST_TARGET}": server.ratio(size) > COST_TARGET,
                          f"memory {peak:.2f} > {MEMORY_TARGET}": size > SIZES[0] and peak > MEMORY_TARGET}
                if better := min((c for c in (s.cost(size) for s in others) if c), default=None):
                    share = server.cost(size) / better
                    row += f", {share:.3f} x TypeScript"
                    checks[f"TypeScript {share:.2f} > {TYPESCRIPT_TARGET}"] = share > TYPESCRIPT_TARGET
                bad = [what for what, is_bad in checks.items() if is_bad]
                missed += len(bad)
                row += f"  MISSED: {', '.join(bad)}" if bad else "  pass"
            print(row)
    print(f"targets: cost per byte at most {COST_TARGET} x that at 100 KB and {TYPESCRIPT_TARGET} x the better TypeScript server, "
          f"peak at most {MEMORY_TARGET} x the message (from 1 MB on)")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-typescript", action="store_true", help="without the TypeScript servers")
    parser.add_argument("--strace", action="store_true", help="only count Keel's system calls (needs strace)")
    given = parser.parse_args()
    servers = list_servers(not given.no_typescript and not given.strace)
    if given.strace:
        if not shutil.which("strace"):
            sys.exit("strace is not installed")
        for server in servers:
            for size in SIZES:
                print(f"{server.transport.name:5} {server.name:6} {size:>10,} bytes: {system_calls(server, size)}")
        return 0
    for number in range(given.rounds):
        print(f"round {number + 1}/{given.rounds} ...", file=sys.stderr)
        for server in servers:
            for size in SIZES:
                server.run(size)
    return 1 if show(servers) else 0


if __name__ == "__main__":
    sys.exit(main())
