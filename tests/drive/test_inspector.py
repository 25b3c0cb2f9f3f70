#!/usr/bin/env python3
"""The command line of the MCP Inspector as a client of `keel demo --http`: it lists and calls everything, in both eras.

It does not support elicitation, so tools that ask return an error; it shows no progress and does not cancel. The clients of
test_ts_http.py test all of that.

KEEL_BIN is the folder of the keel command, or the command itself (default: build/release/bin).
"""

# ctest-labels: release_only
# ctest-timeout: 900

import base64
import json
import os
import subprocess
import sys
import tempfile

import keel_process as kp
import ts_clients
from ts_clients import ClientsTest

sys.path.insert(0, str(kp.ROOT / "tools"))
sys.path.insert(0, str(kp.ROOT / "tests" / "conformance"))

import node_packages  # noqa: E402
import packages  # noqa: E402

HERE = ts_clients.HERE / "inspector"
EVERY_TOOL = {
    "add", "ask_roots", "book_trip", "bump", "echo", "fail", "health", "log", "open_page", "request_facts",
    "show_content", "sleep", "summarize", "toggle_extra", "weather",
}


def install():
    """The Inspector's program."""
    folder = node_packages.install_copy(HERE, kp.ROOT / "build" / "drive")
    return folder / "node_modules" / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"


class Inspector:
    """One server as the Inspector sees it. Each method runs a separate process, which connects, sends one request and exits."""

    def __init__(self, program, home, url, *how):
        self.command = [packages.node(), program, "--cli", url, "--format", "json", "--quiet", *how]
        self.home = home

    def run(self, method, *options):
        """Its exit status, and its output as JSON."""
        done = subprocess.run(
            [*self.command, "--method", method, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=kp.SECONDS_TO_HANG, env={**os.environ, "HOME": self.home})
        said = done.stdout.strip() or done.stderr.strip()
        try:
            return done.returncode, json.loads(said.splitlines()[-1])
        except (ValueError, IndexError):
            raise AssertionError(f"{method} {options}: status {done.returncode}, {done.stdout}\n{done.stderr}") from None

    def ask(self, method, *options):
        status, said = self.run(method, *options)
        if status != 0:
            raise AssertionError(f"{method} {options}: status {status}, {said}")
        return said["result"]

    def call(self, tool, **arguments):
        return self.ask("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))

    def text(self, tool, **arguments):
        return "\n".join(block["text"] for block in self.call(tool, **arguments)["content"])

    def failure(self, tool, **arguments):
        """The message of a failed call, from a result or an error."""
        status, said = self.run("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        assert status != 0, said
        return json.dumps(said)


class CommandLine(ClientsTest):
    @classmethod
    def setUpClass(cls):
        try:
            cls.program = install()
            packages.node()
        except node_packages.Unavailable as reason:
            raise AssertionError(f"the Inspector cannot be run: {reason}") from None
        home = tempfile.TemporaryDirectory()
        cls.addClassCleanup(home.cleanup)
        cls.home = home.name

    def lists(self, i):
        self.assertEqual({tool["name"] for tool in i.ask("tools/list", "--strict")["tools"]}, EVERY_TOOL)
        uris = [each["uri"] for each in i.ask("resources/list")["resources"]]
        self.assertEqual(len([uri for uri in uris if uri.startswith("demo://planets/")]), 8)
        for name in ("readme", "boat.png", "bundle", "counter"):
            self.assertIn(f"demo://{name}", uris)
        templates = i.ask("resources/templates/list")["resourceTemplates"]
        self.assertEqual([each["uriTemplate"] for each in templates], ["demo://planets/{name}"])
        self.assertEqual([each["name"] for each in i.ask("prompts/list")["prompts"]], ["greet", "boat"])

    def reads(self, i):
        def read(uri):
            return i.ask("resources/read", "--uri", uri)["contents"]
        self.assertTrue(read("demo://readme")[0]["text"].startswith("# Keel demo"))
        self.assertEqual(base64.b64decode(read("demo://boat.png")[0]["blob"])[:4], b"\x89PNG")
        self.assertEqual(["blob" in each for each in read("demo://bundle")], [False, True])
        self.assertEqual(read("demo://planets/mars")[0]["text"], "The red one")
        greeting = i.ask("prompts/get", "--prompt-name", "greet", "--prompt-args", "name=Ada", "language=Greek", "how=grand")
        self.assertEqual(greeting["messages"][0]["content"]["text"], "Write a grand greeting to Ada in Greek.")
        self.assertEqual(len(i.ask("prompts/get", "--prompt-name", "boat")["messages"]), 4)

    def calls(self, i):
        self.assertEqual(i.text("echo", text="žluť 漢字 🛶"), "žluť 漢字 🛶")
        self.assertEqual(float(i.text("add", a=2, b=3)), 5)
        self.assertEqual(i.text("sleep", ms=100), "slept 100 ms")
        kinds = [block["type"] for block in i.call("show_content")["content"]]
        self.assertEqual(kinds, ["text", "image", "audio", "resource", "resource", "resource_link"])
        self.assertEqual(i.call("weather", city="Cairo", **{"in": "fahrenheit"})["structuredContent"]["temperature"], 87.8)
        self.assertEqual(i.call("health")["structuredContent"]["in_flight"], 1)
        i.call("log", level="error", text="loud")
        counted = int(i.text("bump"))
        self.assertEqual(i.ask("resources/read", "--uri", "demo://counter")["contents"][0]["text"], str(counted))
        self.assertEqual(i.text("toggle_extra"), "extra is here")
        self.assertEqual(i.text("extra"), "here for now")
        self.assertEqual(i.text("toggle_extra"), "extra is gone")

    def fails(self, i):
        self.assertIn("the tool failed, as asked", i.failure("fail", kind="tool"))
        self.assertIn("a protocol error, as asked", i.failure("fail", kind="protocol"))
        self.assertNotIn("goes to the log only", i.failure("fail", kind="exception"))
        self.assertIn("no_such_tool", i.failure("no_such_tool"))
        for tool in ("book_trip", "open_page"):
            self.assertIn("the client does not support", i.failure(tool))
        i.failure("summarize", text="a long text")

    def everything(self, i, revision):
        self.assertEqual(i.call("request_facts")["structuredContent"]["protocol_version"], revision)
        self.lists(i)
        self.reads(i)
        self.calls(i)
        self.fails(i)

    def test_legacy(self):
        """Everything in a session of 2025-11-25."""
        with self.served() as server:
            i = Inspector(self.program, self.home, server.url, "--transport", "http", "--protocol-era", "legacy")
            self.everything(i, "2025-11-25")
            i.ask("logging/setLevel", "--log-level", "warning")

    def test_modern(self):
        """Everything in 2026-07-28."""
        with self.served() as server:
            i = Inspector(self.program, self.home, server.url, "--transport", "http", "--protocol-era", "modern")
            self.everything(i, "2026-07-28")

    def test_auto(self):
        """By default it selects 2026-07-28."""
        with self.served() as server:
            i = Inspector(self.program, self.home, server.url, "--transport", "http", "--protocol-era", "auto")
            self.assertEqual(i.call("request_facts")["structuredContent"]["protocol_version"], "2026-07-28")
            self.lists(i)

    def test_old_sse(self):
        """The transport of 2024-11-05."""
        with self.served("--old-sse") as server:
            i = Inspector(self.program, self.home, f"{server.origin}/sse", "--transport", "sse")
            self.lists(i)
            self.assertEqual(i.text("sleep", ms=100), "slept 100 ms")


if __name__ == "__main__":
    kp.main()
