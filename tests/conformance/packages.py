"""The conformance suite and the Node.js version it requires, installed into build/ from lock files. Packages that are
installed already take no time."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import node_packages  # noqa: E402
from node_packages import Unavailable  # noqa: E402,F401

PLACE = ROOT / "build" / "conformance"
OLDEST_NODE = 22  # older versions lack modules that the suite imports


def node():
    """A Node.js program that can run the suite: the machine's own, or one from npm."""
    return node_packages.node(OLDEST_NODE)


def suite(version):
    """The suite's program, to be run by node()."""
    folder = node_packages.install_copy(HERE / f"suite-{version}", PLACE)
    return str(folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")
