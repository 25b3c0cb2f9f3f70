#!/usr/bin/env python3
"""100,000 calls of our client to our server through a proxy that breaks connections at seeded random points: every call has exactly
one correct outcome. A call that is reported as done was executed once; none was executed twice; an unsent call was not executed."""

# ctest-labels: threads
# ctest-timeout: 900

import collections
import os
import random
import sys
import threading

import keel_process as kp
import proof
from caller_process import Caller, Outcome
from fault_proxy import FaultProxy
from hostile_lines import LEGACY, MODERN
from http_client import Modern
from http_process import HttpServer

SEED = int(os.environ.get("KEEL_SEED", "20260728"))
WIRES = ("http modern", "http legacy", "tcp modern", "tcp legacy")
MEAN = 30_000  # bytes between two faults, on average
CLIENTS = 3  # on each transport
IN_FLIGHT = 32  # with each client
# The possible outcomes of a call if a connection breaks. A refusal or an invalid message would be wrong.
KINDS = {"result", "closed", "stream_lost", "session_lost", "timed_out", "cancelled", "unavailable"}


def number_of_calls():
    if "KEEL_CALLS" in os.environ:
        return int(os.environ["KEEL_CALLS"])
    return 20_000 if kp.is_sanitized() else 100_000


class Counter(HttpServer):
    """The counting server, over HTTP and over byte streams."""

    def __init__(self):
        super().__init__("--tcp", "127.0.0.1:0", "--log-level", "error", command=("test-caller", "counter"))
        self.tcp = self.wait_for_line(r"serving (?:tcp )?(127\.0\.0\.1:\d+)\n")[1]

    def executed(self, count):
        """How often each number was recorded, requested without a proxy: one digit for each."""
        return Modern(self).text(Modern(self).call("ask", "executed", {"from": 0, "count": count}))


class Storm:
    """Keeps calls in flight until all have been made. Runs on the thread that reads outcomes."""

    def __init__(self, caller, clients, count, seed):
        self.caller, self.clients = caller, clients
        self.chance = random.Random(seed)
        self.left = iter(range(count))
        self.outcomes = {}  # number: outcome
        self.wire_of = {}
        self.twice = []
        self.running = 0
        self.lock = threading.Lock()
        self.done = threading.Event()

    def start(self):
        with self.lock:
            self.running += 1
        for name in self.clients:
            for _ in range(IN_FLIGHT):
                self.next(name)
        self.one_less()

    def next(self, name):
        with self.lock:
            n = next(self.left, None)
            if n is None:
                return
            self.running += 1
            self.wire_of[n] = self.clients[name]
            wait, short, give_up = self.chance.random() < 0.1, self.chance.random() < 0.5, self.chance.random() < 0.02
            wait_ms = self.chance.randrange(1, 30) if wait else 0
        command = {"as": name, "what": "call_tool", "args": {"name": "record", "arguments": {"n": n, "wait_ms": wait_ms}}}
        if short:
            command["idle"] = 1000  # half of the stalled calls are cancelled
        p = self.caller.begin("call", on_outcome=lambda outcome: self.ended(name, n, outcome), **command)
        if give_up:
            self.caller.begin("cancel", call=p.n, how="task" if n % 2 else "stop", on_outcome=lambda outcome: None)

    def ended(self, name, n, outcome):
        if n in self.outcomes:
            self.twice.append((n, self.outcomes[n], outcome))
        self.outcomes[n] = outcome
        self.next(name)
        self.one_less()

    def one_less(self):
        with self.lock:
            self.running -= 1
            if self.running == 0:
                self.done.set()


