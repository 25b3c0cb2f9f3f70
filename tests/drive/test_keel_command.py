#!/usr/bin/env python3
"""The commands of `keel` that talk to a server: against `keel demo` over every wire, and a server that says odd things."""

# ctest-timeout: 600

import contextlib
import fcntl
import http.server
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import unicodedata
from pathlib import Path

import keel_process as kp
import proof
from keel_process import HOUR, LEGACY, MODERN, Deadline, Server, Watched, call, until

ODD_SERVER = str(Path(__file__).resolve().parent / "odd_server.py")
COMMANDS = ("tools", "call", "resources", "read", "prompts", "prompt", "ping")
# What must never reach a terminal from a server; the colours of the command itself are taken out before.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]")


def demo():
    return ("--", kp.keel_command(), "demo")


def odd(*how):
    return ("--", sys.executable, ODD_SERVER, *how)


def keel(*words, data=b"", **how):
    """Runs it without a terminal."""
    how.setdefault("start_new_session", True)  # not even behind standard input
    done = subprocess.run([kp.keel_command(), *words], input=data, capture_output=True, timeout=kp.SECONDS_TO_HANG,
                          **how)
    done.out, done.err = done.stdout.decode(errors="replace"), done.stderr.decode()
    for bad in ("Sanitizer", "terminate called", "runtime error"):
        if bad in done.err:
            raise AssertionError(done.err)
    return done


class Terminal:
    """keel in a terminal of its own, its only one. Standard input may be something else."""

    def __init__(self, *words, columns=80, stdin=None, env=None):
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        modes = termios.tcgetattr(slave)
        modes[3] &= ~termios.ECHO  # what we type is known
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        self.process = subprocess.Popen(
            [kp.keel_command(), *words], stdin=slave if stdin is None else stdin, stdout=slave, stderr=slave,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0),
            env={**os.environ, **(env or {})})
        os.close(slave)
        self.watched = Watched(self.process.pid)
        self.seen = ""
        self.at = 0
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.process.poll() is None:
            self.watched.kill()
        self.process.wait()
        self.watched.close()
        os.close(self.master)
        if kind is not None:
            sys.stderr.write(f"\nthe terminal:\n{self.seen!r}\n")
        return False

    def _more(self, what):
        poller = select.poll()
        poller.register(self.master, select.POLLIN)
        if not poller.poll(Deadline(what).left_ms()):
            raise kp.Hang(f"waited for {what}")
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # EIO: nobody has the other side open
            return False
        self.rest += piece
        whole = self.rest.decode(errors="ignore") if piece else ""
        self.seen, self.rest = self.seen + whole, b"" if whole else self.rest
        return bool(piece)

    def expect(self, text):
        """Reads on until this was written, after what was expected before."""
        while (found := self.seen.find(text, self.at)) < 0:
            if not self._more(f"{text!r} in the terminal"):
                raise AssertionError(f"it ended without {text!r}: {self.seen!r}")
        before = self.seen[self.at:found]
        self.at = found + len(text)
        return before

    def type(self, text):
        os.write(self.master, text.encode())

    def answer(self, question, text):
        self.expect(question)
        self.type(text + "\n")

    def end(self):
        """Everything it writes, and its exit status."""
        while self._more("the end of the command"):
            pass
        self.watched.wait_for_end("the command to exit")
        return self.process.wait()


def without_own_colours(text):
    """Bold and plain, and the erasing of a line, are the command's own."""
    return re.sub("\x1b\\[(1m|0m|K)", "", text).replace("\r\n", "\n").replace("\r", "")


