#!/usr/bin/env python3
"""The client never hangs: whatever a server does at any point, each call ends exactly once with the correct kind of error, nothing
leaks, and the next call works. The table is hang_cells.py, the servers are hostile_server.py."""

# ctest-labels: threads
# ctest-timeout: 900

import os
import re
import resource
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import hang_cells
import keel_process as kp
import proof
from caller_process import Caller
from hang_cells import CALLS, ERAS, HAVE_NO_OPTIONS, HTTP, LINES, Cell
from hostile_lines import LEGACY, LEGACY_ONLY, MODERN, RESULTS, Plan
from hostile_server import HostileServer, child
from http_client import Modern, Session
from http_connection import Connection

AT_ONCE = 32
SHORT = 400  # milliseconds, for calls that must time out
SHORT_OPEN = 1500  # if the handshake has the same limit
ONLY = os.environ.get("KEEL_CELLS", "")  # a pattern that selects cells
STRIDE = 7  # with a sanitizer, only one cell in so many is run

# A child that keeps running is killed soon: the time limits are not tested here.
CHILD_LIMITS = {"child_exit": 150, "child_term": 2000, "child_reap": 2000}


class Runner:
    """Runs cells with one process, many at a time."""

    def __init__(self, caller):
        self.caller = caller
        self.lock = threading.Lock()
        self.count = 0
        self.healthy = {}  # (wire, era): a correct server

    def name(self):
        with self.lock:
            self.count += 1
            return f"c{self.count}"

    @staticmethod
    def chance(cell):
        """A pseudo-random number that is the same in each run."""
        return zlib.crc32(str(cell).encode())

    def close(self):
        for server in self.healthy.values():
            server.close()

    def good_target(self, wire, era):
        if wire == "stdio":
            return child({"era": era})
        with self.lock:
            if (wire, era) not in self.healthy:
                self.healthy[wire, era] = HostileServer(wire, Plan(era))
            return self.healthy[wire, era].target

    def options(self, cell, pinned):
        times_out = "timed_out" in hang_cells.expected(cell)
        limits = {"max_message": 1 << 20, "final_write": 300, **CHILD_LIMITS}
        o = {"limits": limits, "mode": cell.era if pinned or cell.era == "legacy" else "automatic"}
        if times_out and cell.call in HAVE_NO_OPTIONS:
            limits["request_idle"] = SHORT_OPEN
            if cell.call == "open":
                o["connect_timeout"] = SHORT
        if cell.wire != "stdio" and self.chance(cell) % 2:
            o["shared_loop"] = True
        return o

    def play(self, cell):
        """None, or the error."""
        try:
            if cell.wire == "stdio":
                return self.play_at(cell, child(cell.plan))
            with HostileServer(cell.wire, Plan(**cell.plan)) as server:
                return self.play_at(cell, server.target)
        except AssertionError as e:
            return str(e)

    def play_at(self, cell, target):
        name = self.name()
        if "url" in target:
            target = {**target, "max_body": 1 << 20}
        opened = self.caller.open(name, target, **self.options(cell, cell.call == "open"))
        if cell.call == "open" or opened.kind == "closed" and cell.point == "before_written":
            outcome = opened  # it was faster than the end of the handshake
        elif opened.kind != "result":
            self.caller.drop(name)
            return f"could not be opened: {opened}"
        else:
            outcome = self.ask(cell, name)
        right = hang_cells.expected(cell)
        wrong = None if outcome.kind in right else f"expected {' or '.join(sorted(right))}, got {outcome}"
        if wrong is None and hang_cells.lives_on(cell):
            after = self.caller.call(name, "list_prompts")
            if after.kind != "result":
                wrong = f"ended with {outcome.kind}, but then the same client: {after}"
        if self.chance(cell) % 3 == 0:
            closed = self.caller.do("close", **{"as": name})
            wrong = wrong or (None if closed.kind == "result" else f"close: {closed}")
        self.caller.drop(name)
        # Starting another child is slow, so this is done in one of four cells.
        if wrong is None and not hang_cells.lives_on(cell) and (cell.wire != "stdio" or self.chance(cell) % 4 == 0):
            wrong = self.fresh(cell)
        return wrong

    def ask(self, cell, name):
        if cell.call == "subscribe":
            said = self.caller.do("subscribe", **{"as": name, "sub": name, "uris": ["test://a"]})
            self.caller.do("unsubscribe", sub=name)
            return said
        how = {}
        if "timed_out" in hang_cells.expected(cell) and cell.call not in HAVE_NO_OPTIONS:
            how["idle"] = SHORT
        return self.caller.call(name, cell.call, CALLS[cell.call][0], **how)

    def fresh(self, cell):
        """The next call, on a separate connection to a correct server."""
        name = self.name()
        opened = self.caller.open(name, self.good_target(cell.wire, cell.era),
                                  mode="legacy" if cell.era == "legacy" else "automatic", limits=CHILD_LIMITS)
        after = self.caller.call(name, "list_prompts") if opened.kind == "result" else opened
        self.caller.drop(name)
        return None if after.kind == "result" else f"a fresh connection afterwards: {after}"


