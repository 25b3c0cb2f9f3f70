#!/usr/bin/env python3
"""Runs the official conformance suite's client scenarios with the conformance client: all except auth/, for each
revision the suite offers it for.

    tests/conformance/run_client.py [--only WORDS] [--scenario WORDS]

KEEL_BIN is the folder of the programs (default build/release/bin). --only selects runs, --scenario selects scenarios whose
name contains these words. The results are written to conformance/client/ beside that folder.
"""

import argparse
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import packages  # noqa: E402
import score  # noqa: E402
from run import BIN, NEW, OLD, RESULTS, show  # noqa: E402

PROGRAM = BIN / "conformance-client"
# Features that the client does not have yet, by prefix of the scenario names.
LEFT_OUT = {"auth/": "authorization is not part of the client yet"}
# Checks that do not apply to 2026-07-28. Any other skipped check means that the client did not do something.
NOT_THERE = {"ClientMcpMethodHeader_initialize", "ClientMcpMethodHeader_notifications_initialized"}
HANGS_AFTER = 120  # seconds; a scenario takes less than two, and the suite gives up after thirty
AGAIN_WHEN_LATE = 3


@dataclass
class Run:
    name: str
    version: str  # of the suite
    scenarios: int  # how many there must be
    of: str  # a filter by the suite's description: a revision, or "extension"; "" for all
    options: tuple = ()  # for `client`
    # Whether the client gets the server's revision, or must negotiate it.
    told: bool = True

    def folder(self):
        return RESULTS / "client" / self.name.replace(" ", "-")


def at(revision, *more):
    return ("--spec-version", revision, *more)


RUNS = (
    Run("client 2025-06-18", NEW, 2, "2025-06-18", at("2025-06-18")),
    Run("client 2025-11-25", NEW, 5, "2025-11-25", at("2025-11-25")),
    Run("client 2026-07-28", NEW, 8, "2026-07-28", at("2026-07-28")),
    Run("skills 2025-11-25", NEW, 4, "extension", at("2025-11-25", "--force")),
    Run("skills 2026-07-28", NEW, 4, "extension", at("2026-07-28", "--force")),
    Run("untold 2025-11-25", NEW, 5, "2025-11-25", at("2025-11-25"), told=False),
    Run("untold 2026-07-28", NEW, 8, "2026-07-28", at("2026-07-28"), told=False),
    Run("client of 0.1.16", OLD, 4, "", told=False),  # this version does not pass the revision to the client
)


def listed(node, version):
    """{scenario: its description} of all client scenarios, as the suite itself lists them."""
    said = subprocess.run([node, packages.suite(version), "list", "--client"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    return {name: kinds.split(",") for name, kinds in re.findall(r"^ +- (\S+) \[(.*)\]", said, flags=re.MULTILINE)}


def is_left_out(scenario):
    return any(scenario.startswith(beginning) for beginning in LEFT_OUT)


def chosen_by(run, known):
    return [name for name, kinds in known.items() if not is_left_out(name) and (not run.of or run.of in kinds)]


def judge(scenario, checks):
    verdict = score.judge(scenario, checks)
    missing = [f"SKIPPED {check['id']}: {check.get('errorMessage') or check.get('description', '')}"
               for check in checks if check["status"] == "SKIPPED" and check["name"] not in NOT_THERE]
    return score.Verdict(scenario, verdict.passed and not missing, "\n".join(filter(None, (verdict.why, *missing))))


def only_late(checks):
    """Version 0.1.16 also checks that a client does not reconnect late, which can happen on a busy machine. (Later versions
    only check that it is not too early.)"""
    bad = [check for check in checks if check["status"] in ("FAILURE", "WARNING")]
    return bool(bad) and all(c["id"] == "client-sse-retry-timing" and c["details"].get("slightlyLate") for c in bad)


def play(node, run, scenario):
    """The verdict of one scenario, and the checks it is based on."""
    folder = run.folder() / scenario
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    status_file = folder / "client_status.txt"
    command = [str(HERE / "note_status.sh"), str(status_file), str(PROGRAM)]
    if not run.told:
        command[2:2] = ["env", "-u", "MCP_CONFORMANCE_PROTOCOL_VERSION"]
    with open(folder / "output.txt", "w") as output:
        try:
            status = subprocess.run(
                [node, packages.suite(run.version), "client", "--command", shlex.join(command), "--scenario", scenario,
                 "-o", str(folder), *run.options],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, timeout=HANGS_AFTER).returncode
        except subprocess.TimeoutExpired:
            status = "none: it did not end"
    checks = score.read(folder).get(scenario)
    if checks is None:
        return score.Verdict(scenario, False, f"it left no result, see {folder}/output.txt"), []
    verdict = judge(scenario, checks)
    client_status = status_file.read_text().strip() if status_file.exists() else "none: it did not end"
    if client_status != "0":
        # Some scenarios allow the client to fail. Ours must not.
        said = "".join(file.read_text() for file in folder.glob("*/stderr.txt")).strip()
        why = f"the client exited with status {client_status}; its output: {said or 'nothing'}"
        verdict = score.Verdict(scenario, False, "\n".join(filter(None, (verdict.why, why))))
    if verdict.passed and status != 0:
        verdict = score.Verdict(scenario, False, f"the suite exited with status {status}, see {folder}/output.txt")
    return verdict, checks


def carry_out(node, run, known, words):
    scenarios = chosen_by(run, known)
    verdicts = []
    if len(scenarios) != run.scenarios:
        verdicts.append(score.Verdict("the number of scenarios", False, f"{len(scenarios)}, not {run.scenarios}"))
    for scenario in scenarios:
        if words not in scenario:
            continue
        for _ in range(AGAIN_WHEN_LATE):
            verdict, checks = play(node, run, scenario)
            if verdict.passed or not checks or not only_late(checks):
                break
        verdicts.append(verdict)
    return verdicts


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", default="", help="select runs whose name contains this text")
    arguments.add_argument("--scenario", default="", help="select scenarios whose name contains this text")
    chosen = arguments.parse_args()
    runs = [run for run in RUNS if chosen.only in run.name]
    if not runs:
        sys.exit(f"no run matches {chosen.only!r}: expected one of {', '.join(run.name for run in RUNS)}")
    try:
        node = packages.node()
        known = {version: listed(node, version) for version in {run.version for run in runs}}
    except packages.Unavailable as reason:
        sys.exit(f"cannot run the conformance suite: {reason}")

    passed = failed = 0
    for run in runs:
        verdicts = carry_out(node, run, known[run.version], chosen.scenario)
        show(run, verdicts)
        passed += sum(v.passed for v in verdicts)
        failed += sum(not v.passed for v in verdicts)
    for version, scenarios in sorted(known.items()):
        for beginning, reason in LEFT_OUT.items():
            count = sum(name.startswith(beginning) for name in scenarios)
            print(f"left out of suite {version}: {count} scenarios in {beginning} ({reason})")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
