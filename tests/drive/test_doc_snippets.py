#!/usr/bin/env python3
"""Every C++ fragment in the documentation is part of a file that is compiled: under examples/ or tests/.

A fragment may leave something out: a line of its own that says `// …` stands for any lines. Each part between such lines,
and between blank lines, must be found in one and the same file, in this order, apart from indentation.
"""

import glob
import os
import re
import sys
import unittest

SOURCE = os.environ.get("KEEL_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

# Fragments that only show how something is declared or spelled, with their first line. Everything that can be an example
# is one; do not add to this list what could be compiled.
DECLARATIONS = {
}


def documents():
    return [os.path.join(SOURCE, "README.md")] + sorted(
        glob.glob(os.path.join(SOURCE, "docs", "**", "*.md"), recursive=True))


def fragments(path):
    """(line number, lines) of each ```cpp block."""
    found, block, start = [], None, 0
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if block is None and re.match(r"\s*```cpp\b", line):
                block, start = [], number + 1
            elif block is not None and line.strip() == "```":
                found.append((start, block))
                block = None
            elif block is not None:
                block.append(line)
    return found


def parts(lines):
    """The runs of lines that must be found together, without indentation."""
    runs, run = [], []
    for line in lines + [""]:
        text = line.strip()
        if text and text != "// …":
            run.append(text)
        elif run:
            runs.append(run)
            run = []
    return runs


def compiled_files():
    files = {}
    for folder in ("examples", "tests"):
        for path in glob.glob(os.path.join(SOURCE, folder, "**", "*.[ch]pp"), recursive=True):
            if "compile_fail" in path:
                continue
            with open(path, encoding="utf-8") as f:
                files[os.path.relpath(path, SOURCE)] = [line.strip() for line in f if line.strip()]
    return files


def holds(text, runs):
    """Whether a file has these runs of lines, one after the other."""
    at = 0
    for run in runs:
        while at + len(run) <= len(text) and text[at:at + len(run)] != run:
            at += 1
        if at + len(run) > len(text):
            return False
        at += len(run)
    return True


class DocSnippets(unittest.TestCase):
    def test_every_fragment_is_part_of_a_compiled_file(self):
        files = compiled_files()
        count = 0
        for path in documents():
            name = os.path.relpath(path, SOURCE)
            for number, lines in fragments(path):
                count += 1
                with self.subTest(document=name, line=number):
                    if lines and (name, lines[0]) in DECLARATIONS:
                        continue
                    if not any(holds(text, parts(lines)) for text in files.values()):
                        self.fail(f"{name}:{number}: not found in examples/ or tests/:\n" + "\n".join(lines))
        self.assertGreater(count, 0)

    def test_the_check_itself(self):
        text = ["int main() {", "first();", "second();", "third();", "}"]
        self.assertTrue(holds(text, parts(["  first();", "  second();"])))
        self.assertTrue(holds(text, parts(["int main() {", "    // …", "    third();", "}"])))
        self.assertFalse(holds(text, parts(["first();", "third();"])))
        self.assertFalse(holds(text, parts(["third();", "// …", "first();"])))


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(1 if bad else 0)
