#!/usr/bin/env python3
"""Measures `keel demo --stdio`, a minimal program and the official TypeScript SDK in one run.

The servers take turns: every round measures each of them once in each situation, so that whatever else the machine does
falls on all of them alike. The figures are medians over the rounds. docs/performance.md explains each one.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import node_packages  # noqa: E402

SOAK_CALLS = 5_000_000


@dataclass(frozen=True)
class Server:
    name: str
    era: str
    command: tuple
    fast: bool  # slow servers get fewer calls, so that each run takes about as long


@dataclass(frozen=True)
class Situation:
    name: str
    in_flight: int
    one_processor: bool


# Without pinning, the scheduler runs both sides of a single call sometimes on one processor, sometimes on two, and
# waking an idle processor can cost more than the call itself. Pinned to one processor, the context switch is direct,
# and the server's work remains.
SITUATIONS = (
    Situation("64 in flight", 64, False),
    Situation("64 in flight, one processor", 64, True),
    Situation("1 in flight", 1, False),
    Situation("1 in flight, one processor", 1, True),
)


@dataclass(frozen=True)
class Check:
    what: str
    value: float
    limit: float
    unit: str

    @property
    def passed(self):
        return self.value <= self.limit


def find_keel():
    place = Path(os.environ.get("KEEL_BIN", ROOT / "build" / "release" / "bin"))
    program = place / "keel" if place.is_dir() else place
    return program if program.is_file() else None


def build_tool(name, source, compilers, flags, folder, needs=()):
    """The tool built by CMake, or compiled here if that is missing or older than its source."""
    newest = max(path.stat().st_mtime for path in (source, *needs))
    keel = find_keel()
    candidates = [folder / name]
    if keel:
        candidates.insert(0, keel.parent / f"bench-{name}")
    for candidate in candidates:
        if candidate.is_file() and candidate.stat().st_mtime >= newest:
            return candidate
    compiler = next((found for found in map(shutil.which, compilers) if found), None)
    if compiler is None:
        sys.exit(f"bench: no compiler for {source.name} (looked for {', '.join(compilers)})")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([compiler, *flags, str(source), "-o", str(folder / name)], check=True)
    return folder / name


class Bench:
    def __init__(self, folder):
        here = ROOT / "bench"
        self.load = build_tool(
            "stdio_load", here / "stdio_load.cpp", ("clang++-19", "clang++", "g++"), ("-std=c++20", "-O2"), folder,
            needs=(here / "load_program.hpp", here / "process_usage.hpp"),
        )  # fmt: skip
        self.floor = build_tool("floor", here / "floor.c", ("clang-19", "clang", "gcc", "cc"), ("-O2",), folder)

    def run(self, server, in_flight, calls, warm_up, one_processor=False, sample_every=0, wrapper=()):
        command = [str(self.load), "--era", server.era, "--in-flight", str(in_flight), "--calls", str(calls)]
        command += ["--warm-up", str(warm_up)]
        if sample_every:
            command += ["--sample-every", str(sample_every)]
        if one_processor:
            cpu = str(max(os.sched_getaffinity(0)))
            command += ["--server-cpu", cpu, "--own-cpu", cpu]
        done = subprocess.run([*command, "--", *wrapper, *server.command], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"bench: {server.name} ({server.era}), {in_flight} in flight: the run failed")
        result = json.loads(done.stdout)
        if result["exit_status"] != 0:
            sys.exit(f"bench: {server.name} ({server.era}) exited with status {result['exit_status']}")
        return result


def list_servers(bench, keel):
    servers = [Server("floor", "raw", (str(bench.floor),), fast=True)]
    folder = ROOT / "bench" / "ts"
    try:
        node = node_packages.install(folder)
        servers += [
            Server("TypeScript 1.32.2", "legacy", (node, str(folder / "echo-v1.mjs")), fast=False),
            Server("TypeScript 2.4.0", "legacy", (node, str(folder / "echo-v2.mjs")), fast=False),
            Server("TypeScript 2.4.0", "modern", (node, str(folder / "echo-v2.mjs")), fast=False),
        ]
    except node_packages.Unavailable as reason:
        print(f"The TypeScript servers are not measured: {reason}", file=sys.stderr)
    if keel:
        servers += [Server("keel demo", era, (str(keel), "demo", "--stdio"), fast=True) for era in ("legacy", "modern")]
    else:
        print("keel is not measured: not found in build/release/bin or $KEEL_BIN", file=sys.stderr)
    return servers


def calls_for(server, situation, quick):
    if server.fast:
        calls = 300_000 if situation.in_flight > 1 else 60_000
    else:
        calls = 30_000 if situation.in_flight > 1 else 15_000  # after a warm-up for the JIT of Node.js
    return calls // 10 if quick else calls


def measure(bench, servers, rounds, quick):
    runs = []
    for turn in range(rounds):
        for situation in SITUATIONS:
            for server in servers:
                print(f"round {turn + 1}/{rounds}: {situation.name}: {server.name} ({server.era}) ...", file=sys.stderr)
                calls = calls_for(server, situation, quick)
                result = bench.run(server, situation.in_flight, calls, 10_000, situation.one_processor)
                runs.append({"server": server.name, "era": server.era, "situation": situation.name, **result})
    return runs


def values(runs, field, server, situation=None):
    return [
        run[field]
        for run in runs
        if (run["server"], run["era"]) == (server.name, server.era) and situation in (None, run["situation"])
    ]


def median(runs, field, server, situation=None):
    return statistics.median(values(runs, field, server, situation))


def print_table(title, header, rows):
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    print(f"\n{title}\n")
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [str(row[0]).ljust(widths[0]), *(str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:]))]
        print("| " + " | ".join(cells) + " |")


def print_figures(runs, servers):
    floor = servers[0]
    for situation in SITUATIONS:
        rows = []
        base = median(runs, "cpu_us_per_call", floor, situation.name)
        for server in servers:
            cpu = median(runs, "cpu_us_per_call", server, situation.name)
            rows.append((
                f"{server.name} ({server.era})",
                f"{cpu:.2f}",
                f"{cpu / base:.1f}",
                f"{median(runs, 'calls_per_s', server, situation.name):,.0f}",
                f"{median(runs, 'reads_per_call', server, situation.name):.3f}",
                f"{median(runs, 'writes_per_call', server, situation.name):.3f}",
                f"{median(runs, 'own_cpu_us_per_call', server, situation.name):.2f}",
            ))  # fmt: skip
        header = ("server", "CPU µs/call", "× floor", "calls/s", "reads/call", "writes/call", "load's own CPU µs/call")
        print_table(situation.name, header, rows)

    rows = [
        (
            f"{server.name} ({server.era})",
            f"{median(runs, 'first_call_ms', server):.1f}",
            f"{median(runs, 'idle_rss_kb', server) / 1024:.1f}",
            f"{max(values(runs, 'peak_rss_kb', server)) / 1024:.1f}",
        )
        for server in servers
    ]
    print_table("start and memory", ("server", "start to first call answered, ms", "idle, MB", "peak, MB"), rows)


def targets(runs, servers):
    """The targets of docs/performance.md and the figures of this run."""
    floor = servers[0]
    peers = [server for server in servers if server.name.startswith("TypeScript")]
    checks = []
    for server in (server for server in servers if server.name == "keel demo"):
        many = SITUATIONS[0].name
        cpu = median(runs, "cpu_us_per_call", server, many)
        checks.append(Check(f"{server.era}: CPU per call, {many}", cpu, 3.0, "µs"))
        if peers:
            better = min(median(runs, "cpu_us_per_call", peer, many) for peer in peers)
            checks.append(Check(f"{server.era}: … of the better TypeScript server's", cpu / better, 0.1, "×"))
        for situation in (situation for situation in SITUATIONS if situation.in_flight == 1):
            ratio = median(runs, "cpu_us_per_call", server, situation.name)
            ratio /= median(runs, "cpu_us_per_call", floor, situation.name)
            checks.append(Check(f"{server.era}: CPU per call over the floor's, {situation.name}", ratio, 2.0, "×"))
        idle = median(runs, "idle_rss_kb", server) / 1024
        checks.append(Check(f"{server.era}: resident memory when idle", idle, 8.0, "MB"))
        first = median(runs, "first_call_ms", server)
        checks.append(Check(f"{server.era}: start to first call answered", first, 20.0, "ms"))
    return checks


def soak(bench, server, calls):
    """Resident memory over many calls. It may grow during the first tenth; after that it must not."""
    print(f"soak: {calls:,} calls, {server.name} ({server.era}) ...", file=sys.stderr)
    result = bench.run(server, 64, calls, 0, sample_every=max(calls // 50, 1))
    samples = [resident for _, resident in result["rss_samples"]]
    settled = max(samples[: max(len(samples) // 10, 1)])
    growth = max(samples) - settled
    shown = samples[:: max(len(samples) // 10, 1)]
    print(f"\n{server.era}: resident kB over {calls:,} calls: {' '.join(map(str, shown))} … {samples[-1]}")
    return result, Check(f"{server.era}: growth over {calls:,} calls after the first tenth", growth, 256, "kB")


def instructions(server, bench, in_flight):
    """Instructions per call: the difference of two runs with different numbers of calls, so that the startup cost cancels out."""
    totals = []
    counts = (1_000, 6_000)
    with tempfile.TemporaryDirectory() as folder:
        # Older valgrind versions fail on the debug information of newer compilers.
        bare = Path(folder) / "keel"
        subprocess.run(["strip", "-o", bare, server.command[0]], check=True)
        server = replace(server, command=(str(bare), *server.command[1:]))
        for calls in counts:
            out = Path(folder) / f"callgrind.{calls}"
            wrapper = ("valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}")
            bench.run(server, in_flight, calls, 0, wrapper=wrapper)
            totals += [int(line.split()[1]) for line in out.read_text().splitlines() if line.startswith("totals:")]
    if len(totals) != len(counts):
        sys.exit("bench: callgrind printed no totals")
    return (totals[1] - totals[0]) / (counts[1] - counts[0])


def machine():
    model = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return {"processor": model, "processors": os.cpu_count(), "kernel": platform.release()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round with a tenth of the calls; targets are not checked")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--soak", action="store_true", help="only measure keel's memory over five million calls")
    parser.add_argument("--instructions", action="store_true", help="only count keel's instructions per call with callgrind")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build" / "bench", help="folder for the tools built by this script")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench.json", help="output file for all figures")
    wanted = parser.parse_args()

    bench = Bench(wanted.build_dir)
    keel = find_keel()
    report = {"machine": machine()}
    checks = []
    if wanted.soak or wanted.instructions:
        if keel is None:
            sys.exit("bench: missing keel: build it, or set KEEL_BIN to its folder")
        for server in (Server("keel demo", era, (str(keel), "demo", "--stdio"), True) for era in ("legacy", "modern")):
            if wanted.soak:
                result, check = soak(bench, server, SOAK_CALLS // 10 if wanted.quick else SOAK_CALLS)
                report[f"soak {server.era}"] = result
                checks.append(check)
            if wanted.instructions:
                for in_flight in (64, 1):
                    count = instructions(server, bench, in_flight)
                    report[f"instructions {server.era} {in_flight}"] = count
                    print(f"{server.era}, {in_flight} in flight: {count:,.0f} instructions per call")
    else:
        servers = list_servers(bench, keel)
        report["runs"] = measure(bench, servers, 1 if wanted.quick else wanted.rounds, wanted.quick)
        print_figures(report["runs"], servers)
        checks = targets(report["runs"], servers)

    if checks:
        rows = [
            (c.what, f"{c.value:.3g} {c.unit}", f"≤ {c.limit:g} {c.unit}", "pass" if c.passed else "MISSED")
            for c in checks
        ]
        print_table("targets", ("what", "here", "target", ""), rows)
        report["checks"] = [{"what": c.what, "value": c.value, "limit": c.limit, "passed": c.passed} for c in checks]
    wanted.json.parent.mkdir(parents=True, exist_ok=True)
    wanted.json.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if not wanted.quick and any(not check.passed for check in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
