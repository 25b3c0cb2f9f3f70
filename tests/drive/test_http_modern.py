#!/usr/bin/env python3
"""Revision 2026-07-28 over HTTP: responses, streams, both eras on one server, several threads."""

# ctest-timeout: 900

import json
import threading

import http_client as hc
import keel_process as kp
from http_client import Modern, Session
from http_modern import ALL_CAPABILITIES, QUIET, ModernTest
from keel_process import MIB, call


class Answers(ModernTest):
    def test_json(self):
        """HTTP-08: a handler without messages before its answer is answered with one JSON object."""
        for message in (self.m.call(1, "echo", {"text": "ü"}), self.m.request(1, "tools/list"), self.m.request(1, "server/discover"),
                        self.m.request(1, "resources/read", {"uri": "subject://one"}), self.m.request(1, "prompts/list")):
            with self.subTest(method=message["method"]), self.m.post(message) as e:
                self.assertEqual((e.status, e.response.content_type), (200, "application/json"))
                self.assertIn("result", e.answer(1))

    def test_stream(self):
        """HTTP-08 HTTP-09 HTTP-17 HTTP-18 A2: messages before the answer open a stream, which proxies must not buffer."""
        with self.server.connect() as c:
            for _ in range(3):  # the connection continues after it
                e = self.m.post(self.m.call(1, "speak", {"n": 5, "text": "done"}, progressToken="p"), on=c)
                self.assertEqual((e.status, e.response.content_type), (200, "text/event-stream"))
                self.assertEqual(e.headers["x-accel-buffering"], "no")
                self.assertIn("no-cache", e.headers["cache-control"])
                self.assertNotIn(hc.SESSION_HEADER, e.headers)
                *said, answer = e.messages()
                self.assertEqual([m["params"]["progress"] for m in said], [1, 2, 3, 4, 5])
                self.assertEqual({m["params"]["progressToken"] for m in said}, {"p"})
                self.assertEqual(kp.text_of(answer), "done")
                self.assertFalse(e.stream.broken)
                self.assertTrue(all(event.id is None and event.retry is None for event in e.stream.seen), "there is nothing to resume")
                self.serves(on=c)

    def test_progress_arrives_while_the_call_runs(self):
        """HTTP-09 HTTP-17: progress arrives while the call runs."""
        key = self.key()
        e = self.park(key)
        for number in range(1, 6):
            self.control.emit(key)
            self.is_progress(e.message(), number)
        self.control.release(key, "done")
        self.assertEqual(kp.text_of(e.answer(1)), "done")
        self.assertIsNone(e.message())

    def test_without_a_token(self):
        """HTTP-08: progress without a token and logs without a level are not sent, and open no stream."""
        for tool in ("speak", "log"):
            with self.subTest(tool=tool), self.m.post(self.m.call(1, tool, {"n": 3})) as e:
                self.assertEqual(e.response.content_type, "application/json")
                self.assertIn("result", e.answer(1))

    def test_logs(self):
        """HTTP-09: log messages are sent on the stream of the request that asked for them."""
        with self.m.post(self.m.call(1, "log", {"n": 3, "text": "done"}, **{"io.modelcontextprotocol/logLevel": "debug"})) as e:
            *said, answer = e.messages()
            self.assertEqual([m["method"] for m in said], ["notifications/message"] * 3)
            self.assertEqual(kp.text_of(answer), "done")
        with self.m.post(self.m.call(1, "log", {"n": 3}, **{"io.modelcontextprotocol/logLevel": "error"})) as e:
            self.assertEqual(len(e.messages()), 1)

    def test_each_on_its_own_stream(self):
        """HTTP-09: concurrent calls, some with the same id, get only their own messages."""
        calls = []
        for n in range(10):
            key = self.key()
            calls.append((n % 2, key, self.park(key, ident=n % 2)))
        for round_ in range(1, 4):
            for _, key, _ in calls:
                self.control.emit(key)
        for ident, key, e in calls:
            self.control.release(key, key)
            *said, answer = e.messages()
            self.assertEqual([(m["params"]["progressToken"], m["params"]["progress"]) for m in said], [(key, 1), (key, 2), (key, 3)])
            self.assertTrue(kp.same_id(answer, ident))
            self.assertEqual(kp.text_of(answer), key)

    def test_ids(self):
        """A3 A4: answers have ids of the same type, including 0 and the empty string."""
        for ident in (0, -7, 9223372036854775807, "", "a", "1", 1, "ü", "\n"):
            with self.subTest(ident=ident):
                self.assertTrue(kp.same_id(self.m.ask(self.m.call(ident, "echo", {"text": "x"})), ident))

    def test_i14_error_before_any_message(self):
        """I14: a handler that fails before it sends messages is answered with plain JSON; the exception's text is not sent."""
        for kind, code in (("protocol", 4242), ("exception", -32603), ("number", -32603)):
            with self.subTest(kind=kind), self.m.post(self.m.call(1, "fail", {"kind": kind}, progressToken=1)) as e:
                self.assertEqual((e.status, e.response.content_type), (200, "application/json"))
                error = e.answer(1)["error"]
                self.assertEqual(error["code"], code)
                self.assertNotIn("secret", json.dumps(error))
        for message, status, code in ((self.m.request(1, "no/such"), 404, -32601), (self.m.call(1, "no such tool"), 200, -32602),
                                      (self.m.request(1, "resources/read", {"uri": "subject://none"}), 200, -32602)):
            with self.subTest(method=message["method"]), self.m.post(message) as e:
                self.assertEqual((e.status, e.response.content_type), (status, "application/json"))
                self.assertEqual(e.answer(1)["error"]["code"], code)

    def test_i14_error_on_the_stream(self):
        """I14: once a stream is open, the error is sent on the stream, with status 200, and ends it."""
        for kind, code in (("protocol", 4242), ("exception", -32603), ("number", -32603)):
            with self.subTest(kind=kind), self.m.post(self.m.call(1, "fail", {"kind": kind, "after": 2}, progressToken=1)) as e:
                self.assertEqual((e.status, e.response.content_type), (200, "text/event-stream"))
                *said, answer = e.messages()
                self.assertEqual(len(said), 2)
                self.assertTrue(kp.same_id(answer, 1))
                self.assertEqual(answer["error"]["code"], code)
                self.assertNotIn("secret", json.dumps(answer))
                self.assertFalse(e.stream.broken)

    def test_large_answers(self):
        """HTTP-08: answers of many megabytes arrive complete, in both forms, also for slow readers."""
        for bytes_ in (0, 1, 65_535, 65_536, 1_000_000, 6 * MIB):
            with self.subTest(bytes=bytes_), self.m.post(self.m.call(1, "big", {"bytes": bytes_}), receive_buffer=8192) as e:
                self.assertEqual(len(kp.text_of(e.answer(1))), bytes_)
        key = self.key()
        e = self.park(key)
        self.control.emit(key)
        self.control.release(key, "x" * 3_000_000)
        self.assertEqual(len(kp.text_of(e.answer(1))), 3_000_000)

    def test_i6_base_16_questions(self):
        """I6 F10 BASE-16: asking is answered with input_required; the server never sends a request."""
        answers = {"elicit": {"action": "accept", "content": {"word": "said"}},
                   "sample": {"role": "assistant", "content": {"type": "text", "text": "said"}, "model": "m"},
                   "roots": {"roots": [{"uri": "file:///a"}]}}
        m = self.modern(ALL_CAPABILITIES)
        for what, reply in answers.items():
            with self.subTest(what=what):
                key = self.key()
                arguments = {"key": key, "what": what}
                with m.post(m.call(1, "ask", arguments)) as e:
                    self.assertEqual(e.status, 200)
                    result = e.answer(1)["result"]
                    self.assertEqual([x for x in e.seen if "method" in x], [])
                self.assertEqual(result["resultType"], "input_required")
                (name, _), = result["inputRequests"].items()
                again = m.call(2, "ask", arguments)
                again["params"] |= {"inputResponses": {name: reply}, "requestState": result["requestState"]}
                with m.post(again) as e:
                    self.assertEqual(kp.text_of(e.answer(2)), "1" if what == "roots" else "said")
                    self.assertEqual([x for x in e.seen if "method" in x], [])

    def test_f10_undeclared(self):
        """F10 I6: a question that the client does not support fails at once; the handler gets the reason."""
        for what in ("elicit", "sample", "roots"):
            with self.subTest(what=what):
                with self.m.post(self.m.call(1, "ask", {"key": self.key(), "what": what})) as e:
                    result = e.answer(1)["result"]
                    self.assertTrue(result["isError"])
                    self.assertEqual(e.seen, e.seen[:1])


