"""The suite and the Node.js it needs, installed from the lock files here into build/conformance/. Installed packages
are reused."""

import contextlib
import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import node_packages  # noqa: E402
from node_packages import Unavailable  # noqa: E402,F401

PLACE = ROOT / "build" / "conformance"
OLDEST_NODE = 22  # older ones lack what the suite imports


@contextlib.contextmanager
def _alone():
    """Tests of several builds may run at the same time."""
    PLACE.mkdir(parents=True, exist_ok=True)
    with open(PLACE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(name):
    """The folder with the node_modules of tests/conformance/<name>: another lock file, another folder."""
    source = HERE / name
    key = hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()[:12]
    folder = PLACE / f"{name}-{key}"
    with _alone():
        if not (folder / "package-lock.json").exists():
            folder.mkdir(exist_ok=True)
            shutil.copyfile(source / "package.json", folder / "package.json")
            shutil.copyfile(source / "package-lock.json", folder / "package-lock.json")
        node_packages.install(folder)
    return folder


def _is_new_enough(node):
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return int(said.strip().lstrip("v").split(".")[0]) >= OLDEST_NODE


def node():
    """A Node.js that can run the suite: the machine's own, or one from npm."""
    of_machine = shutil.which("node")
    if of_machine and _is_new_enough(of_machine):
        return of_machine
    for program in (_install("node-22") / "node_modules").glob("node-*/bin/node"):
        if _is_new_enough(program):
            return str(program)
    raise Unavailable(f"Node.js {OLDEST_NODE} or newer is required, and npm has none for this machine")


def suite(version):
    """The suite's program, to be run by node()."""
    folder = _install(f"suite-{version}")
    return str(folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")
