"""Shared by the tests with real servers: a client in its own process, and a conversation that uses each feature."""

import json

import keel_process as kp
import proof
from caller_process import Caller

from servers import running

LEGACY = kp.LEGACY[-1]
MODERN = kp.MODERN
RESOURCE, TOOLS = 3, 0  # kinds of a change
ROOT = {"uri": "file:///srv/here", "name": "here"}
ANSWERS = {"form": {"city": "Oslo"}, "sampling": "yes", "roots": [ROOT]}


class ServerTest(kp.DriveTest):
    """The tests of a class share a test-caller, which must not leak anything."""

    version = LEGACY  # what the client and the server are to agree on

    @classmethod
    def setUpClass(cls):
        cls.node = running.node()
        cls.caller = cls.enterClassContext(Caller())
        cls.before = cls.caller.holds()

        cls.shared = None

    @classmethod
    def tearDownClass(cls):
        if cls.shared:
            cls.caller.drop("a")
        cls.caller.is_back(cls.before)
        cls.caller.finish()

    def child(self, script, *arguments, **environment):
        return {"child": {"command": self.node, "arguments": [str(script), *arguments], "environment": environment}}

    def open(self, target, name="b", **options):
        """A connection for one test. Returns the name of the server."""
        self.addCleanup(self.caller.drop, name)
        return self.opened(target, name, options)

    def share(self, target, **options):
        """The connection "a", which all tests of a class use: a new process for each would be slow."""
        if not self.shared:
            type(self).shared = self.opened(target, "a", options)
        proof.spoke(self.version)
        return self.shared

    def opened(self, target, name, options):
        if self.version == MODERN:
            # On a loaded machine a child may need longer than the default timeout to start. The client would then assume a server
            # before 2026-07-28.
            options = {"probe_timeout": 60_000, "connect_timeout": 120_000, **options}
        said = self.caller.open(name, target, **options)
        self.assertEqual(said.kind, "result", said)
        self.assertEqual(said["result"]["version"], self.version)
        self.assertEqual(said["result"]["modern"], self.version == MODERN)
        proof.spoke(self.version)
        return said["result"]["name"]

    # commands that must end with a result

    def result(self, said):
        self.assertEqual(said.kind, "result", said)
        return said.get("result")

    def ask(self, what, client="a", /, **args):
        return self.result(self.caller.call(client, what, args))

    def request(self, method, client="a", /, **params):
        """The result as the server sent it."""
        return self.ask("request", client, method=method, params=params)

    def begin(self, tool, client="a", /, progress=False, **arguments):
        return self.caller.begin("call", **{"as": client, "what": "call_tool", "progress": progress,
                                            "args": {"name": tool, "arguments": arguments}})

    def tool(self, tool, client="a", /, **arguments):
        """The text of a successful tool result."""
        shown = self.result(self.begin(tool, client, **arguments).wait())
        self.assertFalse(shown["is_error"], shown)
        return shown["text"]

    def failing(self, tool, client="a", /, **arguments):
        """The text of a tool-level error (isError)."""
        shown = self.result(self.begin(tool, client, **arguments).wait())
        self.assertTrue(shown["is_error"], shown)
        return shown["text"]

    def rejected(self, what, client="a", /, **args):
        said = self.caller.call(client, what, args)
        self.assertEqual(said.kind, "rejected", said)
        return said["code"]

    def names(self, what, name="a"):
        """The names of all entries in a list, counted by the client too."""
        member = what.partition("/")[0]
        listed = [each["name"] for each in self.request(what, name)[member]]
        counted = self.ask({"tools": "list_tools", "resources": "list_resources", "prompts": "list_prompts"}[member], name)
        self.assertEqual(len(listed), counted)
        return listed

    def running(self, tool, client="a", /, **arguments):
        """A call that is running on the server."""
        call = self.begin(tool, client, progress=True, **arguments)
        self.caller.event("progress", n=call.n)
        return call

    def give_up(self, call, how="stop"):
        """The call ends immediately, as cancelled."""
        self.caller.do("cancel", call=call.n, how=how)
        self.assertEqual(call.wait().kind, "cancelled")

    def subscribe(self, name="a", tools=False, uris=()):
        return self.result(self.caller.do("subscribe", **{"as": name, "sub": name, "tools": tools, "uris": list(uris)}))

    def change(self, name="a"):
        return self.result(self.caller.do("next", sub=name))

    def unsubscribe(self, name="a"):
        self.result(self.caller.do("unsubscribe", sub=name))


