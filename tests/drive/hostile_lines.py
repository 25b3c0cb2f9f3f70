#!/usr/bin/env python3
"""Servers that are correct up to a chosen point and then fail: over byte streams, one message per line.

Run as a program, it is such a server on standard input and output: hostile_lines.py '{"era":"modern","point":…,"fault":…}'.
hostile_server.py does the same for sockets and HTTP. This file imports few modules because it is started hundreds of times.

A plan is one fault at one point of one exchange:

    era      "modern" (2026-07-28) or "legacy" (2025-11-25)
    method   the request that gets the fault; "" is the first after the handshake; "open" the handshake itself
    point    before_written  right after the handshake, before the client has sent a request
             before_read     the request has arrived but nothing of it is read
             mid_read        a part of it is read
             before_answer   all of it is read
             after_head      (HTTP) the head of the response is written
             after_event     (HTTP, event streams) and an event that is not the answer
             mid_answer      half of the answer is written; in an event stream that is the middle of an event
             answer          the answer itself is invalid
    fault    die, close, half, reset, stall; for the point "answer" one of GARBAGE
"""

import json
import os
import signal
import sys

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
SERVER_INFO = {"name": "hostile", "version": "1"}
CAPABILITIES = {"tools": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": True},
                "prompts": {"listChanged": True}, "completions": {}, "logging": {}}
PARTIAL_READ = 20  # number of bytes that are read of a partially read request


# ---- correct behavior ----

