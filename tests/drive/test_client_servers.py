#!/usr/bin/env python3
"""Our client and servers of other authors, over stdio and over HTTP if they offer both.

The versions are pinned in servers/package.json. Why each one is tested:

    @modelcontextprotocol/sdk      1.32.2: the official TypeScript SDK, which most servers use. It supports the older revisions
    @modelcontextprotocol/server   2.4.0: its next version, for both eras. servers/v1.mjs and v2.mjs have one of each feature
    server-everything              the official server for testing clients; the only one here with the transport of 2024-11-05
    server-filesystem              the most used one; requests roots itself, after the handshake and when they change
    server-memory                  stores data in a file, which can be checked after the server was killed
    kubernetes-mcp-server          a Go program with the official Go SDK: 2026-07-28 over stdio, and over HTTP without sessions. Its
                                   package starts it through Node.js, so that the server is a grandchild

KEEL_BIN is the folder of test-caller (default: build/release/bin).
"""

# ctest-labels: release_only
# ctest-timeout: 300

import json
import tempfile
from pathlib import Path

import keel_process as kp
from servers import running
from servers.talk import LEGACY, MODERN, OverHttp, OverStdio, SdkConversation, ServerTest


# ---- the official TypeScript SDKs ----


class V1Stdio(OverStdio, SdkConversation, ServerTest):
    script = "v1.mjs"

    def test_pinned(self):
        """VER-13: a server that does not support the requested revision is rejected with the reason"""
        said = self.caller.open("c", self.where(), mode="modern")
        self.addCleanup(self.caller.drop, "c")
        self.assertEqual(said.kind, "unavailable")
        self.assertIn("2026-07-28", said["message"])


class V1Http(OverHttp, SdkConversation, ServerTest):
    script = "v1.mjs"


class V2Stdio(OverStdio, SdkConversation, ServerTest):
    script = "v2.mjs"
    version = MODERN


class V2Http(OverHttp, SdkConversation, ServerTest):
    script = "v2.mjs"
    version = MODERN


class V2StdioLegacy(OverStdio, SdkConversation, ServerTest):
    script = "v2.mjs"
    options = {"mode": "legacy"}


class V2HttpLegacy(OverHttp, SdkConversation, ServerTest):
    script = "v2.mjs"
    options = {"mode": "legacy"}


# ---- server-everything ----


