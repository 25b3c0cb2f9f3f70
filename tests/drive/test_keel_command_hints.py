#!/usr/bin/env python3
"""Help for the user of the `keel` command: suggestions, checked arguments, readable schemas, --edit, colors."""

import http.server
import json
import os
from pathlib import Path

import keel_process as kp
from keel_command import CommandTest, Terminal, demo, keel, odd, serving


class Suggestions(CommandTest):
    def test_did_you_mean(self):
        for words, status, said in (
                (("tols", *demo()), 2, "unknown command: tols; did you mean tools?"),
                (("--json", "tols", *demo()), 2, "unknown command: tols; did you mean tools?"),
                (("tools", "--jsno", *demo()), 2, "unknown option: --jsno; did you mean --json?"),
                (("tools", "ehco", *demo()), 3, "unknown tool: ehco; did you mean echo?"),
                (("tools", "ehco", "--json", *demo()), 3, "unknown tool: ehco; did you mean echo?"),
                (("call", "ehco", "text=x", *demo()), 3, "; did you mean echo?"),
                (("call", "ehco", *demo()), 3, "; did you mean echo?"),
                (("call", "echo", "txet=x", *demo()), 2, "unknown argument txet; known arguments: text; did you mean text?"),
        ):
            with self.subTest(words=words):
                done = self.ends(keel(*words), status)
                self.assertEqual(done.out, "")
                self.assertIn(said, done.err)
        self.assertNotIn("did you mean", keel("xyzxyz", *demo()).err)

    def test_unknown_arguments(self):
        """Unknown arguments are refused before they are sent, however they are given."""
        for words in (("path=x", "nope=1"), ("path=x", "nope:=1"), ('{"path": "x", "nope": 1}',), ("-",),
                      ("--json", '{"path": "x", "nope": 1}')):
            with self.subTest(words=words):
                notes = "notes" + "".join(filter(str.isalnum, "".join(words)))
                done = keel("call", "strict", *words, "--protocol", "legacy", *odd("notes=" + self.path(notes)),
                            data=b'{"path": "x", "nope": 1}')
                self.ends(done, 2)
                self.assertIn("unknown argument nope; known arguments: path, tags, mode, edits", done.err)
                self.assertNotIn("tools/call", "".join(self.notes(notes)))
        done = keel("call", "where", "nope=1", "--protocol", "legacy", *odd())
        self.assertIn("the tool takes no arguments", self.ends(done, 2).err)

    def test_repeated_argument_is_a_list(self):
        done = keel("call", "strict", "path=x", "tags=a", "tags=b c", "--protocol", "legacy", *odd())
        self.assertEqual(json.loads(self.ends(done, 0).out), {"path": "x", "tags": ["a", "b c"]})
        done = keel("call", "strict", "tags=a", "--protocol", "legacy", *odd())
        self.assertEqual(json.loads(self.ends(done, 0).out), {"tags": ["a"]})

    def test_internal_error_of_a_program(self):
        """An internal error of a program points to --verbose, which shows the standard error."""
        done = self.ends(keel("call", "broken", "--protocol", "legacy", *odd()), 3)
        self.assertIn("Internal error (-32603); --verbose shows the standard error of the server", done.err)
        done = self.ends(keel("call", "broken", "--verbose", "--protocol", "legacy", *odd()), 3)
        self.assertIn("the cause", done.err)
        self.assertNotIn("--verbose", done.err)

    def test_authentication(self):
        """A 401 names --header and what to do, also after the connection was set up."""
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_):
                pass

        with serving(Handler) as port:
            where = f"http://127.0.0.1:{port}/mcp"
            done = self.ends(keel("tools", where), 3)
        self.assertEqual(done.err, f"keel: {where} refused the request: HTTP 401 Unauthorized; the server requires "
                                   "authentication: get a token or API key for it and add --header 'Authorization: Bearer "
                                   "TOKEN'\n")