class Stateless(ModernTest):
    settings = None
    options = ("--stateless", "--threads", "1")

    def test_i13_http_19_get_and_delete(self):
        """I13 HTTP-19: without sessions GET and DELETE are answered 405 with Allow: POST."""
        for verb in ("GET", "DELETE"):
            for headers in ({}, {"Mcp-Session-Id": "abc"}, {"MCP-Protocol-Version": "2025-11-25"}, {"Last-Event-ID": "1"}):
                with self.subTest(verb=verb, headers=headers), self.m.bare(verb, {"Accept": "text/event-stream", **headers}) as e:
                    self.assertEqual(e.status, 405)
                    self.assertEqual(e.headers["allow"], "POST")
                    self.assertNotIn(hc.SESSION_HEADER, e.headers)
        self.serves()

    def test_i13_http_20_headers_of_the_older_era(self):
        """I13 HTTP-20: Mcp-Session-Id and Last-Event-ID are ignored, never sent or echoed."""
        for headers in ({"Mcp-Session-Id": "abc"}, {"Last-Event-ID": "1"}, {"Mcp-Session-Id": "", "Last-Event-ID": "\t"}):
            for message in (self.m.call(1, "echo", {"text": "x"}), self.m.call(1, "speak", {"n": 1, "text": "x"}, progressToken=1)):
                with self.subTest(headers=headers), self.m.post(message, headers) as e:
                    self.assertEqual(kp.text_of(e.answer(1)), "x")
                    self.assertNotIn(hc.SESSION_HEADER, e.headers)
        with Session(self.server, opened=False).post(kp.initialize(1)) as e:
            self.assertIn("result", e.answer(1))
            self.assertNotIn(hc.SESSION_HEADER, e.headers)


