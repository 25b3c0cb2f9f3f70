#!/usr/bin/env python3
"""Misbehaving child processes: the client ends them within its time limits, reports why they ended, and leaks nothing. The child
processes are bad_child.py."""

# ctest-labels: threads

import json
import os
import stat
import sys
import tempfile
from pathlib import Path

import keel_process as kp
import proof
from caller_process import Caller

REVISIONS = (*kp.LEGACY, kp.MODERN)
CHILD = str(Path(__file__).with_name("bad_child.py"))
QUICK = {"child_exit": 200, "child_term": 200, "child_reap": 5000}  # for children that use up the time limits
PATIENT = {"child_exit": 60_000, "child_term": 60_000, "child_reap": 60_000}  # for children that must not use up the time limits


class ChildTest(kp.DriveTest):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.note = self.folder / "note"
        self.caller = self.enterContext(Caller())
        self.before = self.caller.holds()

    def target(self, kind, *more, **environment):
        return {"child": {"command": sys.executable, "arguments": ["-S", "-E", CHILD, kind, *more],
                          "environment": {"BAD_CHILD_NOTE": str(self.note), **environment}}}

    def open(self, kind, name="a", limits=None, target=None, **options):
        o = {"mode": "legacy", "limits": limits or PATIENT, **options}
        return self.caller.open(name, target or self.target(kind), **o)

    def opens(self, kind, name="a", **options):
        said = self.open(kind, name, **options)
        self.assertEqual(said.kind, "result", said)
        return said

    def tool(self, tool, name="a", **more):
        return self.caller.begin("call", **{"as": name, "what": "call_tool", "args": {"name": tool}, **more})

    def facts(self, name="a"):
        said = self.tool("facts", name).wait()
        self.assertEqual(said.kind, "result", said)
        return json.loads(said["result"]["text"])

    def notes(self):
        return self.note.read_text().splitlines() if self.note.exists() else []

    def starts(self):
        return sum(row.startswith("started") for row in self.notes())

    def closes(self, name="a"):
        said = self.caller.do("close", **{"as": name})
        self.assertEqual(said.kind, "result", said)

    def opens_in(self, version, kind, **options):
        """A child that supports only this revision."""
        self.note.unlink(missing_ok=True)
        said = self.opens(kind, target=self.target(kind, BAD_CHILD_VERSION=version), version=version,
                          mode="modern" if version == kp.MODERN else "legacy", **options)
        self.assertEqual(said["result"]["version"], version)
        child = self.watch(self.facts()["pid"])
        proof.spoke(version)
        return child

    def leaves_nothing(self, *names):
        for name in names or ("a",):
            self.caller.drop(name)
        self.caller.is_back(self.before)
        self.caller.finish()

    def watch(self, pid):
        w = kp.Watched(pid)
        self.addCleanup(w.close)
        return w


