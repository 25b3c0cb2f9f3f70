#!/usr/bin/env python3
"""Servers by name: the configuration files of other hosts, `keel servers`, and the environment of a program."""

import http.server
import json
import os
import sys
from pathlib import Path

import keel_process as kp
from keel_command import ODD_SERVER, CommandTest, Terminal, keel, odd, serving


class ConfigTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.home = Path(self.path("home"))
        self.project = self.home / "project"
        (self.project / "deep").mkdir(parents=True)
        self.environment = {**os.environ, "HOME": str(self.home)}

    def write(self, name, content):
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(file)

    def odd(self, *how, **more):
        return {"command": sys.executable, "args": [ODD_SERVER, *how], **more}

    def keel(self, *words, folder=None, **how):
        return keel(*words, cwd=folder or self.project, env=self.environment, **how)


class Names(ConfigTest):
    def test_servers_by_name(self):
        """The name of a server is the first word, alone or followed by the name of a feature."""
        self.write("project/.mcp.json", {"mcpServers": {"odd": self.odd(), "dotted.name": self.odd()}})
        demo = {"command": kp.keel_command(), "args": ["demo"]}
        self.write(".claude.json", {"mcpServers": {"demo": demo}, "projects": {}})
        for words, said in (
                (("tools", "odd", "--protocol", "legacy"), "strict"),
                (("tools", "odd.strict", "--protocol", "legacy"), "path (required): string"),
                (("tools", "odd", "strict", "--protocol", "legacy"), "path (required): string"),
                (("call", "odd.strict", "path=x", "--protocol", "legacy"), '{"path": "x"}'),
                (("call", "odd", "strict", "path=x", "--protocol", "legacy"), '{"path": "x"}'),
                (("call", "dotted.name.strict", "path=x", "--protocol", "legacy"), '{"path": "x"}'),
                (("--json", "call", "demo.add", "a=1", "b=2"), '"3"'),
                (("resources", "demo"), "demo://planets/venus"),
                (("read", "demo", "demo://planets/mars"), "The red one"),
                (("prompts", "demo"), "greet"),
                (("prompt", "demo.greet", "name=Ada"), "Greet Ada."),
                (("ping", "demo"), "keel-demo"),
        ):
            with self.subTest(words=words):
                self.assertIn(said, self.ends(self.keel(*words, folder=self.project / "deep"), 0).out)

    def test_url_as_target(self):
        with self.every_wire() as wires:
            url = wires["http"][1]
            self.assertIn("add", self.ends(self.keel("tools", url), 0).out)
            self.assertEqual(self.ends(self.keel("call", url, "add", "a=1", "b=2"), 0).out, "3\n")
            self.write(".cursor/mcp.json", {"mcpServers": {"web": {"url": "${env:WEB}"}}})
            self.environment["WEB"] = url
            self.assertEqual(self.ends(self.keel("call", "web.add", "a=1", "b=2"), 0).out, "3\n")

    def test_list_of_servers(self):
        """`keel servers` starts no server and does not expand variables."""
        self.write("project/.vscode/mcp.json", """{
            // a comment
            "servers": {"a": {"type": "stdio", "command": "a", "args": ["${env:SECRET}"]},
                        "bad": {"type": "stdio"},},
        }""")
        self.write(".codeium/windsurf/mcp_config.json",
                   {"mcpServers": {"a": {"command": "other"}, "b": {"serverUrl": "https://b.example/", "disabled": True}}})
        self.write(".cursor/mcp.json", "{oops")
        self.environment["SECRET"] = "hidden"
        done = self.ends(self.keel("servers"), 0)
        rows = [row.split() for row in done.out.splitlines()]
        self.assertEqual(rows[0], ["NAME", "TYPE", "ADDRESS", "STATUS", "FILE"])
        self.assertEqual([row[0] for row in rows[1:]], ["a", "bad", "b"])
        self.assertIn("${env:SECRET}", done.out)
        self.assertIn("missing command", done.out)
        self.assertIn("disabled", done.out)
        self.assertIn("file ignored: " + str(self.home / ".cursor/mcp.json") + ":1:2: invalid JSON", done.err)
        told = json.loads(self.ends(self.keel("servers", "--json"), 0).out)["servers"]
        self.assertEqual(told[2], {"name": "b", "type": "http", "address": "https://b.example/", "disabled": True,
                                   "file": str(self.home / ".codeium/windsurf/mcp_config.json")})

    def test_no_servers(self):
        done = self.ends(self.keel("servers"), 0)
        self.assertEqual(done.out, "")
        self.assertIn(str(self.project / ".mcp.json") + ": not found", done.err)

    def test_unknown_server(self):
        """Status 2: the message has the nearest name and the files that were searched."""
        file = self.write("project/.mcp.json", {"mcpServers": {"files": self.odd("notes=" + self.path("notes"))}})
        for words in (("tools", "filse"), ("call", "filse.strict", "path=x")):
            with self.subTest(words=words):
                done = self.ends(self.keel(*words), 2)
                self.assertIn("unknown server filse; did you mean files?", done.err)
                self.assertIn(file + ": 1 server\n", done.err)
                self.assertIn(str(self.home / ".claude.json") + ": not found", done.err)
        self.assertIn("missing server", self.ends(self.keel("tools"), 2).err)
        self.assertEqual(self.notes(), [])

    def test_config_option(self):
        """--config reads one file only."""
        self.write("project/.mcp.json", {"mcpServers": {"usual": self.odd()}})
        file = self.write("own.json", {"mcpServers": {"own": self.odd()}})
        self.ends(self.keel("ping", "own", "--config", file, "--protocol", "legacy"), 0)
        self.ends(self.keel("--config", file, "ping", "own", "--protocol", "legacy"), 0)
        done = self.ends(self.keel("ping", "usual", "--config", file), 2)
        self.assertIn(file, done.err)
        self.assertNotIn(".mcp.json", done.err)
        self.assertEqual([row.split()[0] for row in self.keel("servers", "--config", file).out.splitlines()],
                         ["NAME", "own"])
        for bad, named in (("/no/such.json", "/no/such.json"), (self.write("bad.json", "[1,\n x]"), "bad.json:2:2")):
            done = self.ends(self.keel("ping", "own", "--config", bad), 2)
            self.assertIn("--config", done.err)
            self.assertIn(named, done.err)

    def test_invalid_server(self):
        """Status 2 with file, server and member; no program is started."""
        file = self.write("project/.mcp.json", {"mcpServers": {
            "unset": self.odd("notes=" + self.path("notes"), env={"A": "${KEEL_NOT_SET}"}), "bad": {"command": 7}}})
        self.assertIn(f'{file}: server "unset": env.A: environment variable KEEL_NOT_SET is not set',
                      self.ends(self.keel("ping", "unset"), 2).err)
        self.assertIn(f'{file}: server "bad": command: expected string, found integer',
                      self.ends(self.keel("ping", "bad"), 2).err)
        self.assertEqual(self.notes(), [])

    def test_inputs(self):
        """${input:id} is taken from --input, else asked for in the terminal; a password is not echoed."""
        self.write("project/.vscode/mcp.json", {
            "inputs": [{"id": "key", "type": "promptString", "description": "API key", "password": True}],
            "servers": {"odd": self.odd(type="stdio", env={"ODD_WORD": "${input:key}"})}})
        words = ("call", "odd.where", "--protocol", "legacy")
        done = self.ends(self.keel(*words, "--input", "key=given"), 0)
        self.assertEqual(json.loads(done.out)["word"], "given")
        self.assertIn("missing value of input key; give it with --input key=VALUE", self.ends(self.keel(*words), 2).err)
        with Terminal("--config", str(self.project / ".vscode/mcp.json"), *words) as t:
            t.answer("API key: ", "typed")
            self.assertEqual(t.end(), 0)
            self.assertIn('"word": "typed"', t.seen)

    def test_interrupted_input(self):
        """Ctrl-C while a password is asked for ends the command, and the terminal echoes again."""
        file = self.write("mcp.json", {"inputs": [{"id": "key", "password": True}],
                                       "servers": {"odd": self.odd(env={"ODD_WORD": "${input:key}"})}})
        with Terminal("--config", file, "ping", "odd", echo=True) as t:
            t.expect("key: ")
            self.assertFalse(t.echoes())
            t.type("\x03")
            self.assertEqual(t.end(), -2)
            self.assertTrue(t.echoes())

    def test_options_override_the_file(self):
        self.write("project/.mcp.json", {"mcpServers": {
            "odd": self.odd(env={"ODD_WORD": "file", "OTHER": "x"}, cwd="deep")}})
        where = json.loads(self.ends(self.keel("call", "odd.where", "--protocol", "legacy"), 0).out)
        self.assertEqual(where, {"cwd": os.path.realpath(self.project / "deep"), "word": "file"})
        where = json.loads(self.ends(self.keel("call", "odd.where", "--protocol", "legacy", "--env", "ODD_WORD=own",
                                               "--cwd", str(self.home)), 0).out)
        self.assertEqual(where, {"cwd": os.path.realpath(self.home), "word": "own"})
        self.assertIn("--header requires a URL", self.ends(self.keel("ping", "odd", "--header", "A: b"), 2).err)

    def test_headers_of_the_file(self):
        seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                seen.append((self.headers.get("X-Key"), self.headers.get("Authorization")))
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_):
                pass

        with serving(Handler) as port:
            file = self.write("project/.mcp.json", {"mcpServers": {"web": {
                "type": "http", "url": f"http://127.0.0.1:{port}/mcp",
                "headers": {"X-Key": "${KEY:-none}", "authorization": "from file"}}}})
            done = self.ends(self.keel("ping", "web", "--header", "Authorization: own"), 3)
        self.assertEqual(set(seen), {("none", "own")})
        self.assertIn("HTTP 401 Unauthorized; the server requires authentication", done.err)
        self.assertIn("--header 'Authorization: Bearer TOKEN'", done.err)
        self.assertIn(f"or headers to web in {file}", done.err)


class Environment(CommandTest):
    def environment_of(self, *options):
        done = keel("call", "environment", *options, "--protocol", "legacy", *odd(),
                    env={**os.environ, "KEEL_SECRET": "hidden", "LC_ALL": "C.UTF-8"})
        return json.loads(self.ends(done, 0).out)

    def test_short_environment(self):
        """A program gets a short list of variables by default, and all of them with --inherit-env."""
        short = self.environment_of("--env", "ADDED=1")
        self.assertNotIn("KEEL_SECRET", short)
        self.assertEqual((short["ADDED"], short["LC_ALL"], short["PATH"]), ("1", "C.UTF-8", os.environ["PATH"]))
        self.assertEqual(self.environment_of("--inherit-env")["KEEL_SECRET"], "hidden")


if __name__ == "__main__":
    kp.main()
