"""The official TypeScript SDK clients, versions 1.32.2 and 2.4.0: runs the scripts in ts/ against a server and counts their
steps.

    v1          version 1, with the handshake of the older revisions
    v2-legacy   version 2, the same
    v2-auto     version 2, which sends server/discover first
    v2-pin      version 2, only 2026-07-28
"""

import contextlib
import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import keel_process as kp
import proof
from http_process import HttpServer

HERE = Path(__file__).resolve().parent / "ts"
sys.path.insert(0, str(kp.ROOT / "tools"))

import node_packages  # noqa: E402

EVERY_CLIENT = ("v1", "v2-legacy", "v2-auto", "v2-pin")
ONE_OF_EACH_ERA = ("v1", "v2-pin")
HANGS_AFTER = 120  # seconds; the longest takes about ten


@contextlib.contextmanager
def alone():
    """A lock, because several drivers may install the same packages at the same time."""
    (kp.ROOT / "build").mkdir(exist_ok=True)
    with open(kp.ROOT / "build" / "drive-packages.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def node():
    with alone():
        return node_packages.install(HERE)


class ClientsTest(kp.DriveTest):
    """A test is one server that the clients use one after the other."""

    @classmethod
    def setUpClass(cls):
        try:
            cls.node = node()
        except node_packages.Unavailable as reason:
            raise AssertionError(f"the TypeScript clients cannot be run: {reason}") from None

    def run_script(self, script, *arguments, environment=None):
        """Expects that every step of the script has passed."""
        what = " ".join((script, arguments[0]))
        try:
            done = subprocess.run(
                [self.node, "--no-warnings", str(HERE / script), *arguments], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, text=True, timeout=HANGS_AFTER, env={**os.environ, **(environment or {})})
        except subprocess.TimeoutExpired as stuck:
            self.fail(f"{what} did not end; output:\n{(stuck.stdout or b'').decode(errors='replace')}")
        sys.stderr.write(done.stdout)
        *_, last = done.stdout.splitlines() or [""]
        try:
            counts = json.loads(last)
        except ValueError:
            # Without a count the script did not connect, or waited forever.
            self.fail(f"{what} ended with status {done.returncode} before the last step")
        self.assertEqual(counts["failed"], 0, what)
        self.assertGreater(counts["passed"], 0, what)
        self.assertEqual(done.returncode, 0, what)
        # The clients check themselves which revision they use.
        proof.spoke(kp.MODERN if arguments[0] in ("v2-auto", "v2-pin") else kp.LEGACY[-1])

    @contextlib.contextmanager
    def served(self, *options, **how):
        """A `keel demo` over HTTP, which must end well after the clients have disconnected."""
        with HttpServer(*options, command=("keel", "demo"), **how) as server:
            yield server
            server.signal(kp.signal.SIGTERM)
            self.ends_well(server)