class Ending(ChildTest):
    def test_g6_polite(self):
        """G6 STD-09: a child that exits at the end of its input gets no signal, and close() does not wait longer than that"""
        for version in REVISIONS:
            with self.subTest(version):
                child = self.opens_in(version, "polite")
                self.closes()
                child.wait_for_end("the child to go")
                self.assertEqual(self.notes()[1:], ["end of input"])
                self.caller.drop("a")
                self.caller.is_back(self.before)
        self.caller.finish()

    def test_g6_ignores_eof(self):
        """G6 STD-09: a child that ignores the end of its input gets SIGTERM"""
        for version in REVISIONS:
            with self.subTest(version):
                child = self.opens_in(version, "ignores_eof", limits={**PATIENT, "child_exit": 200})
                self.closes()
                child.wait_for_end("the child to go")
                self.assertEqual(self.notes()[1:], ["end of input"])
                self.caller.drop("a")
                self.caller.is_back(self.before)
        self.caller.finish()

    def test_g6_ignores_sigterm(self):
        """G6 STD-09: a child that also ignores SIGTERM is killed: first end of input, then SIGTERM, then SIGKILL"""
        limits = {**PATIENT, "child_exit": 200, "child_term": 200}
        for version in REVISIONS:
            with self.subTest(version):
                child = self.opens_in(version, "ignores_term", limits=limits, events=["stderr"])
                self.closes()
                child.wait_for_end("the child to go")
                self.assertEqual(self.notes()[1:], ["end of input", "got SIGTERM"])
                self.assertEqual(self.caller.event("stderr")["text"], "got SIGTERM\n")
                self.caller.drop("a")
                self.caller.is_back(self.before)
        self.caller.finish()

    def test_g4_g6_dropped_without_close(self):
        """G4 G6: destroying a client ends its child in the same way, also with calls waiting"""
        self.opens("ignores_term", limits=QUICK)
        child = self.watch(self.facts()["pid"])
        waiting = [self.tool("wait") for _ in range(5)]
        self.assertEqual(self.caller.drop("a").kind, "result")
        for each in waiting:
            self.assertEqual(each.wait().kind, "closed")
        child.wait_for_end("the child to go")
        self.caller.is_back(self.before)
        self.caller.finish()

    def test_g6_end_of_the_program(self):
        """G6: when the program exits, its child processes exit, too"""
        self.opens("ignores_term", limits=QUICK)
        child = self.watch(self.facts()["pid"])
        self.caller.finish()
        child.wait_for_end("the child to go")

    def test_g6_writes_at_the_end(self):
        """G6: output of a child after the end of its input is read, so that it can exit"""
        self.opens("writes_at_the_end")
        self.closes()
        self.assertEqual(self.notes()[-1], "everything written")
        self.leaves_nothing()

    def test_g6_grandchild(self):
        """G6: the exit of the process counts, not the end of its pipes: a grandchild may hold them"""
        held = self.folder / "hold"
        os.mkfifo(held)
        self.opens("grandchild", target=self.target("grandchild", BAD_CHILD_HOLD=str(held)))
        let_go = os.open(held, os.O_WRONLY)  # the grandchild has started
        child = self.watch(self.facts()["pid"])
        grandchild = self.watch(int(next(r for r in self.notes() if r.startswith("grandchild")).split()[1]))
        self.closes()
        child.wait_for_end("the child to go")
        self.caller.drop("a")
        self.caller.is_back(self.before)
        os.close(let_go)
        grandchild.wait_for_end("the grandchild to go")
        self.caller.finish()

    def test_d1_g8_killed_with_a_grandchild(self):
        """D1 G8: a killed child is detected although a grandchild holds its pipes"""
        held = self.folder / "hold"
        os.mkfifo(held)
        self.opens("grandchild", target=self.target("grandchild", BAD_CHILD_HOLD=str(held)))
        let_go = os.open(held, os.O_WRONLY)
        waiting = [self.tool("wait") for _ in range(3)]
        self.watch(self.facts()["pid"]).kill()
        for each in waiting:
            self.assertEqual(each.wait().kind, "closed")
        self.caller.drop("a")
        self.caller.is_back(self.before)
        os.close(let_go)
        self.caller.finish()

    def test_g7_dead_already(self):
        """G7: a child that has already exited is reported, leaves no zombie and gets no signal"""
        self.opens("polite", events=["disconnected"])
        self.watch(self.facts()["pid"]).kill()
        self.assertIn("signal 9", self.caller.event("disconnected")["cause"])
        kp.until(lambda: self.caller.census()["children"] == [], "the child to be reaped")
        self.closes()
        self.leaves_nothing()

    def test_g1_closing_twice(self):
        """G1: close() is idempotent, also concurrently"""
        self.opens("ignores_eof", limits={**PATIENT, "child_exit": 200})
        several = [self.caller.begin("close", **{"as": "a"}) for _ in range(5)]
        for each in several:
            self.assertEqual(each.wait().kind, "result")
        self.closes()
        self.leaves_nothing()