class Everything:
    answers = {"form": {"name": "Ada"}, "url": "accept", "sampling": "yes", "roots": [{"uri": "file:///srv/one", "name": "one"}]}
    document = "demo://resource/static/document/features.md"

    def setUp(self):
        name = self.share(self.where(), answers=self.answers, events=["updated", "list_changed", "server_log"])
        self.assertEqual(name, "mcp-servers/everything")

    def test_features(self):
        """lists, calls, resources, prompts and completion work"""
        self.assertLessEqual({"echo", "get-sum", "trigger-sampling-request"}, set(self.names("tools/list")))
        self.assertEqual(self.tool("echo", message="ü"), "Echo: ü")
        self.assertIn("is 5", self.tool("get-sum", a=2, b=3))
        self.failing("get-sum", a="two")
        shown = self.result(self.begin("get-structured-content", location="Chicago").wait())
        self.assertEqual(set(shown["structured"]), {"temperature", "conditions", "humidity"})
        self.assertIn("features.md", self.names("resources/list"))
        self.assertEqual(self.ask("read", uri=self.document), 1)
        self.assertIn(self.rejected("read", uri="demo://nowhere"), (-32602, -32002))
        self.assertEqual(self.ask("templates"), 2)
        self.assertEqual(len(self.names("prompts/list")), 4)
        self.assertEqual(self.ask("get_prompt", name="args-prompt", arguments={"city": "Oslo"}), 1)
        proposed = self.request("completion/complete", ref={"type": "ref/prompt", "name": "completable-prompt"},
                                argument={"name": "name", "value": "B"}, context={"arguments": {"department": "Engineering"}})
        self.assertEqual(proposed["completion"]["values"], ["Bob"])
        self.ask("ping")

    def test_questions(self):
        """ELI-01 ELI-18 SAM-01 ROOT-01: a form with every kind of field, a URL, sampling and roots"""
        said = self.tool("trigger-elicitation-request")
        self.assertIn("- Name: Ada", said)
        self.assertIn("- Favorite Integer: 42", said)  # its default
        said = self.tool("trigger-url-elicitation", url="https://example.com/", elicitationId="7")
        self.assertIn("User completed", said)
        self.assertEqual(self.caller.event("asked", what="url")["url"], "https://example.com/")
        self.assertIn("yes", self.tool("trigger-sampling-request", prompt="Say it", maxTokens=5))
        self.assertIn("file:///srv/one", self.tool("get-roots-list"))

    def test_d13_progress(self):
        """D13 D7: progress of a long operation, which is then cancelled"""
        call = self.begin("trigger-long-running-operation", progress=True, duration=0.4, steps=4)
        for step in range(1, 5):
            self.assertEqual(self.caller.event("progress", n=call.n)["progress"], step)
        self.assertIn("completed", self.result(call.wait())["text"])
        self.give_up(self.running("trigger-long-running-operation", duration=40, steps=100))
        self.assertEqual(self.tool("echo", message="x"), "Echo: x")

    def test_subscription(self):
        """SUB-06: updates of a resource are delivered"""
        self.subscribe(uris=[self.document])
        self.tool("toggle-subscriber-updates")  # turns updates on
        self.assertEqual(self.change()["uri"], self.document)
        self.assertEqual(self.caller.event("updated")["uri"], self.document)
        self.tool("toggle-subscriber-updates")
        self.unsubscribe()

    def test_d1_d2_d4_killed(self):
        """D1 D2 D4 G7: the server is killed during a call, which ends; each call has its own timeout"""
        victim = self.open_victim()
        operation = {"name": "trigger-long-running-operation", "arguments": {"duration": 40, "steps": 100}}
        calls = [self.caller.begin("call", **{"as": "b", "what": "call_tool", "args": operation, "progress": True, **self.bounds})
                 for _ in range(3)]
        for call in calls:
            self.caller.event("progress", n=call.n)
        victim.kill()
        for call in calls:
            self.assertEqual(call.wait().kind, self.loss)


class EverythingStdio(Everything, ServerTest):
    loss, bounds = "closed", {}
    script = running.OFFICIAL / "server-everything" / "dist" / "index.js"

    def where(self):
        return self.child(self.script, "stdio")

    def open_victim(self):
        before = {each.split()[0] for each in self.caller.census()["children"]}
        self.open(self.where(), "b")
        pid, = {each.split()[0] for each in self.caller.census()["children"]} - before
        child = kp.Watched(int(pid))
        self.addCleanup(child.close)
        return child


class EverythingHttp(Everything, ServerTest):
    loss, bounds = "timed_out", {"total": 3000}  # its events have ids, so the client tries to resume the stream
    mode, path = "streamableHttp", "/mcp"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.enterClassContext(cls.started())

    @classmethod
    def started(cls):
        # It would listen on all interfaces.
        loopback = str(running.HERE / "loopback.mjs")
        return running.HttpProcess(cls.node, "--import", loopback, str(EverythingStdio.script), cls.mode)

    def where(self):
        return {"url": self.server.origin + self.path}

    def open_victim(self):
        server = self.enterContext(self.started())
        self.open({"url": server.origin + self.path}, "b")
        return server


class EverythingOldSse(EverythingHttp):
    """LHTTP-15: one stream for all messages of the server."""

    mode, path = "sse", "/sse"
    loss, bounds = "closed", {}


# ---- server-filesystem ----


