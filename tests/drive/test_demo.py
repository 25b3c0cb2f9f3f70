#!/usr/bin/env python3
"""All features of `keel demo`, in every revision. Each message is also checked against the official schemas."""

import keel_process as kp
from keel_process import LEGACY, MODERN, MODERN_META, Server, request

REVISIONS = (*LEGACY, MODERN)


class Client:
    """Sends requests in the format of one revision."""

    def __init__(self, server, version):
        self.server = server
        self.modern = version == MODERN
        self.ids = 100
        if not self.modern:
            server.open(version)

    def ask(self, method, **params):
        self.ids += 1
        if self.modern:
            params["_meta"] = {**MODERN_META, **params.get("_meta", {})}
        return self.server.ask(request(self.ids, method, params))

    def result(self, method, **params):
        answer = self.ask(method, **params)
        if "result" not in answer:
            raise AssertionError(f"{method}: {answer}")
        return answer["result"]

    def call(self, name, **arguments):
        return self.result("tools/call", name=name, arguments=arguments)


class Demo(kp.DriveTest):
    def in_every_revision(self, look):
        for version in REVISIONS:
            with self.subTest(version=version), Server() as s:
                look(Client(s, version), REVISIONS.index(version))
                self.ends_input(s)

    def test_unsupported_content_is_sent_as_text(self):
        def look(client, age):
            kinds = [block["type"] for block in client.call("show_content")["content"]]
            audio = "text" if age < 1 else "audio"
            link = "text" if age < 2 else "resource_link"
            self.assertEqual(kinds, ["text", "image", audio, "resource", "resource", link])
        self.in_every_revision(look)

    def test_tool_descriptions(self):
        def look(client, age):
            tools = {tool["name"]: tool for tool in client.result("tools/list")["tools"]}
            weather = tools["weather"]
            self.assertEqual("annotations" in weather, age >= 1)
            self.assertEqual("outputSchema" in weather, age >= 2)
            self.assertEqual("title" in weather, age >= 2)
            self.assertEqual("icons" in weather, age >= 3)
            result = client.call("weather", city="Lima")
            self.assertEqual("structuredContent" in result, age >= 2)
            self.assertIn('"temperature":19', result["content"][0]["text"])
        self.in_every_revision(look)

    def test_invalid_arguments(self):
        def look(client, age):
            answer = client.ask("tools/call", name="weather", arguments={"city": "Atlantis"})
            if age >= 3:
                self.assertTrue(answer["result"]["isError"])
            else:
                self.assertEqual(answer["error"]["code"], -32602)
            self.assertIn("arguments.city: expected one of", str(answer))
        self.in_every_revision(look)

    def test_resources(self):
        def look(client, age):
            uris = [resource["uri"] for resource in client.result("resources/list")["resources"]]
            self.assertEqual(len(uris), 12)
            for uri in uris:
                contents = client.result("resources/read", uri=uri)["contents"]
                self.assertEqual(len(contents), 2 if uri == "demo://bundle" else 1)
                for each in contents:
                    self.assertNotEqual("text" in each, "blob" in each)
            self.assertEqual(len(client.result("resources/templates/list")["resourceTemplates"]), 1)
            missing = client.ask("resources/read", uri="demo://planets/pluto")["error"]
            self.assertEqual(missing["code"], -32602 if client.modern else -32002)
        self.in_every_revision(look)

    def test_prompts_and_completion(self):
        def look(client, age):
            names = [prompt["name"] for prompt in client.result("prompts/list")["prompts"]]
            self.assertEqual(names, ["greet", "boat"])
            client.result("prompts/get", name="boat")
            said = client.result("prompts/get", name="greet", arguments={"name": "Ada"})["messages"][0]["content"]["text"]
            self.assertEqual(said, "Greet Ada.")
            found = client.result("completion/complete", ref={"type": "ref/prompt", "name": "greet"},
                                  argument={"name": "language", "value": "G"})["completion"]["values"]
            self.assertEqual(found, ["German", "Greek"])
        self.in_every_revision(look)

    def test_custom_method(self):
        def look(client, age):
            self.assertEqual(client.result("demo/echo", word="x")["echo"], {"word": "x"})
        self.in_every_revision(look)

    def test_cache_hints_and_extensions_are_sent_in_the_modern_revision(self):
        with Server() as s:
            client = Client(s, MODERN)
            found = client.result("server/discover")
            self.assertEqual((found["ttlMs"], found["cacheScope"]), (3_600_000, "public"))
            self.assertEqual(found["capabilities"]["extensions"],
                             {"com.example/demo-echo": {"methods": ["demo/echo"]}})
            read = client.result("resources/read", uri="demo://boat.png")
            self.assertEqual((read["ttlMs"], read["cacheScope"]), (3_600_000, "public"))
            self.ends_input(s)

    def test_log_messages(self):
        """Legacy revisions set a level, the modern one sends it with each request."""
        for version in REVISIONS:
            with self.subTest(version=version), Server() as s:
                client = Client(s, version)
                wanted = {"io.modelcontextprotocol/logLevel": "error"} if client.modern else {}
                if not client.modern:
                    client.result("logging/setLevel", level="error")
                for level in ("warning", "critical"):
                    client.result("tools/call", name="log", arguments={"level": level, "text": "x"}, _meta=wanted)
                heard = [m["params"]["level"] for m in s.seen if m.get("method") == "notifications/message"]
                self.assertEqual(heard, ["critical"])
                self.ends_input(s)

    def test_client_without_elicitation_and_sampling(self):
        def look(client, age):
            for tool in ("book_trip", "open_page", "summarize"):
                error = client.ask("tools/call", name=tool, arguments={"text": "x"})["error"]
                self.assertEqual(error["code"], -32021 if client.modern else -32600, tool)
            self.assertTrue(client.call("ask_roots")["isError"])
        self.in_every_revision(look)


if __name__ == "__main__":
    kp.main()