class Dying(ChildTest):
    def test_d1_g8_ten_waiting(self):
        """D1 G8: a child is killed with ten calls waiting: each ends once, with the cause and the stderr output, before on_disconnected"""
        self.opens("polite", shared_loop=True, events=["disconnected"])
        waiting = [self.tool("wait") for _ in range(10)]
        order = []  # whether each had ended when on_disconnected ran
        self.tool("die")
        told = self.caller.event("disconnected")
        for each in waiting:
            order.append(not each.there.empty())
            said = each.wait()
            self.assertEqual(said.kind, "closed", said)
            self.assertIn("signal 9", said["message"])
            self.assertIn("the very last words", said["message"])
        self.assertEqual(order, [True] * 10, "on_disconnected ran before the calls had ended")
        self.assertIn("signal 9", told["cause"])
        self.assertFalse(told["will_restart"])
        self.leaves_nothing()

    def test_d1_exit_status(self):
        """D1: the exit status and the last lines of standard error are in the error"""
        self.opens("polite")
        said = self.tool("leave").wait()
        self.assertEqual(said.kind, "closed", said)
        self.assertIn("status 5", said["message"])
        self.assertIn("leaving with 5", said["message"])
        self.leaves_nothing()

    def test_d3_call_after_the_end(self):
        """D3: a call after the end fails immediately, and connecting again starts another child"""
        self.opens("polite")
        self.assertEqual(self.tool("leave").wait().kind, "closed")
        self.assertEqual(self.tool("facts").wait().kind, "closed")
        self.assertEqual(self.starts(), 1)
        self.assertEqual(self.caller.do("connect", **{"as": "a"}).kind, "result")
        self.facts()
        self.assertEqual(self.starts(), 2)
        self.leaves_nothing()

    def test_g8_restart(self):
        """G8 STD-11: with a restart policy the next call starts another child; subscriptions are lost"""
        self.opens("polite", restart={"attempts": 2, "first_wait": 1}, events=["disconnected"])
        first = self.facts()["pid"]
        self.assertEqual(self.caller.do("subscribe", **{"as": "a", "sub": "s", "uris": ["test://a"]}).kind, "result")
        for _ in range(3):  # a call that works in between: this resets the limit of restarts
            self.assertEqual(self.tool("die").wait().kind, "closed")
            self.assertTrue(self.caller.event("disconnected")["will_restart"])
            second = self.facts()["pid"]
            self.assertNotEqual(first, second)
            first = second
        over = self.caller.do("next", sub="s")
        self.assertEqual(over["result"]["over"], "lost")
        self.caller.do("unsubscribe", sub="s")
        self.assertEqual(self.starts(), 4)
        self.leaves_nothing()

    def test_g8_restart_is_bounded(self):
        """G8 STD-11: a child that exits after each start is not restarted forever"""
        working = self.folder / "works"
        working.write_text("")
        script = self.folder / "fragile"
        script.write_text(f'#!/bin/sh\n[ -e "{working}" ] && exec "{sys.executable}" -S -E "{CHILD}" polite\n'
                          f'exec "{sys.executable}" -S -E "{CHILD}" exit_at_once\n')
        script.chmod(0o755)
        target = {"child": {"command": str(script), "environment": {"BAD_CHILD_NOTE": str(self.note)}}}
        self.opens("", target=target, restart={"attempts": 3, "first_wait": 1})
        working.unlink()
        self.assertEqual(self.tool("die").wait().kind, "closed")
        said = self.tool("facts").wait()
        self.assertEqual(said.kind, "closed", said)
        self.assertIn("no such database", said["message"])
        self.assertLessEqual(self.starts(), 1 + 3)
        self.assertGreaterEqual(self.starts(), 2)
        self.leaves_nothing()


