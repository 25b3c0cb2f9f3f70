#!/usr/bin/env python3
"""Tests of score.py and of the exclusions in run_client.py."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import run_client  # noqa: E402
import score  # noqa: E402


def check(ident, status, **more):
    return {"id": ident, "status": status, **more}


GOOD = check("ping", "SUCCESS")
SCHEMA = check("wire-schema-valid", "SUCCESS")


class Score(unittest.TestCase):
    def passes(self, *checks):
        return score.judge("ping", list(checks)).passed

    def test_a_scenario_needs_at_least_one_success(self):
        self.assertTrue(self.passes(GOOD, SCHEMA))
        self.assertTrue(self.passes(GOOD, check("a", "SKIPPED"), check("b", "INFO")))
        self.assertFalse(self.passes())
        self.assertFalse(self.passes(SCHEMA))
        self.assertFalse(self.passes(SCHEMA, check("a", "SKIPPED"), check("b", "INFO")))

    def test_failures_and_warnings_are_reported(self):
        self.assertFalse(self.passes(GOOD, check("a", "FAILURE")))
        self.assertFalse(self.passes(GOOD, check("a", "WARNING")))
        why = score.judge("ping", [GOOD, check("a", "WARNING", errorMessage="too late")]).why
        self.assertEqual(why, "WARNING a: too late")

    def test_a_missing_result_is_a_failure(self):
        verdicts = score.judge_all(["ping", "tools-list"], {"ping": [GOOD]})
        self.assertEqual([v.passed for v in verdicts], [True, False])

    def test_results_are_found_by_scenario_name(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("server-ping", "server-server-initialize"):
                place = Path(folder) / f"{name}-2026-01-02T03-04-05-678Z"
                place.mkdir()
                (place / "checks.json").write_text(json.dumps([GOOD]))
            self.assertEqual(set(score.read(folder)), {"ping", "server-initialize"})
            twice = Path(folder) / "server-ping-2026-01-02T03-04-06-000Z"
            twice.mkdir()
            (twice / "checks.json").write_text("[]")
            with self.assertRaises(ValueError):
                score.read(folder)


class ClientRuns(unittest.TestCase):
    def test_only_listed_scenarios_are_excluded(self):
        known = {"initialize": ["2025-06-18", "2025-11-25"], "auth/dpop": ["extension"], "author": ["extension"]}
        for of, chosen in (("2025-11-25", ["initialize"]), ("extension", ["author"]), ("", ["initialize", "author"])):
            run = run_client.Run("run", run_client.NEW, len(chosen), of)
            self.assertEqual(run_client.chosen_by(run, known), chosen)

    def test_a_skipped_check_is_a_failure(self):
        known = check("a", "SKIPPED", name="ClientMcpMethodHeader_initialize")
        other = check("a", "SKIPPED", name="ClientMcpMethodHeader_prompts_get", errorMessage="not sent")
        self.assertTrue(run_client.judge("headers", [GOOD, known]).passed)
        self.assertEqual(run_client.judge("headers", [GOOD, known, other]).why, "SKIPPED a: not sent")

    def test_only_a_late_reconnect_is_retried(self):
        late = check("client-sse-retry-timing", "WARNING", details={"slightlyLate": True})
        early = check("client-sse-retry-timing", "FAILURE", details={"slightlyLate": False})
        self.assertTrue(run_client.only_late([GOOD, late]))
        for checks in ([GOOD], [early], [late, check("client-sse-last-event-id", "WARNING", details={})]):
            self.assertFalse(run_client.only_late(checks))


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=2).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(1 if bad or result.testsRun == 0 else 0)
