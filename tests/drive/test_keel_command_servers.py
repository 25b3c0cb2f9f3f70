#!/usr/bin/env python3
"""`keel` against servers that fail or send invalid, malicious or very wide output."""

import json
import os
from pathlib import Path

import keel_process as kp
import proof
from keel_command import CommandTest, Terminal, columns_of, demo, keel, odd
from keel_process import LEGACY


class BadServers(CommandTest):
    def test_d1_server_process_exits(self):
        """D1: if the server process exits, keel prints its exit status and last output, and exits with status 4."""
        done = self.ends(keel("call", "hang", "--protocol", "legacy", *odd("dies")), 4)
        self.assertEqual(done.out, "")
        self.assertIn("status 3", done.err)
        self.assertIn("the reason", done.err)
        self.is_clean(done.err)
        proof.spoke(LEGACY[-1])

    def test_server_sends_invalid_results(self):
        done = self.ends(keel("tools", "--protocol", "legacy", *odd("garbage")), 4)
        self.assertEqual(done.out, "")
        self.assertTrue(done.err)

    def test_program_is_not_an_mcp_server(self):
        """Status 4, with the number of invalid lines and the first of them."""
        banner = "printf 'Welcome!\\n\033[2Jhelp\\n{}\\n'; while read -r line; do :; done"
        for mode in ("auto", "legacy"):
            with self.subTest(mode=mode):
                done = keel("tools", "--protocol", mode, "--connect-timeout", "3s", "--", "sh", "-c", banner)
                self.ends(done, 4)
                self.assertEqual(done.out, "")
                self.assertIn("is not an MCP server: it wrote 3 lines that are not MCP messages, the first: Welcome!", done.err)
                self.is_clean(done.err)
        self.assertIn("echo exited with status 0", self.ends(keel("tools", "--", "echo", "hello"), 4).err)
        flood = "yes | head -5000; while read -r line; do :; done"
        done = self.ends(keel("tools", "--connect-timeout", "3s", "--", "sh", "-c", flood), 4)
        self.assertIn("it wrote at least 10 lines", done.err)

    def test_program_writes_a_line_and_exits(self):
        """Status 4, with the exit status of the program and the error of its line."""
        os.mkfifo(self.path("gate"))
        with Terminal("tools", "--verbose", "--protocol", "legacy", "--", "sh", "-c",
                      f"echo hello; read -r line < {self.path('gate')}; exit 6") as t:
            t.expect("invalid JSON")
            Path(self.path("gate")).write_text("go\n")
            t.expect("sh exited with status 6; before that it wrote a line that is not an MCP message: ")
            self.assertEqual(t.end(), 4)

    def test_program_echoes_its_input(self):
        for mode, said in (("auto", "cat is not an MCP server: it echoes its input"),
                           ("legacy", "cat is not an MCP server: ")):
            done = self.ends(keel("tools", "--protocol", mode, "--", "cat"), 4)
            self.assertIn(said, done.err)
            self.assertEqual(done.out, "")

    def test_unsupported_feature(self):
        """Status 3, whether the client or the server detects it."""
        for version in LEGACY:
            for words in (("prompts",), ("prompt", "x"), ("resources",), ("read", "x:y")):
                with self.subTest(version=version, words=words):
                    self.ends(keel(*words, "--protocol", version, *odd()), 3)
                    done = self.ends(keel(*words, "--json", "--protocol", version, *odd()), 3)
                    self.assertEqual(json.loads(done.out)["error"]["code"], -32601)

    def test_result_does_not_match_output_schema(self):
        """The result is checked however the arguments are given, unless the server cannot list its tools."""
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

    def test_invalid_base64(self):
        self.assertEqual(self.ends(keel("call", "picture", "--protocol", "legacy", *odd()), 0).out,
                         "[image/png, 4 bytes]\n" + 2 * "[image/png, invalid Base64]\n")

    def test_server_ignores_the_version_probe(self):
        """In a terminal or with --verbose, keel says how to avoid the probe timeout; in a script it does not."""
        silent = odd("mute")
        self.assertIn("version probe; --protocol legacy saves 5 s",
                      self.ends(keel("call", "where", "{}", "--json", "--verbose", *silent), 0).err)
        self.assertEqual(self.ends(keel("call", "where", "--json", *silent), 0).err, "")
        with Terminal("call", "where", "--json", *silent) as t:
            t.expect("version probe; --protocol legacy saves 5 s")
            self.assertEqual(t.end(), 0)

    def test_j6_control_characters_are_escaped(self):
        """J6: control characters from a server are shown as escapes, whichever field they are in."""
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

    def test_json_output_is_unchanged(self):
        done = self.ends(keel("call", "say", "--json", "--protocol", "legacy", *odd()), 0)
        self.assertEqual(done.out.count("\n"), 1)
        result = json.loads(done.out)
        self.assertIn("\x1b[2J\x1b[31mred", result["content"][0]["text"])
        self.assertEqual(result["extra"], {"kept": [1.0, 10000000000000001]})
        self.assertIn("10000000000000001", done.out)

    def test_tables_fit_the_terminal(self):
        """No line is wider than the terminal, even with wide characters."""
        for columns in (40, 80, 133):
            for words in (("tools", "--protocol", "legacy", *odd()), ("tools", *demo()), ("resources", *demo())):
                with self.subTest(columns=columns, words=words), Terminal(*words, columns=columns) as t:
                    self.assertEqual(t.end(), 0)
                    rows = t.seen.replace("\r\n", "\n").splitlines()
                    self.assertGreater(len(rows), 5)
                    self.assertLessEqual(max(map(columns_of, rows)), columns)
        self.assertGreater(len(max(keel("tools", *demo()).out.splitlines(), key=len)), 80)

    def test_names_are_cut_last(self):
        """Even in a narrow terminal names are shown in full, so that they can be used in the next command."""
        for words, member, key in (("resources", "resources", "uri"), ("tools", "tools", "name")):
            names = {each[key] for each in json.loads(keel(words, "--json", *demo()).out)[member]}
            for columns in (50, 60, 80):
                with self.subTest(words=words, columns=columns), Terminal(words, *demo(), columns=columns) as t:
                    self.assertEqual(t.end(), 0)
                    rows = t.seen.replace("\r\n", "\n").splitlines()
                    self.assertEqual({row.split()[0] for row in rows[1:]}, names)
                    self.assertLessEqual(max(map(columns_of, rows)), columns)


if __name__ == "__main__":
    kp.main()
