"""Installs the Node.js packages that tests and benchmarks need, from the lock file next to their package.json.

Works with npm 9 and newer. Node.js itself comes from the package in tools/node-22 if the machine's version is too old.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST_NODE = 20  # the official TypeScript SDK requires it
NODE_PACKAGE = ROOT / "tools" / "node-22"


class Unavailable(Exception):
    """The packages cannot be installed; the text is the reason."""


def _major(node):
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        return int(answer.strip().lstrip("v").split(".")[0])
    except (OSError, subprocess.CalledProcessError, ValueError):
        return 0


def _npm(folder, *arguments):
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is not installed")
    done = subprocess.run(
        [npm, *arguments, "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        raise Unavailable(f"npm {' '.join(arguments)} failed in {folder.name}/:\n{done.stdout}")


def _match_lock_file(folder):
    lock = folder / "package-lock.json"
    # npm writes this file last, so an incomplete installation is repeated.
    installed = folder / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        # Newer versions of npm run no install scripts either.
        _npm(folder, "ci", "--ignore-scripts")
        os.utime(installed)


@contextlib.contextmanager
def _locked(file):
    """Tests run in parallel, and several of them may need the same packages."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install_copy(source, into):
    """Installs the packages of `source` in a folder of its own below `into` and returns that folder.

    The folder is named after the content of the lock file, so that a new lock file is a new installation.
    """
    source, into = Path(source), Path(into)
    key = hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()[:12]
    folder = into / f"{source.name}-{key}"
    with _locked(into / f"{source.name}.lock"):
        if not (folder / "package-lock.json").exists():
            folder.mkdir(exist_ok=True)
            shutil.copyfile(source / "package.json", folder / "package.json")
            shutil.copyfile(source / "package-lock.json", folder / "package-lock.json")
        _match_lock_file(folder)
    return folder


def node(oldest=OLDEST_NODE):
    """A Node.js program of at least this major version: the machine's own, or the one that npm installs."""
    of_machine = shutil.which("node")
    if of_machine and _major(of_machine) >= oldest:
        return of_machine
    # The program is taken from the package itself: npm 9 creates no node_modules/.bin/node for it.
    for program in (install_copy(NODE_PACKAGE, ROOT / "build" / "node") / "node_modules").glob("node-*/bin/node"):
        if _major(program) >= oldest:
            return str(program)
    raise Unavailable(f"Node.js {oldest} or newer is required, and npm has none for this machine")


def install(folder):
    """Makes node_modules match the lock file and returns the node program that runs the scripts in `folder`."""
    _match_lock_file(Path(folder))
    return node()