class HangTest(kp.DriveTest):
    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def all_end(self, cells):
        cells = [c for c in cells if re.search(ONLY, str(c))]
        if kp.is_sanitized():
            cells = cells[::STRIDE]
        with Caller() as caller, ThreadPoolExecutor(AT_ONCE) as pool:
            runner = Runner(caller)
            try:
                # The first use of everything: what it allocates permanently (such as a resolver thread) is not a leak.
                for wire, era in {(c.wire, c.era) for c in cells}:
                    self.assertIsNone(runner.fresh(Cell(wire, era, "ping", "", "")))
                before = caller.holds()
                for cell, wrong in zip(cells, pool.map(runner.play, cells)):
                    if wrong is not None:
                        with self.subTest(str(cell)):
                            self.fail(wrong)
                caller.is_back(before)
                self.assertEqual(before["children"], [])
            finally:
                runner.close()
            caller.finish()
        for cell in cells:
            proof.spoke(MODERN if cell.era == "modern" else LEGACY)

    def of(self, make, *wires):
        self.all_end([cell for wire in wires for era in ERAS for cell in make(wire, era)])

    def test_d1_d4_child(self):
        """D1 D4: a child that exits, closes its pipes or does not answer, at every point of every call"""
        self.of(hang_cells.endings, "stdio")

    def test_d1_d4_sockets(self):
        """D1 D4: a server on a socket that exits, closes, resets or does not answer, at every point of every call"""
        self.of(hang_cells.endings, "tcp", "unix")

    def test_d2_d4_http(self):
        """D2 D4: an HTTP server that exits, closes, resets or does not answer, at every point of every call"""
        self.of(hang_cells.endings, *HTTP)

    def test_d1_d2_d4_old_transport(self):
        """D1 D2 D4: the same with the transport of 2024-11-05"""
        self.of(hang_cells.endings, "old_sse")

    def test_d9_d10_d11_lines(self):
        """D9 D10 D11: every call gets invalid data from a server on a byte stream; messages that are not its response are ignored"""
        self.of(hang_cells.garbage, *LINES)

    def test_d2_d10_d18_http(self):
        """D2 D10 D18: every call gets invalid data over HTTP, in JSON and in event streams"""
        self.of(hang_cells.garbage, *HTTP)

    def test_d10_old_transport(self):
        """D10: every call gets invalid data over the transport of 2024-11-05"""
        self.of(hang_cells.garbage, "old_sse")


class ServerTest(kp.DriveTest):
    """Until their fault, the servers must be correct: otherwise these tests would prove nothing."""

    REQUESTS = {"tools/call": {"name": "echo", "arguments": {}}, "resources/read": {"uri": "test://a"},
                "prompts/get": {"name": "p"}, "logging/setLevel": {"level": "info"},
                "resources/subscribe": {"uri": "test://a"}, "resources/unsubscribe": {"uri": "test://a"},
                "completion/complete": {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}}

    def methods(self, era):
        return [m for m in RESULTS if m != "x/own" and not (era == "modern" and m in LEGACY_ONLY)]

    def test_on_lines(self):
        """responses on byte streams match the official schemas"""
        for era in ERAS:
            with HostileServer("tcp", Plan(era)) as server:
                host, port = server.target["tcp"].split(":")
                with kp.SocketWire(kp.connect((host, int(port)))) as wire:
                    meta = {"_meta": kp.MODERN_META} if era == "modern" else {}
                    if era == "legacy":
                        wire.open()
                    for n, method in enumerate(self.methods(era)):
                        answer = wire.ask(kp.request(n, method, {**self.REQUESTS.get(method, {}), **meta}))
                        self.assertIn("result", answer, method)

    def test_over_http(self):
        """responses over HTTP match the official schemas"""
        for wire in HTTP:
            for era in ERAS:
                with HostileServer(wire, Plan(era)) as server:
                    at = Address(server.target["url"])
                    client = Modern(at) if era == "modern" else Session(at)
                    for n, method in enumerate(self.methods(era)):
                        params = self.REQUESTS.get(method, {})
                        message = client.request(n, method, params) if era == "modern" else kp.request(n, method, params)
                        with client.post(message) as e:
                            self.assertIn("result", e.answer(n), method)
                            self.assertEqual(e.is_stream, wire == "http_sse")


class Address:
    """A server for http_client."""

    credential = None

    def __init__(self, url):
        self.host_header, _, path = url.removeprefix("http://").partition("/")
        self.path = "/" + path

    def connect(self, **options):
        host, port = self.host_header.split(":")
        return Connection((host, int(port)), **options)


class TableTest(kp.DriveTest):
    """A table that accepts everything proves nothing."""

    def cells(self):
        for wire in hang_cells.WIRES:
            for era in ERAS:
                yield from hang_cells.endings(wire, era)
                yield from hang_cells.garbage(wire, era)

    def test_every_call_on_every_wire(self):
        """every call meets every fault on every transport, and few outcomes are left open"""
        all_cells = list(self.cells())
        self.assertEqual(len(all_cells), len(set(all_cells)))
        open_ones = [c for c in all_cells if len(hang_cells.expected(c)) > 1]
        self.assertLess(len(open_ones) * 20, len(all_cells) * 2, "too many cells allow several outcomes")
        for cell in all_cells:
            if cell.point != "answer" and cell.point != "before_written":
                self.assertNotIn("result", hang_cells.expected(cell), cell)
        for wire in hang_cells.WIRES:
            for era in ERAS if wire != "old_sse" else ("legacy",):
                met = {c.call for c in all_cells if (c.wire, c.era) == (wire, era)}
                self.assertEqual(met, {call for call in CALLS if hang_cells.has(wire, era, call)})
                self.assertGreaterEqual(len(met), 14)


if __name__ == "__main__":
    kp.main()
