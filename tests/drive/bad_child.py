#!/usr/bin/env python3
"""Child processes that misbehave: bad_child.py KIND. See test_client_children.py.

Until it misbehaves, each is a correct server of the revision in BAD_CHILD_VERSION, by default 2025-11-25. Its tool `facts`
returns facts about the process, `die` ends it with calls waiting, `wait` is never answered.
"""

import json
import os
import signal
import sys

import hostile_lines as h

KIND = sys.argv[1] if len(sys.argv) > 1 else "polite"
NOTE = os.environ.get("BAD_CHILD_NOTE", "")  # a file that outlives the process
VERSION = os.environ.get("BAD_CHILD_VERSION", h.LEGACY)
ERA = "modern" if VERSION == h.MODERN else "legacy"


def note(text):
    if NOTE:
        with open(NOTE, "a") as f:
            f.write(text + "\n")


def complain(text):
    os.write(2, text.encode() + b"\n")


def facts():
    return {"pid": os.getpid(), "group": os.getpgrp(), "directory": os.getcwd(), "variable": os.environ.get("BAD_CHILD_VARIABLE"),
            "home": os.environ.get("HOME"), "descriptors": descriptors(), "arguments": sys.argv[1:]}


def descriptors():
    there = []
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
        except OSError:
            continue  # without the one used for reading the folder
        there.append(int(name))
    return sorted(there)


class Child(h.StdioServer):
    def answer(self, message):
        method = message.get("method")
        if method == "server/discover" and KIND == "exit_on_probe":
            complain("I do not know server/discover")
            os._exit(1)
        if method == "server/discover" and KIND == "killed_by_probe":
            os.kill(os.getpid(), signal.SIGKILL)
        if method == "server/discover" and KIND == "silent_on_probe":
            return None
        if KIND == "bridge" and method == "server/discover":
            # supergateway 3.4 (--streamableHttp): the first request makes the bridge initialize its server.
            self.connected = True
            return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}}
        if KIND == "bridge" and method == "initialize" and getattr(self, "connected", False):
            note("initialize rejected")
            return {"jsonrpc": "2.0", "id": message["id"], "error": {
                "code": 400, "message": "Error POSTing to endpoint (HTTP 400): Invalid Request: Server already initialized"}}
        if method != "tools/call":
            return self.usual_answer(message)
        tool = message["params"]["name"]
        if tool == "wait":
            return None
        if tool == "die":
            complain("first of the last words")
            complain("the very last words")
            os.kill(os.getpid(), signal.SIGKILL)
        if tool == "leave":
            complain("leaving with 5")
            os._exit(5)
        reply = self.usual_answer(message)
        reply["result"] = {**reply["result"], "content": [{"type": "text", "text": json.dumps(facts())}]}
        return reply

    def usual_answer(self, message):
        """Supports one revision, whichever was requested."""
        reply = h.answer_to(message, ERA)
        if ERA == "legacy" and message.get("method") == "initialize":
            reply["result"]["protocolVersion"] = VERSION
        return reply

    def serve(self):
        while True:
            reply = self.answer(json.loads(self.line()))
            if reply is not None:
                self.write(h.text_of(reply) + b"\n")


def on_term(*_):
    complain("got SIGTERM")
    note("got SIGTERM")


def leave_a_grandchild():
    """Starts a process that holds our pipes until the driver closes its end of a named pipe."""
    if os.fork() == 0:
        note(f"grandchild {os.getpid()}")
        fd = os.open(os.environ["BAD_CHILD_HOLD"], os.O_RDONLY)
        os.read(fd, 1)
        os._exit(0)


def main():
    note(f"started {os.getpid()}")
    if KIND == "exit_at_once":
        complain("cannot start: no such database")
        sys.exit(3)
    if KIND in ("ignores_eof", "ignores_term"):
        # A child that ignores SIGTERM reports it; the other one is terminated by it.
        if KIND == "ignores_term":
            signal.signal(signal.SIGTERM, on_term)
    if KIND == "grandchild":
        leave_a_grandchild()
    if KIND == "flood":
        for _ in range(100):
            sys.stderr.write("x" * 999_999 + "\n")
        sys.stderr.flush()
    try:
        Child(h.Plan(ERA)).serve()
    except h.Ended:
        pass
    note("end of input")
    if KIND in ("ignores_eof", "ignores_term"):
        while True:
            signal.pause()
    if KIND == "writes_at_the_end":
        rest = b"x" * (1 << 20) + b"\n"
        while rest:
            rest = rest[os.write(1, rest):]
        note("everything written")


if __name__ == "__main__":
    main()
