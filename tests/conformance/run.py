#!/usr/bin/env python3
"""Runs the official conformance suite against the conformance server: every server run that Keel's conformance requires.

    tests/conformance/run.py [--url URL] [--only WORDS]

KEEL_BIN is the folder of the programs (default build/release/bin). --url tests a running server,
--only selects the runs whose name contains these words. The results are written to
conformance/ beside that folder.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import packages  # noqa: E402
import score  # noqa: E402

BIN = Path(os.environ.get("KEEL_BIN", ROOT / "build" / "release" / "bin")).resolve()
RESULTS = BIN.parent / "conformance"
STRICT = ("--expected-failures", str(HERE / "expected_failures.yaml"))
HANGS_AFTER = 600  # seconds; a run takes less than ten


@dataclass
class Run:
    name: str
    version: str  # of the suite
    scenarios: int  # how many there must be
    options: tuple  # for `server`
    listed_by: tuple  # for `list --server`

    def folder(self):
        return RESULTS / self.name.replace(" ", "-")


OLD, NEW = "0.1.16", "0.2.0-alpha.12"
RUNS = (
    Run("required 2025-11-25", NEW, 30, ("--requirements", "2025-11-25", *STRICT), ("--requirements", "2025-11-25")),
    Run("required 2026-07-28", NEW, 37, ("--requirements", "2026-07-28", *STRICT), ("--requirements", "2026-07-28")),
    Run("all 2025-11-25", NEW, 33, ("--suite", "all", "--spec-version", "2025-11-25", *STRICT),
        ("--spec-version", "2025-11-25")),
    Run("all 2026-07-28", NEW, 40, ("--suite", "all", "--spec-version", "2026-07-28", *STRICT),
        ("--spec-version", "2026-07-28")),
    Run("all of 0.1.16", OLD, 32, ("--suite", "all", *STRICT), ()),
)


class Server:
    """conformance-server, from its start to its graceful shutdown."""

    def __init__(self):
        self.process = subprocess.Popen(
            [BIN / "conformance-server", "--http", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        self.said = []
        self.url = None
        self.known = threading.Event()
        self.listener = threading.Thread(target=self._listen)
        self.listener.start()
        self.known.wait(HANGS_AFTER)
        if self.url is None:
            self.end()
            sys.exit(f"the server did not print its URL; its output: {''.join(self.said) or 'nothing'}")

    def _listen(self):
        for line in self.process.stderr:
            self.said.append(line)
            place = re.search(r"serving (https?://\S+)", line)
            if place and self.url is None:
                self.url = place[1]
                self.known.set()
        self.known.set()

    def end(self):
        """The exit status: 0 after a graceful shutdown."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(HANGS_AFTER)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.listener.join()
        return status


def listed(node, run):
    """The scenarios of a run, as the suite itself lists them."""
    said = subprocess.run(
        [node, packages.suite(run.version), "list", "--server", *run.listed_by],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    of_servers = re.split(r"^Client scenarios", said, flags=re.MULTILINE)[0]
    return re.findall(r"^ +- (\S+)", of_servers, flags=re.MULTILINE)


def carry_out(node, run, url):
    """The verdicts of one run: of each scenario, and of other failures."""
    shutil.rmtree(run.folder(), ignore_errors=True)
    run.folder().mkdir(parents=True)
    with open(run.folder() / "output.txt", "w") as output:
        try:
            status = subprocess.run(
                [node, packages.suite(run.version), "server", "--url", url, "-o", str(run.folder()), *run.options],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, timeout=HANGS_AFTER).returncode
        except subprocess.TimeoutExpired:
            status = "none: it did not end"
    scenarios = listed(node, run)
    verdicts = score.judge_all(scenarios, score.read(run.folder()))
    if len(scenarios) != run.scenarios:
        verdicts.append(score.Verdict("the number of scenarios", False, f"{len(scenarios)}, not {run.scenarios}"))
    if status != 0 and all(v.passed for v in verdicts):
        why = f"exit status {status}, see {run.folder()}/output.txt"
        verdicts.append(score.Verdict("the suite's own verdict", False, why))
    return verdicts


def show(run, verdicts):
    passed = sum(v.passed for v in verdicts)
    print(f"{run.name:<22} suite {run.version:<16} {passed:>2}/{run.scenarios}", flush=True)
    for verdict in verdicts:
        if not verdict.passed:
            print(f"    FAILED  {verdict.scenario}")
            for line in verdict.why.splitlines():
                print(f"            {line}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--url", help="URL of a running server")
    arguments.add_argument("--only", default="", help="select runs whose name contains this text")
    chosen = arguments.parse_args()
    runs = [run for run in RUNS if chosen.only in run.name]
    if not runs:
        sys.exit(f"no run matches {chosen.only!r}: expected one of {', '.join(run.name for run in RUNS)}")
    try:
        node = packages.node()
        for run in runs:
            packages.suite(run.version)
    except packages.Unavailable as reason:
        sys.exit(f"cannot run the conformance suite: {reason}")

    passed = failed = 0
    server = None if chosen.url else Server()
    try:
        for run in runs:
            verdicts = carry_out(node, run, chosen.url or server.url)
            show(run, verdicts)
            passed += sum(v.passed for v in verdicts)
            failed += sum(not v.passed for v in verdicts)
    finally:
        status = server.end() if server else 0
    if status != 0:
        print(f"    FAILED  the server exited with status {status}; its output:\n{''.join(server.said)}")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