class Filesystem(ServerTest):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        for name in ("one", "two"):
            (self.folder / name).mkdir()
            (self.folder / name / "note.txt").write_text(f"in {name}")
        target = self.child(running.OFFICIAL / "server-filesystem" / "dist" / "index.js", str(self.folder / "one"))
        self.target = target

    def root(self, name):
        return {"uri": (self.folder / name).as_uri(), "name": name}

    def test_files(self):
        """TOOL-14: files are listed, read and written; a path outside is rejected with an error result"""
        self.assertEqual(self.open(self.target), "secure-filesystem-server")
        self.assertIn("read_text_file", self.names("tools/list", "b"))
        note = str(self.folder / "one" / "note.txt")
        self.assertEqual(self.tool("read_text_file", "b", path=note), "in one")
        self.tool("write_file", "b", path=note, content="größer\n" * 20_000)
        self.assertEqual(self.tool("read_text_file", "b", path=note), "größer\n" * 20_000)
        self.assertIn("note.txt", self.tool("list_directory", "b", path=str(self.folder / "one")))
        outside = str(self.folder / "two" / "note.txt")
        self.assertIn("outside allowed directories", self.failing("read_text_file", "b", path=outside))
        calls = [self.begin("read_text_file", "b", path=note) for _ in range(20)]
        for call in calls:
            self.assertEqual(len(self.result(call.wait())["text"]), 140_000)

    def test_roots(self):
        """ROOT-01 ROOT-02: the server requests the roots, and again after a change notification"""
        self.open(self.target, answers={"roots": [self.root("two")]}, events=["stderr"])
        self.allows("two")
        self.assertEqual(self.tool("read_text_file", "b", path=str(self.folder / "two" / "note.txt")), "in two")
        self.failing("read_text_file", "b", path=str(self.folder / "one" / "note.txt"))
        self.ask("set_roots", "b", roots=[self.root("one")])
        self.allows("one")
        self.assertEqual(self.tool("read_text_file", "b", path=str(self.folder / "one" / "note.txt")), "in one")
        self.failing("read_text_file", "b", path=str(self.folder / "two" / "note.txt"))

    def allows(self, name):
        kp.until(lambda: self.tool("list_allowed_directories", "b").endswith("/" + name), f"the server to take the root {name}")


# ---- server-memory ----


class Memory(ServerTest):
    def test_g8_std_11_graph(self):
        """G8 STD-11: data is still there after its server was killed and the next call has started another"""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        target = self.child(running.OFFICIAL / "server-memory" / "dist" / "index.js", MEMORY_FILE_PATH=f"{folder}/memory.jsonl")
        self.assertEqual(self.open(target, restart={"attempts": 1}, events=["disconnected"]), "memory-server")
        self.assertIn("read_graph", self.names("tools/list", "b"))
        keel = {"name": "keel", "entityType": "part", "observations": ["keeps it upright"]}
        self.tool("create_entities", "b", entities=[keel])
        found = self.result(self.begin("search_nodes", "b", query="upright").wait())
        self.assertEqual(found["structured"], {"entities": [keel], "relations": []})
        self.failing("add_observations", "b", observations=[{"entityName": "nobody", "contents": []}])
        child, = self.caller.census()["children"]
        watched = kp.Watched(int(child.split()[0]))
        self.addCleanup(watched.close)
        watched.kill()
        self.assertTrue(self.caller.event("disconnected")["will_restart"])
        self.assertEqual(json.loads(self.tool("read_graph", "b"))["entities"], [keel])


# ---- kubernetes-mcp-server ----


