#!/usr/bin/env python3
"""The conformance server over standard input and output, which the official suite cannot drive: every fixture, in both
eras, with the exact texts and keys that the suite's description asks for. Each message is also checked against the
official schemas.

KEEL_BIN names the folder of the programs. Without it build/release/bin is used.
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "drive"))

import keel_process as kp  # noqa: E402
from keel_process import CAPABILITIES_KEY, MODERN, VERSION_KEY, request  # noqa: E402

OLDER = "2025-11-25"
BOTH = (OLDER, MODERN)
CAN = {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}}

SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m", "stopReason": "endTurn"}
ROOTS = {"roots": [{"uri": "file:///test/root", "name": "Test Root"}]}
PNG = "iVBORw0KGgo"


def accept(**content):
    return {"action": "accept", "content": content}


class Client(kp.Wire):
    """A client of one revision and the server it has started. A context manager that ends both."""

    def __init__(self, version, capabilities=None):
        program = Path(os.environ.get("KEEL_BIN", ROOT / "build" / "release" / "bin")) / "conformance-server"
        self.process = subprocess.Popen([program, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        super().__init__(self.process.stdin.fileno(), self.process.stdout.fileno())
        self.modern = version == MODERN
        self.meta = {VERSION_KEY: MODERN, CAPABILITIES_KEY: CAN if capabilities is None else capabilities}
        self.ids = 0
        if not self.modern:
            self.open(version, CAN if capabilities is None else capabilities)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.process.stdin.close()
        if kind is not None:
            self.process.kill()
        status = self.process.wait(kp.SECONDS_TO_HANG)
        self.reader.thread.join()
        self.process.stdout.close()
        if kind is None and status != 0:
            raise AssertionError(f"the server ended with status {status}")

    def message(self, method, **params):
        self.ids += 1
        if self.modern:
            params["_meta"] = {**self.meta, **params.get("_meta", {})}
        return request(self.ids, method, params or None)

    def request(self, method, **params):
        """The result, or the error."""
        answer = self.ask(self.message(method, **params))
        return answer.get("result", answer.get("error"))

    def call(self, name, arguments=None, **params):
        return self.request("tools/call", name=name, arguments=arguments or {}, **params)

    def converse(self, method, answers, **params):
        """Makes a call and answers its requests, as the era requires. Returns the result and, for each round, the
        requests: {key or method: the request}."""
        message = self.message(method, **params)
        rounds = []
        while self.modern:
            result = self.ask(message)["result"]
            if result["resultType"] != "input_required":
                return result, rounds
            rounds.append(result["inputRequests"])
            given = {key: answers[key] for key in result["inputRequests"]}
            message = self.message(method, **params, inputResponses=given, requestState=result["requestState"])
        self.send(message)
        by_method = {"roots/list": ROOTS, "sampling/createMessage": SAMPLED}
        forms = [answer for answer in answers.values() if "action" in answer]
        while True:
            said = self.next("a question or the answer")
            if kp.is_answer(said):
                return said["result"], rounds
            if "id" in said:
                rounds.append({said["method"]: said})
                answer = by_method.get(said["method"]) or forms.pop(0)
                self.send({"jsonrpc": "2.0", "id": said["id"], "result": answer})

    def notifications(self, method):
        return [m["params"] for m in self.seen if m.get("method") == method]


class Fixtures(unittest.TestCase):
    maxDiff = None

    def in_both(self, look):
        for version in BOTH:
            with self.subTest(version=version), Client(version) as client:
                look(client)

    def text(self, result):
        self.assertNotIn("isError", result)
        return result["content"][0]["text"]

    def test_content(self):
        def look(client):
            tools = [tool["name"] for tool in client.request("tools/list")["tools"]]
            self.assertEqual(self.text(client.call(tools[0])), "This is a simple text response for testing.")
            image = client.call("test_image_content")["content"]
            self.assertEqual([(b["type"], b["mimeType"], b["data"][:11]) for b in image], [("image", "image/png", PNG)])
            audio = client.call("test_audio_content")["content"]
            self.assertEqual([(b["type"], b["mimeType"]) for b in audio], [("audio", "audio/wav")])
            embedded = {"uri": "test://embedded-resource", "mimeType": "text/plain",
                        "text": "This is an embedded resource content."}
            self.assertEqual(client.call("test_embedded_resource")["content"],
                             [{"type": "resource", "resource": embedded}])
            first, second, third = client.call("test_multiple_content_types")["content"]
            self.assertEqual(first, {"type": "text", "text": "Multiple content types test:"})
            self.assertEqual(second["type"], "image")
            self.assertEqual(third["resource"], {"uri": "test://mixed-content-resource", "mimeType": "application/json",
                                                 "text": '{"test":"data","value":123}'})
            failure = client.call("test_error_handling")
            self.assertTrue(failure["isError"])
            self.assertEqual(failure["content"][0]["text"], "This tool intentionally returns an error for testing")
        self.in_both(look)

    def test_tools_are_described(self):
        def look(client):
            for tool in client.request("tools/list")["tools"]:
                self.assertTrue(tool["description"], tool)
                self.assertEqual(tool["inputSchema"]["type"], "object", tool)
            for prompt in client.request("prompts/list")["prompts"]:
                self.assertTrue(prompt["description"], prompt)
        self.in_both(look)

    def test_progress(self):
        def look(client):
            client.call("test_tool_with_progress", _meta={"progressToken": "progress-test-1"})
            said = client.notifications("notifications/progress")
            self.assertEqual([(p["progressToken"], p["progress"], p["total"]) for p in said],
                             [("progress-test-1", value, 100) for value in (0, 50, 100)])
        self.in_both(look)

    def test_logging(self):
        wanted = ["Tool execution started", "Tool processing data", "Tool execution completed"]
        with Client(OLDER) as client:
            self.assertEqual(client.request("logging/setLevel", level="debug"), {})
            client.call("test_tool_with_logging")
            self.assertEqual([m["data"] for m in client.notifications("notifications/message")], wanted)
        with Client(MODERN) as client:
            client.call("test_logging_tool")
            client.call("test_tool_with_logging")
            self.assertEqual(client.notifications("notifications/message"), [])
            client.call("test_tool_with_logging", _meta={"io.modelcontextprotocol/logLevel": "info"})
            self.assertEqual([m["data"] for m in client.notifications("notifications/message")], wanted)

    def test_reconnection_gives_its_result(self):
        self.in_both(lambda client: self.assertIn("completed", self.text(client.call("test_reconnection"))))

    def test_schemas_arrive_unchanged(self):
        def look(client):
            tools = {tool["name"]: tool["inputSchema"] for tool in client.request("tools/list")["tools"]}
            contact = tools["json_schema_2020_12_tool"]
            self.assertEqual(contact["$schema"], "https://json-schema.org/draft/2020-12/schema")
            self.assertEqual(contact["$defs"]["address"]["$anchor"], "addressDef")
            self.assertEqual(contact["allOf"], [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}])
            self.assertLessEqual({"if", "then", "else"}, set(contact))
            self.assertIs(contact["additionalProperties"], False)
            self.assertEqual(tools["test_x_mcp_header"]["properties"]["region"]["x-mcp-header"], "Region")
            given = {"contactMethod": "phone", "phone": "1"}
            self.assertEqual(json.loads(self.text(client.call("json_schema_2020_12_tool", given))), given)
            self.assertTrue(client.call("json_schema_2020_12_tool", {"contactMethod": "phone"})["isError"])
            self.assertEqual(self.text(client.call("test_x_mcp_header", {"region": "eu"})), '{"region":"eu"}')
        self.in_both(look)

    def test_sampling_and_forms(self):
        def look(client):
            def tool(name, answers, **arguments):
                return client.converse("tools/call", answers, name=name, arguments=arguments)

            def params(asked):
                [(_, question)] = asked[0].items()
                return question["params"]

            result, asked = tool("test_sampling", {"sampling": SAMPLED}, prompt="Say it")
            self.assertEqual(self.text(result), "LLM response: Paris")
            self.assertEqual(params(asked)["maxTokens"], 100)
            self.assertEqual(params(asked)["messages"], [{"role": "user", "content": {"type": "text", "text": "Say it"}}])

            result, asked = tool("test_elicitation", {"account": accept(username="u", email="e")}, message="Who?")
            self.assertEqual(self.text(result), 'User response: action=accept, content={"username":"u","email":"e"}')
            self.assertEqual(params(asked)["message"], "Who?")
            self.assertEqual(params(asked)["requestedSchema"]["required"], ["username", "email"])

            result, asked = tool("test_elicitation_sep1034_defaults", {"form": {"action": "decline"}})
            self.assertEqual(self.text(result), "Elicitation completed: action=decline")
            fields = params(asked)["requestedSchema"]["properties"]
            self.assertEqual({name: field["default"] for name, field in fields.items()},
                             {"name": "John Doe", "age": 30, "score": 95.5, "status": "active", "verified": True})

            choices = {"untitledSingle": "option1", "titledSingle": "value1", "legacyEnum": "opt1",
                       "untitledMulti": ["option1", "option2"], "titledMulti": ["value1", "value2"]}
            result, asked = tool("test_elicitation_sep1330_enums", {"form": accept(**choices)})
            self.assertIn('action=accept, content={"untitledSingle":"option1"', self.text(result))
            fields = params(asked)["requestedSchema"]["properties"]
            self.assertEqual(set(fields), set(choices))
            self.assertEqual(len(fields["legacyEnum"]["enumNames"]), len(fields["legacyEnum"]["enum"]))
            self.assertNotIn("enum", fields["titledSingle"])
            self.assertNotIn("enum", fields["titledMulti"]["items"])

            result, _ = tool("test_streaming_elicitation", {"account": accept(username="u", email="e")})
            self.assertIn("action=accept", self.text(result))
        self.in_both(look)

    def test_missing_client_capability_is_named(self):
        with Client(MODERN, {}) as client:
            refused = client.call("test_missing_capability")
            self.assertEqual((refused["code"], refused["data"]), (-32021, {"requiredCapabilities": {"sampling": {}}}))
        with Client(MODERN, {"sampling": {}}) as client:
            asked = client.call("test_input_required_result_capabilities")["inputRequests"]
            self.assertEqual([question["method"] for question in asked.values()], ["sampling/createMessage"])

    def test_rounds(self):
        name = accept(name="Alice")
        cases = (  # tool, answers by key, the keys of each round, the text
            ("elicitation", {"user_name": name}, [{"user_name"}], "Hello, Alice!"),
            ("sampling", {"capital_question": SAMPLED}, [{"capital_question"}], "Paris"),
            ("list_roots", {"client_roots": ROOTS}, [{"client_roots"}], "Roots: Test Root file:///test/root"),
            ("request_state", {"confirm": accept(ok=True)}, [{"confirm"}], "state-ok, confirmed"),
            ("multiple_inputs", {"user_name": name, "greeting": SAMPLED, "client_roots": ROOTS},
             [{"user_name", "greeting", "client_roots"}],
             "Paris Alice, you work in Test Root file:///test/root"),
            ("multi_round", {"step1": name, "step2": accept(color="blue")}, [{"step1"}, {"step2"}], "Alice likes blue"),
            ("tampered_state", {"confirm": accept(ok=True)}, [{"confirm"}], "Confirmed"),
        )

        def look(client):
            for tool, answers, keys, text in cases:
                result, rounds = client.converse(
                    "tools/call", answers, name="test_input_required_result_" + tool, arguments={})
                self.assertEqual(self.text(result), text)
                if client.modern:
                    self.assertEqual([set(asked) for asked in rounds], keys)
            result, rounds = client.converse("prompts/get", {"user_context": accept(context="test context")},
                                             name="test_input_required_result_prompt")
            self.assertIn("test context", result["messages"][0]["content"]["text"])
            self.assertEqual(len(rounds), 1)
        self.in_both(look)

    def test_invalid_answers(self):
        tool = "test_input_required_result_elicitation"
        with Client(MODERN) as client:
            again = client.call(tool, inputResponses={"wrong_key": accept(data="wrong")})
            self.assertEqual(set(again["inputRequests"]), {"user_name"})
            extra = {"user_name": accept(name="Alice"), "unknown_extra_key": accept(foo="bar")}
            self.assertEqual(self.text(client.call(tool, inputResponses=extra)), "Hello, Alice!")
            for wrong in ({"user_name": 12345}, None):
                self.assertEqual(client.call(tool, inputResponses=wrong)["code"], -32602)
            tool = "test_input_required_result_tampered_state"
            state = client.call(tool)["requestState"]
            given = {"confirm": accept(ok=True)}
            refused = client.call(tool, inputResponses=given, requestState=state + "-TAMPERED")
            self.assertEqual(refused["code"], -32602)

    def test_lists_change(self):
        changes = (("toolsListChanged", "test_trigger_tool_change", "notifications/tools/list_changed"),
                   ("promptsListChanged", "test_trigger_prompt_change", "notifications/prompts/list_changed"))
        with Client(MODERN) as client:
            for wanted, trigger, told in changes:
                client.send(client.message("subscriptions/listen", notifications={wanted: True}))
                client.call(trigger)
                while not client.notifications(told):
                    self.assertIsNotNone(client.next(told))
        with Client(OLDER) as client:
            for _, trigger, told in changes:
                client.call(trigger)
                while {"jsonrpc": "2.0", "method": told} not in client.seen:
                    self.assertIsNotNone(client.next(told))

    def test_resources(self):
        def look(client):
            listed = {r["uri"]: r for r in client.request("resources/list")["resources"]}
            self.assertLessEqual({"test://static-text", "test://static-binary", "test://watched-resource"}, set(listed))
            templates = client.request("resources/templates/list")["resourceTemplates"]
            self.assertEqual([t["uriTemplate"] for t in templates], ["test://template/{id}/data"])

            def read(uri):
                [content] = client.request("resources/read", uri=uri)["contents"]
                return content
            self.assertEqual(read("test://static-text"),
                             {"uri": "test://static-text", "mimeType": "text/plain",
                              "text": "This is the content of the static text resource."})
            binary = read("test://static-binary")
            self.assertEqual((binary["mimeType"], binary["blob"][:11]), ("image/png", PNG))
            data = read("test://template/123/data")
            self.assertEqual(data["mimeType"], "application/json")
            self.assertEqual(data["text"], '{"id":"123","templateTest":true,"data":"Data for ID: 123"}')
            unknown = "test://nonexistent-resource-for-conformance-testing"
            refused = client.request("resources/read", uri=unknown)
            self.assertEqual(refused["code"], -32602 if client.modern else -32002)
            self.assertEqual(refused["data"]["uri"], unknown)
            if not client.modern:
                for method in ("resources/subscribe", "resources/unsubscribe"):
                    self.assertEqual(client.request(method, uri="test://watched-resource"), {})
        self.in_both(look)

    def test_prompts(self):
        def look(client):
            def messages(name, **arguments):
                got = client.request("prompts/get", name=name, arguments=arguments)["messages"]
                self.assertEqual({m["role"] for m in got}, {"user"})
                return [m["content"] for m in got]
            self.assertEqual(messages("test_simple_prompt"),
                             [{"type": "text", "text": "This is a simple prompt for testing."}])
            self.assertEqual(messages("test_prompt_with_arguments", arg1="hello", arg2="world")[0]["text"],
                             "Prompt with arguments: arg1='hello', arg2='world'")
            embedded, text = messages("test_prompt_with_embedded_resource", resourceUri="test://example-resource")
            self.assertEqual(embedded["resource"], {"uri": "test://example-resource", "mimeType": "text/plain",
                                                    "text": "Embedded resource content for testing."})
            self.assertEqual(text["text"], "Please process the embedded resource above.")
            image, text = messages("test_prompt_with_image")
            self.assertEqual((image["type"], image["mimeType"]), ("image", "image/png"))
            self.assertEqual(text["text"], "Please analyze the image above.")
            found = client.request("completion/complete", argument={"name": "arg1", "value": "test"},
                                   ref={"type": "ref/prompt", "name": "test_prompt_with_arguments"})
            self.assertEqual(found["completion"]["values"], ["test", "testing", "tested"])
        self.in_both(look)


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=2)
    bad = len({getattr(test, "test_case", test).id()
               for test, _ in (*program.result.failures, *program.result.errors)})
    print(f"{program.result.testsRun - bad} passed, {bad} failed")
    sys.exit(1 if bad or program.result.testsRun == 0 else 0)
