#!/usr/bin/env python3
"""Measures Keel's HTTP client against a server without TCP_NODELAY that writes its answer in two parts.

Such a server sends the second part only when the first was acknowledged. If the client delays its acknowledgement, each call takes 40 ms
or more. The result is a ratio: time per call with two writes, relative to one write, in the same run.
"""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CALLS = 100
TARGET = 5  # with delayed acknowledgements the ratio is about 100


def answer_to(message):
    if message.get("method") == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "two-writes", "version": "1"}}
    if message.get("method") == "tools/call":
        return {"content": [{"type": "text", "text": message["params"]["arguments"].get("text", "")}]}
    return {}


def serve(connection, writes):
    with connection, connection.makefile("rb") as stream:
        while line := stream.readline():
            length = 0
            while (header := stream.readline()) not in (b"\r\n", b""):
                if header.lower().startswith(b"content-length:"):
                    length = int(header.split(b":")[1])
            message = json.loads(stream.read(length)) if length else {}
            if not line.startswith(b"POST"):
                connection.sendall(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
            elif "id" not in message:
                connection.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
            else:
                body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer_to(message)}).encode()
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                for part in ((head, body) if writes == 2 else (head + body,)):
                    connection.sendall(part)


def milliseconds_per_call(writes):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(connection, writes), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()
        place = Path(os.environ.get("KEEL_BIN", ROOT / "build" / "release" / "bin"))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        done = subprocess.run([place / "bench-client_load", "--url", url, "--version", "2025-11-25", "--calls", str(CALLS),
                               "--warm-up", "50", "--in-flight", "1"], check=True, capture_output=True, text=True)
        return 1000 / json.loads(done.stdout)["calls_per_second"]


def main():
    one = milliseconds_per_call(1)
    two = milliseconds_per_call(2)
    print(f"one write: {one:.2f} ms per call; two writes: {two:.2f} ms; ratio {two / one:.1f} (target: at most {TARGET})")
    sys.exit(1 if two / one > TARGET else 0)


if __name__ == "__main__":
    main()
