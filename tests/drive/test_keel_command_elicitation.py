#!/usr/bin/env python3
"""`keel` in a terminal: the progress bar, and questions of the server (elicitation)."""

import contextlib
import json
import os
import re
import select
import signal
from pathlib import Path

import keel_process as kp
import proof
from keel_command import CommandTest, Terminal, columns_of, demo, keel, odd, without_own_colours
from keel_process import MODERN, Watched, until


class InTheTerminal(CommandTest):
    def test_progress_bar(self):
        """A progress bar is shown if standard error is a terminal, and erased at the end."""
        with Terminal("call", "sleep", "ms=200", *demo()) as t:
            t.expect("] 100%")
            t.expect("\r\x1b[K")
            t.expect("slept 200 ms")
            self.assertEqual(t.end(), 0)
        with Terminal("call", "progress", "--protocol", "legacy", *odd(), columns=50) as t:
            line = t.expect("\x1b[K")
            self.assertLess(columns_of(line.strip("\r")), 50)
            self.assertIn("25%", line)
            self.assertEqual(t.end(), 0)
        self.assertEqual(keel("call", "sleep", "ms=20", *demo()).err, "")

    def booked(self, version, answers, status=0):
        with Terminal("call", "book_trip", "--protocol", version, *demo()) as t:
            for question, text in answers:
                t.answer(question, text)
            self.assertEqual(t.end(), status)
            proof.spoke(version)
            return t.seen

    def test_form(self):
        """ELI-06, ELI-18: keel shows the server's name and the defaults, rejects invalid values, and lets the user review the form."""
        for version in ("2025-06-18", "2025-11-25", MODERN):
            with self.subTest(version=version):
                # The two questions of the second round may arrive in either order.
                with Terminal("call", "book_trip", "--protocol", version, *demo()) as t:
                    t.expect("keel-demo (")
                    t.answer("city (Where to)", "x")
                    t.expect("expected at least 2 characters")
                    t.answer("city (Where to)", "Lima")
                    t.answer("days (How long)", "99")
                    t.expect("expected at most 30")
                    t.answer("days (How long)", "many")
                    t.expect("not a number: many")
                    t.answer("days (How long)", "")
                    t.expect("This field is required")
                    t.answer("days (How long)", "4")
                    t.expect("city: Lima")
                    t.expect("days: 4")
                    t.answer("Send this?", "maybe")
                    t.answer("Send this?", "e")
                    t.answer("[Lima]", "")
                    t.answer("[4]", "5")
                    t.answer("Send this?", "yes")
                    for _ in range(2):
                        while not (found := re.search(r"Which room\?|Who travels\?", t.seen[t.at:])):
                            t._more("the next question")
                        t.expect(found.group(0))
                        if "room" in found.group(0):
                            t.answer("2  twin", "2")
                            t.answer("sea_view", "y")
                        else:
                            t.answer("name", "Ada")
                            t.answer("email", "nonsense")
                            t.answer("email", "")
                            t.expect("(omitted)")
                        t.answer("Send this?", "y")
                    t.expect("Ada goes to Lima for 5 days, twin room with a view of the sea. Book it?")
                    t.answer("Book it?)", "no")
                    t.answer("Send this?", "y")
                    t.expect("not booked")
                    self.assertEqual(t.end(), 0)
                proof.spoke(version)

    def test_decline_and_cancel(self):
        """ELI-06: the user can decline or cancel at every question."""
        for version in ("2025-06-18", "2025-11-25", MODERN):
            with self.subTest(version=version):
                self.assertIn("no trip: declined", self.booked(version, [("city", ":d")]))
                self.assertIn("no trip: cancelled", self.booked(version, [("city", ":c")]))
                filled = [("city", "Lima"), ("days", "3")]
                self.assertIn("no trip: declined", self.booked(version, [*filled, ("Send this?", "d")]))
                self.assertIn("no trip: cancelled", self.booked(version, [*filled, ("Send this?", "c")]))
        with Terminal("call", "book_trip", *demo()) as t:
            t.expect("city")
            t.type("\x04")  # Ctrl-D
            t.expect("no trip: cancelled")
            self.assertEqual(t.end(), 0)
        with Terminal("call", "book_trip", *demo()) as t:
            t.expect("city")
            t.type("\x03")  # Ctrl-C cancels the whole call
            t.expect("keel: cancelled")
            self.assertEqual(t.end(), 130)

    def test_every_kind_of_field(self):
        """ELI-18: the content sent matches the schema of the form, with its defaults."""
        with Terminal("call", "form", "--protocol", "2025-11-25", *odd()) as t:
            t.expect("odd\\x1b[2J")  # the server's name, escaped
            t.answer("Your name", "::A")
            t.answer("mail", "no mail")
            t.answer("mail", "a@example.com")
            t.expect("2  l  Large")
            t.answer("[l]", "Small")
            t.answer("3  blue", "")
            t.answer("This field is required", "1, purple")
            t.answer("not a choice: purple", "1, blue")
            t.answer("count", "10")
            t.answer("count", "")
            t.answer("sure", "perhaps")
            t.answer("sure", "Yes")
            t.answer("Send this?", "y")
            self.assertEqual(t.end(), 0)
            self.is_clean(t.seen)
            told = json.loads(t.seen[t.at:].partition(": ")[2])
            self.assertEqual(told, {"action": "accept", "content": {
                "name": ":A", "mail": "a@example.com", "size": "s", "colours": ["red", "blue"], "count": 3,
                "sure": True}})

    def opened(self, which, *answers, by="{}"):
        browser = self.path("browser")
        Path(browser).write_text(f'#!/bin/sh\necho "$@" > {self.path("part")}; mv {self.path("part")} {self.path("seen")}\n')
        os.chmod(browser, 0o755)
        with Terminal("call", "url", f"which={which}", "--protocol", "2025-11-25", *odd(), 
                      env={"BROWSER": by.format(browser)}) as t:
            for question, text in answers:
                t.answer(question, text)
            self.assertEqual(t.end(), 0)
            self.is_clean(t.seen)
            return t.seen

    def test_a_url_is_opened_only_with_consent(self):
        """ELI-06, ELI-07, ELI-08: keel shows the whole URL and opens it only after the user agreed."""
        for word, action in (("d", "decline"), ("c", "cancel"), ("m", "accept")):
            seen = self.opened("good", ("Open it?", word))
            self.assertIn(f'"action": "{action}"', seen)
            self.assertIn("https://example.com/handbook", without_own_colours(seen))
            self.assertEqual(self.notes("seen"), [], word)
        self.opened("good", ("Open it?", ""), ("Open it?", "x"), ("Open it?", "o"))
        until(lambda: self.notes("seen"), "the browser")
        self.assertEqual(self.notes("seen"), ["https://example.com/handbook"])
        proof.spoke("2025-11-25")
        with Terminal("call", "open_page", "--protocol", MODERN, *demo()) as t:
            t.expect("keel-demo")
            t.answer("Open it?", "d")
            t.expect("not opened: declined")
            self.assertEqual(t.end(), 0)
        proof.spoke(MODERN)

    def test_only_exact_answers_are_accepted(self):
        """After a word that only starts like an answer, keel asks again and opens nothing."""
        for word in ("only if it is safe", "maybe", "oops", "declined", "y n"):
            seen = self.opened("good", ("Open it?", word), ("Please type one of these words", ""), ("Open it?", "NO"))
            self.assertIn('"action": "decline"', seen)
            self.assertEqual(self.notes("seen"), [], word)
        self.assertIn('"action": "accept"', self.opened("good", ("Open it?", "Yes")))
        until(lambda: self.notes("seen"), "the browser")

    def test_browser_variable(self):
        """BROWSER may contain arguments, %s for the URL, and alternatives; failures are reported."""
        page = "https://example.com/handbook"
        for by, seen in (("{} --new  window", f"--new window {page}"), ("{} --at=%s now", f"--at={page} now"),
                         ("/no/such/browser:false:{}", page)):
            with self.subTest(by=by):
                self.opened("good", ("Open it?", "open"), by=by)
                until(lambda: self.notes("seen"), "the browser")
                self.assertEqual(self.notes("seen"), [seen])
                os.unlink(self.path("seen"))
        told = self.opened("good", ("Open it?", "o"), ("Open it?", "m"), by="/no/such/browser:false")
        self.assertIn("cannot start /no/such/browser", told)
        self.assertIn("false exited with status 1", " ".join(told.split()))
        self.assertIn('"action": "accept"', told)

    def test_the_browser_keeps_running(self):
        """A second signal kills the server, but not the browser."""
        Path(self.path("browser")).write_text(f'#!/bin/sh\necho $$ > {self.path("part")}\n'
                                              f'mv {self.path("part")} {self.path("seen")}\nexec tail -f /dev/null\n')
        os.chmod(self.path("browser"), 0o755)
        with Terminal("call", "url", "which=good", "--protocol", "2025-11-25",
                      *odd("keeps", "stubborn", "notes=" + self.path("notes")),
                      env={"BROWSER": self.path("browser")}) as t:
            t.answer("Open it?", "o")
            until(lambda: self.notes("seen"), "the browser")
            with contextlib.ExitStack() as stack:
                browser, server = (Watched(int(pid)) for pid in (self.notes("seen")[0], self.notes()[0].split()[1]))
                for each in (browser, server):
                    stack.callback(each.close)
                    stack.callback(each.kill)
                until(lambda: any('"accept"' in row for row in self.notes()), "the answer")
                t.process.send_signal(signal.SIGINT)
                t.process.send_signal(signal.SIGTERM)
                self.assertEqual(t.end(), 143)
                server.wait_for_end("the server to be killed")
                poller = select.poll()
                poller.register(browser.pidfd, select.POLLIN)
                self.assertEqual(poller.poll(0), [], "the browser was killed")

    def test_a_question_is_shown_again_after_a_stop(self):
        """After Ctrl-Z and fg the question is shown again, because the shell has written over it."""
        with Terminal("call", "form", "--protocol", "2025-11-25", *odd()) as t:
            t.expect("Your name")
            os.kill(t.process.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, t.process.pid, os.WSTOPPED)
            os.kill(t.process.pid, signal.SIGCONT)
            t.answer("Your name", "Ada")
            t.answer("mail", ":c")
            self.assertEqual(t.end(), 0)

    def test_help_of_a_question_is_indented(self):
        for columns in (40, 80):
            with Terminal("call", "form", "--protocol", "2025-11-25", *odd(), columns=columns) as t:
                t.expect("\n  Enter")
                hint = ("  Enter" + t.expect("cancels.") + "cancels.").replace("\r\n", "\n").splitlines()
                self.assertGreater(len(hint), 1)
                for row in hint:
                    self.assertRegex(row, "^  [^ ]")
                    self.assertLess(columns_of(row), columns)
                t.answer("Your name", ":c")
                self.assertEqual(t.end(), 0)

    def test_deceptive_urls(self):
        """ELI-19: the host is highlighted; keel warns of Punycode, user information and missing encryption."""
        seen = self.opened("punycode", ("Open it?", "d"))
        self.assertIn("https://\x1b[1mxn--pple-43d.example\x1b[0m/login?next=/a", seen)
        self.assertIn("Punycode", seen)
        seen = self.opened("user", ("Open it?", "d"))
        self.assertIn("@\x1b[1mevil.example\x1b[0m/", seen)
        self.assertIn("before the @", seen)
        self.assertIn("not encrypted", self.opened("plain", ("Open it?", "d")))
        for which in ("odd", "file"):  # these are never opened
            seen = self.opened(which)
            self.assertIn("Declined: ", seen)
            self.assertIn('"action": "decline"', seen)
        self.assertEqual(self.notes("seen"), [])
        proof.spoke("2025-11-25")

    def test_no_terminal_means_no_elicitation(self):
        """ELI-01: without a terminal, or with --no-input, keel does not declare elicitation support."""
        for version in ("2025-11-25", MODERN):
            done = keel("call", "book_trip", "--protocol", version, *demo())
            self.assertIn(done.returncode, (1, 3), done.err)
            with Terminal("call", "book_trip", "--no-input", "--protocol", version, *demo()) as t:
                self.assertIn(t.end(), (1, 3))
                self.assertNotIn("asks:", t.seen)
            with Terminal("call", "summarize", "text=x", "--protocol", version, *demo()) as t:
                self.assertIn(t.end(), (1, 3))  # sampling is not supported
            proof.spoke(version)

    def test_questions_use_the_terminal_if_stdin_is_redirected(self):
        """Standard input may be redirected: keel still asks in the terminal."""
        Path(self.path("arguments")).write_text("{}")
        with open(self.path("arguments")) as arguments, Terminal("call", "book_trip", "-", *demo(), stdin=arguments) as t:
            t.answer("city", ":d")
            t.expect("no trip: declined")
            self.assertEqual(t.end(), 0)
        with Terminal("call", "echo", "-", *demo()) as t:
            t.type('{"text": "typed"}\n\x04')
            t.expect("typed")
            self.assertEqual(t.end(), 0)

    def test_log_messages_wait_until_the_question_is_answered(self):
        os.mkfifo(self.path("gate"))
        with Terminal("call", "form", "--protocol", "2025-11-25",
                      *odd("gate=" + self.path("gate"), "notes=" + self.path("notes"))) as t:
            t.expect("Your name")
            Path(self.path("gate")).write_text("go")
            until(lambda: any('"p1"' in row for row in self.notes()), "the message to arrive")
            t.type("Ada\n")
            self.assertNotIn("told meanwhile", t.expect("mail"))
            t.type(":c\n")
            t.expect("told meanwhile")
            self.assertEqual(t.end(), 0)


if __name__ == "__main__":
    kp.main()
