#!/usr/bin/env python3
"""Measures the size and the idle memory of a ten-line server over stdio: `examples/calculator.cpp`.

The binary is stripped; Keel is linked statically, system libraries are shared. The unique set size is the memory that the process
shares with no other, after the first call; the only server of this kind must run, so its code counts. With `cmake --preset small` built, the same for `-Os`. docs/performance.md has the targets.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZE_TARGET = 1_500_000
MEMORY_TARGET = 3_000_000
PRESETS = ("release", "small")

MESSAGES = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}},
)


def stripped(program, folder):
    copy = folder / "server"
    shutil.copy(program, copy)
    subprocess.run([shutil.which("llvm-strip-19") or "strip", str(copy)], check=True)
    return copy


def unique_set_size(program):
    server = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for message in MESSAGES:
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        if "id" in message and "result" not in json.loads(server.stdout.readline()):
            sys.exit(f"{program} refused {message['method']}")
    size = 0
    for row in Path(f"/proc/{server.pid}/smaps_rollup").read_text().splitlines():
        if row.startswith(("Private_Clean:", "Private_Dirty:")):
            size += int(row.split()[1]) * 1024
    server.stdin.close()
    server.wait()
    return size


def main():
    missed = measured = 0
    for preset in PRESETS:
        program = ROOT / "build" / preset / "bin" / "example-calculator"
        if preset == "release" and "KEEL_BIN" in os.environ:
            program = Path(os.environ["KEEL_BIN"]) / "example-calculator"
        if not program.is_file():
            print(f"{preset}: not built (cmake --preset {preset} && ninja -C build/{preset} example-calculator)")
            missed += preset == "release"
            continue
        with tempfile.TemporaryDirectory() as folder:
            binary = stripped(program, Path(folder))
            size, memory = binary.stat().st_size, unique_set_size(binary)
        measured += 1
        bad = size > SIZE_TARGET or memory > MEMORY_TARGET
        missed += bad
        print(f"{preset}: stripped {size / 1e6:.2f} MB, idle unique set size {memory / 1e6:.2f} MB{'  MISSED' if bad else '  pass'}")
    print(f"targets: stripped at most {SIZE_TARGET / 1e6} MB, unique set size at most {MEMORY_TARGET / 1e6:.0f} MB")
    return 1 if missed or not measured else 0


if __name__ == "__main__":
    sys.exit(main())
