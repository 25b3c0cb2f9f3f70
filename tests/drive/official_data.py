#!/usr/bin/env python3
"""Finds third-party test data that is not part of the repository: the official MCP schemas and examples ("schema"), the
JSON-Schema-Test-Suite ("json-schema-test-suite") and signatures ("wycheproof"). `./dev data` downloads it.

If KEEL_TEST_DATA is set, only the folder that it names is searched. Otherwise the data is in the folder `shared` beside the
source tree, or in build/test-data. tests/support/test_data.hpp does the same for the C++ tests.

Run as a program, it prints where each kind of data is and exits with 1 if all of it is missing.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MISSING = "not run: official test data missing, see ./dev data"
KINDS = ("schema", "json-schema-test-suite", "wycheproof")


def places(root=ROOT, environment=os.environ):
    """The folders that are searched, in this order."""
    given = environment.get("KEEL_TEST_DATA")
    return [Path(given)] if given else [root.parent / "shared", root / "build" / "test-data"]


def find(kind, root=ROOT, environment=os.environ):
    """The folder of this kind of data, or None if it is missing."""
    for place in places(root, environment):
        if (place / kind).is_dir():
            return place / kind
    return None


if __name__ == "__main__":
    for each in KINDS:
        print(f"{each}: {find(each) or 'missing'}")
    sys.exit(0 if any(find(each) for each in KINDS) else 1)
