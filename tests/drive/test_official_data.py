#!/usr/bin/env python3
"""Where tests look for third-party test data (official_data.py), and how `./dev data` downloads it."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import keel_process as kp
import official_data

sys.path.insert(0, str(kp.ROOT / "tools" / "dev"))

import fetch_test_data  # noqa: E402


class Lookup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = Path(folder.name)
        self.root = self.base / "keel"
        self.root.mkdir()

    def provide(self, place):
        folder = self.base / place / "schema"
        folder.mkdir(parents=True)
        return folder

    def found(self, **environment):
        return official_data.find("schema", self.root, environment)

    def test_shared_comes_before_build(self):
        """Data in shared/ beside the source tree is preferred to data in build/test-data."""
        self.assertIsNone(self.found())
        downloaded = self.provide("keel/build/test-data")
        self.assertEqual(self.found(), downloaded)
        beside = self.provide("shared")
        self.assertEqual(self.found(), beside)

    def test_only_the_variable_is_used(self):
        """If KEEL_TEST_DATA is set, no other folder is searched."""
        self.provide("shared")
        given = self.provide("elsewhere")
        self.assertEqual(self.found(KEEL_TEST_DATA=str(given.parent)), given)
        self.assertIsNone(self.found(KEEL_TEST_DATA=str(self.base / "missing")))

    def test_an_empty_variable_is_ignored(self):
        """An empty KEEL_TEST_DATA is ignored."""
        beside = self.provide("shared")
        self.assertEqual(self.found(KEEL_TEST_DATA=""), beside)


class Download(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = Path(folder.name)
        self.target = self.base / "test-data"
        self.repository = self.base / "owner" / "data"
        self.repository.mkdir(parents=True)
        self.git("init", "--quiet")
        # A pinned commit need not be the tip of a branch. The public servers allow it to be fetched, too.
        self.git("config", "uploadpack.allowAnySHA1InWant", "true")

    def git(self, *arguments):
        return subprocess.run(["git", "-C", str(self.repository), "-c", "user.name=t", "-c", "user.email=t@example.org",
                               *arguments], check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, content):
        (self.repository / "tests").mkdir(exist_ok=True)
        (self.repository / "tests" / "a.json").write_text(content)
        (self.repository / "other.txt").write_text("not wanted")
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", content)
        return self.git("rev-parse", "HEAD")

    def fetch(self, commit, base=None):
        source = fetch_test_data.Source("owner/data", commit, {"tests": "suite/tests"})
        return fetch_test_data.fetch(self.target, base or f"file://{self.base}", [source])

    def test_the_pinned_commit(self):
        """The wanted files of the pinned commit are downloaded, once; another pin replaces them."""
        first = self.commit("1")
        second = self.commit("2")
        self.assertEqual(self.fetch(first), ["owner/data"])
        self.assertEqual((self.target / "suite" / "tests" / "a.json").read_text(), "1")
        self.assertEqual({path.name for path in self.target.iterdir()}, {"suite", "sources.txt"})
        self.assertEqual(self.fetch(first), [])
        self.assertEqual(self.fetch(second), ["owner/data"])
        self.assertEqual((self.target / "suite" / "tests" / "a.json").read_text(), "2")

    def test_failure(self):
        """A repository that cannot be reached leaves nothing behind, and the error names it."""
        with self.assertRaisesRegex(fetch_test_data.Problem, r"cannot download file://.*/nowhere/owner/data at commit 12ab"):
            self.fetch("12ab" * 10, f"file://{self.base}/nowhere")
        self.assertEqual(list(self.target.iterdir()), [])

    def test_every_kind_is_downloaded(self):
        """`./dev data` downloads every kind of data that tests use, at full commit ids."""
        self.assertEqual({place.split("/")[0] for source in fetch_test_data.SOURCES for place in source.paths.values()},
                         set(official_data.KINDS))
        for source in fetch_test_data.SOURCES:
            self.assertRegex(source.commit, r"^[0-9a-f]{40}$")


if __name__ == "__main__":
    kp.main()
