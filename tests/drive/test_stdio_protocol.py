#!/usr/bin/env python3
"""Conversations of clients: both eras, ids, cancellation, progress, batches."""

# ctest-timeout: 300

import keel_process as kp
from keel_process import (CAPABILITIES_KEY, HOUR, LEGACY, MODERN, MODERN_META, VERSION_KEY, Server, call, cancel, line,
                          modern_call, request)

TOOLS = {"echo", "add", "sleep", "fail", "ask_roots"}


class Handshake(kp.DriveTest):
    def test_the_four_legacy_revisions(self):
        """The handshake of each legacy revision, the list of tools, and a call."""
        for version in LEGACY:
            with self.subTest(version=version), Server() as s:
                result = s.open(version)["result"]
                self.assertEqual(result["protocolVersion"], version)
                self.assertIn("tools", result["capabilities"])
                self.assertTrue(result["serverInfo"]["name"])
                self.assertTrue(result["serverInfo"]["version"])
                self.assertNotIn("resultType", result)
                tools = s.ask(request(1, "tools/list"))["result"]["tools"]
                self.assertLessEqual(TOOLS, {tool["name"] for tool in tools})
                for tool in tools:
                    self.assertEqual(tool["inputSchema"]["type"], "object")
                self.is_text(s.ask(call(2, "add", {"a": 2, "b": 40})), "42")
                self.assertEqual(s.ping()["result"], {})
                self.ends_input(s)

    def test_an_unknown_revision_is_answered_with_our_newest(self):
        """Legacy: an unknown version is answered with the newest legacy one."""
        for version in ("1999-01-01", "2099-01-01", ""):
            with self.subTest(version=version), Server() as s:
                self.assertEqual(s.open(version)["result"]["protocolVersion"], LEGACY[-1])
                self.ends_input(s)

    def test_e11_requests_pipelined_behind_initialize(self):
        """E11: requests sent directly after initialize are served after it."""
        with Server() as s:
            s.send(kp.initialize(0), call(1, "echo", {"text": "x"}), request(2, "tools/list"))
            self.assertEqual([s.next()["id"] for _ in range(3)], [0, 1, 2])
            self.assertFalse([m for m in s.seen if "error" in m])
            self.ends_input(s)

    def test_b10_initialize_cannot_be_cancelled(self):
        """B10: a cancel for initialize is ignored; it is answered."""
        with Server() as s:
            s.send(kp.initialize(0), cancel(0))
            self.assertIn("result", s.answer(0))
            self.ends_input(s)

    def test_a_second_initialize(self):
        """LIFE-02: a second initialize negotiates again."""
        with Server() as s:
            s.open("2025-06-18")
            self.assertEqual(s.ask(kp.initialize(5, "2024-11-05"))["result"]["protocolVersion"], "2024-11-05")
            self.is_text(s.ask(call(6, "echo", {"text": "x"})), "x")
            self.ends_input(s)

    def test_bad_arguments(self):
        """Invalid arguments: the error has their path; a protocol error before 2025-11-25, a result from then on."""
        for version in LEGACY:
            with self.subTest(version=version), Server() as s:
                s.open(version)
                answer = s.ask(call(1, "add", {"a": 1, "b": "two"}))
                if version < "2025-11-25":
                    self.assertEqual(answer["error"]["code"], -32602)
                    self.assertIn("b", answer["error"]["message"])
                else:
                    self.assertTrue(answer["result"]["isError"])
                    self.assertIn("b", kp.text_of(answer))
                self.ends_input(s)


