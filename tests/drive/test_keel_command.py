#!/usr/bin/env python3
"""Exit statuses, arguments and options of the `keel` client commands, against `keel demo` over every transport."""

import http.server
import json
import os
import subprocess
import sys
from pathlib import Path

import keel_process as kp
from keel_command import COMMANDS, ODD_SERVER, CommandTest, demo, keel, odd, serving
from keel_process import HOUR, LEGACY, MODERN


class EveryWire(CommandTest):
    def test_tables_and_json(self):
        """Each command works over each transport, as a table and as JSON."""
        with self.every_wire() as wires:
            for wire, where in wires.items():
                with self.subTest(wire=wire):
                    self.look_at(where)

    def look_at(self, where):
        def run(*words):
            return self.ends(keel(*words, *where), 0)

        table = run("tools").out.splitlines()
        self.assertEqual(table[0].split(), ["NAME", "ARGUMENTS", "DESCRIPTION"])
        at = table[0].index("DESCRIPTION")
        self.assertIn("Adds two numbers", [row[at:] for row in table])
        names = [tool["name"] for tool in json.loads(run("tools", "--json").out)["tools"]]
        self.assertEqual(names, [row.split()[0] for row in table[1:]])
        self.assertEqual(json.loads(run("tools", "add", "--json").out)["name"], "add")
        self.assertIn("Which city", run("tools", "weather").out)

        self.assertEqual(run("call", "add", "a=1", "b=2").out, "3\n")
        self.assertEqual(json.loads(run("call", "add", '{"a":1,"b":2.5}', "--json").out)["content"],
                         [{"type": "text", "text": "3.5"}])
        self.assertIn("[image/png, 99 bytes]\n", run("call", "show_content").out)

        self.assertIn("demo://planets/venus", run("resources").out)
        self.assertEqual(len(json.loads(run("resources", "--json").out)["resources"]), 12)  # of several pages
        self.assertIn("demo://planets/{name}", run("resources", "--templates").out)
        self.assertIn("resourceTemplates", json.loads(run("resources", "--templates", "--json").out))
        self.assertEqual(run("read", "demo://planets/mars").out, "The red one")
        self.assertTrue(keel("read", "demo://boat.png", *where).stdout.startswith(b"\x89PNG\r\n"))
        self.assertEqual(len(json.loads(run("read", "demo://bundle", "--json").out)["contents"]), 2)

        self.assertEqual(run("prompts").out.splitlines()[1].split()[:3], ["greet", "name", "[language]"])
        self.assertEqual(len(json.loads(run("prompts", "--json").out)["prompts"]), 2)
        self.assertEqual(run("prompt", "greet", "name=Ada").out, "user:\nGreet Ada.\n")
        self.assertEqual(json.loads(run("prompt", "greet", "name=7", "--json").out)["messages"][0]["content"]["text"],
                         "Greet 7.")

        self.assertRegex(run("ping").out, r"^keel-demo \S+ answered in [\d.]+ ms, protocol 2026-07-28\n")
        self.assertEqual(json.loads(run("ping", "--json").out)["serverInfo"]["name"], "keel-demo")

    def test_exit_statuses(self):
        """A tool error, a rejected request and a timeout have different exit statuses over each transport."""
        with self.every_wire() as wires:
            for wire, where in wires.items():
                with self.subTest(wire=wire):
                    failed = self.ends(keel("call", "fail", "kind=tool", *where), 1)
                    self.assertEqual(failed.out, "the tool failed, as asked\n")
                    self.assertTrue(json.loads(self.ends(keel("call", "fail", "kind=tool", "--json", *where), 1).out)
                                    ["isError"])
                    refused = self.ends(keel("call", "fail", "kind=protocol", *where), 3)
                    self.assertEqual(refused.out, "")
                    self.assertIn("a protocol error, as asked (1001)", refused.err)
                    told = json.loads(self.ends(keel("call", "fail", "kind=protocol", "--json", *where), 3).out)
                    self.assertEqual(told, {"error": {"code": 1001, "message": "a protocol error, as asked",
                                                      "data": {"asked": True}}})
                    self.ends(keel("read", "demo://nothing", *where), 3)
                    late = self.ends(keel("call", "sleep", f"ms={HOUR}", "--timeout", "300ms", *where), 5)
                    self.assertEqual((late.out, late.err), ("", 'keel: keel-demo: tools/call "sleep": no answer within '
                                                                '300 ms (--timeout)\n'))

    def test_protocol_option(self):
        """--protocol selects the revision that the server answers in."""
        for version in (*LEGACY, MODERN):
            with self.subTest(version=version):
                told = json.loads(self.ends(keel("ping", "--json", "--protocol", version, *demo()), 0).out)
                self.assertEqual(told["protocolVersion"], version)
                self.assertEqual(keel("call", "echo", "text=x", "--protocol", version, *demo()).out, "x\n")
        for era, version in (("legacy", LEGACY[-1]), ("modern", MODERN), ("auto", MODERN)):
            told = json.loads(keel("ping", "--json", "--protocol", era, *demo()).out)
            self.assertEqual(told["protocolVersion"], version)

    def test_unreachable_server(self):
        """An unreachable server gives status 4, with the reason."""
        for where, named in (
                (("--", "/no/such/program"), "/no/such/program"),
                (("--", "false"), ""),
                (("--unix", self.path("nobody")), "nobody"),
                (("--tcp", "127.0.0.1:1"), "127.0.0.1:1"),
                (("--url", "http://127.0.0.1:1/mcp"), "127.0.0.1:1"),
        ):
            with self.subTest(where=where):
                done = self.ends(keel("tools", "--json", *where), 4)
                self.assertEqual(done.out, "")
                self.assertEqual(len(done.err.splitlines()), 1, done.err)
                self.assertIn(named, done.err)

    def test_url_without_mcp_server(self):
        """An HTTP server without MCP gives status 4, with at most the first line of its response."""
        page = "<!DOCTYPE html>\n<html><body>" + "Nothing " * 100 + "</body></html>"
        for status, body, said in (
                (404, "There is nothing here.\n", "no MCP server at {}: HTTP 404 Not Found: There is nothing here.\n"),
                (404, page, "no MCP server at {}: HTTP 404 Not Found\n"),
                (405, "", "no MCP server at {}: HTTP 405 Method Not Allowed\n"),
                (400, "No\nnever\n", "no MCP server at {}: HTTP 400 Bad Request: No\n"),
                (501, page, "no MCP server at {}: HTTP 501 Not Implemented\n"),
                (502, page, "the server is unavailable: {}: HTTP 502 Bad Gateway\n"),
                (503, "later\n", "the server is unavailable: {}: HTTP 503 Service Unavailable: later\n"),
        ):
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_POST(self):
                    self.rfile.read(int(self.headers.get("Content-Length", 0)))
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body.encode())

                do_GET = do_POST

                def log_message(self, *_):
                    pass

            with self.subTest(status=status, body=body), serving(Handler) as port:
                where = f"http://127.0.0.1:{port}/nope"
                done = self.ends(keel("tools", "--json", "--url", where), 4)
                self.assertEqual((done.out, done.err), ("", "keel: " + said.format(where)))

    def test_header_option(self):
        """--header adds a header to every HTTP request."""
        seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                seen.append((self.headers.get("X-One"), self.headers.get("Authorization")))
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(403)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_):
                pass

        with serving(Handler) as port:
            done = keel("ping", "--url", f"http://127.0.0.1:{port}/mcp", "--header", "X-One: a: b",
                        "--header=Authorization: Bearer x")
        self.ends(done, 3)
        self.assertEqual(done.err, f"keel: http://127.0.0.1:{port}/mcp refused the request: HTTP 403 Forbidden; use --header to send credentials\n")
        self.assertTrue(seen)
        self.assertEqual(set(seen), {("a: b", "Bearer x")})


