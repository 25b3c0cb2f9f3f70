"""A small stdio server that sends malicious or invalid output, for tests of clients.

    python3 odd_server.py [HOW ...]

HOW is one of:
    notes=PATH   appends every message that it reads to this file, one line each, and "end" at the end of its input
    stubborn     continues after the end of its input, and ignores SIGTERM
    garbage      answers tools/list with an invalid result
    dies         exits during a call, after a line on standard error
    gate=PATH    after a question it waits until it can read from this file, then sends a log message and a ping
    chatty       writes to standard error at startup
    keeps        does not answer a call after its question was answered
    mute         does not answer unknown requests and tools/list

It uses the legacy revision that the client requests.
"""

import json
import os
import signal
import sys
from pathlib import Path

HOW = dict((word.split("=", 1) + [""])[:2] for word in sys.argv[1:])

# Sequences that clear the screen, set colors, ring the bell, reverse text, and hide text.
ODD = "\x1b[2J\x1b[31mred\x07\x9b1m\u202etxet\u2066\u200b\r\x00"

URLS = {
    "punycode": "https://xn--pple-43d.example/login?next=/a",
    "user": "https://bank.example@evil.example/",
    "plain": "http://evil.example:8080/x",
    "odd": "https://good.example/\x1b[2J\u202e",
    "file": "file:///etc/passwd",
    "good": "https://example.com/handbook",
}

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "mail": {"type": "string", "format": "email"},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}],
                 "default": "l"},
        "colours": {"type": "array", "items": {"type": "string", "enum": ["red", "green", "blue"]}, "minItems": 1},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "sure": {"type": "boolean"},
    },
    "required": ["name", "colours", "sure"],
}