class Modern(kp.DriveTest):
    def test_discover_list_call(self):
        """2026-07-28: no handshake; each result is marked complete, and lists have a ttl."""
        with Server() as s:
            found = s.ask(request(0, "server/discover", {"_meta": MODERN_META}))["result"]
            self.assertEqual(found["resultType"], "complete")
            self.assertIn(MODERN, found["supportedVersions"])
            listed = s.ask(request(1, "tools/list", {"_meta": MODERN_META}))["result"]
            self.assertEqual(listed["resultType"], "complete")
            self.assertLessEqual(TOOLS, {tool["name"] for tool in listed["tools"]})
            self.assertIn(listed["cacheScope"], ("public", "private"))
            self.assertIsInstance(listed["ttlMs"], int)
            answer = s.ask(modern_call(2, "add", {"a": 2, "b": 40}))
            self.assertEqual(answer["result"]["resultType"], "complete")
            self.is_text(answer, "42")
            self.ends_input(s)

    def test_the_first_request_may_be_any(self):
        """2026-07-28: a call as the first message."""
        with Server() as s:
            self.is_text(s.ask(modern_call(0, "echo", {"text": "hello"})), "hello")
            self.ends_input(s)

    def test_e12_unsupported_version(self):
        """E12: an unknown version is refused with -32022 and the supported versions; the connection continues."""
        with Server() as s:
            error = s.ask(call(1, "echo", {"text": "x"}, {**MODERN_META, VERSION_KEY: "2099-01-01"}))["error"]
            self.assertEqual(error["code"], -32022)
            self.assertIn(MODERN, error["data"]["supported"])
            self.assertEqual(error["data"]["requested"], "2099-01-01")
            self.is_text(s.ask(modern_call(2, "echo", {"text": "x"})), "x")
            self.ends_input(s)

    def test_e10_incomplete_meta(self):
        """E10: version without capabilities is -32602."""
        with Server() as s:
            self.assertEqual(s.ask(call(1, "echo", {"text": "x"}, {VERSION_KEY: MODERN}))["error"]["code"], -32602)
            self.ends_input(s)

    def test_i15_probe_then_initialize(self):
        """I15: initialize works after server/discover."""
        with Server() as s:
            self.assertIn("result", s.ask(request("probe", "server/discover", {"_meta": MODERN_META})))
            self.assertEqual(s.open()["result"]["protocolVersion"], "2025-11-25")
            self.is_text(s.ask(call(1, "echo", {"text": "x"})), "x")
            self.ends_input(s)

    def test_i15_probe_then_modern(self):
        """I15: a 2026-07-28 request works after server/discover."""
        with Server() as s:
            self.assertIn("result", s.ask(request("probe", "server/discover", {"_meta": MODERN_META})))
            self.is_text(s.ask(modern_call(1, "echo", {"text": "x"})), "x")
            self.ends_input(s)

    def test_i15_modern_then_initialize(self):
        """I15: after a modern request initialize is refused with -32022; the connection continues."""
        with Server() as s:
            self.is_text(s.ask(modern_call(1, "echo", {"text": "x"})), "x")
            self.assertEqual(s.ask(kp.initialize(2))["error"]["code"], -32022)
            self.is_text(s.ask(modern_call(3, "echo", {"text": "y"})), "y")
            self.ends_input(s)

    def test_i15_legacy_then_modern(self):
        """I15: after initialize a modern request is refused; the connection continues."""
        with Server() as s:
            s.open()
            self.assertEqual(s.ask(modern_call(1, "echo", {"text": "x"}))["error"]["code"], -32022)
            self.is_text(s.ask(call(2, "echo", {"text": "y"})), "y")
            self.ends_input(s)

    def test_f10_no_requests_to_the_client(self):
        """F10, I6: a handler that asks fails at once if no request can be delivered; nothing is sent."""
        with Server() as s:
            self.assertTrue(s.ask(modern_call(1, "ask_roots"))["result"]["isError"])
            self.assertEqual(len(s.seen), 1)
            self.ends_input(s)

    def test_a_question_ends_the_call_and_the_next_call_has_the_answer(self):
        """MRTR-01: the server asks with its result, never with a request; the same call with the answer is served."""
        with Server() as s:
            capable = {CAPABILITIES_KEY: {"roots": {}}}
            asked = s.ask(modern_call(1, "ask_roots", **capable))["result"]
            self.assertEqual(asked["resultType"], "input_required")
            self.assertEqual(asked["inputRequests"], {"roots": {"method": "roots/list", "params": {}}})
            again = modern_call(2, "ask_roots", **capable)
            again["params"]["inputResponses"] = {"roots": {"roots": [{"uri": "file:///srv/data"}]}}
            again["params"]["requestState"] = asked["requestState"]
            self.is_text(s.ask(again), "1 root\nfile:///srv/data")
            self.assertEqual(len(s.seen), 2)
            self.ends_input(s)

    def test_i1_cancel(self):
        """I1, B2: a cancelled modern call is not answered; the next one is."""
        with Server() as s:
            s.send(modern_call(1, "sleep", {"ms": HOUR}), cancel(1, "changed my mind"))
            self.is_text(s.ask(modern_call(2, "echo", {"text": "x"})), "x")
            self.assertEqual(len(s.seen), 1)
            self.ends_input(s)


