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

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as s:
            thread = threading.Thread(target=s.serve_forever)
            thread.start()
            done = keel("ping", "--url", f"http://127.0.0.1:{s.server_port}/mcp", "--header", "X-One: a: b",
                        "--header=Authorization: Bearer x")
            s.shutdown()
            thread.join()
        self.assertIn(done.returncode, (3, 4), done.err)
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
        ):
            with self.subTest(words=words):
                done = self.ends(keel(*words), 2)
                self.assertEqual(done.out, "")
                self.assertIn(named, done.err)
        self.assertEqual(self.notes(), [])

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
        """A child that does not want to go is not waited for after the second SIGINT."""
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
            poller = select.poll()
            poller.register(child.pidfd, select.POLLIN)
            self.assertEqual(poller.poll(0), [], "the child was waited for")
        finally:
            child.kill()
            child.close()

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

    def opened(self, which, *answers):
        browser = self.path("browser")
        Path(browser).write_text(f'#!/bin/sh\necho "$@" > {self.path("part")}; mv {self.path("part")} {self.path("seen")}\n')
        os.chmod(browser, 0o755)
        with Terminal("call", "url", f"which={which}", "--protocol", "2025-11-25", *odd(), env={"BROWSER": browser}) as t:
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
