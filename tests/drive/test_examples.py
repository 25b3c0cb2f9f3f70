"""The example servers, driven over stdio: each does what its comment says."""

import json
import os
import subprocess
import sys
import unittest

from message_check import MessageCheck

BIN = os.environ.get("KEEL_BIN", "build/release/bin")


def meta(**more):
    return {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}, **more}


def call(number, name, arguments=None, **more):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": {"name": name, "arguments": arguments or {}, "_meta": meta(**more)}}


def ask(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": meta()}}


def converse(program, *requests):
    """Sends each request after the answer to the one before it. Returns everything that came back, in order."""
    process = subprocess.Popen([os.path.join(BIN, program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    heard = []
    check = MessageCheck()
    for request in requests:
        line = json.dumps(request).encode() + b"\n"
        check.sent(line)
        process.stdin.write(line)
        process.stdin.flush()
        while True:
            line = process.stdout.readline()
            if not line:
                raise AssertionError(f"{program} ended early; heard {heard}")
            heard.append(json.loads(line))
            check.received(heard[-1])
            if heard[-1].get("id") == request["id"]:
                break
    process.stdin.close()
    status = process.wait(timeout=60)
    process.stdout.close()
    if status != 0:
        raise AssertionError(f"{program} ended with status {status}")
    return heard


class Examples(unittest.TestCase):
    def test_calculator(self):
        [answer] = converse("example-calculator", call(1, "add", {"a": 2, "b": 40.5}))
        self.assertEqual(answer["result"]["content"], [{"type": "text", "text": "42.5"}])

    def test_countdown_reports_progress_and_structured_content(self):
        *progress, answer = converse("example-countdown", call(1, "countdown", {"from": 3}, progressToken="p"))
        self.assertEqual([p["params"]["progress"] for p in progress], [1, 2, 3])
        self.assertEqual(answer["result"]["structuredContent"], {"counted": 3, "said": "lift-off"})

    def test_runtime_tools_come_and_go(self):
        learned, greeting, forgotten, gone = converse(
            "example-runtime_tools",
            call(1, "learn", {"name": "greeting", "text": "good morning"}),
            call(2, "greeting"),
            call(3, "forget_all"),
            call(4, "greeting"))
        self.assertEqual(learned["result"]["content"][0]["text"], "learned greeting")
        self.assertEqual(greeting["result"]["content"][0]["text"], "good morning")
        self.assertEqual(forgotten["result"]["content"][0]["text"], "forgotten")
        self.assertEqual(gone["error"]["code"], -32602)

    def test_a_tool_that_cannot_be_is_named_with_its_field(self):
        [answer] = converse("example-runtime_tools", call(1, "learn", {"name": "no spaces", "text": ""}))
        self.assertTrue(answer["result"]["isError"])
        self.assertIn('tool "no spaces": name:', answer["result"]["content"][0]["text"])

    def test_resources_are_listed_read_completed_and_written(self):
        listed, about, logo, tea, missing, completed, written, again, escape = converse(
            "example-resources",
            ask(1, "resources/list"),
            ask(2, "resources/read", uri="note-info://about"),
            ask(3, "resources/read", uri="note-info://logo"),
            ask(4, "resources/read", uri="note://tea"),
            ask(5, "resources/read", uri="note://coffee"),
            ask(6, "completion/complete", ref={"type": "ref/resource", "uri": "note://{name}"},
                argument={"name": "name", "value": "m"}),
            call(7, "write", {"name": "coffee", "text": "Beans"}),
            ask(8, "resources/list"),
            ask(9, "resources/read", uri="note://.."))
        uris = ["note-info://about", "note-info://logo", "note://milk", "note://tea"]
        self.assertEqual([r["uri"] for r in listed["result"]["resources"]], uris)
        self.assertEqual(about["result"]["contents"][0]["mimeType"], "text/markdown")
        self.assertEqual(logo["result"]["contents"],
                         [{"uri": "note-info://logo", "mimeType": "image/gif", "blob": "R0lGODlh"}])
        self.assertEqual((logo["result"]["ttlMs"], logo["result"]["cacheScope"]), (3600000, "public"))
        self.assertEqual(tea["result"]["contents"],
                         [{"uri": "note://tea", "mimeType": "text/plain", "text": "Earl Grey, hot"}])
        self.assertEqual(missing["error"]["code"], -32602)
        self.assertEqual(missing["error"]["data"], {"uri": "note://coffee"})
        self.assertEqual(completed["result"]["completion"]["values"], ["milk"])
        self.assertEqual(written["result"]["content"][0]["text"], "written")
        self.assertIn("note://coffee", [r["uri"] for r in again["result"]["resources"]])
        self.assertEqual(escape["error"]["code"], -32602)

    def test_prompts_are_listed_filled_in_and_completed(self):
        listed, review, missing, interview, haiku, completed = converse(
            "example-prompts",
            ask(1, "prompts/list"),
            ask(2, "prompts/get", name="review", arguments={"language": "C++", "code": "x;", "how": "thorough"}),
            ask(3, "prompts/get", name="review", arguments={"language": "C++"}),
            ask(4, "prompts/get", name="interview"),
            ask(5, "prompts/get", name="haiku", arguments={"subject": "tea"}),
            ask(6, "completion/complete", ref={"type": "ref/prompt", "name": "review"},
                argument={"name": "language", "value": "C"}))
        self.assertEqual([p["name"] for p in listed["result"]["prompts"]], ["review", "interview", "haiku"])
        self.assertEqual([(a["name"], a.get("required", False)) for a in listed["result"]["prompts"][0]["arguments"]],
                         [("language", True), ("code", True), ("how", False)])
        self.assertEqual(review["result"]["messages"], [{"role": "user", "content": {
            "type": "text", "text": "Review every line of this C++ code:\n\nx;"}}])
        self.assertEqual(missing["error"]["message"], "arguments.code: required")
        self.assertEqual([m["role"] for m in interview["result"]["messages"]], ["user", "assistant"])
        self.assertEqual(haiku["result"]["description"], "A haiku")
        self.assertEqual(haiku["result"]["messages"][0]["content"]["resource"]["uri"], "haiku:rules")
        self.assertEqual(completed["result"]["completion"]["values"], ["C", "C++"])

    def test_middleware_refuses_and_signs_and_the_state_is_shared(self):
        found, added, again, refused, total, health = converse(
            "example-middleware",
            ask(1, "server/discover"),
            call(2, "add", {"value": 40}),
            call(3, "add", {"value": 2}),
            call(4, "reset"),
            ask(5, "com.example/total"),
            ask(6, "com.example/health"))
        self.assertEqual(found["result"]["capabilities"]["extensions"], {"com.example/ledger": {"currency": "EUR"}})
        self.assertEqual(added["result"]["content"][0]["text"], "40")
        self.assertIs(added["result"]["_meta"]["com.example/signed"], True)
        self.assertEqual(again["result"]["content"][0]["text"], "42")
        self.assertEqual((refused["error"]["code"], refused["error"]["message"]), (1403, "not allowed"))
        self.assertEqual(total["result"]["total"], 42)
        told = health["result"]
        self.assertEqual((told["connections"], told["calls"], told["refused"]), (1, 3, 1))
        self.assertGreater(told["slowest_ns"], 0)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(1 if bad else 0)