class Ids(kp.DriveTest):
    def test_a3_every_kind_of_id(self):
        """A3: the answer carries the same value and type; each id can be cancelled."""
        ids = (0, -7, 2**63 - 1, -2**63, "", "a", "1", "größer 水", "\n")
        with Server() as s:
            s.open()
            for ident in ids:
                self.assertEqual(s.ask(request(ident, "ping"))["result"], {})
            before = len(s.seen)
            s.send(*(call(ident, "sleep", {"ms": HOUR}) for ident in ids), *(cancel(ident) for ident in ids))
            s.ping("end")
            self.assertEqual(len(s.seen) - before, 1)
            self.ends_input(s)

    def test_a4_number_and_string(self):
        """A4: 1 and "1" are two requests; a cancel of "1" does not affect 1."""
        with Server() as s:
            s.open(capabilities={"roots": {}})
            s.send(call(1, "ask_roots"), call("1", "ask_roots"))
            asked = [s.next()["id"] for _ in range(2)]
            s.send(cancel("1"), *({"jsonrpc": "2.0", "id": i, "result": {"roots": []}} for i in asked))
            self.is_text(s.answer(1), "0 roots")
            s.ping()
            self.assertFalse([m for m in s.seen if kp.is_answer(m) and kp.same_id(m, "1")])
            self.ends_input(s)

    def test_a5_answers_with_the_id_as_text(self):
        """A5: an answer to our request 7 with id "7" is accepted."""
        with Server() as s:
            s.open(capabilities={"roots": {}})
            s.send(call(1, "ask_roots"))
            asked = s.next()["id"]
            s.send(*({"jsonrpc": "2.0", "id": bad, "result": {"roots": [{"uri": "bad:"}]}}
                     for bad in ("", f" {asked}", f"0{asked}", f"{asked}.0", f"0x{asked}")))
            s.send({"jsonrpc": "2.0", "id": f"{asked}", "result": {"roots": []}})
            self.is_text(s.answer(1), "0 roots")
            self.ends_input(s)

    def test_a7_a_duplicate_id(self):
        """A7: a second request with an id in flight is refused without that id; the first is not affected."""
        with Server() as s:
            s.open(capabilities={"roots": {}})
            s.send(call(5, "ask_roots"))
            asked = s.next()["id"]
            s.send(call(5, "echo", {"text": "the second"}))
            self.is_anonymous_error(s.next("an error without id"), -32600)
            s.send({"jsonrpc": "2.0", "id": asked, "result": {"roots": []}})
            self.is_text(s.answer(5), "0 roots")
            self.ends_input(s)

    def test_a7_the_first_stays_cancellable(self):
        """A7, A9: after a duplicate the first can still be cancelled, and then its id is free again."""
        with Server() as s:
            s.open()
            s.send(call(5, "sleep", {"ms": HOUR}), call(5, "sleep", {"ms": HOUR}))
            self.is_anonymous_error(s.next("an error without id"), -32600)
            s.send(cancel(5), call(5, "echo", {"text": "the third"}))
            self.is_text(s.next("an answer"), "the third")
            self.ends_input(s)

    def test_a8_an_id_is_used_again(self):
        """A8: an id can be used again after its answer."""
        with Server() as s:
            s.open()
            for i in range(1000):
                self.is_text(s.ask(call(5, "echo", {"text": f"{i}"})), f"{i}")
            self.ends_input(s)

    def test_a10_directions_are_independent(self):
        """A10: the server's own request has the id of one of ours; cancelling ours does not affect it."""
        with Server() as s:
            s.open(capabilities={"roots": {}})
            s.send(call("asker", "ask_roots"))
            asked = s.next()["id"]
            s.send(call(asked, "sleep", {"ms": HOUR}), cancel(asked))
            s.send({"jsonrpc": "2.0", "id": asked, "result": {"roots": []}})
            self.is_text(s.answer("asker"), "0 roots")
            self.ends_input(s)

    def test_b6_cancel_of_a_finished_request(self):
        """B6, B7: cancels of finished and unknown ids have no effect, also not on later requests."""
        with Server() as s:
            s.open()
            self.is_text(s.ask(call(1, "echo", {"text": "x"})), "x")
            s.send(cancel(1), cancel(99), cancel("99"))
            before = len(s.seen)
            s.ping()
            self.assertEqual(len(s.seen) - before, 1)
            self.is_text(s.ask(call(1, "echo", {"text": "again"})), "again")
            self.is_text(s.ask(call(99, "echo", {"text": "served"})), "served")
            self.ends_input(s)

    def test_b1_cancel_in_the_same_read(self):
        """B1: request and cancel are read together: nothing is written for it."""
        with Server() as s:
            s.open()
            before = len(s.seen)
            s.send(call(1, "sleep", {"ms": 0}), cancel(1), request(2, "ping"))
            s.answer(2)
            self.assertEqual(len(s.seen) - before, 1)
            self.ends_input(s)

    def test_b12_cancel_of_a_request_that_asks_the_client(self):
        """B12: the nested request is cancelled once, and the late answer to it is ignored."""
        with Server() as s:
            s.open(capabilities={"roots": {}})
            s.send(call(1, "ask_roots"))
            asked = s.next()["id"]
            s.send(cancel(1))
            told = s.next("a cancel from the server")
            self.assertEqual(told["method"], "notifications/cancelled")
            self.assertEqual(told["params"]["requestId"], asked)
            s.send({"jsonrpc": "2.0", "id": asked, "result": {"roots": []}})
            before = len(s.seen)
            s.ping()
            self.assertEqual(len(s.seen) - before, 1)
            self.ends_input(s)


