#!/usr/bin/env python3
"""The completion scripts in bash, zsh and fish, and the man pages in groff: all generated from the tables of the command."""

import fcntl
import json
import os
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import unittest
from pathlib import Path

import keel_process as kp
from keel_command import COMMANDS, ODD_SERVER, CommandTest, keel

BIN = str(Path(kp.keel_command()).parent)


class CompletionTest(CommandTest):
    """Has a home directory with two servers, and a project with one."""

    def setUp(self):
        super().setUp()
        self.home = Path(self.path("home"))
        self.project = self.home / "project"
        (self.project / "folder").mkdir(parents=True)
        (self.project / "file.txt").write_text("")
        server = {"command": sys.executable, "args": [ODD_SERVER]}
        (self.home / ".claude.json").write_text(json.dumps({"mcpServers": {"odd": server, "other": server}}))
        noting = {"command": sys.executable, "args": [ODD_SERVER, "notes=" + self.path("notes")]}
        (self.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"mine": noting}}))
        self.environment = {**os.environ, "HOME": str(self.home), "PATH": BIN + ":" + os.environ["PATH"], "TERM": "dumb",
                            "XDG_CONFIG_HOME": self.path("config"), "XDG_DATA_HOME": self.path("data")}

    def candidates(self, line):
        done = keel("__complete", line, cwd=self.project, env=self.environment)
        return [tuple(row.split("\t")[:2]) for row in self.ends(done, 0).out.splitlines()[1:]]


class Candidates(CompletionTest):
    def test_candidates(self):
        for line, expected in (
                ("keel pin", [("word", "ping")]),
                ("keel tools o", [("word", "odd"), ("word", "other")]),
                ("keel call od", [("part", "odd.")]),
                ("keel call odd.str", [("word", "odd.strict"), ("word", "odd.structured")]),
                ("keel call odd.strict p", [("part", "path=")]),
                ("keel call odd.strict path=x mode=", [("word", "mode=fast"), ("word", "mode=safe")]),
                ("keel tools odd.str", [("word", "odd.strict"), ("word", "odd.structured")]),
                ("keel tools --cw", [("word", "--cwd")]),
                ("keel tools --cwd ", [("directories", "")]),
                ("keel tools nobody.", []),
        ):
            with self.subTest(line=line):
                self.assertEqual(self.candidates(line), expected)

    def test_project_server_is_not_started(self):
        """Completion does not start programs that a file of the project names."""
        self.assertEqual(self.candidates("keel tools mi"), [("word", "mine")])
        self.assertEqual(self.candidates("keel call mine.str"), [])
        self.assertEqual(self.notes(), [])


class Shell(CompletionTest):
    """A shell in a pseudo-terminal."""

    def start(self, *command, ready):
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=self.project, env=self.environment,
                                   start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.addCleanup(os.close, self.master)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.seen = ""
        self.type(ready)

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, pattern):
        """Reads until the pattern matches. Removes escape sequences."""
        poller = select.poll()
        poller.register(self.master, select.POLLIN)
        while not (found := re.search(pattern, self.seen)):
            if not poller.poll(kp.SECONDS_TO_HANG * 1000):
                self.fail(f"waited for {pattern!r}: {self.seen!r}")
            self.seen += os.read(self.master, 65536).decode(errors="replace")
            self.seen = re.sub("\x1b\\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07", "", self.seen)
        self.seen = self.seen[found.end():]
        return found

    def completes(self, typed, line):
        """Types a text and a tab, and waits for the completed text."""
        self.type(typed + "\t")
        self.expect(re.escape(line))
        self.type("\x15")  # clear the line


class Bash(Shell):
    def test_completion(self):
        Path(self.path("bashrc")).write_text(
            "PS1='ready> '\nbind 'set bell-style none'\nbind 'set enable-bracketed-paste off'\n" + keel("completion", "bash").out)
        self.start("bash", "--noprofile", "--rcfile", self.path("bashrc"), "-i", ready="")
        self.expect("ready> ")
        self.completes("keel pin", "keel ping ")
        self.completes("keel call od", "keel call odd.")
        self.completes("keel call odd.stri", "keel call odd.strict ")
        self.completes("keel call odd.strict pa", "path=")
        self.completes("keel call odd.strict mode=f", "mode=fast ")
        self.completes("keel tools --cwd fol", "--cwd folder/")
        self.completes("keel tools --config fil", "--config file.txt ")
        self.completes("keel read --url http://127.0.0.1:1/ --js", "--json ")


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class Zsh(Shell):
    def test_completion(self):
        functions = Path(self.path("functions"))
        functions.mkdir()
        (functions / "_keel").write_text(keel("completion", "zsh").out)
        Path(self.path(".zshrc")).write_text(
            f"PROMPT='ready> '\nfpath=({functions} $fpath)\nautoload -U compinit\ncompinit -u -D\n"
            "unsetopt prompt_sp\nunset zle_bracketed_paste\n")
        self.environment.update(ZDOTDIR=self.folder, TERM="xterm")
        self.start("zsh", "-i", ready="")
        self.expect("ready> ")
        self.completes("keel pin", "keel ping ")
        self.completes("keel call od", "keel call odd.")
        self.completes("keel call odd.stri", "keel call odd.strict ")
        self.completes("keel call odd.strict pa", "path=")
        self.completes("keel call odd.strict mode=f", "mode=fast ")


@unittest.skipUnless(shutil.which("fish"), "fish is not installed")
class Fish(CompletionTest):
    def complete(self, line):
        script = keel("completion", "fish").out + "\ncomplete -C " + "'" + line + "'"
        done = subprocess.run(["fish", "--no-config", "-c", script], cwd=self.project, env=self.environment, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=kp.SECONDS_TO_HANG)
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    def test_completion(self):
        self.assertEqual(self.complete("keel pin"), ["ping"])
        self.assertEqual(self.complete("keel call od"), ["odd."])
        self.assertEqual(self.complete("keel call odd.stri"), ["odd.strict"])
        self.assertEqual(self.complete("keel call odd.strict pa"), ["path="])
        self.assertEqual(self.complete("keel call odd.strict mode=f"), ["mode=fast"])
        self.assertEqual(self.complete("keel tools --cwd fol"), ["folder/"])


class ManPages(CommandTest):
    def test_man_pages(self):
        """Each command has a page with all of its options, and groff has no warnings."""
        folder = Path(self.path("generated"))
        self.ends(keel("__generate", str(folder)), 0)
        pages = sorted(page.name for page in (folder / "man").iterdir())
        self.assertEqual(pages, sorted(["keel.1"] + [f"keel-{name}.1" for name in (*COMMANDS, "shell", "servers", "completion")]))
        for page in pages:
            with self.subTest(page=page):
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-c", str(folder / "man" / page)],
                                      capture_output=True, timeout=kp.SECONDS_TO_HANG)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                text = re.sub(".\b", "", done.stdout.decode()).replace("\u2212", "-").replace("\u2010", "-")
                command = page.removesuffix(".1").removeprefix("keel").removeprefix("-")
                help_text = keel(*filter(None, (command, "--help"))).out
                for word in set(re.findall(r"^ +(?:-h, )?(--[a-z-]+|[a-z]+)(?: |$)", help_text, re.MULTILINE)):
                    if word.startswith("--") or command == "":
                        self.assertIn(word, text)
        for name, path in (("bash", "bash/keel"), ("zsh", "zsh/_keel"), ("fish", "fish/keel.fish")):
            self.assertEqual((folder / path).read_text(), keel("completion", name).out)


if __name__ == "__main__":
    kp.main()
