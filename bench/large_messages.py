#!/usr/bin/env python3
"""Measures the `echo` of large texts by `keel demo`, over stdio and HTTP.

For each size: processor time of the server per byte of text, relative to 100 KB in the same run, and the peak of its resident memory
above the idle value, relative to the size of the message. With --strace also the system calls per echo. docs/performance.md has the targets.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZES = (100_000, 1_000_000, 10_000_000)
BYTES_PER_ROUND = 40_000_000
ROUNDS = 3
COST_TARGET = 1.3
MEMORY_TARGET = 3


def keel():
    place = Path(os.environ.get("KEEL_BIN", ROOT / "build" / "release" / "bin"))
    return str(place / "keel" if place.is_dir() else place)


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


def echo(size):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
               "params": {"name": "echo", "arguments": {"text": "x" * size}}}
    return json.dumps(message, separators=(",", ":")).encode()


class Stdio:
    name = "stdio"
    sizes = SIZES

    def __init__(self, prefix=()):
        self.process = subprocess.Popen([*prefix, keel(), "demo", "--stdio"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
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
                raise SystemExit("the server closed its output")
            size += len(piece)
            if piece.endswith(b"\n"):
                return size

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Http:
    name = "HTTP"
    sizes = SIZES[:2]  # the default of http_options::max_body is 4 MiB

    def __init__(self, prefix=()):
        self.process = subprocess.Popen([*prefix, keel(), "demo", "--http", "127.0.0.1:0", "--json", "--threads", "1"],
                                        stderr=subprocess.PIPE)
        port = int(re.search(rb":(\d+)/", self.process.stderr.readline())[1])
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.session = ""
        self.send(json.dumps(initialize()).encode())

    def send(self, body):
        head = ("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                "Accept: application/json, text/event-stream\r\n"
                f"Content-Length: {len(body)}\r\n{self.session}\r\n")
        self.socket.sendall(head.encode() + body)
        answer = bytearray()
        while b"\r\n\r\n" not in answer:
            answer += self.receive()
        head_end = answer.index(b"\r\n\r\n") + 4
        text = bytes(answer[:head_end]).decode()
        if found := re.search(r"(?i)mcp-session-id: (\S+)", text):
            self.session = f"Mcp-Session-Id: {found[1]}\r\nMCP-Protocol-Version: 2025-11-25\r\n"
        left = int(re.search(r"(?i)content-length: (\d+)", text)[1]) - (len(answer) - head_end)
        while left > 0:
            left -= len(self.receive())

    def receive(self):
        piece = self.socket.recv(1 << 20)
        if not piece:
            raise SystemExit("the server closed the connection")
        return piece

    def close(self):
        self.socket.close()
        # Under strace the server is its child.
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        os.kill(int(children[0]) if children else self.process.pid, signal.SIGTERM)
        self.process.wait()


def measure(transport):
    """Per size: nanoseconds per byte, and the peak above idle relative to the message."""
    costs = {size: [] for size in transport.sizes}
    peaks = {}
    for _ in range(ROUNDS):
        for size in transport.sizes:
            server = transport()
            body = echo(size)
            server.send(echo(10))
            pid = server.process.pid
            idle = status_field(pid, "VmRSS")
            server.send(body)
            peaks[size] = (status_field(pid, "VmHWM") - idle) / size
            calls = max(4, BYTES_PER_ROUND // size)
            before = cpu_seconds(pid)
            for _ in range(calls):
                server.send(body)
            costs[size].append((cpu_seconds(pid) - before) * 1e9 / (calls * size))
            server.close()
    return {size: (statistics.median(costs[size]), peaks[size]) for size in transport.sizes}


def system_calls(transport, size, calls=20):
    with tempfile.NamedTemporaryFile("r") as out:
        server = transport(prefix=("strace", "-f", "-c", "-o", out.name))
        for _ in range(calls):
            server.send(echo(size))
        server.close()
        found = {}
        for row in out.read().splitlines():
            words = row.split()
            if len(words) >= 5 and words[3].isdigit() and words[-1] != "total":
                found[words[-1]] = int(words[3]) / calls
        return {name: round(n, 1) for name, n in found.items() if n >= 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strace", action="store_true", help="also count system calls (needs strace)")
    given = parser.parse_args()
    missed = 0
    for transport in (Stdio, Http):
        found = measure(transport)
        base = found[SIZES[0]][0]
        for size, (cost, peak) in found.items():
            ratio = cost / base
            bad = size > SIZES[0] and (ratio > COST_TARGET or peak > MEMORY_TARGET)
            missed += bad
            print(f"{transport.name:5} {size:>10,} bytes: {cost:.2f} ns/byte, {ratio:.2f} x the cost at 100 KB, "
                  f"peak {peak:.1f} x the message{'  MISSED' if bad else ''}")
        if given.strace and shutil.which("strace"):
            for size in SIZES[:2]:
                print(f"{transport.name:5} {size:>10,} bytes: system calls per echo: {system_calls(transport, size)}")
    print(f"targets: at most {COST_TARGET} x the cost per byte at 100 KB, peak at most {MEMORY_TARGET} x the message")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