class Calls(kp.DriveTest):
    def is_progress_in_order(self, s, ident, token):
        values = []
        while not kp.is_answer(message := s.next("progress or the answer")):
            self.assertEqual(message["method"], "notifications/progress")
            self.assertEqual(message["params"]["progressToken"], token)
            self.assertEqual(message["params"]["total"], 10)
            values.append(message["params"]["progress"])
        self.assertEqual(values, list(range(1, 11)))
        self.assertEqual(message["id"], ident)
        self.is_text(message, "slept 10 ms")

    def test_a2_progress_comes_in_order_before_the_answer(self):
        """A2: progress in order, then the answer, in both eras, with tokens of both types."""
        for token in ("nap", 0, 7, ""):
            with self.subTest(token=token), Server() as s:
                s.open()
                s.send(call(1, "sleep", {"ms": 10}, {"progressToken": token}))
                self.is_progress_in_order(s, 1, token)
                self.ends_input(s)
        with Server() as s:
            s.send(modern_call(1, "sleep", {"ms": 10}, progressToken="nap"))
            self.is_progress_in_order(s, 1, "nap")
            self.ends_input(s)

    def test_no_progress_without_a_token(self):
        """Without a token no progress is sent."""
        with Server() as s:
            s.open()
            s.send(call(1, "sleep", {"ms": 10}))
            self.assertEqual(s.next("the answer")["id"], 1)
            self.ends_input(s)

    def test_f1_f2_failures(self):
        """F1, F2: a tool's own failure is a result; a protocol error is passed on; an exception's text is not sent."""
        with Server() as s:
            s.open()
            self.assertTrue(s.ask(call(1, "fail", {"kind": "tool"}))["result"]["isError"])
            error = s.ask(call(2, "fail", {"kind": "protocol"}))["error"]
            self.assertEqual((error["code"], error["data"]), (1001, {"asked": True}))
            error = s.ask(call(3, "fail", {"kind": "exception"}))["error"]
            self.assertEqual(error["code"], -32603)
            self.assertNotIn("goes to the log only", str(s.seen))
            self.is_text(s.ask(call(4, "echo", {"text": "x"})), "x")
            self.ends_input(s)
            self.assertIn("goes to the log only", s.stderr_text(), "it goes to the log")

    def test_ask_roots(self):
        """A handler asks an older client during a call, while other calls continue."""
        for version in LEGACY:
            with self.subTest(version=version), Server() as s:
                s.open(version, {"roots": {"listChanged": True}})
                s.send(call(1, "ask_roots"))
                asked = s.next()
                self.assertEqual(asked["method"], "roots/list")
                self.is_text(s.ask(call(2, "echo", {"text": "meanwhile"})), "meanwhile")
                s.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///a", "name": "A"}]}})
                self.is_text(s.answer(1), "1 root\nfile:///a (A)")
                self.ends_input(s)

    def test_ask_roots_of_a_client_without_roots(self):
        """F10: a client that has not declared roots is not asked."""
        with Server() as s:
            s.open()
            self.assertTrue(s.ask(call(1, "ask_roots"))["result"]["isError"])
            self.assertEqual(len(s.seen), 2)
            self.ends_input(s)

    def test_d10_a_bad_answer_of_the_client(self):
        """D10: a malformed answer fails the call that waits for it, and nothing else."""
        for bad in ({"result": 5}, {"result": {}, "error": {}}, {"error": 5}, {},
                    {"error": {"code": -1, "message": "no"}}):
            with self.subTest(bad=bad), Server() as s:
                s.open(capabilities={"roots": {}})
                s.send(call(1, "ask_roots"))
                s.send({"jsonrpc": "2.0", "id": s.next()["id"], **bad})
                answer = s.answer(1)
                self.assertTrue("error" in answer or answer["result"].get("isError"), answer)
                self.is_text(s.ask(call(2, "echo", {"text": "x"})), "x")
                self.ends_input(s)


