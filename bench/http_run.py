#!/usr/bin/env python3
"""Measures `keel demo --http`, two minimal servers, nginx and the official TypeScript SDK in one run.

The servers take turns: every round measures each of them once on each wire, so that whatever else the machine does falls on
all of them alike. The figures are medians over the rounds; a ratio is the median of the rounds' own ratios.
docs/performance.md explains each one.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import http_profile
import http_servers
from run import ROOT, Check, build_tool, find_keel, machine, node_packages, print_table

WIRES = ("modern", "legacy")
RAW = {"modern": "raw", "legacy": "raw-legacy"}  # the same requests for servers with constant responses
CONNECTIONS = 32
LISTENS = 10_000
SLOW_ROUNDS = 7  # sufficient for servers that are many times slower: their ratios are far from any limit
CPP = ("clang++-19", "clang++", "g++")
C = ("clang-19", "clang", "gcc", "cc")
EPOLL, BEAST, NGINX, KEEL = "epoll floor", "Beast floor", "nginx", "keel demo"


@dataclass(frozen=True)
class AtLeast(Check):
    """A target with a lower limit."""

    @property
    def passed(self):
        return self.value >= self.limit


@dataclass(frozen=True)
class Server:
    name: str
    wire: str
    start: object  # (processors) -> context manager of http_servers.Running
    fixed: bool = False  # its responses are constant
    fast: bool = True  # slow servers get fewer calls, so that each run takes about as long


class Bench:
    def __init__(self, folder, keel):
        here = ROOT / "bench"
        headers = [here / name for name in
                   ("load_program.hpp", "process_usage.hpp", "http_answer.hpp", "http_connection.hpp", "http_requests.hpp")]  # fmt: skip
        modern = ("-std=c++20", "-O2")
        self.load = build_tool("http_load", here / "http_load.cpp", CPP, modern, folder, needs=headers)
        self.beast = build_tool("http_beast_floor", here / "http_beast_floor.cpp", CPP, modern, folder)
        self.floor = build_tool("http_floor", here / "http_floor.c", C, ("-O2",), folder)
        self.keel = keel
        # As on a machine with two processors, one of which is for the load.
        everywhere = sorted(os.sched_getaffinity(0))
        self.server_cpus = {everywhere[-1]}
        self.load_cpu = everywhere[0]
        self.cpus = everywhere

    def run_load(self, running, wire, requests, warm_up, cpu=None, **more):
        command = [self.load, "--url", running.url, "--server", running.pid, "--wire", wire]
        command += ["--requests", requests, "--warm-up", warm_up, "--own-cpu", self.load_cpu if cpu is None else cpu]
        for name, value in {"connections": CONNECTIONS, **more}.items():
            command += [f"--{name}", value]
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise http_servers.Failed(f"the load on {running.url} ({wire}) failed")
        return json.loads(done.stdout)

    def start_keel(self, threads=1, descriptors=0, wrapper=(), program=None):
        command = [*wrapper, str(program or self.keel), "demo", "--http", "127.0.0.1:0", "--threads", str(threads)]

        def start(processors):
            return http_servers.announced(command, processors, descriptors, must_end_well=True)

        return start


def announced(*command):
    return lambda processors: http_servers.announced([str(word) for word in command], processors)


def list_servers(bench, body_bytes):
    """In the order of their turns: servers that are compared closely run next to each other."""
    servers = []
    nginx = http_servers.find_nginx()
    if nginx is None:
        print("nginx is not measured: it is not installed", file=sys.stderr)
    folder = ROOT / "bench" / "ts"
    try:
        node = node_packages.install(folder)
    except node_packages.Unavailable as reason:
        node = None
        print(f"The TypeScript servers are not measured: {reason}", file=sys.stderr)
    if not bench.keel:
        print("keel is not measured: not found in build/release/bin or $KEEL_BIN", file=sys.stderr)
    for wire in WIRES:
        size = body_bytes[wire]
        if nginx:
            start = lambda processors, size=size: http_servers.nginx(nginx, size, processors)  # noqa: E731
            servers.append(Server(NGINX, wire, start, fixed=True))
        servers.append(Server(EPOLL, wire, announced(bench.floor, size), fixed=True))
        if bench.keel:
            servers.append(Server(KEEL, wire, bench.start_keel()))
        servers.append(Server(BEAST, wire, announced(bench.beast, size), fixed=True))
        if node and wire == "legacy":
            servers.append(Server("TypeScript 1.32.2", wire, announced(node, folder / "http-v1.mjs"), fast=False))
        if node:
            which = ("sessions",) if wire == "legacy" else ()
            start = announced(node, folder / "http-v2.mjs", *which)
            servers.append(Server("TypeScript 2.4.0", wire, start, fast=False))
    return servers


def load_wire(server):
    return RAW[server.wire] if server.fixed else server.wire


def measure(bench, servers, rounds):
    """All servers are started first and wait. Short turns and many rounds distribute other load on the machine evenly."""
    runs = []
    with contextlib.ExitStack() as stack:
        started = []
        for server in servers:
            print(f"{server.name} ({server.wire}): start and warm-up ...", file=sys.stderr)
            running = stack.enter_context(server.start(bench.server_cpus))
            bench.run_load(running, load_wire(server), 10_000, 0)  # long enough for the JIT of Node.js
            started.append((server, running))
        for turn in range(rounds):
            print(f"round {turn + 1}/{rounds} ...", file=sys.stderr)
            for server, running in started:
                if server.fast or turn < SLOW_ROUNDS:
                    requests = 20_000 if server.fast else 2_000
                    result = bench.run_load(running, load_wire(server), requests, requests // 20)
                    runs.append({"round": turn, "server": server.name, "wire": server.wire, **result})
    return runs


def values(runs, field, name, wire):
    return [run[field] for run in runs if (run["server"], run["wire"]) == (name, wire)]


def median(runs, field, name, wire):
    return statistics.median(values(runs, field, name, wire))


def ratio(runs, field, name, other, wire):
    pairs = zip(values(runs, field, name, wire), values(runs, field, other, wire))  # of the rounds with both
    return statistics.median(mine / theirs for mine, theirs in pairs)


def print_figures(runs):
    for wire in WIRES:
        rows = []
        for name in dict.fromkeys(run["server"] for run in runs if run["wire"] == wire):
            rows.append((
                name,
                f"{median(runs, 'cpu_us_per_request', name, wire):.2f}",
                f"{ratio(runs, 'cpu_us_per_request', name, EPOLL, wire):.2f}",
                f"{median(runs, 'requests_per_s', name, wire):,.0f}",
                f"{ratio(runs, 'requests_per_s', name, BEAST, wire):.2f}",
                f"{median(runs, 'busy', name, wire):.2f}",
                f"{median(runs, 'own_busy', name, wire):.2f}",
                f"{median(runs, 'answer_bytes', name, wire):.0f}",
                f"{median(runs, 'rss_kb', name, wire) / 1024:.1f}",
            ))  # fmt: skip
        header = ("server", "CPU µs/request", "× epoll floor", "requests/s", "× Beast floor", "server busy", "load busy",
                  "answer, bytes", "resident, MB")  # fmt: skip
        print_table(f"{wire}, {CONNECTIONS} connections, one server thread", header, rows)


def targets(runs):
    """The targets of docs/performance.md and the figures of this run."""
    checks = []
    for wire in WIRES:
        if not values(runs, "wall_s", KEEL, wire):
            continue
        cpu = ratio(runs, "cpu_us_per_request", KEEL, EPOLL, wire)
        checks.append(Check(f"{wire}: CPU per request over the epoll floor's", cpu, 1.6, "×"))
        speed = ratio(runs, "requests_per_s", KEEL, BEAST, wire)
        checks.append(AtLeast(f"{wire}: requests/s over the Beast floor's", speed, 0.8, "×"))
        # The better of the two, on the wire where it is best.
        peers = {(run["server"], run["wire"]) for run in runs if run["server"].startswith("TypeScript")}
        if peers:
            better = min(median(runs, "cpu_us_per_request", *peer) for peer in peers)
            cpu = median(runs, "cpu_us_per_request", KEEL, wire) / better
            checks.append(Check(f"{wire}: CPU per request over the better TypeScript server's", cpu, 0.1, "×"))
    return checks


def measure_listens(bench, count, report):
    """The server's memory per idle subscriptions/listen stream."""
    print(f"{count:,} listen streams ...", file=sys.stderr)
    start = bench.start_keel(descriptors=count + 1000)
    with start(bench.server_cpus) as running:
        # Long enough for one keep-alive per stream: its memory belongs to an idle stream.
        result = bench.run_load(running, "modern", 10_000, 10_000, listens=count, hold=20)
    report["listens"] = result
    print(
        f"\n{count:,} idle listen streams: resident {result['rss_kb']:,} kB before, {result['listens_rss_kb']:,} kB with"
        f" them, {result['held_rss_kb']:,} kB after a while: {result['kb_per_listen']:.2f} kB each"
    )
    return [Check("memory of an idle listen stream", result["kb_per_listen"], 10, "kB")]


