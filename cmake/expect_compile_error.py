#!/usr/bin/env python3
"""Checks that a source file does not compile, and that the error contains the text of its `// expect: ...` lines.

A line `// at most N errors, M lines` limits the output of the compiler. A file with a line `// only g++ before 13` must
compile with other compilers.
"""

import argparse
import re
import subprocess
import sys


def is_old_gcc(compiler):
    macros = subprocess.run([compiler, "-dM", "-E", "-x", "c++", "/dev/null"], capture_output=True, text=True).stdout
    version = re.search(r"#define __GNUC__ (\d+)", macros)
    return "__clang__" not in macros and version is not None and int(version[1]) < 13


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    parser.add_argument("command", nargs="+", help="the compiler and its flags, after --")
    args = parser.parse_args()

    with open(args.source, encoding="utf-8") as file:
        text = file.read()
    expected = re.findall(r"^\s*// expect: *(.+?)\s*$", text, re.MULTILINE)
    if not expected:
        sys.exit(f"{args.source}: missing '// expect: ...' line")

    done = subprocess.run([*args.command, args.source], capture_output=True, text=True)
    if "// only g++ before 13" in text and not is_old_gcc(args.command[0]):
        sys.exit(f"{args.source}: must compile\n{done.stderr}" if done.returncode else 0)
    if done.returncode == 0:
        sys.exit(f"{args.source}: compiles, but must not")
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    missing = [words for words in expected if not any(words in line for line in errors)]
    if missing:
        sys.exit("\n".join([f"{args.source}: no error contains: {words}" for words in missing] + ["", done.stderr]))
    # Our message must come before the compiler's own errors: it is the first thing the user reads.
    if not any(words in errors[0] for words in expected):
        sys.exit(f"{args.source}: another error comes before ours:\n{errors[0]}")
    limit = re.search(r"^// at most (\d+) errors, (\d+) lines", text, re.MULTILINE)
    lines = len(done.stderr.splitlines())
    if limit and (len(errors) > int(limit[1]) or lines > int(limit[2])):
        sys.exit(f"{args.source}: {len(errors)} errors, {lines} lines\n{done.stderr}")


main()