def columns_of(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@contextlib.contextmanager
def serving(handler):
    """Whatever it is, over HTTP. Its port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as s:
        thread = threading.Thread(target=s.serve_forever)
        thread.start()
        try:
            yield s.server_port
        finally:
            s.shutdown()
            thread.join()


class CommandTest(kp.DriveTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def ends(self, done, status):
        self.assertEqual(done.returncode, status, (done.out, done.err))
        return done

    def is_clean(self, text):
        found = CONTROL.search(without_own_colours(text))
        self.assertIsNone(found, repr(text))

    @contextlib.contextmanager
    def every_wire(self):
        """The options that lead to a demo server, over each wire."""
        with contextlib.ExitStack() as stack:
            def serve(*options):
                s = stack.enter_context(Server(*options, stdin=subprocess.DEVNULL))
                until(lambda: "serving" in s.said() and s.said().endswith("\n") or s.process.poll() is not None,
                      "the server to say where it listens")
                return re.search(r"serving (?:\S+ )?(\S+)\n", s.said()).group(1)
            yield {
                "stdio": demo(),
                "unix": ("--unix", (serve("--unix", self.path("s")), self.path("s"))[1]),
                "tcp": ("--tcp", serve("--tcp", "127.0.0.1:0").removeprefix("tcp://")),
                "http": ("--url", serve("--http", "127.0.0.1:0")),
            }

    def notes(self, name="notes"):
        with contextlib.suppress(FileNotFoundError):
            return Path(self.path(name)).read_text().splitlines()
        return []


class EveryWire(CommandTest):
    def test_tables_and_json(self):
        """Each command over each wire, for people and for scripts."""
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

    def test_statuses(self):
        """A tool's failure, a refusal and a timeout are told apart over each wire."""
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
                    self.assertEqual((late.out, late.err), ("", "keel: no answer in time\n"))

    def test_each_revision(self):
        """--protocol pins a revision, and the answer comes in it."""
        for version in (*LEGACY, MODERN):
            with self.subTest(version=version):
                told = json.loads(self.ends(keel("ping", "--json", "--protocol", version, *demo()), 0).out)
                self.assertEqual(told["protocolVersion"], version)
                self.assertEqual(keel("call", "echo", "text=x", "--protocol", version, *demo()).out, "x\n")
        for era, version in (("legacy", LEGACY[-1]), ("modern", MODERN), ("auto", MODERN)):
            told = json.loads(keel("ping", "--json", "--protocol", era, *demo()).out)
            self.assertEqual(told["protocolVersion"], version)

    def test_nobody_there(self):
        """What cannot be reached is status 4, with the reason."""
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

    def test_an_address_without_a_server(self):
        """What answers there, but is no MCP server, is status 4, with the first line of what it said at most."""
        page = "<!DOCTYPE html>\n<html><body>" + "Nothing " * 100 + "</body></html>"
        for status, body, said in (
                (404, "There is nothing here.\n", "no MCP server at {}: HTTP 404 Not Found: There is nothing here.\n"),
                (404, page, "no MCP server at {}: HTTP 404 Not Found\n"),
                (405, "", "no MCP server at {}: HTTP 405 Method Not Allowed\n"),
                (400, "No\nnever\n", "no MCP server at {}: HTTP 400 Bad Request: No\n"),
                (501, page, "no MCP server at {}: HTTP 501 Not Implemented\n"),
                (502, page, "no answer from the server at {}: HTTP 502 Bad Gateway\n"),
                (503, "later\n", "no answer from the server at {}: HTTP 503 Service Unavailable: later\n"),
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

    def test_headers(self):
        """--header goes with every request over HTTP."""
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
        self.assertEqual(done.err, f"keel: http://127.0.0.1:{port}/mcp does not let us in: HTTP 403 Forbidden\n")
        self.assertTrue(seen)
        self.assertEqual(set(seen), {("a: b", "Bearer x")})


class Arguments(CommandTest):
    def given(self, *words, data=b""):
        done = self.ends(keel("call", "types", *words, "--protocol", "legacy", *odd(), data=data), 0)
        return json.loads(done.out)

    def test_values_are_read_by_the_schema(self):
        self.assertEqual(
            self.given("text=1", "number=1.5", "integer=7", "flag=true", "list=[1]", 'thing={"a":null}', "color=1",
                       "maybe=null", "either=5", "any=[2]"),
            {"text": "1", "number": 1.5, "integer": 7, "flag": True, "list": [1], "thing": {"a": None}, "color": "1",
             "maybe": None, "either": 5, "any": [2]})
        self.assertEqual(self.given("text=", "maybe=x=y", "either=x", "any=x y", "unheard=1", "more=of it"),
                         {"text": "", "maybe": "x=y", "either": "x", "any": "x y", "unheard": 1, "more": "of it"})
        self.assertEqual(list(self.given("text=z", "any=1")), ["text", "any"])

    def test_json(self):
        self.assertEqual(self.given('text:={"not": "text"}', "number:=\"x\""),
                         {"text": {"not": "text"}, "number": "x"})
        self.assertEqual(self.given('{"text": 5}'), {"text": 5})
        self.assertEqual(self.given("-", data=b' {"any": [true]}\n'), {"any": [True]})
        self.assertEqual(self.given(), {})

    def test_files(self):
        Path(self.path("text")).write_text("12\n")
        Path(self.path("json")).write_text('{"a": 1}')
        self.assertEqual(self.given(f"text=@{self.path('text')}", f"number=@{self.path('text')}",
                                    f"any:=@{self.path('json')}", "maybe=@@me"),
                         {"text": "12\n", "number": 12, "any": {"a": 1}, "maybe": "@me"})

    def test_wrong_ones(self):
        """Status 2 with the reason; what can be seen without the server is told before it is started."""
        for words, named, started in (
                (("number=x",), "number: expected number", True),
                (("flag=1",), "flag: expected boolean", True),
                (("text",), "text", False),
                (("=1",), "=1", False),
                (("text=1", "text=2"), "twice", False),
                (("text:=oops",), "not JSON", True),
                (("{oops",), "not JSON", False),
                (("[1]",), "[1]", False),
                (("text=@/no/such/file",), "/no/such/file", False),
                (("text=@/tmp",), "/tmp is a directory", False),
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

    def test_wrong_ones(self):
        """Status 2 with the reason, and no server is started."""
        run = ("--", sys.executable, ODD_SERVER, "notes=" + self.path("notes"))
        for words, named in (
                (("tools",), "which server?"),
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
                (("call", *run), "which tool?"),
                (("read", *run), "which URI?"),
                (("read", "a", "b", *run), "b"),
                (("prompt", *run), "which prompt?"),
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
                (("ping", "--cwd", ODD_SERVER, *run), "no directory"),
                (("ping", "--url", "http://"), "no host"),
                (("ping", "--url", "http://127.0.0.1:1/", "--header", "Host: x"), '"Host"'),
                (("ping", "--url", "http://127.0.0.1:1/", "--ca-file", "/no/such.pem"), "/no/such.pem"),
                (("ping", "--url", "https://127.0.0.1:1/", "--ca-file", "/"), "directory"),
                (("ping", "--url", "https://127.0.0.1:1/", "--ca-file", ODD_SERVER), "no certificate"),
                (("ping", "--connect-timeout", "soon", *run), "soon"),
                (("ping", "--max-message", "large", *run), "large"),
                (("ping", "--max-message", "0", *run), "0"),
                (("ping", "--max-message", "9999999999G", *run), "9999999999G"),
                (("--json",), "which command?"),
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
        """Options stand anywhere before "--"."""
        done = self.ends(keel("--json", "--timeout", "60s", "call", "add", "a=1", "b=2", *demo()), 0)
        self.assertEqual(json.loads(done.out)["content"], [{"type": "text", "text": "3"}])
        self.assertIn("Usage: keel tools", self.ends(keel("--json", "tools", "--help"), 0).out)
        self.assertIn("Usage: keel COMMAND", self.ends(keel("--json", "--help"), 0).out)
        self.assertIn("which server?", self.ends(keel("--json", "tools"), 2).err)

    def test_the_largest_message(self):
        """--max-message bounds what is read, over a pipe and over HTTP."""
        large = ("call", "large", "--protocol", "legacy")
        self.assertEqual(len(self.ends(keel(*large, *odd()), 0).out), 100_001)
        self.assertEqual(len(self.ends(keel(*large, "--max-message", "1M", *odd()), 0).out), 100_001)
        self.assertIn("too large", self.ends(keel(*large, "--max-message", "50K", *odd()), 4).err)
        with self.every_wire() as wires:
            self.ends(keel("tools", *wires["http"]), 0)
            self.ends(keel("tools", "--max-message", "200", *wires["http"]), 4)

    def test_the_time_to_connect(self):
        """--connect-timeout is for the connection alone."""
        silent = ("--", "sh", "-c", "while read -r line; do :; done")
        done = self.ends(keel("ping", "--protocol", "legacy", "--connect-timeout", "100ms", *silent), 5)
        self.assertIn("did not introduce itself in time", done.err)
        self.ends(keel("ping", "--timeout", "1h", "--protocol", "legacy", "--connect-timeout", "100ms", *silent), 5)
        self.ends(keel("call", "sleep", "ms=300", "--connect-timeout", "60s", *demo()), 0)

    def test_the_child(self):
        """--env and --cwd are for the child; what it writes to standard error is shown with --verbose."""
        done = self.ends(keel("call", "where", "--env", "ODD_WORD=a=b", "--cwd", self.folder, "--protocol", "legacy",
                              *odd("chatty")), 0)
        self.assertEqual(json.loads(done.out), {"cwd": os.path.realpath(self.folder), "word": "a=b"})
        self.assertEqual(done.err, "")
        self.assertIn("starting", keel("ping", "--verbose", "--protocol", "legacy", *odd("chatty")).err)

    def test_log_messages(self):
        """--log-level asks for them; they go to standard error."""
        for version in (LEGACY[-1], MODERN):
            def log(level, *more):
                return keel("call", "log", f"level={level}", "text=hear me", "--protocol", version, *more, *demo())

            self.assertEqual(self.ends(log("info", "--log-level", "info"), 0).err,
                             '[info] demo: {"text":"hear me"}\n')
            self.assertEqual(log("info", "--log-level", "notice").err, "")
            self.assertEqual(log("info").err, "")

    def test_standard_output_is_full(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([kp.keel_command(), "tools", *demo()], stdout=full, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, timeout=kp.SECONDS_TO_HANG)
        self.assertEqual(done.returncode, 74)
        self.assertIn(b"No space left", done.stderr)

    def test_nobody_reads_standard_output(self):
        """As in `keel tools | head -1`: nothing is said."""
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


class BadServers(CommandTest):
    def test_d1_a_server_that_dies(self):
        """D1: status 4, how it ended and the last it said."""
        done = self.ends(keel("call", "hang", "--protocol", "legacy", *odd("dies")), 4)
        self.assertEqual(done.out, "")
        self.assertIn("status 3", done.err)
        self.assertIn("the reason", done.err)
        self.is_clean(done.err)
        proof.spoke(LEGACY[-1])

    def test_a_server_that_answers_nonsense(self):
        done = self.ends(keel("tools", "--protocol", "legacy", *odd("garbage")), 4)
        self.assertEqual(done.out, "")
        self.assertTrue(done.err)

    def test_a_program_that_is_no_server(self):
        """Status 4, with how much nonsense it wrote and what the first of it was."""
        banner = "printf 'Welcome!\\n\033[2Jhelp\\n{}\\n'; while read -r line; do :; done"
        for mode in ("auto", "legacy"):
            with self.subTest(mode=mode):
                done = keel("tools", "--protocol", mode, "--connect-timeout", "3s", "--", "sh", "-c", banner)
                self.ends(done, 4)
                self.assertEqual(done.out, "")
                self.assertIn("is no MCP server: it wrote 3 lines that are no messages, the first: Welcome!", done.err)
                self.is_clean(done.err)
        self.assertIn("echo exited with status 0", self.ends(keel("tools", "--", "echo", "hello"), 4).err)
        flood = "yes | head -5000; while read -r line; do :; done"
        done = self.ends(keel("tools", "--connect-timeout", "3s", "--", "sh", "-c", flood), 4)
        self.assertIn("it wrote at least 10 lines", done.err)

    def test_a_program_that_ends_after_a_word(self):
        """Status 4, with the end of it and what is wrong with what it said."""
        os.mkfifo(self.path("gate"))
        with Terminal("tools", "--verbose", "--protocol", "legacy", "--", "sh", "-c",
                      f"echo hello; read -r line < {self.path('gate')}; exit 6") as t:
            t.expect("invalid JSON")
            Path(self.path("gate")).write_text("go\n")
            t.expect("sh exited with status 6; before that it wrote something that is no message: ")
            self.assertEqual(t.end(), 4)

    def test_a_program_that_echoes(self):
        for mode, said in (("auto", "cat is no MCP server: it gives back what it is sent"),
                           ("legacy", "cat is no MCP server: ")):
            done = self.ends(keel("tools", "--protocol", mode, "--", "cat"), 4)
            self.assertIn(said, done.err)
            self.assertEqual(done.out, "")

    def test_a_feature_that_is_not_there(self):
        """Status 3, whoever finds out that it is not."""
        for version in LEGACY:
            for words in (("prompts",), ("prompt", "x"), ("resources",), ("read", "x:y")):
                with self.subTest(version=version, words=words):
                    self.ends(keel(*words, "--protocol", version, *odd()), 3)
                    done = self.ends(keel(*words, "--json", "--protocol", version, *odd()), 3)
                    self.assertEqual(json.loads(done.out)["error"]["code"], -32601)

    def test_a_result_that_breaks_its_promise(self):
        """However the arguments are given. A server that cannot list its tools has promised nothing."""
        for words in ((), ("{}",), ("a:=1",), ("a=1",)):
            with self.subTest(words=words):
                notes = f"notes{len(''.join(words))}"
                done = self.ends(keel("call", "promise", *words, "--protocol", "legacy",
                                      *odd("notes=" + self.path(notes))), 4)
                self.assertIn("structuredContent.n", done.err)
                self.assertEqual(len([row for row in self.notes(notes) if '"tools/list"' in row]), 1)
        self.ends(keel("call", "promise", "--json", "--protocol", "legacy", *odd()), 0)
        self.assertEqual(self.ends(keel("call", "promise", "--protocol", "legacy", *odd("garbage")), 0).out, "seven\n")
        done = keel("call", "promise", "--timeout", "2s", "--protocol", "legacy", *odd("mute"))
        self.assertEqual(self.ends(done, 0).out, "seven\n")

    def test_a_picture_that_is_none(self):
        self.assertEqual(self.ends(keel("call", "picture", "--protocol", "legacy", *odd()), 0).out,
                         "[image/png, 4 bytes]\n" + 2 * "[image/png, broken: not Base64]\n")

    def test_a_server_that_does_not_say_what_it_speaks(self):
        """Each command waits for that, and the person is told how to save it; a script is not, unless it asks."""
        silent = odd("mute")
        self.assertIn("older protocol: --protocol legacy saves 5 s",
                      self.ends(keel("call", "where", "{}", "--json", "--verbose", *silent), 0).err)
        self.assertEqual(self.ends(keel("call", "where", "--json", *silent), 0).err, "")
        with Terminal("call", "where", "--json", *silent) as t:
            t.expect("older protocol: --protocol legacy saves 5 s")
            self.assertEqual(t.end(), 0)

    def test_j6_nothing_odd_reaches_the_terminal(self):
        """J6: control characters of a server are shown as escapes, wherever they come from."""
        for words, status, named in (
                (("tools",), 0, "Says odd things \\x1b[2J"),
                (("tools", "say"), 0, "\\u202e"),
                (("call", "say", "--verbose"), 0, "text \\x1b[2J"),
                (("call", "nothing"), 3, "no such tool \\x1b[2J"),
                (("ping",), 0, "odd\\x1b[2J"),
                (("call", "progress"), 0, "done"),
        ):
            with self.subTest(words=words):
                done = self.ends(keel(*words, "--protocol", "legacy", *odd()), status)
                self.assertIn(named, done.out + done.err)
                self.is_clean(done.out)
                self.is_clean(done.err)
                with Terminal(*words, "--protocol", "legacy", *odd()) as t:
                    self.assertEqual(t.end(), status)
                    self.is_clean(t.seen)
                    self.assertIn("\\x1b", t.seen)
        done = keel("call", "say", "--verbose", "--protocol", "legacy", *odd())
        self.assertIn("[error] \\x1b[2J", done.err)
        self.assertIn("stderr \\x1b[2J", done.err)

    def test_json_is_as_the_server_gave_it(self):
        done = self.ends(keel("call", "say", "--json", "--protocol", "legacy", *odd()), 0)
        self.assertEqual(done.out.count("\n"), 1)
        result = json.loads(done.out)
        self.assertIn("\x1b[2J\x1b[31mred", result["content"][0]["text"])
        self.assertEqual(result["extra"], {"kept": [1.0, 10000000000000001]})
        self.assertIn("10000000000000001", done.out)

    def test_tables_fit_the_terminal(self):
        """No line is wider than the terminal, however wide its characters."""
        for columns in (40, 80, 133):
            for words in (("tools", "--protocol", "legacy", *odd()), ("tools", *demo()), ("resources", *demo())):
                with self.subTest(columns=columns, words=words), Terminal(*words, columns=columns) as t:
                    self.assertEqual(t.end(), 0)
                    rows = t.seen.replace("\r\n", "\n").splitlines()
                    self.assertGreater(len(rows), 5)
                    self.assertLessEqual(max(map(columns_of, rows)), columns)
        self.assertGreater(len(max(keel("tools", *demo()).out.splitlines(), key=len)), 80)

    def test_names_are_cut_last(self):
        """In a narrow terminal too the names of things can be read, and given to the next command."""
        for words, member, key in (("resources", "resources", "uri"), ("tools", "tools", "name")):
            names = {each[key] for each in json.loads(keel(words, "--json", *demo()).out)[member]}
            for columns in (50, 60, 80):
                with self.subTest(words=words, columns=columns), Terminal(words, *demo(), columns=columns) as t:
                    self.assertEqual(t.end(), 0)
                    rows = t.seen.replace("\r\n", "\n").splitlines()
                    self.assertEqual({row.split()[0] for row in rows[1:]}, names)
                    self.assertLessEqual(max(map(columns_of, rows)), columns)


class Cancelling(CommandTest):
    def start(self, *words):
        process = subprocess.Popen([kp.keel_command(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        watched = Watched(process.pid)

        def end():
            if process.poll() is None:
                watched.kill()
            process.wait()
            watched.close()
            process.stdout.close()
            process.stderr.close()
        self.addCleanup(end)
        return process, watched

    def test_d7_ctrl_c_cancels_the_call(self):
        """D7: SIGINT in the middle of a call: the server is told which call is over, the status is 130."""
        process, watched = self.start("call", "hang", "--protocol", "legacy", *odd("notes=" + self.path("notes")))
        until(lambda: any('"tools/call"' in row for row in self.notes()), "the call to arrive")
        process.send_signal(signal.SIGINT)
        watched.wait_for_end("the command to exit")
        self.assertEqual(process.wait(), 130)
        self.assertEqual((process.stdout.read(), process.stderr.read()), (b"", b"keel: cancelled\n"))
        messages = [json.loads(row) for row in self.notes() if row.startswith("{")]
        asked = [m for m in messages if m["method"] == "tools/call"]
        told = [m for m in messages if m["method"] == "notifications/cancelled"]
        self.assertEqual([m["params"]["requestId"] for m in told], [asked[0]["id"]])
        self.assertEqual(self.notes()[-1], "end")
        proof.spoke(LEGACY[-1])

    def test_over_every_wire(self):
        """SIGINT and SIGTERM in the middle of `call sleep`: the demo's handler ends, and so does the command."""
        with self.every_wire() as wires:
            for wire, where in wires.items():
                if wire == "stdio":
                    continue  # nobody else can look into that server

                def running():
                    return json.loads(json.loads(keel("call", "health", "--json", *where).out)
                                      ["content"][0]["text"])["in_flight"]

                for number in (signal.SIGINT, signal.SIGTERM):
                    with self.subTest(wire=wire, signal=number):
                        until(lambda: running() == 1, "the last call to be gone")
                        process, watched = self.start("call", "sleep", f"ms={HOUR}", *where)
                        until(lambda: running() == 2, "the call to arrive")  # itself and the other
                        process.send_signal(number)
                        watched.wait_for_end("the command to exit")
                        self.assertEqual(process.wait(), 128 + number)
                        until(lambda: running() == 1, "the handler to end")

    def test_while_connecting(self):
        """A server that says nothing: the wait for it can be ended too."""
        process, watched = self.start("ping", "--protocol", "legacy", "--", "sh", "-c",
                                      f"echo there > {self.path('notes')}; while read -r line; do :; done")
        until(lambda: self.notes() == ["there"], "the server to start")
        process.send_signal(signal.SIGINT)
        watched.wait_for_end("the command to exit")
        self.assertEqual(process.wait(), 130)

    def test_the_second_one_ends_it_at_once(self):
        """A child that does not want to go is not waited for after the second SIGINT, and does not stay behind."""
        process, watched = self.start("call", "hang", "--protocol", "legacy",
                                      *odd("stubborn", "notes=" + self.path("notes")))
        until(lambda: any('"tools/call"' in row for row in self.notes()), "the call to arrive")
        child = Watched(int(self.notes()[0].split()[1]))
        try:
            process.send_signal(signal.SIGINT)
            until(lambda: self.notes()[-1] == "end", "the child to see the end of its input")
            process.send_signal(signal.SIGINT)
            watched.wait_for_end("the command to exit")
            self.assertEqual(process.wait(), 130)
            child.wait_for_end("the child to be killed")
        finally:
            child.kill()
            child.close()

    def test_the_second_one_ends_the_whole_group(self):
        """What the child has started is killed too: a script that runs the real server, for instance."""
        process, watched = self.start("call", "hang", "--protocol", "legacy", "--", "sh", "-c",
                                      f"trap '' TERM; exec 3<&0; {sys.executable} {ODD_SERVER} stubborn "
                                      f"notes={self.path('notes')} <&3; echo")
        until(lambda: any('"tools/call"' in row for row in self.notes()), "the call to arrive")
        grandchild = Watched(int(self.notes()[0].split()[1]))
        try:
            process.send_signal(signal.SIGINT)
            until(lambda: self.notes()[-1] == "end", "the server to see the end of its input")
            process.send_signal(signal.SIGINT)
            watched.wait_for_end("the command to exit")
            self.assertEqual(process.wait(), 130)
            grandchild.wait_for_end("the server to be killed")
        finally:
            grandchild.kill()
            grandchild.close()

    def test_in_a_terminal(self):
        """Ctrl-C as a person types it, with the progress bar there."""
        with Terminal("call", "sleep", "ms=4000", *demo()) as t:
            t.expect("[")
            t.expect("10%")
            t.type("\x03")
            t.expect("keel: cancelled")
            self.assertEqual(t.end(), 130)


class InTheTerminal(CommandTest):
    def test_progress(self):
        """A bar on standard error, if that is a terminal, and nothing of it is left."""
        with Terminal("call", "sleep", "ms=200", *demo()) as t:
            t.expect("] 100%")
            t.expect("\r\x1b[K")
            t.expect("slept 200 ms")
            self.assertEqual(t.end(), 0)
        with Terminal("call", "progress", "--protocol", "legacy", *odd(), columns=50) as t:
            line = t.expect("\x1b[K")
            self.assertLess(columns_of(line.strip("\r")), 50)
            self.assertIn("25%", line)
            self.assertEqual(t.end(), 0)
        self.assertEqual(keel("call", "sleep", "ms=20", *demo()).err, "")

    def booked(self, version, answers, status=0):
        with Terminal("call", "book_trip", "--protocol", version, *demo()) as t:
            for question, text in answers:
                t.answer(question, text)
            self.assertEqual(t.end(), status)
            proof.spoke(version)
            return t.seen

    def test_a_conversation(self):
        """ELI-06, ELI-18: who asks is shown, fields with their defaults, wrong values refused, all of it reviewed."""
        for version in ("2025-06-18", "2025-11-25", MODERN):
            with self.subTest(version=version):
                # The two questions of the second round may come in either order.
                with Terminal("call", "book_trip", "--protocol", version, *demo()) as t:
                    t.expect("keel-demo (")
                    t.answer("city (Where to)", "x")
                    t.expect("expected at least 2 characters")
                    t.answer("city (Where to)", "Lima")
                    t.answer("days (How long)", "99")
                    t.expect("expected at most 30")
                    t.answer("days (How long)", "many")
                    t.expect("not a number: many")
                    t.answer("days (How long)", "")
                    t.expect("This is needed")
                    t.answer("days (How long)", "4")
                    t.expect("city: Lima")
                    t.expect("days: 4")
                    t.answer("Send this?", "maybe")
                    t.answer("Send this?", "e")
                    t.answer("[Lima]", "")
                    t.answer("[4]", "5")
                    t.answer("Send this?", "yes")
                    for _ in range(2):
                        while not (found := re.search(r"Which room\?|Who travels\?", t.seen[t.at:])):
                            t._more("the next question")
                        t.expect(found.group(0))
                        if "room" in found.group(0):
                            t.answer("2  twin", "2")
                            t.answer("sea_view", "y")
                        else:
                            t.answer("name", "Ada")
                            t.answer("email", "nonsense")
                            t.answer("email", "")
                            t.expect("(left out)")
                        t.answer("Send this?", "y")
                    t.expect("Ada goes to Lima for 5 days, twin room with a view of the sea. Book it?")
                    t.answer("Book it?)", "no")
                    t.answer("Send this?", "y")
                    t.expect("not booked")
                    self.assertEqual(t.end(), 0)
                proof.spoke(version)

    def test_declining_and_cancelling(self):
        """ELI-06: both are offered everywhere."""
        for version in ("2025-06-18", "2025-11-25", MODERN):
            with self.subTest(version=version):
                self.assertIn("no trip: declined", self.booked(version, [("city", ":d")]))
                self.assertIn("no trip: cancelled", self.booked(version, [("city", ":c")]))
                filled = [("city", "Lima"), ("days", "3")]
                self.assertIn("no trip: declined", self.booked(version, [*filled, ("Send this?", "d")]))
                self.assertIn("no trip: cancelled", self.booked(version, [*filled, ("Send this?", "c")]))
        with Terminal("call", "book_trip", *demo()) as t:
            t.expect("city")
            t.type("\x04")  # Ctrl-D
            t.expect("no trip: cancelled")
            self.assertEqual(t.end(), 0)
        with Terminal("call", "book_trip", *demo()) as t:
            t.expect("city")
            t.type("\x03")  # Ctrl-C is for the whole call
            t.expect("keel: cancelled")
            self.assertEqual(t.end(), 130)

    def test_every_kind_of_field(self):
        """ELI-18: what is sent fits the form, with its defaults."""
        with Terminal("call", "form", "--protocol", "2025-11-25", *odd()) as t:
            t.expect("odd\\x1b[2J")  # the server's name, harmless
            t.answer("Your name", "::A")
            t.answer("mail", "no mail")
            t.answer("mail", "a@example.com")
            t.expect("2  l  Large")
            t.answer("[l]", "Small")
            t.answer("3  blue", "")
            t.answer("This is needed", "1, purple")
            t.answer("not one of the choices: purple", "1, blue")
            t.answer("count", "10")
            t.answer("count", "")
            t.answer("sure", "perhaps")
            t.answer("sure", "Yes")
            t.answer("Send this?", "y")
            self.assertEqual(t.end(), 0)
            self.is_clean(t.seen)
            told = json.loads(t.seen[t.at:].partition(": ")[2])
            self.assertEqual(told, {"action": "accept", "content": {
                "name": ":A", "mail": "a@example.com", "size": "s", "colours": ["red", "blue"], "count": 3,
                "sure": True}})

    def opened(self, which, *answers, by="{}"):
        browser = self.path("browser")
        Path(browser).write_text(f'#!/bin/sh\necho "$@" > {self.path("part")}; mv {self.path("part")} {self.path("seen")}\n')
        os.chmod(browser, 0o755)
        with Terminal("call", "url", f"which={which}", "--protocol", "2025-11-25", *odd(), 
                      env={"BROWSER": by.format(browser)}) as t:
            for question, text in answers:
                t.answer(question, text)
            self.assertEqual(t.end(), 0)
            self.is_clean(t.seen)
            return t.seen

    def test_an_address_is_opened_only_by_consent(self):
        """ELI-06, ELI-07, ELI-08: the whole address is shown, and opened by the browser when the person says so."""
        for word, action in (("d", "decline"), ("c", "cancel"), ("m", "accept")):
            seen = self.opened("good", ("Open it?", word))
            self.assertIn(f'"action": "{action}"', seen)
            self.assertIn("https://example.com/handbook", without_own_colours(seen))
            self.assertEqual(self.notes("seen"), [], word)
        self.opened("good", ("Open it?", ""), ("Open it?", "x"), ("Open it?", "o"))
        until(lambda: self.notes("seen"), "the browser")
        self.assertEqual(self.notes("seen"), ["https://example.com/handbook"])
        proof.spoke("2025-11-25")
        with Terminal("call", "open_page", "--protocol", MODERN, *demo()) as t:
            t.expect("keel-demo")
            t.answer("Open it?", "d")
            t.expect("not opened: declined")
            self.assertEqual(t.end(), 0)
        proof.spoke(MODERN)

    def test_only_an_answer_is_an_answer(self):
        """A word that only begins like one of the answers is asked about again, and opens nothing."""
        for word in ("only if it is safe", "maybe", "oops", "declined", "y n"):
            seen = self.opened("good", ("Open it?", word), ("Please type one of these words", ""), ("Open it?", "NO"))
            self.assertIn('"action": "decline"', seen)
            self.assertEqual(self.notes("seen"), [], word)
        self.assertIn('"action": "accept"', self.opened("good", ("Open it?", "Yes")))
        until(lambda: self.notes("seen"), "the browser")

    def test_the_browser_of_the_person(self):
        """BROWSER may hold arguments, a place for the address, and others to try; one that fails is told."""
        page = "https://example.com/handbook"
        for by, seen in (("{} --new  window", f"--new window {page}"), ("{} --at=%s now", f"--at={page} now"),
                         ("/no/such/browser:false:{}", page)):
            with self.subTest(by=by):
                self.opened("good", ("Open it?", "open"), by=by)
                until(lambda: self.notes("seen"), "the browser")
                self.assertEqual(self.notes("seen"), [seen])
                os.unlink(self.path("seen"))
        told = self.opened("good", ("Open it?", "o"), ("Open it?", "m"), by="/no/such/browser:false")
        self.assertIn("/no/such/browser cannot be started", told)
        self.assertIn("false failed with status 1", " ".join(told.split()))
        self.assertIn('"action": "accept"', told)

    def test_the_browser_stays(self):
        """A second signal kills the server, but not what the person has opened."""
        Path(self.path("browser")).write_text(f'#!/bin/sh\necho $$ > {self.path("part")}\n'
                                              f'mv {self.path("part")} {self.path("seen")}\nexec tail -f /dev/null\n')
        os.chmod(self.path("browser"), 0o755)
        with Terminal("call", "url", "which=good", "--protocol", "2025-11-25",
                      *odd("keeps", "stubborn", "notes=" + self.path("notes")),
                      env={"BROWSER": self.path("browser")}) as t:
            t.answer("Open it?", "o")
            until(lambda: self.notes("seen"), "the browser")
            with contextlib.ExitStack() as stack:
                browser, server = (Watched(int(pid)) for pid in (self.notes("seen")[0], self.notes()[0].split()[1]))
                for each in (browser, server):
                    stack.callback(each.close)
                    stack.callback(each.kill)
                until(lambda: any('"accept"' in row for row in self.notes()), "the answer")
                t.process.send_signal(signal.SIGINT)
                t.process.send_signal(signal.SIGTERM)
                self.assertEqual(t.end(), 143)
                server.wait_for_end("the server to be killed")
                poller = select.poll()
                poller.register(browser.pidfd, select.POLLIN)
                self.assertEqual(poller.poll(0), [], "the browser was killed")

    def test_a_question_is_shown_again_after_a_stop(self):
        """Ctrl-Z and fg: what the shell writes hides the question."""
        with Terminal("call", "form", "--protocol", "2025-11-25", *odd()) as t:
            t.expect("Your name")
            os.kill(t.process.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, t.process.pid, os.WSTOPPED)
            os.kill(t.process.pid, signal.SIGCONT)
            t.answer("Your name", "Ada")
            t.answer("mail", ":c")
            self.assertEqual(t.end(), 0)

    def test_what_explains_a_question_keeps_its_indent(self):
        for columns in (40, 80):
            with Terminal("call", "form", "--protocol", "2025-11-25", *odd(), columns=columns) as t:
                t.expect("\n  Enter")
                hint = ("  Enter" + t.expect("cancels.") + "cancels.").replace("\r\n", "\n").splitlines()
                self.assertGreater(len(hint), 1)
                for row in hint:
                    self.assertRegex(row, "^  [^ ]")
                    self.assertLess(columns_of(row), columns)
                t.answer("Your name", ":c")
                self.assertEqual(t.end(), 0)

    def test_addresses_that_deceive(self):
        """ELI-19: the domain stands out, Punycode is warned of, and so are other tricks."""
        seen = self.opened("punycode", ("Open it?", "d"))
        self.assertIn("https://\x1b[1mxn--pple-43d.example\x1b[0m/login?next=/a", seen)
        self.assertIn("Punycode", seen)
        seen = self.opened("user", ("Open it?", "d"))
        self.assertIn("@\x1b[1mevil.example\x1b[0m/", seen)
        self.assertIn("before the @", seen)
        self.assertIn("not encrypted", self.opened("plain", ("Open it?", "d")))
        for which in ("odd", "file"):  # these are not opened, whatever anyone says
            seen = self.opened(which)
            self.assertIn("This is declined", seen)
            self.assertIn('"action": "decline"', seen)
        self.assertEqual(self.notes("seen"), [])
        proof.spoke("2025-11-25")

    def test_nobody_to_ask(self):
        """ELI-01: without a terminal, or with --no-input, the server is not told that somebody could be asked."""
        for version in ("2025-11-25", MODERN):
            done = keel("call", "book_trip", "--protocol", version, *demo())
            self.assertIn(done.returncode, (1, 3), done.err)
            with Terminal("call", "book_trip", "--no-input", "--protocol", version, *demo()) as t:
                self.assertIn(t.end(), (1, 3))
                self.assertNotIn("asks:", t.seen)
            with Terminal("call", "summarize", "text=x", "--protocol", version, *demo()) as t:
                self.assertIn(t.end(), (1, 3))  # sampling is not offered
            proof.spoke(version)

    def test_answers_come_from_the_terminal(self):
        """Standard input may be used for something else: questions are asked all the same."""
        Path(self.path("arguments")).write_text("{}")
        with open(self.path("arguments")) as arguments, Terminal("call", "book_trip", "-", *demo(), stdin=arguments) as t:
            t.answer("city", ":d")
            t.expect("no trip: declined")
            self.assertEqual(t.end(), 0)
        with Terminal("call", "echo", "-", *demo()) as t:
            t.type('{"text": "typed"}\n\x04')
            t.expect("typed")
            self.assertEqual(t.end(), 0)

    def test_what_is_said_while_somebody_is_asked_comes_later(self):
        os.mkfifo(self.path("gate"))
        with Terminal("call", "form", "--protocol", "2025-11-25",
                      *odd("gate=" + self.path("gate"), "notes=" + self.path("notes"))) as t:
            t.expect("Your name")
            Path(self.path("gate")).write_text("go")
            until(lambda: any('"p1"' in row for row in self.notes()), "the message to be heard")
            t.type("Ada\n")
            self.assertNotIn("told meanwhile", t.expect("mail"))
            t.type(":c\n")
            t.expect("told meanwhile")
            self.assertEqual(t.end(), 0)


if __name__ == "__main__":
    kp.main()