TOOLS = [
    {"name": "say", "description": "Says odd things " + ODD + "\nin two lines",
     "inputSchema": {"type": "object", "properties": {"word" + ODD: {"type": "string"}}}},
    {"name": "types", "inputSchema": {
        "type": "object",
        "$defs": {"color": {"enum": ["red", "1"]}},
        "properties": {
            "text": {"type": "string"}, "number": {"type": "number"}, "integer": {"type": "integer"},
            "flag": {"type": "boolean"}, "list": {"type": "array"}, "thing": {"type": "object"},
            "color": {"$ref": "#/$defs/color"}, "maybe": {"type": ["string", "null"]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "any": {},
        }, "additionalProperties": True}},
    {"name": "strict", "description": "Shows its arguments", "inputSchema": {
        "type": "object", "required": ["path"],
        "properties": {"path": {"type": "string", "description": "a file", "minLength": 1},
                       "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
                       "mode": {"enum": ["fast", "safe"], "default": "safe"},
                       "edits": {"type": "array", "items": {
                           "type": "object", "properties": {"line": {"type": "integer", "minimum": 1}}}}}}},
    {"name": "structured", "inputSchema": {"type": "object"}},
    {"name": "broken", "inputSchema": {"type": "object"}},
    {"name": "where", "inputSchema": {"type": "object"}},
    {"name": "environment", "inputSchema": {"type": "object"}},
    {"name": "hang", "inputSchema": {"type": "object"}},
    {"name": "promise", "inputSchema": {"type": "object", "properties": {"a": {}}},
     "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
    {"name": "picture", "inputSchema": {"type": "object"}},
    {"name": "large", "inputSchema": {"type": "object"}},
    {"name": "progress", "inputSchema": {"type": "object"}},
    {"name": "form", "inputSchema": {"type": "object"}},
    {"name": "url", "inputSchema": {"type": "object", "properties": {"which": {"type": "string"}}}},
] + [{"name": f"wide{i}", "description": "漢字" * 40, "inputSchema": {"type": "object"}} for i in range(3)]


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(said, **more):
    return {"content": [{"type": "text", "text": said}], **more}


class Server:
    def __init__(self):
        self.asking = {}  # the id of our request -> the id of the call that waits for it

    def call(self, ident, params):
        name, arguments = params["name"], params.get("arguments", {})
        if name in ("types", "strict"):
            return text(json.dumps(arguments))
        if name == "structured":
            value = {"n": 1, "text": ODD, "list": [True, None]}
            return text(json.dumps(value), structuredContent=value)
        if name == "broken":
            sys.stderr.write("the cause\n")
            sys.stderr.flush()
            return {"error": {"code": -32603, "message": "Internal error"}}
        if name == "where":
            return text(json.dumps({"cwd": os.getcwd(), "word": os.environ.get("ODD_WORD")}))
        if name == "environment":
            return text(json.dumps(dict(os.environ)))
        if name == "promise":
            return text("seven", structuredContent={"n": "seven"})
        if name == "picture":
            return {"content": [{"type": "image", "mimeType": "image/png", "data": data}
                                for data in ("AAECAw==", "AAEC*w==", "AAECAw")]}
        if name == "large":
            return text("x" * 100_000)
        if name == "say":
            send({"method": "notifications/message", "params": {"level": "error", "logger": ODD, "data": "log " + ODD}})
            sys.stderr.write("stderr " + ODD + "\n")
            sys.stderr.flush()
            return text("text " + ODD + "\nend", extra={"kept": [1.0, 10000000000000001]})
        if name == "progress":
            token = params["_meta"]["progressToken"]
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1, "total": 4,
                                                                 "message": "step " + ODD + "x" * 500}})
            return text("done")
        if name == "form":
            return self.ask(ident, {"message": "Fill in " + ODD, "requestedSchema": FORM})
        if name == "url":
            return self.ask(ident, {"mode": "url", "message": "Please look", "elicitationId": "e1",
                                    "url": URLS[arguments["which"]]})
        if name == "hang":
            if "dies" in HOW:
                sys.stderr.write("the reason " + ODD + "\n")
                sys.stderr.flush()
                os._exit(3)
            return None
        return {"error": {"code": -32602, "message": "no such tool " + ODD, "data": {"odd": ODD}}}

    def ask(self, ident, params):
        self.asking["q1"] = ident
        send({"id": "q1", "method": "elicitation/create", "params": params})
        if "gate" in HOW:
            Path(HOW["gate"]).read_text()
            send({"method": "notifications/message", "params": {"level": "error", "data": "told meanwhile"}})
            send({"id": "p1", "method": "ping"})  # its answer proves that the message was received
        return None

    def answer(self, message):
        method, params, ident = message["method"], message.get("params", {}), message.get("id")
        if method == "initialize":
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}, "logging": {}},
                    "serverInfo": {"name": "odd" + ODD, "version": "1"}, "instructions": "Be careful " + ODD}
        if method == "ping" or method == "logging/setLevel":
            return {}
        if "mute" in HOW and method != "tools/call":
            return None
        if method == "tools/list":
            if "garbage" in HOW:
                sys.stdout.write('{"jsonrpc":"2.0","id":' + json.dumps(ident) + ',"result":{"tools":7}}\n')
                sys.stdout.flush()
                return None
            return {"tools": TOOLS}
        if method == "tools/call":
            return self.call(ident, params)
        return {"error": {"code": -32601, "message": "no such method"}}

    def heard(self, message):
        if "method" not in message:  # a response
            call = self.asking.pop(message["id"], None)
            if call is not None and "keeps" not in HOW:
                send({"id": call, "result": text(json.dumps(message.get("result", message.get("error"))))})
            return
        if "id" not in message:
            return
        result = self.answer(message)
        if result is not None:
            send({"id": message["id"], **(result if "error" in result else {"result": result})})


def main():
    if "stubborn" in HOW:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "chatty" in HOW:
        sys.stderr.write("starting " + ODD + "\n")
        sys.stderr.flush()
    notes = open(HOW["notes"], "a", buffering=1) if "notes" in HOW else None
    if notes:
        notes.write(f"pid {os.getpid()}\n")
    server = Server()
    for line in iter(sys.stdin.readline, ""):
        if notes:
            notes.write(line)
        server.heard(json.loads(line))
    if notes:
        notes.write("end\n")
    while "stubborn" in HOW:
        signal.pause()


main()