class BothEras(ModernTest):
    settings = {**QUIET, "threads": 2}

    def test_one_connection(self):
        """HTTP-01 BASE-23: requests of all revisions can share one connection."""
        with self.server.connect() as c:
            s = Session(self.server, opened=False)
            s.open(on=c)
            for n in range(20):
                self.serves(on=c)
                self.assertEqual(s.text(call(n, "echo", {"text": "legacy"}), on=c), "legacy")
            self.assertEqual(s.bare("DELETE", on=c).done(), 200)
            self.serves(on=c)

    def test_http_20_with_a_live_session(self):
        """HTTP-20 I13: a 2026-07-28 request with a session id is served outside the session."""
        s = self.session()
        answer = self.m.ask(self.m.call(1, "who"), {"Mcp-Session-Id": s.id})
        self.assertEqual(answer["result"]["structuredContent"]["protocol_version"], "2026-07-28")
        self.assertEqual(s.ask(call(1, "who"))["result"]["structuredContent"]["protocol_version"], "2025-11-25")

    def test_sessions_from_both_loops(self):
        """HTTP-01 H15: a session is used from many connections, on any loop; 2026-07-28 calls run beside it."""
        s = self.session()
        stream = self.listening(s)
        held = []
        for n in range(40):
            key = self.key()
            held.append((n, key, self.parked(s, n, key) if n % 2 else self.park(key, ident=n)))
        for n, key, _ in held:
            self.control.emit(key, 2)
        self.control.use("add_tool", name="extra")
        self.assertEqual(stream.message()["method"], "notifications/tools/list_changed")
        for n, key, e in held[20:]:
            self.control.release(key, key)
        for n, key, e in held[20:]:
            *said, answer = e.messages()
            self.assertEqual([m["params"]["progress"] for m in said], [1, 2])
            self.assertTrue(kp.same_id(answer, n))
            self.assertEqual(kp.text_of(answer), key)
        for n, key, e in held[:20]:
            if n % 2:
                self.assertEqual(s.cancel(n), 202)
                self.is_cancelled_answer(e.answer(n), n)
            else:
                e.reset()
        for n, key, _ in held[:20]:
            self.is_cancelled(key)
        self.assertEqual(s.delete(), 200)
        self.nothing_runs()

    def test_many_clients_at_once(self):
        """HTTP-01 H5: clients of both eras on many threads, each with several connections: each gets its own answers."""
        failures = []

        def guarded(work):
            def run():
                try:
                    work()
                except BaseException as e:
                    failures.append(e)
            return run

        def says(e, n):
            *said, answer = e.messages()
            self.assertEqual([m["params"]["progress"] for m in said], list(range(1, n % 3 + 1)))
            self.assertTrue(kp.same_id(answer, n))
            self.assertEqual(kp.text_of(answer), str(n))

        def modern():
            m = Modern(self.server)
            with self.server.connect() as c:
                for n in range(100):
                    says(m.post(m.call(n, "speak", {"n": n % 3, "text": str(n)}, progressToken=n), on=c), n)

        def legacy():
            s = Session(self.server)
            for n in range(30):
                with s.post(call(n, "speak", {"n": n % 3, "text": str(n)}, {"progressToken": n})) as e:
                    says(e, n)
            self.assertEqual(s.delete(), 200)

        threads = [threading.Thread(target=guarded(work)) for work in (modern, legacy) * 4]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])
        self.nothing_runs()


if __name__ == "__main__":
    kp.main()
