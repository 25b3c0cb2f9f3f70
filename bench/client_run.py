#!/usr/bin/env python3
"""Measures Keel's client and the official TypeScript clients against `keel demo`, over stdio and HTTP.

The clients take turns: every round measures each of them once in each situation, so that whatever else the machine does falls
on all of them alike. A ratio is the median of the rounds' own ratios. docs/performance-client.md explains each one.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import http_servers
from run import ROOT, Check, find_keel, machine, node_packages, print_table

VERSIONS = {"modern": "2026-07-28", "legacy": "2025-11-25"}
IN_FLIGHT = (1, 64)
CALLS = 100_000
SLOW_CALLS = 4_000  # for clients that are many times slower


@dataclass(frozen=True)
class Situation:
    wire: str  # stdio, http
    era: str
    in_flight: int

    @property
    def name(self):
        return f"{self.wire}, {self.era}, {self.in_flight} in flight"


def cpu_seconds(pid):
    """The CPU time of a process, all threads, in nanoseconds."""
    with open(f"/proc/{pid}/schedstat") as whole:  # a server with one thread
        return int(whole.read().split()[0]) / 1e9


class Bench:
    def __init__(self, keel, load, node):
        self.keel, self.load, self.node = str(keel), str(load), node

    def clients(self, era):
        yield "keel"
        if self.node:
            if era == "legacy":
                yield "TypeScript 1.32.2"
            yield "TypeScript 2.4.0"

    def command(self, client, situation, target, quick):
        if client == "keel":
            calls = CALLS // 10 if quick else CALLS
            words = [self.load, "--calls", calls, "--in-flight", situation.in_flight, "--version", VERSIONS[situation.era]]
            return calls, words + (["--url", *target] if situation.wire == "http" else ["--", *target])
        calls = SLOW_CALLS // 10 if quick else SLOW_CALLS
        which = "v1" if "1.32" in client else "v2"
        script = ROOT / "bench" / "ts" / "client.mjs"
        return calls, [self.node, script, which, calls, situation.in_flight, situation.era, *target]

    def run(self, client, situation, quick):
        if situation.wire == "stdio":
            _, words = self.command(client, situation, [self.keel, "demo", "--stdio"], quick)
            figures = self.call(words)
            figures["server_us_per_call"] = figures.get("children_us_per_call")
            return figures
        server = [self.keel, "demo", "--http", "127.0.0.1:0"]
        with http_servers.announced(server, set(os.sched_getaffinity(0)), must_end_well=True) as running:
            calls, words = self.command(client, situation, [running.url], quick)
            before = cpu_seconds(running.pid)
            figures = self.call(words)
            # The warm-up is included: one percent.
            figures["server_us_per_call"] = (cpu_seconds(running.pid) - before) / calls * 1e6
            return figures

    @staticmethod
    def call(words):
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        if done.returncode != 0:
            raise http_servers.Failed(f"{words[0]} failed")
        return json.loads(done.stdout)


def measure(bench, situations, rounds, quick):
    runs = {}
    for number in range(rounds):
        for situation in situations:
            for client in bench.clients(situation.era):
                print(f"round {number + 1} of {rounds}: {client}, {situation.name}", file=sys.stderr)
                runs.setdefault((situation, client), []).append(bench.run(client, situation, quick))
    return runs


def median(runs, situation, client, name):
    return statistics.median(run[name] for run in runs[situation, client])


def ratio(above, below):
    return statistics.median(a / b for a, b in zip(above, below))


def targets(runs, situations):
    for situation in situations:
        own = runs[situation, "keel"]
        cpu = [run["cpu_us_per_call"] for run in own]
        server = [run["server_us_per_call"] for run in own]
        yield Check(f"{situation.name}: CPU of the client, of the server's", ratio(cpu, server), 2.0, "×")
        peers = [key for key in runs if key[0] == situation and key[1] != "keel"]
        if peers:
            others = [[run["cpu_us_per_call"] for run in runs[key]] for key in peers]
            better = min(others, key=statistics.median)
            yield Check(f"{situation.name}: … of the better TypeScript client's", ratio(cpu, better), 0.1, "×")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round with a tenth of the calls; targets are not checked")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench-client.json", help="output file for all figures")
    wanted = parser.parse_args()
    keel = find_keel()
    load = keel.parent / "bench-client_load" if keel else None
    if not keel or not load.is_file():
        sys.exit("bench: missing keel or bench-client_load: build them with ./dev bench --client")
    try:
        node = node_packages.install(ROOT / "bench" / "ts")
    except node_packages.Unavailable as reason:
        node = None
        print(f"The TypeScript clients are not measured: {reason}", file=sys.stderr)
    situations = [Situation(wire, era, n) for wire in ("stdio", "http") for era in VERSIONS for n in IN_FLIGHT]
    runs = measure(Bench(keel, load, node), situations, 1 if wanted.quick else wanted.rounds, wanted.quick)

    rows = [(situation.name, client, f"{median(runs, situation, client, 'cpu_us_per_call'):.2f}",
             f"{median(runs, situation, client, 'calls_per_second'):,.0f}") for situation, client in runs]
    print_table("clients", ("situation", "client", "CPU per call, µs", "calls per second"), rows)
    checks = list(targets(runs, situations))
    rows = [(c.what, f"{c.value:.3g} {c.unit}", f"≤ {c.limit:g} {c.unit}", "pass" if c.passed else "MISSED") for c in checks]
    print_table("targets", ("what", "here", "target", ""), rows)
    report = {"machine": machine(),
              "runs": [{"situation": s.name, "client": c, "figures": figures} for (s, c), figures in runs.items()],
              "checks": [{"what": c.what, "value": c.value, "limit": c.limit, "passed": c.passed} for c in checks]}
    wanted.json.parent.mkdir(parents=True, exist_ok=True)
    wanted.json.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if not wanted.quick and any(not check.passed for check in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