def place(bench, threads):
    """The processors for a server with that many threads, and the remaining ones for the load."""
    if len(bench.cpus) > 2:
        return set(bench.cpus[-threads:]), bench.cpus[:-threads][:threads]
    return set(bench.cpus), [-1]  # not pinned, with one thread or two


def run_loads(bench, running, wire, threads):
    """One turn of the load, from as many processes as there are free processors."""
    _, load_cpus = place(bench, threads)
    with ThreadPoolExecutor() as pool:
        # A session stays on its thread: one session would use only one thread.
        waiting = [pool.submit(bench.run_load, running, wire, 20_000, 1_000, cpu, sessions=CONNECTIONS) for cpu in load_cpus]
        results = [one.result() for one in waiting]
    total = sum(one["requests"] for one in results)
    return {
        "threads": threads,
        "wire": wire,
        "loads": len(results),
        "requests_per_s": sum(one["requests_per_s"] for one in results),
        # Each load process has measured the work of all of them.
        "cpu_us_per_request": statistics.mean(one["cpu_s"] for one in results) * 1e6 / total,
        "own_cpu_us_per_request": statistics.mean(one["own_cpu_us_per_request"] for one in results),
        "own_busy": statistics.mean(one["own_busy"] for one in results),
    }


def measure_threads(bench, rounds, report):
    """Two threads compared with one, and the maximum speedup that the load generator allows on this machine."""
    runs = []
    with contextlib.ExitStack() as stack:
        started = [
            (threads, stack.enter_context(bench.start_keel(threads)(place(bench, threads)[0]))) for threads in (1, 2)
        ]
        for turn in range(rounds):
            print(f"round {turn + 1}/{rounds}: threads ...", file=sys.stderr)
            runs += [run_loads(bench, running, wire, threads) for wire in WIRES for threads, running in started]
    report["threads"] = runs
    checks = []
    rows = []
    for wire in WIRES:
        def of(threads, field, wire=wire):
            return [run[field] for run in runs if (run["threads"], run["wire"]) == (threads, wire)]

        def over(field, of=of):
            return statistics.median(two / one for one, two in zip(of(1, field), of(2, field), strict=True))

        speed = over("requests_per_s")
        server = statistics.median(of(1, "cpu_us_per_request"))
        load = statistics.median(of(1, "own_cpu_us_per_request"))
        # One thread and the load have a processor each, and the slower one determines the speed. With two threads all
        # three share both processors, so even a perfect server cannot be faster than that. With more processors the
        # loads have their own.
        alone = len(bench.cpus) > 2 and statistics.median(of(2, "own_busy")) < 0.95
        room = 2.0 if alone else 2 * max(server, load) / (server + load)
        rows.append((wire, f"{speed:.2f}", f"{room:.2f}", f"{server:.2f}", f"{load:.2f}",
                     f"{over('cpu_us_per_request'):.2f}"))  # fmt: skip
        if room >= 1.7:
            checks.append(AtLeast(f"{wire}: requests/s of two threads over one's", speed, 1.7, "×"))
        else:
            print(f"{wire}: the load generator allows a speedup of at most {room:.2f}, less than 1.7", file=sys.stderr)
    header = ("wire", "requests/s, two threads over one", "room", "CPU µs/request, one", "load's own",
              "CPU/request, two over one")  # fmt: skip
    print_table("two threads compared with one", header, rows)
    return checks


