#!/usr/bin/env python3
"""Downloads the third-party test data from its public repositories at pinned commits: `./dev data`.

Writes build/test-data/schema (the official MCP schemas and examples), build/test-data/json-schema-test-suite and
build/test-data/wycheproof (signatures). Data that is there already is not downloaded again. KEEL_TEST_DATA_SOURCE replaces https://github.com as the place of the repositories.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PUBLIC = "https://github.com"


@dataclass(frozen=True)
class Source:
    repository: str
    commit: str
    paths: dict  # in the repository -> below the test data


SOURCES = (
    Source(
        "modelcontextprotocol/modelcontextprotocol",
        "b0f60ba5409db7a6582440a7b473cc0398890f15",
        {
            "LICENSE": "schema/LICENSE",
            "schema/2024-11-05/schema.json": "schema/2024-11-05/schema.json",
            "schema/2025-03-26/schema.json": "schema/2025-03-26/schema.json",
            "schema/2025-06-18/schema.json": "schema/2025-06-18/schema.json",
            "schema/2025-11-25/schema.json": "schema/2025-11-25/schema.json",
            "schema/2026-07-28/schema.json": "schema/2026-07-28/schema.json",
            "schema/2026-07-28/examples": "schema/2026-07-28/examples",
        },
    ),
    Source(
        "json-schema-org/JSON-Schema-Test-Suite",
        "44401e0c046704b476ec9d2e2fccdaee618f259d",
        {
            "LICENSE": "json-schema-test-suite/LICENSE",
            "remotes": "json-schema-test-suite/remotes",
            "tests/draft7": "json-schema-test-suite/tests/draft7",
            "tests/draft2019-09": "json-schema-test-suite/tests/draft2019-09",
            "tests/draft2020-12": "json-schema-test-suite/tests/draft2020-12",
        },
    ),
    Source(
        "C2SP/wycheproof",
        "dac1dd4729fd1f8dd9e1e9f3dce51d783da6c166",
        {
            "LICENSE": "wycheproof/LICENSE",
            "testvectors_v1/json_web_signature_test.json": "wycheproof/json_web_signature_test.json",
        },
    ),
)


class Problem(Exception):
    pass


def git(folder, *arguments):
    """Never asks for a password, because public repositories do not need one."""
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    done = subprocess.run(["git", "-C", str(folder), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=environment)
    if done.returncode != 0:
        raise Problem(f"git {arguments[0]} failed:\n{done.stdout.strip()}")


def checkout(source, base, into):
    """Downloads the wanted files of the pinned commit: only that commit, and only these files if the server supports it."""
    url = f"{base}/{source.repository}"
    git(into, "init", "--quiet")
    git(into, "remote", "add", "origin", url)
    try:
        git(into, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", source.commit)
        git(into, "checkout", "--quiet", source.commit, "--", *source.paths)
    except Problem as reason:
        raise Problem(f"cannot download {url} at commit {source.commit}: {reason}\n"
                      "The tests that need this data are not run without it; all other tests run. "
                      "To use a copy of the data, set KEEL_TEST_DATA to its folder.") from None


def marker(source):
    """One line for each source that was downloaded."""
    return f"{source.repository} {source.commit} {' '.join(sorted(source.paths.values()))}\n"


def download(source, base, target):
    with tempfile.TemporaryDirectory(dir=target) as folder:
        checkout(source, base, Path(folder))
        for path, place in source.paths.items():
            to = target / place
            if to.is_dir():
                shutil.rmtree(to)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(Path(folder) / path, to)


def fetch(target, base=PUBLIC, sources=SOURCES):
    """Downloads the data of all sources to `target`. Returns the repositories that were downloaded."""
    target.mkdir(parents=True, exist_ok=True)
    record = target / "sources.txt"
    present = set(record.read_text().splitlines(keepends=True)) if record.exists() else set()
    wanted = [marker(source) for source in sources]
    done = []
    for source in sources:
        if marker(source) in present:
            continue
        download(source, base, target)
        done.append(source.repository)
        present.add(marker(source))
        # Written after each source, so that a failure does not lose the ones before it.
        record.write_text("".join(sorted(present & set(wanted))))
    return done


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--target", type=Path, default=ROOT / "build" / "test-data", help="folder (build/test-data)")
    arguments = options.parse_args()
    if shutil.which("git") is None:
        raise Problem("git is not installed")
    done = fetch(arguments.target, os.environ.get("KEEL_TEST_DATA_SOURCE") or PUBLIC)
    for source in SOURCES:
        print(f"{source.repository}: {'downloaded' if source.repository in done else 'present already'}")


if __name__ == "__main__":
    try:
        main()
    except Problem as e:
        print(f"test data: {e}", file=sys.stderr)
        sys.exit(1)