class Faults(kp.DriveTest):
    def test_d1_d2_d4_d7_d8_i7_true_outcomes(self):
        """D1 D2 D4 D7 D8 I7: each of many calls through a proxy that breaks connections has one correct outcome"""
        count = number_of_calls()
        print(f"seed {SEED}, {count} calls (KEEL_SEED, KEEL_CALLS)", file=sys.stderr)
        with (Counter() as server, FaultProxy(SEED, f"{server.host}:{server.port}", MEAN) as web,
              FaultProxy(SEED + 1_000_000, server.tcp, MEAN) as lines, Caller() as caller):
            before = caller.holds()
            clients = self.connect(caller, web, lines)
            storm = Storm(caller, clients, count, SEED)
            storm.start()
            self.assertTrue(storm.done.wait(800), f"{len(storm.outcomes)} of {count} calls have ended, {storm.running} are running")
            for name in clients:
                caller.drop(name)
            caller.is_back(before)
            executed = server.executed(count)
            caller.finish()
        self.judge(storm, count, executed)
        for proxy in (web, lines):
            print(proxy.faults, file=sys.stderr)
            for kind in ("cut", "reset", "stall", "delay", "close"):
                self.assertGreater(proxy.faults[kind], 0, "a test in which this does not happen proves nothing")
        proof.spoke(MODERN)
        proof.spoke(LEGACY)

    def connect(self, caller, web, lines):
        """Names of clients, and the transport of each. Through the proxies, so it may take several attempts."""
        clients = {}
        for wire in WIRES:
            how, era = wire.split()
            target = {"tcp": lines.address} if how == "tcp" else {"url": f"http://{web.address}/mcp"}
            for i in range(CLIENTS):
                name = f"{wire} {i}"
                said = caller.open(name, target, mode=era, shared_loop=i == 0, limits={"final_write": 200},
                                   restart={"attempts": 1000, "first_wait": 1})
                for _ in range(50):
                    if said.kind == "result":
                        break
                    said = caller.do("connect", **{"as": name})
                self.assertEqual(said.kind, "result", said)
                clients[name] = wire
        return clients

    def judge(self, storm, count, executed):
        """Compares the reported outcomes with the executed calls."""
        self.assertEqual(storm.twice, [])
        self.assertEqual(len(storm.outcomes), count)
        self.assertEqual(len(executed), count)
        table = collections.Counter((storm.wire_of[n], o.kind) for n, o in storm.outcomes.items())
        for wire in WIRES:
            print(wire, {kind: number for (w, kind), number in sorted(table.items()) if w == wire}, file=sys.stderr)
        lies = list(self.lies(storm.outcomes, executed))
        self.assertEqual(lies[:10], [], f"{len(lies)} outcomes are not true")
        strange = [o for o in storm.outcomes.values() if o.kind not in KINDS]
        self.assertEqual(strange[:10], [], f"{len(strange)} outcomes of kinds that nothing gave reason for")
        for wire in WIRES:
            done, all_of_it = table[wire, "result"], sum(v for (w, _), v in table.items() if w == wire)
            self.assertGreater(done, all_of_it // 2, f"{wire}: most calls must work")
            self.assertLess(done, all_of_it, f"{wire}: no fault has reached a call")

    @staticmethod
    def lies(outcomes, executed):
        for n, outcome in outcomes.items():
            times = int(executed[n])
            if times > 1:
                yield n, "done more than once", times, outcome
            elif outcome.kind == "result" and (times != 1 or outcome["result"]["text"] != str(n)):
                yield n, "said to be done", times, outcome
            elif outcome.kind == "unavailable" and times != 0:
                yield n, "said not to have been sent", times, outcome

    def test_the_check_itself(self):
        """the check itself detects each kind of wrong outcome"""
        ok, gone, none = ({"kind": "result", "result": {"text": "0"}}, {"kind": "closed"}, {"kind": "unavailable"})
        for outcome, times, true in ((ok, "1", True), (ok, "0", False), (ok, "2", False), (gone, "0", True), (gone, "1", True),
                                     (gone, "2", False), (none, "0", True), (none, "1", False),
                                     ({"kind": "result", "result": {"text": "1"}}, "1", False)):
            self.assertEqual(not list(self.lies({0: Outcome(outcome)}, times)), true, (outcome, times))


if __name__ == "__main__":
    kp.main()
