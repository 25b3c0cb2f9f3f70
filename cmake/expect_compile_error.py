#!/usr/bin/env python3
"""Checks that a source file does not compile, and that the error contains the text of its `// expect: ...` lines."""

import argparse
import re
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    parser.add_argument("command", nargs="+", help="the compiler and its flags, after --")
    args = parser.parse_args()

    with open(args.source, encoding="utf-8") as file:
        expected = re.findall(r"^\s*// expect: *(.+?)\s*$", file.read(), re.MULTILINE)
    if not expected:
        sys.exit(f"{args.source}: missing '// expect: ...' line")

    done = subprocess.run([*args.command, args.source], capture_output=True, text=True)
    if done.returncode == 0:
        sys.exit(f"{args.source}: compiles, but must not")
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    missing = [words for words in expected if not any(words in line for line in errors)]
    if missing:
        sys.exit("\n".join([f"{args.source}: no error contains: {words}" for words in missing] + ["", done.stderr]))
    # Our message must come before the compiler's own errors: it is the first thing the user reads.
    if not any(words in errors[0] for words in expected):
        sys.exit(f"{args.source}: another error comes before ours:\n{errors[0]}")


main()
