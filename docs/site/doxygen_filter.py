#!/usr/bin/env python3
"""Prepares a header for doxygen: removes the version namespace, and makes the comment at the top the description of the file."""

import re
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        lines = f.read().splitlines()
    out, described = [], False
    at = 0
    while at < len(lines):
        line = lines[at]
        if not described and line.startswith("//") and not line.startswith("///"):
            described = True
            out.append("/// \\file")
            while at < len(lines) and lines[at].startswith("//"):
                out.append("/" + lines[at])
                at += 1
            continue
        out.append(re.sub(r"namespace keel::inline KEEL_ABI(::\w+)?", r"namespace keel\1", line))
        at += 1
    sys.stdout.write("\n".join(out) + "\n")


main()