class Batches(kp.DriveTest):
    def test_e5_a_batch(self):
        """E5: under 2025-03-26 a batch is answered by a batch, without answers to notifications."""
        with Server() as s:
            s.open("2025-03-26")
            s.send_raw(line([call(1, "echo", {"text": "one"}), kp.notification("notifications/x"),
                             call("2", "sleep", {"ms": 1}),
                             request(3, "no/such/method"), {"jsonrpc": "2.0", "id": 4}]))
            answers = {m.get("id"): m for m in s.next("a batch of answers")}
            self.assertEqual(set(answers), {1, "2", 3, 4})
            self.is_text(answers[1], "one")
            self.is_text(answers["2"], "slept 1 ms")
            self.assertEqual(answers[3]["error"]["code"], -32601)
            self.assertEqual(answers[4]["error"]["code"], -32600)
            self.ends_input(s)

    def test_e5_a_batch_of_notifications(self):
        """E5: a batch without requests is not answered."""
        with Server() as s:
            s.open("2025-03-26")
            s.send_raw(line([kp.notification("notifications/x"), cancel(99)]))
            before = len(s.seen)
            s.ping()
            self.assertEqual(len(s.seen) - before, 1)
            self.ends_input(s)

    def test_e5_an_empty_batch(self):
        """E5: an empty batch is refused without id."""
        with Server() as s:
            s.open("2025-03-26")
            s.send_raw(b"[]\n")
            self.is_anonymous_error(s.next(), -32600)
            self.ends_input(s)

    def test_b2_a_cancelled_member(self):
        """B2 in a batch: the cancelled member is omitted from the answer, the others are not delayed."""
        with Server() as s:
            s.open("2025-03-26")
            s.send_raw(line([call(1, "echo", {"text": "one"}), call(2, "sleep", {"ms": HOUR})]))
            s.ping()
            s.send(cancel(2))
            batch = s.next("a batch of answers")
            self.assertEqual([m["id"] for m in batch], [1])
            self.ends_input(s)

    def test_c1_a_batch_at_end_of_input(self):
        """C1 in a batch: at end of input it is answered as a whole, with -32603 for the running member."""
        with Server() as s:
            s.open("2025-03-26")
            s.send_raw(line([call(1, "echo", {"text": "one"}), call(2, "sleep", {"ms": HOUR})]))
            s.end_input()
            rest = s.rest()
            self.assertEqual(len(rest), 1, rest)
            self.is_text(rest[0][0], "one")
            self.is_shutting_down(rest[0][1], 2)
            self.ends_well(s)

    def test_e5_other_legacy_revisions_refuse_batches(self):
        """E5: the other legacy revisions refuse a batch as a whole, without id."""
        for version in ("2024-11-05", "2025-06-18", "2025-11-25"):
            with self.subTest(version=version), Server() as s:
                s.open(version)
                s.send_raw(line([request(1, "ping"), request(2, "ping")]))
                self.is_anonymous_error(s.next(), -32600)
                s.ping()
                self.ends_input(s)


if __name__ == "__main__":
    kp.main()