def body_sizes(bench):
    """The constant responses have the size of keel's, or about that if keel is missing."""
    sizes = {"modern": 148, "legacy": 96}
    if bench.keel:
        with bench.start_keel()(bench.server_cpus) as running:
            for wire in WIRES:
                sizes[wire] = bench.run_load(running, wire, CONNECTIONS, 0)["answer_body_bytes"]
    return sizes


def count_instructions(bench, start, wire, folder):
    """Two outputs of callgrind for the server started by start(wrapper)."""
    outputs = []
    for requests in http_profile.COUNTS:
        outputs.append(Path(folder) / f"callgrind.{requests}")
        wrapper = ("valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={outputs[-1]}")
        with start(wrapper)(bench.server_cpus) as running:
            bench.run_load(running, wire, requests, 0)
    return outputs


def profile(bench, top, report):
    """Instructions per request, and with `top` the most expensive functions. The minimal Beast server is for comparison."""
    with tempfile.TemporaryDirectory() as folder:
        # Older valgrind versions fail on the debug information of newer compilers.
        bare = {program: Path(folder) / program.name for program in (bench.keel, bench.beast)}
        for program, target in bare.items():
            subprocess.run(["strip", "--strip-debug", "-o", target, program], check=True)
        for wire in WIRES:
            for name, start, sent in (
                (BEAST, lambda wrapper: announced(*wrapper, bare[bench.beast]), RAW[wire]),
                (KEEL, lambda wrapper: bench.start_keel(wrapper=wrapper, program=bare[bench.keel]), wire),
            ):
                outputs = count_instructions(bench, start, sent, folder)
                each = http_profile.instructions_per_request(*outputs)
                report[f"instructions {wire} {name}"] = each
                print(f"{name}, {wire}, {CONNECTIONS} connections: {each:,.0f} instructions per request")
                if top and name == KEEL:
                    http_profile.print_top(*outputs, top)


