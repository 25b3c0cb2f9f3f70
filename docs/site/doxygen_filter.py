#!/usr/bin/env python3
"""Prepares a header for doxygen: removes the version namespace, and makes the comment at the top the description of the file and
a comment behind a member the description of the member."""

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
        line = re.sub(r"namespace keel::inline KEEL_ABI(::\w+)?", r"namespace keel\1", line)
        line = re.sub(r"^(\s+[^/\s].*[;,])\s+// (.*)$", r"\1  ///< \2", line)
        out.append(line)
        at += 1
    sys.stdout.write("\n".join(out) + "\n")


main()