class Schemas(CommandTest):
    def test_whole_schema(self):
        done = self.ends(keel("tools", "strict", "--protocol", "legacy", *odd()), 0)
        self.assertEqual(done.out.split("\n\n", 2)[2],
                         "Arguments:\n"
                         "  path (required): string, at least 1 character\n"
                         "      a file\n"
                         "  tags: list of string, at most 3 items\n"
                         '  mode: one of "fast", "safe", default "safe"\n'
                         "  edits: list of object\n"
                         "      line: integer, >= 1\n")
        self.assertIn("\nResult:\n", self.ends(keel("tools", "weather", *demo()), 0).out)
        self.assertIn("No arguments.", self.ends(keel("tools", "hang", "--protocol", "legacy", *odd()), 0).out)


class Editor(CommandTest):
    def editor(self, script):
        path = Path(self.path("editor"))
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return {**os.environ, "EDITOR": f"{path} --flag", "VISUAL": "", "TMPDIR": self.folder}

    def test_edit(self):
        """--edit opens a template with the given arguments, and calls the tool with the edited ones."""
        env = self.editor(f'test "$1" = --flag && cp "$2" {self.path("seen")} && sed -i "s/old/new/" "$2"\n')
        done = keel("call", "strict", "path=old", "--edit", "--protocol", "legacy", *odd(), env=env)
        self.assertEqual(json.loads(self.ends(done, 0).out), {"path": "new"})
        seen = Path(self.path("seen")).read_text()
        self.assertIn('"path": "old"', seen)
        self.assertIn('// "mode": "safe"', seen)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("keel-")], [])

    def test_editor_fails(self):
        notes = self.path("notes")
        run = ("call", "strict", "--edit", "--protocol", "legacy", *odd("notes=" + notes))
        done = self.ends(keel(*run, env=self.editor("exit 1\n")), 2)
        self.assertIn("the editor failed", done.err)
        done = self.ends(keel(*run, env=self.editor('echo "{oops" > "$2"\n')), 2)
        self.assertIn(".jsonc:1:2: invalid JSON", done.err)
        kept = [name for name in os.listdir(self.folder) if name.startswith("keel-")]
        self.assertEqual(len(kept), 1)
        self.assertIn(kept[0], done.err)
        done = self.ends(keel(*run, env=self.editor('echo "{\\"nope\\": 1}" > "$2"\n')), 2)
        self.assertIn("unknown argument nope", done.err)
        self.assertNotIn("tools/call", Path(notes).read_text())


class Colors(CommandTest):
    WORDS = ("call", "structured", "--protocol", "legacy", *odd())

    def test_structured_result_in_a_terminal(self):
        """In a terminal, structured content is indented and colored; NO_COLOR turns the colors off."""
        os.environ.pop("NO_COLOR", None)
        with Terminal(*self.WORDS) as t:
            self.assertEqual(t.end(), 0)
            self.assertIn('\x1b[34m"n"\x1b[0m: \x1b[36m1\x1b[0m,\r\n', t.seen)
            self.is_clean(t.seen)
        with Terminal(*self.WORDS, env={"NO_COLOR": "1"}) as t:
            self.assertEqual(t.end(), 0)
            self.assertIn('{\r\n  "n": 1,\r\n', t.seen)
            self.assertNotIn("\x1b[3", t.seen)
        with Terminal(*self.WORDS, env={"TERM": "dumb"}) as t:
            self.assertEqual(t.end(), 0)
            self.assertNotIn("\x1b[3", t.seen)
        with Terminal(*self.WORDS, env={"NO_COLOR": ""}) as t:
            self.assertEqual(t.end(), 0)
            self.assertIn('\x1b[34m"n"', t.seen)

    def test_structured_result_in_a_pipe(self):
        """In a pipe the text is written as the server sent it."""
        self.assertTrue(self.ends(keel(*self.WORDS), 0).out.startswith('{"n": 1, "text": "'))


if __name__ == "__main__":
    kp.main()
