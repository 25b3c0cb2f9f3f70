#!/usr/bin/env python3
"""Checks that every folder includes only the folders that it may use.

MAY_INCLUDE below is the table of layers. A public header belongs to the folder in OWNERS that lists it, and counts as
part of that folder. The check fails on

- an include that the table does not allow, an edge of the table that no file uses, and an edge that points upwards;
- a folder of src/ that is not in the table, a public header without owner, an include of a file that does not exist;
- a public header that reaches Beast, OpenSSL, simdjson or a header of src/, or Asio (except keel/asio.hpp);
- a file of a folder without I/O that reaches Asio;
- a public header that keel/keel.hpp does not include, except asio.hpp, and any use of keel/keel.hpp;
- includes that are not in the order of CONTRIBUTING.md (files of src/ and public headers).

--matrix prints how many includes lead from each folder to each other one. --self-test checks the check itself with
invented source trees.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Folder: the folders it may include. Lowest first: a folder may only include folders that are listed before it.
MAY_INCLUDE = {
    "json": "",
    "describe": "json",
    "schema": "json",
    "async": "json",
    "asio": "async",
    "transport": "async",
    "tls": "async transport",
    "rpc": "json async transport",
    "protocol": "json describe",
    "logging": "json transport protocol",
    "server": "json describe schema async transport rpc protocol logging",
    "client": "json describe schema async transport rpc protocol logging",
    "http_common": "",
    "auth": "json protocol http_common",
    "http": "json async transport tls rpc protocol logging server http_common",
    "http_client": "json schema async transport tls rpc protocol client http_common",
    "config": "json client",
    "program": "async transport server http_common http",
    "tools": "json describe schema async protocol server client config program",
}

# Public headers in include/keel by the folder that implements them.
OWNERS = {
    "json": "json decode_error",
    "describe": "describe describe/macros describe/options describe/tables describe/types",
    "schema": "schema",
    "async": "async error event_loop loop run task",
    "asio": "asio",
    "transport": "child_process connection limits transport",
    "protocol": "asking base64 content log_level prompt sampling trace types types_json",
    "logging": "log",
    "server": "context handler middleware prompt_handler resource server server_health tool",
    "client": "answering blocking_client call client server_target subscription",
    "auth": "secret",
    "http": "access_log http_mount http_server",
    "config": "config",
    "program": "main",
}

# Macros only: every folder may include these, and they include nothing of Keel.
COMMON = "version"

# The header that includes all others, for users only: no header and no file of src/ may include it.
UMBRELLA = "keel"
NOT_IN_UMBRELLA = {"asio"}  # needs Boost

# Programs, which see the public headers only.
PROGRAMS = {"tools": ["tools/keel", "tools/conformance", "tools/conformance_client"]}

ASIO = re.compile(r"(^|/)asio(/|\.hpp$)")
HEAVY = re.compile(r"(^|/)(beast|openssl|simdjson)(/|\.h|$)")
MAY_USE_ASIO = {"include/keel/asio.hpp"}
WITHOUT_IO = ["json", "describe", "schema", "protocol", "rpc", "http_common", "auth"]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
# Includes of the standard library have no folder and no ".h".
STANDARD = re.compile(r"[a-z_0-9]+$")


class Layers:
    """Checks the files of a source tree against the table."""

    def __init__(self, root, may_include, owners, common, programs):
        self.root = root
        self.may_include = {folder: edges.split() for folder, edges in may_include.items()}
        self.owner_of = {header: folder for folder, headers in owners.items() for header in headers.split()}
        self.common = set(common.split())
        self.programs = programs
        self.complaints = []
        self.edges = collections.Counter()

    def read(self):
        self.check_table()
        for file in files_in(self.root / "include/keel"):
            header = self.header_name(file)
            if header == UMBRELLA:
                self.check_umbrella(file)
            elif header in self.common:
                self.read_file(file, None)
            elif header in self.owner_of:
                self.read_file(file, self.owner_of[header])
                self.check_order(file, self.owner_of[header])
            else:
                self.complain(f"include/keel/{header}.hpp has no owner: add it to OWNERS")
        for path in sorted((self.root / "src").iterdir()):
            if path.is_dir() and path.name not in self.may_include:
                self.complain(f"src/{path.name} is not in the table of layers: add it to MAY_INCLUDE")
                continue
            for file in files_in(path) if path.is_dir() else []:
                self.read_file(file, path.name)
                self.check_order(file, path.name)
        for layer, folders in self.programs.items():
            for file in (file for folder in folders for file in files_in(self.root / folder)):
                self.read_file(file, layer)
        for folder, targets in self.may_include.items():
            for target in targets:
                if not self.edges[folder, target]:
                    self.complain(f"{folder} may include {target}, but no file does: remove the edge from MAY_INCLUDE")
        return self

    def check_table(self):
        below = set()
        for folder, targets in self.may_include.items():
            for target in targets:
                if target not in below:
                    self.complain(f"MAY_INCLUDE: {folder} -> {target} does not point to a folder above it in the table")
            below.add(folder)
            if folder not in self.programs and not (self.root / "src" / folder).is_dir():
                self.complain(f"MAY_INCLUDE: there is no folder src/{folder}")
        for header, folder in self.owner_of.items():
            if folder not in self.may_include:
                self.complain(f"OWNERS: {folder} is not in the table of layers")
            if not (self.root / "include/keel" / f"{header}.hpp").is_file():
                self.complain(f"OWNERS: there is no include/keel/{header}.hpp")

    def read_file(self, file, folder):
        name = file.relative_to(self.root)
        for kind, path in INCLUDE.findall(file.read_text(encoding="utf-8")):
            target = self.target_of(file, kind, path, folder)
            if target is None or target == folder:
                continue
            if folder is None:
                self.complain(f"{name}: includes {path}, but headers of COMMON include nothing of Keel")
                continue
            self.edges[folder, target] += 1
            if target not in self.may_include.get(folder, []):
                self.complain(f"{name}: {folder} must not include {target} ({path})")

    def check_umbrella(self, umbrella):
        included = [path for _, path in INCLUDE.findall(umbrella.read_text(encoding="utf-8"))]
        headers = {self.header_name(file) for file in files_in(self.root / "include/keel")} - {UMBRELLA} - NOT_IN_UMBRELLA
        expected = sorted(f"keel/{header}.hpp" for header in headers if "/" not in header)
        if included != expected:
            different = ", ".join(sorted(set(included) ^ set(expected))) or "the order"
            self.complain(f"include/keel/{UMBRELLA}.hpp must include all headers but asio.hpp, sorted: {different}")

    def check_order(self, file, folder):
        """Own header first, then "folder/file.hpp", <keel/…>, libraries and the system, the standard library."""
        text = file.read_text(encoding="utf-8").split("\n#if")[0]  # conditional includes come last
        before = None
        for found in INCLUDE.finditer(text):
            kind, path = found.groups()
            group = 1 if kind == '"' else 2 if path.startswith("keel/") else 4 if STANDARD.match(path) else 3
            if before is None and group == 2 and self.target_of(file, kind, path, folder) == folder:
                group = 0  # the public header that this file implements, perhaps with others
            blank_line = text[:found.start()].endswith("\n\n") or found.group().startswith("\n")
            same_block = before in (None, group) or (before, group) == (0, 2)
            wrong = ""
            if group == 1 and "/" not in path:
                wrong = f'"{path}" needs its folder'
            elif before is not None and group < before:
                wrong = f"{path} comes too late"
            elif not same_block and not blank_line:
                wrong = f"{path} needs a blank line before it"
            if wrong:
                self.complain(f"{file.relative_to(self.root)}: includes: {wrong} (see CONTRIBUTING.md)")
                return
            before = group

    def target_of(self, file, kind, path, folder):
        """The folder that an included file belongs to; None for COMMON and for files that are not ours."""
        if kind == "<":
            if not path.startswith("keel/"):
                return None
            header = path.removeprefix("keel/").removesuffix(".hpp")
            if header in self.common:
                return None
            if header not in self.owner_of:
                self.complain(f"{file.relative_to(self.root)}: includes {path}, which has no owner")
            return self.owner_of.get(header)
        if "/" in path and (self.root / "src" / path).is_file():
            if folder in self.programs:
                self.complain(f"{file.relative_to(self.root)}: includes {path}: programs use the public headers only")
            return path.split("/")[0]
        if (file.parent / path).is_file():
            return folder
        self.complain(f"{file.relative_to(self.root)}: includes {path}, which does not exist")
        return None

    def header_name(self, file):
        return str(file.relative_to(self.root / "include/keel")).removesuffix(".hpp")

    def complain(self, text):
        self.complaints.append(text)

    def matrix(self):
        """Rows include columns; "." stands for none, "-" for the folder itself."""
        names = list(self.may_include)
        first = max(map(len, names))
        rows = [" " * first + "  " + "  ".join(names)]
        for row in names:
            cells = ("-" if row == column else str(self.edges[row, column] or ".") for column in names)
            rows.append(row.ljust(first) + "  " + "  ".join(c.rjust(len(n)) for c, n in zip(cells, names)))
        return "\n".join(rows)


def files_in(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in (".hpp", ".cpp"))


def included_by(compiler, file):
    """Every header that `file` reaches, directly or not."""
    command = [compiler, "-std=c++20", "-M", "-x", "c++", f"-I{ROOT}/include", f"-I{ROOT}/src", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{file.relative_to(ROOT)}: cannot be preprocessed alone:\n{done.stderr}")
    words = done.stdout.replace("\\\n", " ").split()
    return [os.path.normpath(word) for word in words[2:]]  # without the target and the file itself


def shown(path):
    return os.path.relpath(path, ROOT) if path.startswith(str(ROOT)) else path


def libraries_reached(compiler, file):
    """Errors for forbidden libraries that a public header or a file without I/O includes, directly or not."""
    name = str(file.relative_to(ROOT))
    public = name.startswith("include/")
    reached = included_by(compiler, file)
    if name not in MAY_USE_ASIO:
        found = next((path for path in reached if ASIO.search(path)), None)
        if found:
            yield f"{name}: reaches Asio ({shown(found)})"
    if public:
        found = next((path for path in reached if HEAVY.search(path)), None)
        if found:
            yield f"{name}: reaches {shown(found)}, which no public header may"
        found = next((path for path in reached if path.startswith(f"{ROOT}/src/")), None)
        if found:
            yield f"{name}: reaches {shown(found)}, which is not installed"


def mentions(file):
    """Words that a public header must not contain outside of comments, even if it includes none of these libraries."""
    text = re.sub(r"//[^\n]*", "", file.read_text(encoding="utf-8"))
    for word in re.findall(r"\b(beast|openssl|simdjson)\b", text, re.IGNORECASE):
        yield f"{file.relative_to(ROOT)}: mentions {word}"


def self_test():
    """Each test tree has one error, which the check must report."""
    good = {
        "include/keel/version.hpp": "#define KEEL_ABI v1\n",
        "include/keel/value.hpp": "#include <keel/version.hpp>\n\n#include <string>\n",
        "include/keel/serve.hpp": "#include <keel/value.hpp>\n",
        "src/low/value.cpp": "#include <keel/value.hpp>\n",
        "src/high/serve.hpp": "#pragma once\n",
        "src/high/serve.cpp": '#include "high/serve.hpp"\n\n#include <keel/serve.hpp>\n\n#include <sys/un.h>\n',
        "src/high/pool.cpp": "#include <sys/un.h>\n\n#include <map>\n",
        "src/high/more.cpp": '#include <keel/serve.hpp>\n\n#include "high/serve.hpp"\n',
        "tools/shell/main.cpp": "#include <keel/serve.hpp>\n",
    }
    table = {"low": "", "high": "low", "tools": "high"}
    owners = {"low": "value", "high": "serve"}

    def complaints(files, may_include=table, owned=owners):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return Layers(root, may_include, owned, "version", {"tools": ["tools/shell"]}).read().complaints

    cases = [
        ("a tree that keeps its layers", complaints(good), ""),
        ("an include that is not in the table",
         complaints(good | {"src/low/up.cpp": '#include "high/serve.hpp"\n'}), "low must not include high"),
        ("the same through a public header",
         complaints(good | {"src/low/up.cpp": "#include <keel/serve.hpp>\n"}), "low must not include high"),
        ("a public header that includes a higher one",
         complaints(good | {"include/keel/value.hpp": "#include <keel/serve.hpp>\n"}), "low must not include high"),
        ("an edge that nobody uses",
         complaints(good, table | {"tools": "low high"}), "tools may include low, but no file"),
        ("an edge that points upwards",
         complaints(good | {"src/low/up.cpp": '#include "high/serve.hpp"\n'}, table | {"low": "high"}), "low -> high"),
        ("an unknown folder", complaints(good | {"src/new/x.cpp": ""}), "src/new is not in the table"),
        ("a folder that does not exist", complaints(good, table | {"old": ""}), "no folder src/old"),
        ("a public header without owner", complaints(good | {"include/keel/new.hpp": ""}), "new.hpp has no owner"),
        ("an owner of a header that does not exist",
         complaints(good, owned=owners | {"high": "serve old"}), "no include/keel/old.hpp"),
        ("a file that does not exist",
         complaints(good | {"src/low/x.cpp": '#include "low/old.hpp"\n'}), "does not exist"),
        ("a program that uses an internal header",
         complaints(good | {"tools/shell/x.cpp": '#include "high/serve.hpp"\n'}), "public headers only"),
        ("an include without its folder",
         complaints(good | {"src/high/x.cpp": '#include "serve.hpp"\n'}), "needs its folder"),
        ("a header of Keel after the standard library",
         complaints(good | {"src/high/x.cpp": "#include <map>\n\n#include <keel/serve.hpp>\n"}), "comes too late"),
        ("two groups of includes without a blank line",
         complaints(good | {"src/high/x.cpp": "#include <keel/serve.hpp>\n#include <map>\n"}), "needs a blank line"),
        ("an umbrella header without one of the headers",
         complaints(good | {"include/keel/keel.hpp": "#include <keel/serve.hpp>\n#include <keel/value.hpp>\n"}),
         "keel/version.hpp"),
        ("macros that include something of Keel",
         complaints(good | {"include/keel/version.hpp": "#include <keel/value.hpp>\n"}), "COMMON include nothing"),
    ]
    failed = [(name, found) for name, found, expected in cases
              if (len(found) != 1 or expected not in found[0] if expected else found)]
    for name, found in failed:
        print(f"self-test: {name}: unexpected complaints {found}")
    print(f"self-test: {len(cases) - len(failed)} of {len(cases)} cases as expected")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="clang++-19")
    parser.add_argument("--without-asio", action="store_true", help="leave out <keel/asio.hpp>: Boost is not installed")
    parser.add_argument("--matrix", action="store_true", help="print the matrix of includes")
    parser.add_argument("--self-test", action="store_true", help="check that the check finds invented errors")
    args = parser.parse_args()
    if args.self_test:
        return self_test()

    layers = Layers(ROOT, MAY_INCLUDE, OWNERS, COMMON, PROGRAMS).read()
    if args.matrix:
        print(layers.matrix())
        return 0
    public = [file for file in files_in(ROOT / "include/keel") if not (args.without_asio and file.name == "asio.hpp")]
    files = public + [file for folder in WITHOUT_IO for file in files_in(ROOT / "src" / folder)]
    complaints = layers.complaints + [line for file in public for line in mentions(file)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(lambda file: list(libraries_reached(args.compiler, file)), files):
            complaints += lines
    # An empty check would always pass.
    if len(public) < 3 or len(files) < 10 or sum(layers.edges.values()) < 100:
        complaints.append(f"only {len(files)} files were checked: have the folders been moved?")
    print("\n".join(complaints) or f"{len(MAY_INCLUDE)} folders keep their layers")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