class SdkConversation:
    """The servers v1.mjs and v2.mjs. Subclasses define the transport: where(), open_victim()."""

    script = ""
    options = {}

    def setUp(self):
        found = self.share(self.where(), answers=ANSWERS, events=["server_log"], **self.options)
        self.assertEqual(found, "sdk-" + self.script[:2])

    def is_session(self):
        """Of the older revisions over HTTP."""
        return self.over_http and self.version != MODERN

    def test_lists(self):
        """everything the server offers is in the lists"""
        self.assertLessEqual({"echo", "add", "fail", "steps", "wait", "ask_form"}, set(self.names("tools/list")))
        self.assertEqual(self.names("resources/list"), ["today"])
        self.assertEqual(self.names("prompts/list"), ["visit"])
        self.assertEqual(self.ask("templates"), 1)

    def test_calls(self):
        """results belong to their calls, also concurrently; structured ones match the schema"""
        self.assertEqual(self.tool("echo", text="zwei\nZeilen \u2028 🐋"), "zwei\nZeilen \u2028 🐋")
        calls = {n: self.begin("echo", text=f"number {n}") for n in range(100)}
        for n, call in calls.items():
            self.assertEqual(self.result(call.wait())["text"], f"number {n}")
        shown = self.result(self.begin("add", a=1, b=2.5).wait())
        self.assertEqual(shown["structured"], {"sum": 3.5})
        self.ask("ping")

    def test_errors(self):
        """TOOL-14: a tool-level error is a result; an unknown name is rejected"""
        self.assertEqual(self.failing("fail"), "it went wrong")
        self.assertIn("expected string", self.failing("echo", text=3))
        if self.script == "v1.mjs":  # says it as a result
            self.assertIn("not found", self.failing("no_such_tool"))
        else:
            self.assertEqual(self.rejected("call_tool", name="no_such_tool"), -32602)
        self.assertEqual(self.rejected("read", uri="note://nowhere"), -32602)
        self.assertEqual(self.rejected("get_prompt", name="no_such_prompt"), -32602)
        self.assertEqual(self.rejected("get_prompt", name="visit"), -32602)  # without its argument
        self.assertEqual(self.rejected("request", method="keel/unknown", params={}), -32601)
        self.assertEqual(self.tool("echo", text="still here"), "still here")

    def test_prompts_and_completion(self):
        """a prompt is filled in; completion works for its argument and for that of a template"""
        self.assertEqual(self.ask("get_prompt", name="visit", arguments={"argument": "Oslo"}), 1)
        filled = self.request("prompts/get", name="visit", arguments={"argument": "Oslo"})
        message, = filled["messages"]
        self.assertEqual(message["content"]["text"], "Visit Oslo")
        self.assertEqual(self.ask("complete", name="visit", value="Be"), 2)
        self.assertEqual(self.ask("complete_resource", uri="note://of/{argument}", value="O"), 1)
        self.assertEqual(self.ask("complete", name="visit", value="X"), 0)

    def test_d13_progress(self):
        """D13 PROG-01 PROG-02: every progress step is reported, in order, before the result"""
        call = self.begin("steps", progress=True, count=20)
        self.assertEqual(self.result(call.wait())["text"], "20 steps")
        told = []
        while not self.caller.events.empty():  # what came before the result is there
            event = self.caller.events.get()
            if event["event"] == "progress" and event["n"] == call.n:
                told.append(event["progress"])
        self.assertEqual(told, list(range(1, 21)))

    def test_d7_cancellation(self):
        """D7 CAN-01 STD-04: a cancelled call ends immediately, the server stops its work, and others continue"""
        for how in ("stop", "task"):
            other = self.running("wait")
            self.give_up(self.running("wait"), how)
            self.assertEqual(self.tool("cancelled"), "one was cancelled")
            self.assertEqual(self.tool("echo", text="still here"), "still here")
            self.give_up(other, how)
            self.assertEqual(self.tool("cancelled"), "one was cancelled")

    def test_d4_timeout(self):
        """D4 LIFE-12: a call that takes too long ends as timed out, and the server stops its work"""
        call = self.caller.begin("call", **{"as": "a", "what": "call_tool", "args": {"name": "wait"}, "total": 300,
                                            "progress": True})
        self.assertEqual(call.wait().kind, "timed_out")
        self.assertEqual(self.tool("cancelled"), "one was cancelled")

    def test_questions(self):
        """ELI-01 ELI-18 SAM-01 ROOT-01 MRTR-09 MRTR-10: the server requests forms, sampling and roots during a call"""
        state = " as it was" if self.version == MODERN else ""
        said = self.tool("ask_form")
        self.assertTrue(said.endswith(state), said)
        # What has a default and was left out is filled in.
        self.assertEqual(json.loads(said.removesuffix(state)),
                         {"action": "accept", "content": {"city": "Oslo", "days": 3}})
        asked = self.caller.event("asked", what="form")
        self.assertEqual(asked["message"], "Where to?")
        self.assertEqual(asked["schema"]["required"], ["city"])
        self.assertEqual(self.tool("ask_model"), "yes" + state)
        self.assertEqual(self.caller.event("asked", what="sampling")["message"], "Say yes.")
        self.assertEqual(self.tool("ask_roots"), ROOT["uri"] + state)
        # Several at once do not take each other's answers.
        several = [self.begin(f"ask_{what}") for what in ("form", "model", "roots") * 5]
        for n, call in enumerate(several):
            self.assertIn(("Oslo", "yes", ROOT["uri"])[n % 3], self.result(call.wait())["text"])

    def test_questions_refused(self):
        """a declined form, a rejected sampling request, and requests without a handler"""
        self.open(self.where(), "b", answers={"form": "decline", "sampling": "refuse"}, **self.options)
        self.assertIn('{"action":"decline"}', self.tool("ask_form", "b"))
        refused = self.begin("ask_model", "b").wait()
        if self.version == MODERN:  # the answer is ours to give: without it there is no second round
            self.assertEqual(refused.kind, "unavailable")
            self.assertIn("the user does not want it", refused["message"])
        else:
            self.assertTrue(self.result(refused)["is_error"])
            self.assertIn("the user does not want it", refused["result"]["text"])
        unable = self.begin("ask_roots", "b").wait()
        if unable.kind == "result":
            self.assertTrue(unable["result"]["is_error"], unable)
        else:  # a server of 2026-07-28 sees from the request what cannot be asked
            self.assertEqual((unable.kind, unable["code"]), ("rejected", -32021), unable)
        self.assertEqual(self.tool("echo", "b", text="still here"), "still here")

    def test_subscription(self):
        """SUB-06: changes of a resource and of the tool list are delivered"""
        agreed = self.subscribe(tools=True, uris=["note://today"])
        self.assertEqual((agreed["tools"], agreed["uris"]), (True, 1))
        for note in ("first", "second"):
            self.assertEqual(self.tool("write", note=note), "written")
            self.assertEqual(self.change(), {"what": RESOURCE, "uri": "note://today"})
            contents, = self.request("resources/read", uri="note://today")["contents"]
            self.assertEqual(contents["text"], note)
        self.assertNotIn("grown", self.names("tools/list"))
        self.assertEqual(self.tool("grow"), "grown")
        self.assertEqual(self.change()["what"], TOOLS)
        self.assertIn("grown", self.names("tools/list"))
        self.assertEqual(self.tool("grown"), "new")
        self.tool("shrink")
        self.unsubscribe()
        self.assertEqual(self.tool("write", note="third"), "written")

    def test_logging(self):
        """messages below the requested log level are not sent"""
        self.ask("set_level")  # warning
        self.assertEqual(self.tool("log"), "logged")
        told = self.caller.event("server_log")
        self.assertEqual((told["level"], told["data"]), ("error", "important"))

    def test_d1_d2_g7_g8_i11_killed(self):
        """D1 D2 G7 G8 I11: a server is killed during calls and a subscription: each ends once, others continue"""
        victim = self.open_victim()
        self.subscribe("b", uris=["note://today"])
        change = self.caller.begin("next", sub="b")
        calls = [self.running("wait", "b") for _ in range(3)]
        victim.kill()
        for call in calls:
            self.assertEqual(call.wait().kind, self.loss)
        self.assertIn(self.begin("echo", "b", text="?").wait().kind, self.no_server)
        if self.is_session():  # its stream is wanted for as long as the session lasts
            self.result(self.caller.do("close", **{"as": "b"}))
            self.assertEqual(self.result(change.wait())["over"], "ended")
        else:
            self.assertEqual(self.result(change.wait())["over"], "lost")
        self.unsubscribe("b")
        self.assertEqual(self.tool("echo", text="the others live"), "the others live")

    def test_d1_g8_killed_while_asking(self):
        """D1 G8: a server is killed while its request is being answered: the handler is cancelled, and the call ends once"""
        victim = self.open_victim(answers={"form": "hold"})
        call = self.begin("ask_form", "b")
        self.caller.event("asked", what="form")
        victim.kill()
        victim.wait_for_end("the server to be gone")
        if self.over_http and self.version == MODERN:
            # Between two rounds there is nothing that could be lost. The question is still there, and may be given up.
            self.give_up(call)
        else:
            self.assertEqual(call.wait().kind, self.loss)
        if self.is_session():  # which outlives any connection
            self.result(self.caller.do("close", **{"as": "b"}))
        self.caller.event("taken_back")


