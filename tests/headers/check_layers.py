#!/usr/bin/env python3
"""A folder is a promise about dependencies. This asks the compiler what each file really includes.

- Public headers reach no Beast, OpenSSL or simdjson header; only keel/asio.hpp reaches Asio.
- src/json, src/describe, src/schema, src/protocol and the core of src/rpc do no I/O: they reach no Asio header.
- src/json and src/describe know no layer above them, and no layer knows the server or client above it.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

ASIO = re.compile(r"(^|/)asio(/|\.hpp$)")
HEAVY = re.compile(r"(^|/)(beast|openssl|simdjson)(/|\.h|$)")

# What exists to meet Asio, and says so.
MAY_USE_ASIO = {"include/keel/asio.hpp"}
WITHOUT_IO = ["src/json", "src/describe", "src/schema", "src/protocol", "src/rpc"]

ABOVE = {
    "json": ["async", "rpc", "protocol", "transport", "server", "client"],
    "describe": ["async", "rpc", "protocol", "transport", "server", "client"],
    "schema": ["async", "rpc", "protocol", "transport", "server", "client"],
    "async": ["rpc", "protocol", "transport", "server", "client"],
    "transport": ["server", "client", "http"],
    "rpc": ["server", "client", "http"],
    "protocol": ["server", "client", "http"],
}


def files_in(folder):
    return sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in (".hpp", ".cpp"))


def included_by(compiler, file):
    """Every header that `file` reaches, however deep."""
    command = [compiler, "-std=c++20", "-M", "-x", "c++", f"-I{ROOT}/include", f"-I{ROOT}/src", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{file.relative_to(ROOT)}: cannot be preprocessed alone:\n{done.stderr}")
    words = done.stdout.replace("\\\n", " ").split()
    return [os.path.normpath(word) for word in words[2:]]  # the target, then the file itself


def shown(path):
    return os.path.relpath(path, ROOT) if path.startswith(str(ROOT)) else path


def complaints_about(compiler, file):
    name = str(file.relative_to(ROOT))
    public = name.startswith("include/")
    reached = included_by(compiler, file)
    # The header a file names may be innocent; we look at all it pulls in, and report the first culprit.
    if name not in MAY_USE_ASIO and (public or any(name.startswith(folder + "/") for folder in WITHOUT_IO)):
        culprit = next((path for path in reached if ASIO.search(path)), None)
        if culprit:
            yield f"{name}: reaches Asio ({shown(culprit)})"
    if public:
        culprit = next((path for path in reached if HEAVY.search(path)), None)
        if culprit:
            yield f"{name}: reaches {shown(culprit)}, which no public header may"
        culprit = next((path for path in reached if path.startswith(f"{ROOT}/src/")), None)
        if culprit:
            yield f"{name}: reaches {shown(culprit)}, which is not installed"
    layer = name.split("/")[1]
    for above in ABOVE.get(layer, []) if not public else []:
        culprit = next((path for path in reached if path.startswith(f"{ROOT}/src/{above}/")), None)
        if culprit:
            yield f"{name}: {layer} must not know {above} ({shown(culprit)})"


def mentions(file):
    """Words that must not stand in a public header, even where no include brings them in."""
    text = re.sub(r"//[^\n]*", "", file.read_text(encoding="utf-8"))
    for word in re.findall(r"\b(beast|openssl|simdjson)\b", text, re.IGNORECASE):
        yield f"{file.relative_to(ROOT)}: mentions {word}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="clang++-19")
    parser.add_argument("--without-asio", action="store_true", help="Boost is not there: leave out <keel/asio.hpp>")
    args = parser.parse_args()

    public = [file for file in files_in("include/keel") if not (args.without_asio and file.name == "asio.hpp")]
    files = public + [file for layer in ABOVE for file in files_in(f"src/{layer}")]
    complaints = [line for file in public for line in mentions(file)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(lambda file: list(complaints_about(args.compiler, file)), files):
            complaints += lines
    # A check that looks at nothing always passes.
    if len(public) < 3 or len(files) < 10:
        complaints.append(f"only {len(files)} files were looked at: are the folders still where they were?")
    print("\n".join(complaints) or f"{len(files)} files keep their layers")
    return 1 if complaints else 0


sys.exit(main())