RESULTS = {
    "ping": {},
    "logging/setLevel": {},
    "resources/subscribe": {},
    "resources/unsubscribe": {},
    "x/own": {"own": True},
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
    "resources/list": {"resources": [{"uri": "test://a", "name": "a"}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "test://{x}", "name": "x"}]},
    "resources/read": {"contents": [{"uri": "test://a", "text": "a"}]},
    "prompts/list": {"prompts": [{"name": "p"}]},
    "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "p"}}]},
    "completion/complete": {"completion": {"values": ["one"]}},
}
LEGACY_ONLY = {"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}


def is_request(message):
    return isinstance(message, dict) and "method" in message and "id" in message


def answer_to(message, era):
    """The answer of a correct server, or for a listen stream its acknowledgement. None for a notification."""
    if not is_request(message):
        return None
    method, ident = message["method"], message["id"]
    modern = era == "modern"
    if modern and method == "server/discover":
        result = {"supportedVersions": [MODERN], "capabilities": CAPABILITIES}
    elif not modern and method == "initialize":
        result = {"protocolVersion": LEGACY, "capabilities": CAPABILITIES, "serverInfo": SERVER_INFO}
    elif modern and method == "subscriptions/listen":
        asked = message["params"]["notifications"]
        return {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": {"notifications": asked, "_meta": {SUBSCRIPTION: ident}}}
    elif method in RESULTS and not (modern and method in LEGACY_ONLY):
        result = RESULTS[method]
    else:
        return {"jsonrpc": "2.0", "id": ident, "error": {"code": -32601, "message": "no such method"}}
    if modern:
        result = {**result, "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                  "_meta": {"io.modelcontextprotocol/serverInfo": SERVER_INFO}}
    return {"jsonrpc": "2.0", "id": ident, "result": result}


def opens(message, era):
    """Whether this message completes the handshake."""
    return message.get("method") == ("server/discover" if era == "modern" else "notifications/initialized")


def opening_method(era):
    return "server/discover" if era == "modern" else "initialize"


def text_of(message):
    return json.dumps(message, separators=(",", ":")).encode()


# ---- invalid data ----

WRONG_SHAPE = {name: 5 for name in ("tools", "content", "resources", "resourceTemplates", "contents", "prompts", "messages",
                                    "completion", "supportedVersions", "protocolVersion", "resultType")}
HUGE = 4 * 1024 * 1024  # larger than the message limit of the drivers


def answer_with(message, **members):
    """An answer with the correct id and only these members."""
    return text_of({"jsonrpc": "2.0", "id": message["id"], **members})


GARBAGE = {
    "error": lambda m, a: answer_with(m, error={"code": -32099, "message": "refused"}),
    "not_json": lambda m, a: b'{"jsonrpc":"2.0","id":oops',
    "no_message": lambda m, a: b'{"hello":"world"}',
    "no_object": lambda m, a: b"[1,2,3]",
    "number": lambda m, a: b"42",
    "wrong_id": lambda m, a: text_of({**a, "id": 987654321} if "id" in a else {**a, "method": "x/other"}),
    "null_id": lambda m, a: text_of({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}}),
    "both": lambda m, a: answer_with(m, result={}, error={"code": 1, "message": "x"}),
    "neither": lambda m, a: answer_with(m),
    "result_no_object": lambda m, a: answer_with(m, result=7),
    "wrong_shape": lambda m, a: answer_with(m, result=WRONG_SHAPE),
    "error_no_code": lambda m, a: answer_with(m, error={"oops": 1}),
    "half_utf8": lambda m, a: text_of(a)[:-1] + b',"x":"\xc3"}',
    "deep": lambda m, a: b'{"jsonrpc":"2.0","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "huge": lambda m, a: answer_with(m, result={"content": "x" * HUGE}),
    "huge_anonymous": lambda m, a: b'{"x":"' + b"x" * HUGE + b'"}',
    "hundred_megabytes": lambda m, a: answer_with(m, result={"content": "x" * 100_000_000}),
}


# ---- a conversation ----


class Ended(Exception):
    """The conversation has ended."""


class Plan:
    def __init__(self, era="modern", method="", point="", fault=""):
        self.era, self.method, self.point, self.fault = era, method, point, fault
        self.armed = method == "open"
        self.met = not point
        if method == "open":
            self.method = opening_method(era)

    def opened(self, message):
        if opens(message, self.era):
            self.armed = True

    def due(self, *points):
        return self.armed and not self.met and self.point in points

    def due_for(self, message):
        """Whether the request that gets the fault has been read."""
        return (self.due("before_answer", "after_head", "after_event", "mid_answer", "answer") and is_request(message)
                and self.method in ("", message["method"]))


class LineServer:
    """One conversation. A subclass implements reading, writing and each fault."""

    def __init__(self, plan):
        self.plan = plan
        self.rest = b""

    def line(self):
        while b"\n" not in self.rest:
            piece = self.read(1 << 16)
            if not piece:
                raise Ended
            self.rest += piece
        one, self.rest = self.rest.split(b"\n", 1)
        return one

    def serve(self):
        plan = self.plan
        while True:
            if plan.due("before_written"):
                self.do(plan.fault)
            if plan.due("before_read", "mid_read"):
                if not self.rest:
                    self.wait_for_input()
                if plan.point == "mid_read" and not self.rest:
                    self.read(PARTIAL_READ)
                self.do(plan.fault)
            message = json.loads(self.line())
            reply = answer_to(message, plan.era)
            if plan.due_for(message):
                self.misbehave(message, reply)
            elif reply is not None:
                self.write(text_of(reply) + b"\n")
            plan.opened(message)

    def misbehave(self, message, reply):
        plan = self.plan
        if plan.point == "answer":
            plan.met = True
            self.write(GARBAGE[plan.fault](message, reply) + b"\n")
            return
        if plan.point == "mid_answer":
            text = text_of(reply)
            self.write(text[:len(text) // 2])
        self.do(plan.fault)

    def do(self, fault):
        self.plan.met = True
        getattr(self, fault)()
        raise Ended


class StdioServer(LineServer):
    def read(self, size):
        return os.read(0, size)

    def write(self, data):
        while data:
            data = data[os.write(1, data):]

    def wait_for_input(self):
        import select
        select.select([0], [], [])

    def die(self):
        os.write(2, b"the server gives up\n")
        os._exit(7)

    def reset(self):  # the closest equivalent
        os.kill(os.getpid(), signal.SIGKILL)

    def close(self):
        """Closes the pipes; the process continues."""
        os.close(0)
        os.close(1)
        signal.pause()

    def half(self):
        """Closes our output; input is still read."""
        os.close(1)
        while os.read(0, 1 << 16):
            pass

    def stall(self):
        signal.pause()


if __name__ == "__main__":
    try:
        StdioServer(Plan(**json.loads(sys.argv[1]))).serve()
    except (Ended, BrokenPipeError):
        pass
