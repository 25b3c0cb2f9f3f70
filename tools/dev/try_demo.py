#!/usr/bin/env python3
"""Starts the demo server for a newcomer.

    tools/dev/try_demo.py           serves it over HTTP and prints how to connect, until Ctrl-C
    tools/dev/try_demo.py --talk    talks to it over stdio as a client and prints the messages
    tools/dev/try_demo.py --once    makes one call over HTTP; exits with 0 if the result is correct

Uses the programs in $KEEL_BIN, or in build/release/bin.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEEL = pathlib.Path(os.environ.get("KEEL_BIN", ROOT / "build" / "release" / "bin")) / "keel"

COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def paint(code, text):
    return f"\033[{code}m{text}\033[0m" if COLOURS else text


def headline(text):
    print("\n" + paint("1", text), flush=True)


def brief(message, width=150):
    text = json.dumps(message, ensure_ascii=False)
    return text if len(text) <= width else text[: width - 1] + "…"


class Demo:
    """The server process and the two pipes to it."""

    def __init__(self, quiet=False):
        self.quiet = quiet
        self.ids = 0
        self.process = subprocess.Popen([KEEL, "demo", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, encoding="utf-8")

    def show(self, arrow, colour, message):
        if not self.quiet:
            print(f"  {paint(colour, arrow)} {brief(message)}", flush=True)

    def send(self, message):
        message = {"jsonrpc": "2.0", **message}
        self.show("→", "36", message)
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def notify(self, method, **params):
        self.send({"method": method, "params": params} if params else {"method": method})

    def start(self, method, **params):
        """Sends a request and returns its id without waiting."""
        self.ids += 1
        self.send({"id": self.ids, "method": method, "params": params})
        return self.ids

    def answer_to(self, wanted):
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"the server exited with status {self.process.wait()} before it answered request {wanted}")
            message = json.loads(line)
            self.show("←", "32" if "error" not in message else "33", message)
            if message.get("id") == wanted and "method" not in message:
                return message

    def ask(self, method, **params):
        return self.answer_to(self.start(method, **params))

    def call(self, tool, **arguments):
        return self.ask("tools/call", name=tool, arguments=arguments)

    def open(self):
        answer = self.ask("initialize", protocolVersion="2025-11-25", capabilities={},
                          clientInfo={"name": "try_demo", "version": "1"})
        self.notify("notifications/initialized")
        return answer

    def leave(self):
        """On stdio a client ends the session by closing its output."""
        self.process.stdin.close()
        return self.process.wait()


def text_of(answer):
    result = answer.get("result", {})
    return " ".join(block.get("text", "") for block in result.get("content", []))


def serve(address):
    """Starts the demo over HTTP. Returns the process and its URL."""
    process = subprocess.Popen([KEEL, "demo", "--http", address], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if " serving " in line:
            return process, line.split(" serving ")[1].strip()
        print(line, end="", file=sys.stderr)
    sys.exit(f"the server exited with status {process.wait()}")


def once():
    process, url = serve("127.0.0.1:0")
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "add", "arguments": {"a": 2, "b": 40}, "_meta": meta}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "add"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as response:
        answer = json.load(response)
    process.send_signal(signal.SIGTERM)
    status = process.wait()
    print(f"add(2, 40) = {text_of(answer)}")
    if text_of(answer) != "42" or answer["result"].get("isError"):
        sys.exit(f"unexpected result: {brief(answer, 1000)}")
    if status != 0:
        sys.exit(f"the server exited with status {status}")


def run():
    process, url = serve("127.0.0.1:8848")
    headline(f"The demo server is running at {url}")
    print(f"""
  in a browser      {url.rsplit("/", 1)[0]}/
  Claude Code       claude mcp add --transport http keel-demo {url}
  MCP Inspector     npx @modelcontextprotocol/inspector --cli {url} --transport http --method tools/list
  other clients     {json.dumps({"mcpServers": {"keel-demo": {"type": "http", "url": url}}})}
  over stdio        {json.dumps({"mcpServers": {"keel-demo": {"command": str(KEEL.resolve()), "args": ["demo"]}}})}
  curl              curl -s {url} -H 'Content-Type: application/json' \\
                      -H 'Accept: application/json, text/event-stream' -d '{{"jsonrpc":"2.0","id":1,"method":"initialize",
                      "params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"curl","version":"1"}}}}}}'

  ./dev run --talk shows a conversation. The source of the demo is in tools/keel/; to write your own server, start with
  examples/ and README.md. Press Ctrl-C to stop.
""", flush=True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server gets the signal too, and shuts down gracefully
    signal.signal(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGTERM))
    for line in process.stderr:
        print(line, end="", file=sys.stderr)
    sys.exit(process.wait())


def conversation():
    headline("The client starts the server and negotiates a protocol revision.")
    demo = Demo()
    demo.open()

    headline("It lists the tools.")
    tools = demo.ask("tools/list").get("result", {}).get("tools", [])
    for tool in tools:
        print(f"      {tool['name']:<12} {tool.get('description', '')}")

    headline("It calls two of them.")
    demo.call("echo", text="Hello, Keel!")
    demo.call("add", a=2, b=40)

    headline("An invalid argument is reported with its path.")
    demo.call("add", a="two", b=40)

    headline("A slow call reports its progress.")
    demo.ask("tools/call", name="sleep", arguments={"ms": 300}, _meta={"progressToken": "nap"})

    headline("It reads a resource, and is notified when another one changes.")
    demo.ask("resources/read", uri="demo://planets/mars")
    demo.ask("resources/subscribe", uri="demo://counter")
    demo.call("bump")

    headline("A long call is cancelled: it ends at once and is not answered. The next call is answered.")
    long = demo.start("tools/call", name="sleep", arguments={"ms": 60000})
    demo.notify("notifications/cancelled", requestId=long, reason="changed my mind")
    demo.ask("ping")

    headline("The client disconnects during a call: the server cancels the call and exits.")
    demo.start("tools/call", name="sleep", arguments={"ms": 60000})
    print(f"  end of input; exit status {demo.leave()}")

    headline("The same server supports revision 2026-07-28, which has no handshake.")
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}
    demo = Demo()
    demo.ask("server/discover", _meta=meta)
    demo.ask("tools/call", name="echo", arguments={"text": "no handshake"}, _meta=meta)

    headline("In this revision a tool that asks the user returns its question, and is called again with the answer.")
    meta["io.modelcontextprotocol/clientCapabilities"] = {"elicitation": {"form": {}}}
    asked = demo.ask("tools/call", name="book_trip", arguments={}, _meta=meta)["result"]
    demo.ask("tools/call", name="book_trip", arguments={}, _meta=meta, requestState=asked["requestState"],
             inputResponses={"trip": {"action": "decline"}})
    demo.leave()

    headline("To use it from an MCP client, add this server to its configuration:")
    settings = {"mcpServers": {"keel-demo": {"command": str(KEEL.resolve()), "args": ["demo", "--stdio"]}}}
    print(json.dumps(settings, indent=2))
    print("\nOr serve it over HTTP:  ./dev run")
    print("The source of the demo is in tools/keel/; to write your own server, start with examples/ and README.md.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--talk", action="store_true")
    args = parser.parse_args()
    if not args.once and not args.talk:
        run()
    # Never hang.
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("the demo did not answer within a minute"))
    signal.alarm(60)
    once() if args.once else conversation()


main()