class Arguments(CommandTest):
    def given(self, *words, data=b""):
        done = self.ends(keel("call", "types", *words, "--protocol", "legacy", *odd(), data=data), 0)
        return json.loads(done.out)

    def test_values_are_converted_by_the_schema(self):
        self.assertEqual(
            self.given("text=1", "number=1.5", "integer=7", "flag=true", "list=[1]", 'thing={"a":null}', "color=1",
                       "maybe=null", "either=5", "any=[2]"),
            {"text": "1", "number": 1.5, "integer": 7, "flag": True, "list": [1], "thing": {"a": None}, "color": "1",
             "maybe": None, "either": 5, "any": [2]})
        self.assertEqual(self.given("text=", "maybe=x=y", "either=x", "any=x y", "unheard=1", "more=of it"),
                         {"text": "", "maybe": "x=y", "either": "x", "any": "x y", "unheard": 1, "more": "of it"})
        self.assertEqual(list(self.given("text=z", "any=1")), ["text", "any"])

    def test_json_arguments(self):
        self.assertEqual(self.given('text:={"not": "text"}', "number:=\"x\""),
                         {"text": {"not": "text"}, "number": "x"})
        self.assertEqual(self.given('{"text": 5}'), {"text": 5})
        self.assertEqual(self.given("-", data=b' {"any": [true]}\n'), {"any": [True]})
        self.assertEqual(self.given(), {})

    def test_arguments_from_files(self):
        Path(self.path("text")).write_text("12\n")
        Path(self.path("json")).write_text('{"a": 1}')
        self.assertEqual(self.given(f"text=@{self.path('text')}", f"number=@{self.path('text')}",
                                    f"any:=@{self.path('json')}", "maybe=@@me"),
                         {"text": "12\n", "number": 12, "any": {"a": 1}, "maybe": "@me"})

    def test_invalid_arguments(self):
        """Status 2 with the reason; errors that do not depend on the server are reported before it is started."""
        for words, named, started in (
                (("number=x",), "number: expected number", True),
                (("flag=1",), "flag: expected boolean", True),
                (("text",), "text", False),
                (("=1",), "=1", False),
                (("text=1", "text=2"), "argument text is given 2 times: expected one string", True),
                (("text:=oops",), "invalid JSON", True),
                (("{oops",), "invalid JSON", False),
                (("[1]",), "[1]", False),
                (("text=@/no/such/file",), "/no/such/file", False),
                (("text=@/tmp",), "/tmp: it is a directory", False),
                (("{}", "text=1"), "{}", False),
        ):
            with self.subTest(words=words):
                notes = "notes" + "".join(filter(str.isalnum, "".join(words)))
                done = keel("call", "types", *words, "--protocol", "legacy", *odd("notes=" + self.path(notes)))
                self.ends(done, 2)
                self.assertEqual(done.out, "")
                self.assertIn(named, done.err)
                self.assertEqual(self.notes(notes) != [], started)
        self.ends(keel("call", "types", "-", "--protocol", "legacy", *odd(), data=b"[1]"), 2)
        self.ends(keel("call", "types", b"text=\xff", *odd()), 2)
        self.ends(keel("prompt", "greet", "name:=1", *demo()), 2)


