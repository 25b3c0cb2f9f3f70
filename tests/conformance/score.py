"""Evaluates the results of the suite more strictly than the suite itself.

A scenario has passed when none of its checks failed or warned and at least one of them succeeded: the suite would count a
scenario in which nothing could be checked as passed. The schema check of messages alone is not sufficient, because
it does not test the subject of the scenario.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

NOT_THE_POINT = "wire-schema-valid"


@dataclass
class Verdict:
    scenario: str
    passed: bool
    why: str  # one line for each error; "" if it passed


def complaints(checks):
    for check in checks:
        if check["status"] in ("FAILURE", "WARNING"):
            said = check.get("errorMessage") or check.get("details", {}).get("message") or check.get("description", "")
            yield f"{check['status']} {check['id']}: {said}"


def judge(scenario, checks):
    bad = list(complaints(checks))
    if not bad and not any(c["status"] == "SUCCESS" and c["id"] != NOT_THE_POINT for c in checks):
        bad = ["nothing was checked"]
    return Verdict(scenario, not bad, "\n".join(bad))


def read(folder):
    """The results of a run: {scenario: checks}. The suite appends the time to the name of each folder."""
    found = {}
    for file in sorted(Path(folder).glob("*/checks.json")):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", file.parent.name).removeprefix("server-")
        if scenario in found:
            raise ValueError(f"{scenario} has two results")
        found[scenario] = json.loads(file.read_text())
    return found


def judge_all(scenarios, found):
    """A verdict for each scenario that had to run."""
    verdicts = []
    for scenario in scenarios:
        if scenario in found:
            verdicts.append(judge(scenario, found[scenario]))
        else:
            verdicts.append(Verdict(scenario, False, "it left no result: it could not be run, or took too long"))
    return verdicts
