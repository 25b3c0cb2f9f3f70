"""The example servers over stdio: each does what its comment says."""

import json
import os
import subprocess
import sys
import tempfile
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


class Program:
    """An example as a process with two pipes. Leaving the with statement ends its input and expects status 0."""

    def __init__(self, name, **environment):
        self.name = name
        self.heard = []
        self.check = MessageCheck()  # against the official schemas
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([os.path.join(BIN, name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, env={**os.environ, **environment})

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.stdin.close()
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.errors.seek(0)
        self.said = self.errors.read().decode()
        self.errors.close()
        if kind is None and status != 0:
            raise AssertionError(f"{self.name} ended with status {status}: {self.said}")

    def send(self, message):
        line = json.dumps(message).encode() + b"\n"
        self.check.sent(line)
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def next(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"{self.name} ended early; received {self.heard}")
        self.heard.append(json.loads(line))
        self.check.received(self.heard[-1])
        return self.heard[-1]

    def ask(self, request):
        """Reads until the answer."""
        self.send(request)
        while "method" in (message := self.next()) or message["id"] != request["id"]:
            pass
        return message


def converse(name, *requests):
    """Sends each request after the answer to the previous one. Returns all received messages in order."""
    with Program(name) as program:
        for request in requests:
            program.ask(request)
    return program.heard


class Examples(unittest.TestCase):
    def test_calculator(self):
        [answer] = converse("example-calculator", call(1, "add", {"a": 2, "b": 40.5}))
        self.assertEqual(answer["result"]["content"], [{"type": "text", "text": "42.5"}])

    def test_countdown_reports_progress_and_structured_content(self):
        *progress, answer = converse("example-countdown", call(1, "countdown", {"from": 3}, progressToken="p"))
        self.assertEqual([p["params"]["progress"] for p in progress], [1, 2, 3])
        self.assertEqual(answer["result"]["structuredContent"], {"counted": 3, "said": "lift-off"})

    def test_tools_are_added_and_removed_at_runtime(self):
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

    def test_an_invalid_tool_is_refused_with_its_field(self):
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

    def test_tools_give_structured_results_pictures_and_failures(self):
        listed, route, wrong, card, people, nobody, money, coins, short = converse(
            "example-tools",
            ask(1, "tools/list"),
            call(2, "plan", {"from": "Oslo", "to": "Bergen", "stops": 1}),
            call(3, "plan", {"from": "Oslo", "to": "", "units": "leagues"}),
            call(4, "postcard", {"city": "Lima"}),
            call(5, "population", {"city": "Oslo"}),
            call(6, "population", {"city": "Atlantis"}),
            call(7, "exchange", {"amount": 3, "currency": "USD"}),
            call(8, "exchange", {"amount": 3, "currency": "ZZZ"}),
            call(9, "exchange", {"amount": 3, "currency": "usd"}))
        tools = {tool["name"]: tool for tool in listed["result"]["tools"]}
        self.assertEqual(list(tools), ["plan", "postcard", "population", "count", "exchange"])
        self.assertEqual(tools["plan"]["title"], "Plan a route")
        self.assertEqual(tools["plan"]["annotations"],
                         {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False})
        self.assertEqual(tools["plan"]["inputSchema"]["required"], ["from", "to"])
        self.assertEqual(tools["plan"]["inputSchema"]["properties"]["stops"]["default"], 0)
        self.assertIn("legs", tools["plan"]["outputSchema"]["properties"])
        self.assertEqual(route["result"]["structuredContent"],
                         {"length": 100, "legs": [{"to": "stop 1", "length": 50}, {"to": "Bergen", "length": 50}]})
        self.assertTrue(wrong["result"]["isError"])
        self.assertIn("arguments.to: expected at least 1 character", wrong["result"]["content"][0]["text"])
        self.assertIn("\narguments.units: expected one of", wrong["result"]["content"][0]["text"])
        self.assertEqual([block["type"] for block in card["result"]["content"]],
                         ["text", "image", "resource_link", "resource"])
        self.assertEqual(card["result"]["content"][0]["annotations"], {"audience": ["user"], "priority": 0.8})
        self.assertEqual(people["result"]["content"][0]["text"], "717710")
        self.assertTrue(nobody["result"]["isError"])
        self.assertEqual(money["result"]["structuredContent"], {"euros": 1.5})
        self.assertEqual(coins["result"]["content"][0]["text"], "no rate for this currency")
        self.assertTrue(short["result"]["isError"])
        self.assertIn("arguments.currency", short["result"]["content"][0]["text"])

    def test_errors_reach_the_model_or_the_client(self):
        with Program("example-errors") as program:
            few = program.ask(call(1, "read_row", {"row": 100}))
            wrong = program.ask(call(2, "read_row", {"row": -1}))
            locked = program.ask(call(3, "lock_row", {"row": 7}))
            broken = program.ask(call(4, "open_database"))
            alone = program.ask(call(5, "greet"))
            unknown = program.ask(call(6, "no_such_tool"))
        self.assertTrue(few["result"]["isError"])
        self.assertEqual(few["result"]["content"][0]["text"], "there are only 100 rows")
        self.assertTrue(wrong["result"]["isError"])
        self.assertEqual(wrong["result"]["content"][0]["text"], "arguments.row: expected at least 0, found -1")
        self.assertEqual(locked["error"], {"code": 1409, "message": "the row is locked", "data": {"row": 7}})
        self.assertEqual(broken["error"], {"code": -32603, "message": "internal error"})
        self.assertIn("errors: handler failed: cannot open /nonexistent/database", program.said)
        self.assertEqual(alone["result"]["content"][0]["text"], "hello from somewhere")
        self.assertEqual(unknown["error"]["code"], -32602)

    def test_a_plain_function_notices_that_it_was_cancelled(self):
        with Program("example-countdown") as program:
            few = program.ask(call(1, "count_primes", {"below": 100}))
            program.send(call(2, "count_primes", {"below": 100_000_000}, progressToken="p"))
            self.assertEqual(program.next()["method"], "notifications/progress")  # it is running
            program.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
            program.ask(ask(3, "tools/list"))
        self.assertEqual(few["result"]["content"][0]["text"], "25")
        self.assertFalse([m for m in program.heard if m.get("id") == 2])


ANSWERS = {
    "trip": {"action": "accept", "content": {"city": "Oslo", "days": 3}},
    "room": {"action": "accept", "content": {"sea_view": True}},
    "guest": {"action": "accept", "content": {"name": "Ada"}},
    "sure": {"action": "accept", "content": {"yes": True}},
}
ALL_CAPABILITIES = {"elicitation": {"form": {}, "url": {}}, "sampling": {}}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def capable_call(number, name, asked=None, answers=None):
    """A call by a client that supports elicitation, with the state and the answers of the previous round."""
    message = call(number, name, **{CAPABILITIES: ALL_CAPABILITIES})
    if asked:
        message["params"]["requestState"] = asked["requestState"]
        message["params"]["inputResponses"] = {key: answers[key] for key in asked["inputRequests"] if key in answers}
    return message


class Asking(unittest.TestCase):
    """The example of docs/asking.md, seen from a client."""

    def rounds(self, program, name, answers=None):
        """Answers until there is a result; returns the result, and the questions of each round."""
        asked, keys = None, []
        for number in range(1, 20):
            result = program.ask(capable_call(number, name, asked, answers or ANSWERS))["result"]
            if result["resultType"] == "complete":
                return result["content"][0]["text"], keys
            asked = result
            keys.append(sorted(asked["inputRequests"]))
        self.fail("the list never ends")

    def test_a_booking_in_three_rounds(self):
        with Program("example-asking") as program:
            text, keys = self.rounds(program, "book")
            self.assertEqual(text, "Reservation 1: Ada to Oslo, with a view")
            self.assertEqual(keys, [["trip"], ["guest", "room"], ["sure"]])
            # The step in `once` ran once, although the handler ran four times.
            self.assertEqual(self.rounds(program, "book")[0], "Reservation 2: Ada to Oslo, with a view")

    def test_declined_and_cancelled(self):
        with Program("example-asking") as program:
            self.assertEqual(self.rounds(program, "book", {"trip": {"action": "decline"}})[0], "Then not.")
            self.assertEqual(self.rounds(program, "book", {"trip": {"action": "cancel"}})[0], "Maybe later.")

    def test_missing_answers_are_requested_again(self):
        with Program("example-asking") as program:
            first = program.ask(capable_call(1, "book"))["result"]
            second = program.ask(capable_call(2, "book", first, ANSWERS))["result"]
            self.assertEqual(sorted(second["inputRequests"]), ["guest", "room"])
            third = program.ask(capable_call(3, "book", second, {"room": ANSWERS["room"]}))["result"]
            self.assertEqual(sorted(third["inputRequests"]), ["guest"])
            fourth = program.ask(capable_call(4, "book", third, ANSWERS))["result"]
            self.assertEqual(sorted(fourth["inputRequests"]), ["sure"])

    def test_an_invalid_answer_is_refused_with_its_path(self):
        with Program("example-asking") as program:
            asked = program.ask(capable_call(1, "book"))["result"]
            wrong = {"trip": {"action": "accept", "content": {"city": "Oslo", "days": 31}}}
            error = program.ask(capable_call(2, "book", asked, wrong))["error"]
            self.assertEqual(error["code"], -32602)
            self.assertIn("trip.content.days", error["message"])

    def test_another_process_with_the_same_key_continues(self):
        one, two = "1" * 64, "2" * 64
        with Program("example-asking", BOOKING_KEY=one) as program:
            asked = program.ask(capable_call(1, "book"))["result"]
        with Program("example-asking", BOOKING_KEY=two, BOOKING_OLD_KEY=one) as replica:
            again = replica.ask(capable_call(1, "book", asked, ANSWERS))["result"]
            self.assertEqual(sorted(again["inputRequests"]), ["guest", "room"])
        with Program("example-asking", BOOKING_KEY=two) as stranger:
            error = stranger.ask(capable_call(1, "book", asked, ANSWERS))["error"]
            self.assertEqual((error["code"], error["message"]),
                             (-32602, "requestState is not valid for this request"))
            # A state cannot be used for another request.
            error = stranger.ask(capable_call(2, "pay", again, ANSWERS))["error"]
            self.assertEqual(error["code"], -32602)

    def test_choices_a_page_and_a_model(self):
        with Program("example-asking") as program:
            ship = {"ship": {"action": "accept", "content": {"ship": "p"}}}
            self.assertEqual(self.rounds(program, "pick_ship", ship)[0], "Pinta")
            asked = program.ask(capable_call(1, "pay"))["result"]
            self.assertEqual(asked["inputRequests"]["pay"]["params"],
                             {"mode": "url", "message": "Please pay", "url": "https://example.com/pay/42"})
            self.assertEqual(self.rounds(program, "pay", {"pay": {"action": "accept"}})[0], "the page was opened")
            said = {"describe": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Cold."}}}
            self.assertEqual(self.rounds(program, "describe", said)[0], "Cold.")

    def test_a_client_without_elicitation(self):
        with Program("example-asking") as program:
            error = program.ask(call(1, "book"))["error"]
            self.assertEqual(error["code"], -32021)
            self.assertEqual(error["data"], {"requiredCapabilities": {"elicitation": {"form": {}}}})
            self.assertEqual(program.ask(call(2, "describe"))["result"]["content"][0]["text"],
                             "Oslo is the capital of Norway.")

    def test_the_same_handler_asks_older_clients_by_requests(self):
        with Program("example-asking") as program:
            program.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "test", "version": "1"}}})
            program.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            program.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "book"}})
            by_message = {"Where to?": "trip", "Which room?": "room", "Who travels?": "guest"}
            asked = []
            while "method" in (message := program.next()):
                self.assertEqual(message["method"], "elicitation/create")
                asked.append(by_message.get(message["params"]["message"], "sure"))
                program.send({"jsonrpc": "2.0", "id": message["id"], "result": ANSWERS[asked[-1]]})
            self.assertEqual(asked, ["trip", "room", "guest", "sure"])
            self.assertEqual(message["result"]["content"][0]["text"], "Reservation 1: Ada to Oslo, with a view")
            # This revision has no pages.
            error = program.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "pay"}})["error"]
            self.assertEqual((error["code"], error["message"]), (-32600, "the client does not support URL elicitation"))


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(1 if bad else 0)