class Kubernetes:
    """Without a cluster: its address refuses connections, or never answers."""

    version = MODERN
    options = {}
    hears_of_cancellation = True

    def setUp(self):
        # It looks for its cluster at startup, and continues without one. Later there may be a listener at the address.
        self.cluster = running.Cluster()
        self.addCleanup(self.cluster.close)
        self.config = running.kubeconfig(self.enterContext(tempfile.TemporaryDirectory()), self.cluster.port)

    def waits_for_cluster(self):
        """A running call: it waits for a response of the cluster."""
        self.cluster.appear()
        call = self.begin("pods_list_in_namespace", "b", namespace="here")
        self.assertIn("/namespaces/here/pods", self.cluster.asked.get(timeout=kp.SECONDS_TO_HANG))
        return call

    def test_features(self):
        """VER-14 TOOL-14: lists, calls and prompts work; without a cluster a tool reports a tool-level error"""
        self.assertEqual(self.reach(), "kubernetes-mcp-server")
        self.assertLessEqual({"configuration_view", "pods_list"}, set(self.names("tools/list", "b")))
        self.assertEqual(self.names("prompts/list", "b"), ["cluster-health-check"])
        self.assertEqual(self.names("resources/list", "b"), [])
        self.assertIn("current-context: here", self.tool("configuration_view", "b"))
        self.assertIn("connection refused", self.failing("pods_list", "b"))
        self.assertEqual(self.rejected("call_tool", "b", name="no_such_tool"), -32602)
        self.ask("ping", "b")
        calls = [self.begin("configuration_view", "b") for _ in range(50)]
        for call in calls:
            self.assertIn("current-context: here", self.result(call.wait())["text"])

    def test_d7_cancellation(self):
        """D7 STD-04: a cancelled call is cancelled by the server too: it closes its connection to the cluster"""
        self.reach()
        self.give_up(self.waits_for_cluster())
        if self.hears_of_cancellation:
            self.cluster.left.get(timeout=kp.SECONDS_TO_HANG)
        self.assertIn("current-context: here", self.tool("configuration_view", "b"))

    def test_d1_d2_killed(self):
        """D1 D2 G7: the server is killed during a call"""
        self.reach()
        call = self.waits_for_cluster()
        self.victim().kill()
        self.assertEqual(call.wait().kind, self.loss)


class KubernetesStdio(Kubernetes, ServerTest):
    loss = "closed"

    def reach(self):
        return self.open({"child": {"command": running.kubernetes(), "arguments": ["--kubeconfig", self.config]}}, **self.options)

    def victim(self):
        child, = self.caller.census()["children"]
        watched = kp.Watched(int(child.split()[0]))
        self.addCleanup(watched.close)
        return watched

    def test_g6_through_its_package(self):
        """G6 STD-09: started through its Node.js package, the server is a grandchild; it exits at the end of its input, too"""
        launcher = running.MODULES / "kubernetes-mcp-server" / "bin" / "index.js"
        self.open(self.child(launcher, "--kubeconfig", self.config), **self.options)
        child, = self.caller.census()["children"]
        pid = child.split()[0]
        grandchild = kp.Watched(int(Path(f"/proc/{pid}/task/{pid}/children").read_text()))
        self.addCleanup(grandchild.close)
        self.assertIn("current-context: here", self.tool("configuration_view", "b"))
        self.result(self.caller.do("close", **{"as": "b"}))
        grandchild.wait_for_end("the server to go")


class KubernetesStdioLegacy(KubernetesStdio):
    version, options = LEGACY, {"mode": "legacy"}


class KubernetesHttp(Kubernetes, ServerTest):
    """With sessions it answers server/discover, but lists older revisions only: the client selects the newest of them."""

    version = LEGACY
    loss = "stream_lost"
    arguments = ()

    def reach(self):
        self.server = self.enterContext(running.HttpProcess(
            running.kubernetes(), "--kubeconfig", self.config, "--bind-address", "127.0.0.1", "--port", "0", *self.arguments,
            says=False))
        return self.open({"url": self.server.origin + "/mcp"}, **self.options)

    def victim(self):
        return self.server


class KubernetesHttpStateless(KubernetesHttp):
    version = MODERN
    arguments = ("--stateless",)
    hears_of_cancellation = False  # cancelled by closing the stream of the request: an option of the Go SDK that it does not use


if __name__ == "__main__":
    kp.main()
