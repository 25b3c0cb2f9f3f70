#!/usr/bin/env python3
"""Every C++ snippet in the documentation is part of a file that is compiled: under examples/ or tests/.

A snippet may omit lines: a line `// …`, or an empty line, stands for any number of lines. All parts between such lines must be
found in one file, in this order. Whitespace is ignored.
"""

import glob
import os
import re
import sys
import unittest

SOURCE = os.environ.get("KEEL_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

# Snippets, by their first line, that must not be compiled. Do not add code that could be compiled.
NOT_COMPILED = {
    # Code that g++ 12 does not compile.
    ("docs/rough-edges.md", 'co_await client.call_tool("x", args{.query = "y"});   // g++ 12: compile error'),
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


def squeeze(text):
    return " ".join(text.split())


def parts(lines):
    """The texts that must be found, one after the other."""
    text = "\n".join("" if line.strip() == "// …" else line for line in lines)
    return [squeeze(part) for part in re.split(r"\n\s*\n", text) if part.strip()]


def compiled_files():
    files = {}
    for folder in ("examples", "tests"):
        for path in glob.glob(os.path.join(SOURCE, folder, "**", "*.[ch]pp"), recursive=True):
            if "compile_fail" in path:
                continue
            with open(path, encoding="utf-8") as f:
                files[os.path.relpath(path, SOURCE)] = squeeze(f.read())
    return files


def holds(text, wanted):
    """Whether a file has these texts, one after the other."""
    at = 0
    for part in wanted:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


class DocSnippets(unittest.TestCase):
    def test_every_fragment_is_part_of_a_compiled_file(self):
        files = compiled_files()
        count = 0
        missing = []
        for path in documents():
            name = os.path.relpath(path, SOURCE)
            for number, lines in fragments(path):
                count += 1
                if lines and (name, lines[0]) in NOT_COMPILED:
                    continue
                if not any(holds(text, parts(lines)) for text in files.values()):
                    missing.append(f"{name}:{number}: not found in examples/ or tests/:\n" + "\n".join(lines))
        if missing:
            self.fail("\n\n".join(missing))
        self.assertGreater(count, 0)

    def test_the_check_itself(self):
        text = squeeze("int main() {\n    first();\n    second();\n    third();\n}\n")
        self.assertTrue(holds(text, parts(["  first();", "  second();"])))
        self.assertTrue(holds(text, parts(["int main() {", "    // …", "    third();", "}"])))
        self.assertFalse(holds(text, parts(["first();", "third();"])))
        self.assertTrue(holds(text, parts(["first(); second();"])))
        self.assertFalse(holds(text, parts(["third();", "", "first();"])))


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(1 if bad else 0)