class OverStdio:
    """A child for each connection."""

    over_http = False
    loss, no_server = "closed", ("closed",)

    def where(self):
        return self.child(running.HERE / self.script, "stdio")

    def open_victim(self, **options):
        self.open(self.where(), "b", **self.options, **options)
        child = kp.Watched(int(self.tool("pid", "b")))
        self.addCleanup(child.close)
        return child

    def test_g6_leaves(self):
        """G6 STD-09: the child exits at the end of its input"""
        child = self.open_victim()
        self.result(self.caller.do("close", **{"as": "b"}))
        child.wait_for_end("the child to go")


class OverHttp:
    """One server for all connections of a class."""

    over_http = True
    loss, no_server = "stream_lost", ("unavailable", "stream_lost")  # by whether the end of the old connections is known

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.enterClassContext(cls.started())

    @classmethod
    def started(cls):
        return running.HttpProcess(cls.node, str(running.HERE / cls.script), "http")

    def where(self):
        return {"url": self.server.origin + "/mcp"}

    def open_victim(self, **options):
        server = self.enterContext(self.started())
        self.open({"url": server.origin + "/mcp"}, "b", **self.options, **options)
        return server

    def test_leaves(self):
        """LHTTP-23: a session is deleted when the client closes; 2026-07-28 has none"""
        for held in ("2", "2"):
            self.open(self.where(), "b", **self.options)
            self.assertEqual(self.tool("sessions"), "0" if self.version == MODERN else held)
            self.result(self.caller.do("close", **{"as": "b"}))
        self.assertEqual(self.tool("sessions"), "0" if self.version == MODERN else "1")
