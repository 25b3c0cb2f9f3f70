#!/usr/bin/env python3
"""Tests of the conformance client that the official suite does not have: it loads valid skills, rejects others with the
reason, and exits with an error for an unknown scenario or server.

KEEL_BIN is the folder of the programs (default build/release/bin).
"""

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(os.environ.get("KEEL_BIN", ROOT / "build" / "release" / "bin")).resolve() / "conformance-client"
MODERN = "2026-07-28"
SKILLS = "io.modelcontextprotocol/skills"
HANGS_AFTER = 90  # seconds; after this time a test hangs

MAIN, FORMS = "skill://pdf/SKILL.md", "skill://pdf/references/FORMS.md"
FRONT_MATTER = {"name": "pdf", "description": "It's: about #1 PDFs", "metadata": {"version": "1.0", "pages": 3, "ok": True}}
MAIN_TEXT = """---
name: pdf  # as its folder
description: 'It''s: about #1 PDFs'
metadata:
  version: "1.0"
  pages: 3

  ok: true
---
Fill in the form.
"""
FORMS_TEXT = "Nothing — so far.\n"


def promise(uri, text):
    data = text.encode()
    return {"uri": uri, "digest": "sha256:" + hashlib.sha256(data).hexdigest(), "size": len(data)}


class Server:
    """A server of revision 2026-07-28 with one skill. `files` is its content, `pages` its lists."""

    def __init__(self):
        self.files = {MAIN: {"text": MAIN_TEXT}, FORMS: {"text": FORMS_TEXT}}
        self.skill = {"uri": MAIN, "frontmatter": FRONT_MATTER,
                      "resources": [promise(FORMS, FORMS_TEXT), promise(MAIN, MAIN_TEXT)]}
        self.extensions = {SKILLS: {}}
        self.asked = []  # (method, uri)
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": owner.answer(message)}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/mcp"
        self.thread = threading.Thread(target=self.http.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def answer(self, message):
        method, params = message["method"], message.get("params", {})
        self.asked.append((method, params.get("uri")))
        done = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        if method == "server/discover":
            return done | {"supportedVersions": [MODERN],
                           "capabilities": {"resources": {}, "extensions": self.extensions},
                           "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "skills", "version": "1"}}}
        if method == "skills/list":  # the skill is on the second page
            if "cursor" not in params:
                return done | {"skills": [], "nextCursor": "more"}
            return done | {"skills": [self.skill]}
        return done | {"contents": [{"uri": params["uri"]} | self.files[params["uri"]]]}

    def reads(self):
        return [uri for method, uri in self.asked if method == "resources/read"]


def play(url, scenario, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MCP_CONFORMANCE_")}
    if scenario is not None:
        clean["MCP_CONFORMANCE_SCENARIO"] = scenario
    return subprocess.run([PROGRAM, *([url] if url else [])], env=clean | environment, capture_output=True, text=True,
                          timeout=HANGS_AFTER)


class Skills(unittest.TestCase):
    def load(self, change=lambda server: None):
        """The last output line of the program, and the files it has read."""
        with Server() as server:
            change(server)
            ended = play(server.url, "sep-2640-client-verify-digest", MCP_CONFORMANCE_PROTOCOL_VERSION=MODERN)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))
            return ended.stdout.splitlines()[-1], server.reads()

    def refused(self, change, because, reads):
        said, seen = self.load(change)
        self.assertTrue(said.startswith(f"{MAIN}: refused: "), said)
        self.assertIn(because, said)
        self.assertEqual(seen, reads)

    def test_valid_skill_is_loaded_main_file_first(self):
        self.assertEqual(self.load(), (f"{MAIN}: loaded, 2 files", [MAIN, FORMS]))

    def test_binary_files_are_verified(self):
        def as_bytes(server):
            server.files[FORMS] = {"blob": base64.b64encode(FORMS_TEXT.encode()).decode()}
        self.assertEqual(self.load(as_bytes)[0], f"{MAIN}: loaded, 2 files")

    def test_invalid_main_file_is_rejected_before_others_are_read(self):
        def shorter(server):
            server.files[MAIN] = {"text": MAIN_TEXT[:-2] + "\n"}

        def changed(server):
            server.files[MAIN] = {"text": MAIN_TEXT.replace("Fill in", "Send on")}
        self.refused(shorter, "bytes, not", [MAIN])
        self.refused(changed, "digest", [MAIN])

    def test_other_invalid_file_is_rejected(self):
        def changed(server):
            server.files[FORMS] = {"text": FORMS_TEXT.replace("far", "bad")}
        self.refused(changed, "digest", [MAIN, FORMS])

    def test_different_front_matter_is_rejected(self):
        def listed_with(**members):
            return lambda server: server.skill.update(frontmatter=FRONT_MATTER | members)

        self.refused(listed_with(description="About PDFs"), "differs from the list in description", [MAIN])
        self.refused(listed_with(license="MIT"), "differs from the list in license", [MAIN])
        self.refused(listed_with(metadata={"version": 1.0, "pages": 3, "ok": True}), "differs from the list in metadata", [MAIN])

        def not_listed(server):
            server.skill["frontmatter"] = {key: FRONT_MATTER[key] for key in ("name", "description")}
        self.refused(not_listed, "front matter that is not in the list", [MAIN])

    def test_unsupported_front_matter_is_rejected(self):
        bad = ("no dashes", "---\nname: pdf\n", "---\nname: [a, b]\n---\n", "---\nname: pdf\nname: pdf\n---\n",
               "---\n  name: pdf\n---\n", "---\nname: 'pdf\n---\n", "---\nname: a: b\n---\n", "---\nname\n---\n")
        for text in bad:
            def written(server, text=text):
                server.files[MAIN] = {"text": text}
                server.skill["resources"][1] = promise(MAIN, text)
            with self.subTest(text):
                self.refused(written, "front matter: ", [MAIN])

    def test_unverifiable_skill_is_not_read(self):
        self.refused(lambda server: server.skill.update(resources="dynamic"), "cannot be verified", [])
        self.refused(lambda server: server.skill["resources"].pop(), "missing in its own list of files", [])

    def test_no_requests_to_a_server_without_skills(self):
        with Server() as server:
            server.extensions = {}
            ended = play(server.url, "sep-2640-client-no-prefetch", MCP_CONFORMANCE_PROTOCOL_VERSION=MODERN)
            self.assertEqual(ended.returncode, 1)
            self.assertIn("the server does not support skills", ended.stderr)
            self.assertNotIn(("skills/list", None), server.asked)


class Ends(unittest.TestCase):
    def ends(self, status, words, url, scenario, **environment):
        ended = play(url, scenario, **environment)
        self.assertEqual(ended.returncode, status, ended.stderr)
        said = ended.stderr.splitlines()[-1]
        self.assertTrue(said.startswith("conformance-client: "), ended.stderr)
        self.assertIn(words, said)

    def test_unknown_scenario(self):
        with Server() as server:
            self.ends(2, "unknown scenario auth/basic-cimd; known are initialize, ", server.url, "auth/basic-cimd")
            self.ends(2, "MCP_CONFORMANCE_SCENARIO is not set", server.url, None)
            self.ends(2, "usage", None, "initialize")
            self.ends(1, "tools_call: ", server.url, "tools_call", MCP_CONFORMANCE_CONTEXT="{oops")
            self.assertEqual(server.asked, [])

    def test_unreachable_server(self):
        with Server() as server:
            url = server.url
        self.ends(1, "initialize: ", url, "initialize")


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=2)
    bad = len({getattr(test, "test_case", test).id()
               for test, _ in (*program.result.failures, *program.result.errors)})
    print(f"{program.result.testsRun - bad} passed, {bad} failed")
    sys.exit(1 if bad or program.result.testsRun == 0 else 0)