class CommandLine(CommandTest):
    def test_help(self):
        for command in COMMANDS:
            for words in ((command, "--help"), (command, "-h", "--nonsense"), ("help", command)):
                with self.subTest(words=words):
                    done = self.ends(keel(*words), 0)
                    self.assertEqual(done.err, "")
                    self.assertIn(f"Usage: keel {command}", done.out)
                    for option in ("--url", "--unix", "--tcp", "--json", "--timeout", "--header", "--protocol", "--env",
                                   "--cwd", "--verbose", "--log-level", "Exit status"):
                        self.assertIn(option, done.out)
            self.assertIn(f"  {command} ", keel("--help").out)

    def test_invalid_options(self):
        """Status 2 with the reason, and no server is started."""
        run = ("--", sys.executable, ODD_SERVER, "notes=" + self.path("notes"))
        for words, named in (
                (("tools",), "missing server"),
                (("tools", "--"), "--"),
                (("tools", "--url", "http://x/", *run), "one server"),
                (("tools", "--unix", "x", "--tcp", "y:1"), "one server"),
                (("tools", "--unix", "x", "--unix", "y"), "once"),
                (("tools", "--url", "ftp://x/"), "ftp://x/"),
                (("tools", "--url"), "--url"),
                (("tools", "--url="), "--url"),
                (("tools", "a", "b", *run), "b"),
                (("tools", "--nonsense", *run), "--nonsense"),
                (("tools", "--json=1", *run), "--json"),
                (("tools", "--templates", *run), "--templates"),
                (("call", *run), "missing tool name"),
                (("read", *run), "missing URI"),
                (("read", "a", "b", *run), "b"),
                (("prompt", *run), "missing prompt name"),
                (("prompts", "x", *run), "x"),
                (("ping", "x", *run), "x"),
                (("ping", "--timeout", "soon", *run), "soon"),
                (("ping", "--timeout", "0", *run), "0"),
                (("ping", "--timeout", *run), "--timeout"),
                (("ping", "--protocol", "2019-01-01", *run), "2019-01-01"),
                (("ping", "--log-level", "loud", *run), "loud"),
                (("ping", "--header", "A: b", *run), "--url"),
                (("ping", "--header", "no colon", "--url", "http://127.0.0.1:1/"), "no colon"),
                (("ping", "--header", "A: b\nC: d", "--url", "http://127.0.0.1:1/"), "--header"),
                (("ping", "--env", "X", *run), "X"),
                (("ping", "--env", "X=1", "--unix", "x"), "--env"),
                (("ping", "--cwd", "/", "--unix", "x"), "--cwd"),
                (("ping", "--cwd", "/no/such/place", *run), "/no/such/place"),
                (("ping", "--cwd", ODD_SERVER, *run), "not a directory"),
                (("ping", "--url", "http://"), "no host"),
                (("ping", "--url", "http://[::1/"), "--url"),
                (("ping", "--tcp", "nonsense"), "--tcp"),
                (("ping", "--tcp", "127.0.0.1:99999"), "--tcp"),
                (("ping", "--tcp", ":"), "--tcp"),
                (("ping", "--unix="), "--unix"),
                (("ping", "--inherit-env", "--unix", "x"), "--inherit-env"),
                (("ping", "--input", "x", *run), "--input"),
                (("ping", "--config", "x", *run), "--config"),
                (("tools", "--edit", *run), "--edit"),
                (("completion", "csh"), "bash, zsh or fish"),
                (("ping", "--url", "http://127.0.0.1:1/", "--header", "Host: x"), '"Host"'),
                (("ping", "--url", "http://127.0.0.1:1/", "--ca-file", "/no/such.pem"), "/no/such.pem"),
                (("ping", "--url", "https://127.0.0.1:1/", "--ca-file", "/"), "directory"),
                (("ping", "--url", "https://127.0.0.1:1/", "--ca-file", ODD_SERVER), "no certificate"),
                (("ping", "--connect-timeout", "soon", *run), "soon"),
                (("ping", "--max-message", "large", *run), "large"),
                (("ping", "--max-message", "0", *run), "0"),
                (("ping", "--max-message", "9999999999G", *run), "9999999999G"),
                (("--json",), "missing command"),
                (("--nonsense",), "unknown option: --nonsense"),
                (("--json", "nothing", *run), "nothing"),
                (("--json", "demo"), "demo"),
        ):
            with self.subTest(words=words):
                done = self.ends(keel(*words), 2)
                self.assertEqual(done.out, "")
                self.assertIn(named, done.err)
                self.assertNotIn("keel: keel:", done.err)
        self.assertEqual(self.notes(), [])

    def test_options_before_the_command(self):
        """Options are accepted anywhere before "--"."""
        done = self.ends(keel("--json", "--timeout", "60s", "call", "add", "a=1", "b=2", *demo()), 0)
        self.assertEqual(json.loads(done.out)["content"], [{"type": "text", "text": "3"}])
        self.assertIn("Usage: keel tools", self.ends(keel("--json", "tools", "--help"), 0).out)
        self.assertIn("Usage: keel COMMAND", self.ends(keel("--json", "--help"), 0).out)
        self.assertIn("missing server", self.ends(keel("--json", "tools"), 2).err)

    def test_max_message_option(self):
        """--max-message limits the size of messages from the server, over stdio and over HTTP."""
        large = ("call", "large", "--protocol", "legacy")
        self.assertEqual(len(self.ends(keel(*large, *odd()), 0).out), 100_001)
        self.assertEqual(len(self.ends(keel(*large, "--max-message", "1M", *odd()), 0).out), 100_001)
        self.assertIn("too large", self.ends(keel(*large, "--max-message", "50K", *odd()), 4).err)
        with self.every_wire() as wires:
            self.ends(keel("tools", *wires["http"]), 0)
            self.ends(keel("tools", "--max-message", "200", *wires["http"]), 4)

    def test_connect_timeout_option(self):
        """--connect-timeout applies only while connecting."""
        silent = ("--", "sh", "-c", "while read -r line; do :; done")
        done = self.ends(keel("ping", "--protocol", "legacy", "--connect-timeout", "100ms", *silent), 5)
        self.assertRegex(done.err, r": no handshake within \S+ \S+ \(--connect-timeout\)")
        self.ends(keel("ping", "--timeout", "1h", "--protocol", "legacy", "--connect-timeout", "100ms", *silent), 5)
        self.ends(keel("call", "sleep", "ms=300", "--connect-timeout", "60s", *demo()), 0)

    def test_child_options(self):
        """--env and --cwd apply to the child process; --verbose shows its standard error."""
        done = self.ends(keel("call", "where", "--env", "ODD_WORD=a=b", "--cwd", self.folder, "--protocol", "legacy",
                              *odd("chatty")), 0)
        self.assertEqual(json.loads(done.out), {"cwd": os.path.realpath(self.folder), "word": "a=b"})
        self.assertEqual(done.err, "")
        self.assertIn("starting", keel("ping", "--verbose", "--protocol", "legacy", *odd("chatty")).err)

    def test_log_level_option(self):
        """--log-level requests log messages (default: from warning on); they go to standard error."""
        for version in (LEGACY[-1], MODERN):
            def log(level, *more):
                return keel("call", "log", f"level={level}", "text=hear me", "--protocol", version, *more, *demo())

            self.assertEqual(self.ends(log("info", "--log-level", "info"), 0).err,
                             '[info] demo: {"text":"hear me"}\n')
            self.assertEqual(log("info", "--log-level", "notice").err, "")
            self.assertEqual(log("info").err, "")
            self.assertEqual(log("warning").err, '[warning] demo: {"text":"hear me"}\n')

    def test_standard_output_is_full(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([kp.keel_command(), "tools", *demo()], stdout=full, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, timeout=kp.SECONDS_TO_HANG)
        self.assertEqual(done.returncode, 74)
        self.assertIn(b"No space left", done.stderr)

    def test_standard_output_is_closed(self):
        """As in `keel tools | head -1`: no error message is printed."""
        for words, status in ((("tools",), 74), (("tools", "--json"), 74), (("call", "add", "a=1", "b=2"), 74),
                              (("call", "fail", "kind=protocol", "--json"), 3)):
            reader, writer = os.pipe()
            os.close(reader)
            with self.subTest(words=words):
                done = subprocess.run([kp.keel_command(), *words, *demo()], stdout=writer, stderr=subprocess.PIPE,
                                      stdin=subprocess.DEVNULL, timeout=kp.SECONDS_TO_HANG)
                self.assertEqual(done.returncode, status)
                self.assertNotIn(b"ipe", done.stderr)
            os.close(writer)


if __name__ == "__main__":
    kp.main()
