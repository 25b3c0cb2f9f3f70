#!/usr/bin/env python3
"""Ctrl-C and other signals during a `keel` command."""

import json
import signal
import subprocess
import sys

import keel_process as kp
import proof
from keel_command import ODD_SERVER, CommandTest, Terminal, demo, keel, odd
from keel_process import HOUR, LEGACY, Watched, until


class Cancelling(CommandTest):
    def start(self, *words):
        process = subprocess.Popen([kp.keel_command(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        watched = Watched(process.pid)

        def end():
            if process.poll() is None:
                watched.kill()
            process.wait()
            watched.close()
            process.stdout.close()
            process.stderr.close()
        self.addCleanup(end)
        return process, watched

    def test_d7_ctrl_c_cancels_the_call(self):
        """D7: SIGINT during a call sends notifications/cancelled for it; the exit status is 130."""
        process, watched = self.start("call", "hang", "--protocol", "legacy", *odd("notes=" + self.path("notes")))
        until(lambda: any('"tools/call"' in row for row in self.notes()), "the call to arrive")
        process.send_signal(signal.SIGINT)
        watched.wait_for_end("the command to exit")
        self.assertEqual(process.wait(), 130)
        self.assertEqual((process.stdout.read(), process.stderr.read()), (b"", b"keel: cancelled\n"))
        messages = [json.loads(row) for row in self.notes() if row.startswith("{")]
        asked = [m for m in messages if m["method"] == "tools/call"]
        told = [m for m in messages if m["method"] == "notifications/cancelled"]
        self.assertEqual([m["params"]["requestId"] for m in told], [asked[0]["id"]])
        self.assertEqual(self.notes()[-1], "end")
        proof.spoke(LEGACY[-1])

    def test_signals_over_every_transport(self):
        """SIGINT and SIGTERM during `call sleep` end the server's handler and the command."""
        with self.every_wire() as wires:
            for wire, where in wires.items():
                if wire == "stdio":
                    continue  # only this command can connect to that server

                def running():
                    return json.loads(json.loads(keel("call", "health", "--json", *where).out)
                                      ["content"][0]["text"])["in_flight"]

                for number in (signal.SIGINT, signal.SIGTERM):
                    with self.subTest(wire=wire, signal=number):
                        until(lambda: running() == 1, "the last call to end")
                        process, watched = self.start("call", "sleep", f"ms={HOUR}", *where)
                        until(lambda: running() == 2, "the call to arrive")  # this call and the health call
                        process.send_signal(number)
                        watched.wait_for_end("the command to exit")
                        self.assertEqual(process.wait(), 128 + number)
                        until(lambda: running() == 1, "the handler to end")

    def test_ctrl_c_while_connecting(self):
        """Ctrl-C also ends the wait for a server that does not answer."""
        process, watched = self.start("ping", "--protocol", "legacy", "--", "sh", "-c",
                                      f"echo there > {self.path('notes')}; while read -r line; do :; done")
        until(lambda: self.notes() == ["there"], "the server to start")
        process.send_signal(signal.SIGINT)
        watched.wait_for_end("the command to exit")
        self.assertEqual(process.wait(), 130)

    def test_second_ctrl_c_exits_at_once(self):
        """After the second SIGINT keel does not wait for a child that ignores termination, and kills it."""
        process, watched = self.start("call", "hang", "--protocol", "legacy",
                                      *odd("stubborn", "notes=" + self.path("notes")))
        until(lambda: any('"tools/call"' in row for row in self.notes()), "the call to arrive")
        child = Watched(int(self.notes()[0].split()[1]))
        try:
            process.send_signal(signal.SIGINT)
            until(lambda: self.notes()[-1] == "end", "the child to see the end of its input")
            process.send_signal(signal.SIGINT)
            watched.wait_for_end("the command to exit")
            self.assertEqual(process.wait(), 130)
            child.wait_for_end("the child to be killed")
        finally:
            child.kill()
            child.close()

    def test_second_ctrl_c_kills_the_process_group(self):
        """Processes started by the child are killed too, for example if a script runs the server."""
        process, watched = self.start("call", "hang", "--protocol", "legacy", "--", "sh", "-c",
                                      f"trap '' TERM; exec 3<&0; {sys.executable} {ODD_SERVER} stubborn "
                                      f"notes={self.path('notes')} <&3; echo")
        until(lambda: any('"tools/call"' in row for row in self.notes()), "the call to arrive")
        grandchild = Watched(int(self.notes()[0].split()[1]))
        try:
            process.send_signal(signal.SIGINT)
            until(lambda: self.notes()[-1] == "end", "the server to see the end of its input")
            process.send_signal(signal.SIGINT)
            watched.wait_for_end("the command to exit")
            self.assertEqual(process.wait(), 130)
            grandchild.wait_for_end("the server to be killed")
        finally:
            grandchild.kill()
            grandchild.close()

    def test_ctrl_c_in_a_terminal(self):
        """Ctrl-C typed in the terminal while the progress bar is shown."""
        with Terminal("call", "sleep", "ms=4000", *demo()) as t:
            t.expect("[")
            t.expect("10%")
            t.type("\x03")
            t.expect("keel: cancelled")
            self.assertEqual(t.end(), 130)


if __name__ == "__main__":
    kp.main()