class Starting(ChildTest):
    def test_g9_exit_at_once(self):
        """G9 D1: a child that exits immediately: connecting fails with its status and stderr output"""
        for mode in ("legacy", "modern", "automatic"):
            said = self.open("exit_at_once", mode=mode)
            self.assertEqual(said.kind, "closed", said)
            self.assertIn("status 3", said["message"])
            self.assertIn("no such database", said["message"])
            self.caller.drop("a")
        self.caller.is_back(self.before)
        self.caller.finish()

    def test_exits_on_the_probe(self):
        """VER-03: a child that exits, or is killed, on the version probe is an older server, and is started again"""
        for kind in ("exit_on_probe", "killed_by_probe"):
            self.note.unlink(missing_ok=True)
            said = self.opens(kind, mode="automatic")
            self.assertEqual(said["result"]["modern"], False)
            self.assertEqual(self.starts(), 2)
            self.facts()
            self.caller.drop("a")
        self.caller.is_back(self.before)
        self.caller.finish()

    def test_silent_on_the_probe(self):
        """VER-03: a child that does not answer the version probe is an older server, and continues"""
        said = self.opens("silent_on_probe", mode="automatic", probe_timeout=300)
        self.assertEqual(said["result"]["modern"], False)
        self.facts()
        self.assertEqual(self.starts(), 1)
        self.leaves_nothing()

    def test_bridge(self):
        """VER-03: a bridge that rejects initialize after the probe is started again, without a probe, and reconnects do not repeat that"""
        said = self.opens("bridge", mode="automatic")
        self.assertEqual(said["result"]["modern"], False)
        self.facts()
        self.assertEqual(self.starts(), 2)
        self.assertEqual(sum(row == "initialize rejected" for row in self.notes()), 1)
        self.closes()
        self.assertEqual(self.caller.do("connect", **{"as": "a"}).kind, "result")
        self.facts()
        self.assertEqual(self.starts(), 3)
        self.assertEqual(sum(row == "initialize rejected" for row in self.notes()), 1)
        self.leaves_nothing()

    def test_g9_cannot_be_started(self):
        """G9: a missing or not executable program is reported; nothing leaks"""
        plain = self.folder / "plain"
        plain.write_text("not a program")
        broken = self.folder / "broken"
        broken.write_text("#!/no/such/interpreter\n")
        broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
        cases = {
            "missing": ({"command": "/no/such/server"}, "No such file"),
            "not in the path": ({"command": "no-such-server-at-all"}, "No such file"),
            "not executable": ({"command": str(plain)}, "ermission denied"),
            "a folder": ({"command": str(self.folder)}, "ermission denied"),
            "no interpreter": ({"command": str(broken)}, "No such file"),
            "no such directory": ({"command": sys.executable, "directory": "/no/such/directory"}, "No such file"),
            "nothing": ({"command": ""}, ""),
        }
        for name, (what, reason) in cases.items():
            for mode in ("legacy", "automatic"):
                with self.subTest(name, mode=mode):
                    said = self.open("", mode=mode, target={"child": what})
                    self.assertEqual(said.kind, "unavailable", said)
                    self.assertIn(reason, said["message"])
                    self.caller.drop("a")
        self.caller.is_back(self.before)
        self.caller.finish()


class Resources(ChildTest):
    def test_g10_two_children(self):
        """G10: two children do not hold each other's pipes: the first gets the end of its input while the second runs"""
        self.opens("polite", "a")
        self.opens("polite", "b")
        first = self.watch(self.facts("a")["pid"])
        self.closes("a")
        first.wait_for_end("the first to see its end")
        self.facts("b")
        self.closes("b")
        self.leaves_nothing("a", "b")

    def test_g10_no_descriptors(self):
        """G10: a child has its three standard descriptors and no others of the client"""
        self.caller.finish()
        with tempfile.TemporaryFile() as stray:
            os.set_inheritable(stray.fileno(), True)
            caller = self.enterContext(Caller(pass_fds=[stray.fileno()]))
            self.caller = caller
            self.opens("polite", "a")
            self.opens("polite", "b")
            for name in ("a", "b"):
                self.assertEqual(self.facts(name)["descriptors"], [0, 1, 2])
            caller.drop("a")
            caller.drop("b")
            caller.finish()

    def test_environment_and_directory(self):
        """STD-13: a child gets a short list of the client's environment, additional variables, its directory, its arguments and its own process group"""
        target = self.target("polite", "with space", "", "ä", BAD_CHILD_VARIABLE="a=b c\n")
        target["child"]["directory"] = str(self.folder)
        self.opens("polite", target=target)
        facts = self.facts()
        self.assertEqual(facts["variable"], "a=b c\n")
        self.assertEqual(facts["home"], os.environ.get("HOME"))
        self.assertEqual(os.path.realpath(facts["directory"]), os.path.realpath(self.folder))
        self.assertEqual(facts["arguments"], ["polite", "with space", "", "ä"])
        self.assertEqual(facts["group"], facts["pid"])
        self.leaves_nothing()

    def test_std08_flood(self):
        """STD-08: 100 MB on standard error are read and discarded without an error"""
        self.opens("flood", events=["stderr_bytes"])
        # test-caller reports once per MiB, so up to 1 MiB of the 100 MB may stay unreported.
        while self.caller.event("stderr_bytes")["bytes"] < 98_000_000:
            pass
        self.facts()
        if not kp.is_sanitized():
            peak = self.caller.peak_memory()
            self.assertLess(peak, 48 * kp.MIB, f"{peak / kp.MIB:.1f} MiB")
        self.leaves_nothing()


if __name__ == "__main__":
    kp.main()
