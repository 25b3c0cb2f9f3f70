#!/usr/bin/env python3
"""The older revisions over HTTP without sessions (--stateless)."""

# ctest-labels: threads
# ctest-timeout: 900

import json

import keel_process as kp
from http_test import LATEST, HttpTest, in_each
from keel_process import call


class Stateless(HttpTest):
    """The older revisions without sessions."""

    options = ("--stateless",)

    @in_each()
    def test_no_session(self, version):
        """LHTTP-01 H1: initialize returns no session id, calls need none, GET and DELETE are answered 405."""
        s = self.session(version, opened=False)
        self.assertEqual(s.open()["result"]["protocolVersion"], version)
        self.assertIsNone(s.id)
        self.assertEqual(s.text(call(1, "echo", {"text": "x"})), "x")
        e = s.post(call(2, "speak", {"n": 2, "text": "y"}, {"progressToken": 1}))
        self.is_text(e.answer(2), "y")
        for method in ("GET", "DELETE"):
            e = s.bare(method)
            self.assertIn("POST", e.headers.get("allow", ""))
            self.refused(e, 405)

    def test_version_header(self):
        """HDR-21 HDR-15: the header sets the revision; without one 2025-03-26 is assumed; an unknown one is answered 400."""
        s = self.session("2025-03-26", opened=False)
        s.check.session, s.check.server_capabilities = "2025-03-26", {}
        e = s.post(call(1, "who"))
        self.assertEqual(json.loads(kp.text_of(e.answer(1)))["protocol_version"], "2025-03-26")
        for version in ("2025-06-18", LATEST):
            s = self.session(version, opened=False)
            s.check.session, s.check.server_capabilities = version, {}
            e = s.post(call(1, "who"), {"MCP-Protocol-Version": version})
            self.assertEqual(e.answer(1)["result"]["structuredContent"]["protocol_version"], version)
        self.refused(s.post(call(2, "who"), {"MCP-Protocol-Version": "1900-01-01"}), 400)

    def test_f10_stateless(self):
        """F10: without sessions, asking a client that has declared nothing fails at once, in all revisions."""
        s = self.session(capabilities={"elicitation": {}, "roots": {}})
        for what in ("elicit", "roots"):
            key = self.key()
            answer = s.ask(call(key, "ask", {"key": key, "what": what}))
            self.assertTrue(answer["result"]["isError"], answer)
            self.assertIn("unavailable", kp.text_of(answer))
        m = self.modern()
        answer = m.ask(m.call(1, "ask", {"key": self.key()}))  # it has not declared elicitation
        self.assertTrue("error" in answer or answer["result"]["isError"], answer)

    def test_h7_answer_without_a_store(self):
        """H7 H6: the answer of a dropped stream without an event store: the call ends without other effects."""
        s = self.session()
        for how in ("close", "reset"):
            key = self.key()
            sockets = self.server.sockets()
            e = self.streaming(s, 1, key)
            e.reset() if how == "reset" else e.close()
            if how == "reset":
                kp.until(lambda: self.server.sockets() <= sockets, "the server to notice the reset")
            self.control.emit(key, 5)
            self.control.release(key, "x")
            self.assertFalse(self.control.wait(key, "finished")["cancelled"])
            kp.until(lambda: self.server.sockets() <= sockets, "the server to close the connection")
        self.nothing_runs()
        self.assertEqual(s.text(call(1, "echo", {"text": "alive"})), "alive")

    def test_b19_stateless(self):
        """B19: a cancel without a session is accepted and ignored."""
        s = self.session()
        key = self.key()
        e = self.streaming(s, 5, key)
        self.assertEqual(s.cancel(5), 202)
        self.assertFalse(self.control.status(key)["cancelled"])
        self.control.release(key, "x")
        self.is_text(e.answer(5), "x")


if __name__ == "__main__":
    kp.main()
