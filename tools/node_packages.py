"""Node.js packages that tests and benchmarks need, installed from the lock file next to their package.json."""

import os
import shutil
import subprocess
from pathlib import Path

OLDEST_NODE = 20  # what the official TypeScript SDK asks for
OWN_NODE = "node@22"  # where the machine's Node.js is older: the same program, as a package


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


def install(folder):
    """Makes node_modules match the lock file and returns the node program to run scripts in `folder` with."""
    folder = Path(folder)
    lock = folder / "package-lock.json"
    # npm writes this file last, so a broken installation is made again.
    installed = folder / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        _npm(folder, "ci")
        os.utime(installed)

    node = shutil.which("node")
    if node and _major(node) >= OLDEST_NODE:
        return node
    own = folder / "node_modules" / ".bin" / "node"
    if _major(own) < OLDEST_NODE:
        _npm(folder, "install", "--no-save", OWN_NODE)
    if _major(own) < OLDEST_NODE:
        raise Unavailable(f"Node.js {OLDEST_NODE} or newer is required, and {OWN_NODE} does not start")
    return str(own)
