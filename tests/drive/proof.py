"""Records which rules the tests of a driver have proved, for tools/dev/rule_table.

The name of a test (test_b12_..., test_f1_f2_...) or the first line of its docstring lists its rules. The revisions are
observed: MessageCheck reports each revision in which a server has answered. tests/support/proof.hpp does the same for the C++
tests.

The record is <build>/proved/drive-<name>.txt, one line for each test that passed: its rules and description, a tab, the
revisions. A test that was skipped because its test data is missing has "not run" in place of the revisions.
"""

import re
import unittest
from pathlib import Path

spoken = set()  # during the current test
proofs = {}
not_run = set()


def spoke(revision):
    """A server has answered in this revision during the current test."""
    spoken.add(revision)


def about(test):
    """test_f1_f2_failures: "F1 F2: " and its docstring."""
    words = test.id().rpartition(".")[2].removeprefix("test_").split("_")
    rules = []
    for word in words:
        if not re.fullmatch(r"[a-j]\d{1,2}", word):
            break
        rules.append(word.upper())
    said = test.shortDescription() or " ".join(words[len(rules):])
    listed = re.findall(r"[A-J]\d{1,2}\b", said.split(":")[0])
    return said if set(rules) <= set(listed) else f"{' '.join(rules)}: {said}"


class Result(unittest.TextTestResult):
    def startTest(self, test):
        spoken.clear()
        super().startTest(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        proofs.setdefault(about(test), set()).update(spoken)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        not_run.add(about(test))


def write(driver, programs):
    """`programs` is the folder of the tested programs. Nothing is recorded for installed programs."""
    build = Path(programs).resolve().parent
    if not (build / "CMakeCache.txt").is_file():
        return
    folder = build / "proved"
    folder.mkdir(exist_ok=True)
    name = "drive-" + Path(driver).stem.removeprefix("test_")
    lines = [f"{what}\t{' '.join(sorted(revisions))}\n" for what, revisions in sorted(proofs.items())]
    lines += [f"{what}\tnot run\n" for what in sorted(not_run)]
    (folder / f"{name}.txt").write_text("".join(lines))