def verdict(checks, report):
    rows = []
    for check in checks:
        sign = "≥" if isinstance(check, AtLeast) else "≤"
        limit = f"{sign} {check.limit:g} {check.unit}"
        rows.append((check.what, f"{check.value:.3g} {check.unit}", limit, "pass" if check.passed else "MISSED"))
    print_table("targets", ("what", "here", "target", ""), rows)
    report["checks"] = [
        {"what": check.what, "value": check.value, "limit": check.limit, "passed": check.passed} for check in checks
    ]
    return all(check.passed for check in checks)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--http", action="store_true", help=argparse.SUPPRESS)  # selected by ./dev bench --http
    parser.add_argument("--quick", action="store_true", help="three rounds; targets are not checked")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--listens", type=int, nargs="?", const=LISTENS, metavar="N",
                        help=f"only measure the memory of idle listen streams ({LISTENS})")  # fmt: skip
    parser.add_argument("--threads", action="store_true", help="only compare two threads with one")
    parser.add_argument("--instructions", action="store_true", help="only count keel's instructions per request with callgrind")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="also list the N most expensive functions")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build" / "bench", help="folder for the tools built by this script")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench-http.json", help="output file for all figures")
    wanted = parser.parse_args()
    counting = wanted.instructions or wanted.profile > 0
    part = wanted.listens or wanted.threads or counting
    rounds = 3 if wanted.quick else wanted.rounds

    bench = Bench(wanted.build_dir, find_keel())
    if part and bench.keel is None:
        sys.exit("bench: missing keel: build it, or set KEEL_BIN to its folder")
    report = {"machine": machine()}
    checks = []
    if counting:
        profile(bench, wanted.profile, report)
    if not part:
        report["runs"] = measure(bench, list_servers(bench, body_sizes(bench)), rounds)
        print_figures(report["runs"])
        checks += targets(report["runs"])
    if bench.keel and (wanted.listens or not part):
        checks += measure_listens(bench, wanted.listens or LISTENS, report)
    if bench.keel and (wanted.threads or not part):
        checks += measure_threads(bench, rounds, report)

    good = verdict(checks, report) if checks else True
    wanted.json.parent.mkdir(parents=True, exist_ok=True)
    wanted.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if good or wanted.quick else 1


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        try:
            sys.exit(main())
        except http_servers.Failed as reason:
            sys.exit(f"bench: {reason}")
    sys.exit(130)
