#!/usr/bin/env python3
"""How the HTTP server determines the revision of a request, and what a request of 2026-07-28 must contain."""

import json

import http_client as hc
import keel_process as kp
from http_client import Modern
from http_test import WITH_STREAMS, HttpTest, in_each
from keel_process import CAPABILITIES_KEY, MODERN, VERSION_KEY, call


class Revisions(HttpTest):
    """The era of a request, and what a request of 2026-07-28 must contain."""

    def posted(self, message, headers):
        """A POST with only these headers in addition to the general ones."""
        m = self.modern()
        m.note_sent(message)
        c = self.enterContext(self.server.connect())
        body = hc.text_bytes(message)
        c.send(hc.head("POST", self.server.path, {**m.base_headers(), **headers, "Content-Length": len(body)}) + body)
        return hc.Exchange(c, m.check, owned=False)

    def test_header_without_meta(self):
        """VER-08 E10: the header contains 2026-07-28 and the body has no _meta: 400 with -32602."""
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}
        for params in (None, {}, {"_meta": {}}, {"_meta": {"progressToken": 1}}):
            with self.subTest(params=params):
                self.is_error(self.posted(kp.request(1, "tools/list", params), headers), 400, -32602, 1)
        self.still_serves()

    def test_meta_without_header(self):
        """HDR-04 E12: the body is of 2026-07-28 and MCP-Protocol-Version is missing: 400 with -32020."""
        m = self.modern()
        for message in (m.request(1, "tools/list"), m.request(1, "server/discover"), m.request(1, "ping")):
            with self.subTest(method=message["method"]):
                self.is_error(self.posted(message, {"Mcp-Method": message["method"]}), 400, -32020, 1)
                self.is_error(self.posted(message, {}), 400, -32020, 1)

    def test_incomplete_meta(self):
        """VER-08 E10: a required member of _meta is missing or of another type: 400 with -32602; clientInfo is optional."""
        m = self.modern()
        good = m.request(1, "tools/list")
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}
        with self.posted(good, headers) as e:
            self.assertIn("result", e.answer(1))
        for name, value in ((CAPABILITIES_KEY, None), (CAPABILITIES_KEY, 7), (CAPABILITIES_KEY, []), (CAPABILITIES_KEY, "x"),
                            (VERSION_KEY, 7), (VERSION_KEY, None), (VERSION_KEY, {})):
            with self.subTest(member=name, value=value):
                meta = {**m.meta, name: value}
                self.is_error(self.posted(kp.request(1, "tools/list", {"_meta": meta}), headers), 400, -32602, 1)
        without = {k: v for k, v in m.meta.items() if k != CAPABILITIES_KEY}
        self.is_error(self.posted(kp.request(1, "tools/list", {"_meta": without}), headers), 400, -32602, 1)
        self.still_serves()

    def test_unsupported_version(self):
        """VER-02 E12: an unsupported version is answered 400 with -32022, the supported versions and the requested one."""
        for version in ("2026-07-29", "2099-01-01", "1.0", "x", "DRAFT-2026"):
            with self.subTest(version=version):
                m = Modern(self.server, version=version)
                with m.post(m.request(1, "tools/list")) as e:
                    data = self.is_error(e, 400, -32022, 1)["error"]["data"]
                self.assertEqual(data["requested"], version)
                self.assertIn(MODERN, data["supported"])

    def test_older_version_in_meta(self):
        """VER-02: older revisions cannot be requested in `_meta`, although they are served."""
        for version in WITH_STREAMS:
            with self.subTest(version=version):
                m = Modern(self.server, version=version)
                with m.post(m.request(1, "tools/list")) as e:
                    self.is_error(e, 400, -32022, 1)

    def test_mismatch_comes_before_version(self):
        """VER-02 HDR-04: if header and body contain different versions, one of them unknown, the error is the mismatch."""
        m = Modern(self.server, version="2099-01-01")
        self.is_error(m.post(m.request(1, "tools/list"), {"MCP-Protocol-Version": MODERN}), 400, -32020, 1)
        m = self.modern()
        self.is_error(m.post(m.request(1, "tools/list"), {"MCP-Protocol-Version": "2099-01-01"}), 400, -32020, 1)

    def test_removed_methods(self):
        """HTTP-13 E8: methods that only older revisions have are unknown: 404 with -32601."""
        m = self.modern()
        for method, params in (("initialize", {"protocolVersion": MODERN, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
                               ("ping", {}), ("logging/setLevel", {"level": "info"}), ("resources/subscribe", {"uri": "subject://one"}),
                               ("resources/unsubscribe", {"uri": "subject://one"}), ("no/such", {}), ("x", {}),
                               ("sampling/createMessage", {}), ("roots/list", {}), ("elicitation/create", {}),
                               ("notifications/cancelled", {"requestId": 1})):
            with self.subTest(method=method):
                with m.post(m.request(1, method, params)) as e:
                    self.is_error(e, 404, -32601, 1)
                    self.assertNotIn(hc.SESSION_HEADER, e.headers)
        self.still_serves()

    def test_missing_session_id_is_not_modern(self):
        """E11: a request with neither header nor _meta belongs to an older revision."""
        with self.posted(kp.request(1, "tools/list"), {}) as e:
            self.is_error(e, 400, -32600, 1)

    @in_each()
    def test_version_header_of_sessions(self, version):
        """HDR-15: in a session an invalid or unsupported version is answered 400; the session continues."""
        s = self.session(version)
        for value in ("1900-01-01", "2099-01-01", "x", "2025-06-18, 2025-11-25", f"{version}x", f"v{version}"):
            with self.subTest(value=value):
                self.refused(s.post(call(1, "echo", {"text": "x"}), {"MCP-Protocol-Version": value}), 400)
        self.assertEqual(json.loads(s.text(call(2, "who")))["protocol_version"], version)
        self.assertEqual(s.text(call(3, "echo", {"text": "x"}), {"MCP-Protocol-Version": version}), "x")

    def test_requests_are_independent(self):
        """VER-08 BASE-18: client info of a request does not apply to the next one on its connection."""
        m = Modern(self.server, capabilities={"elicitation": {}})
        plain = self.modern()
        with self.server.connect() as c:
            e = m.post(m.call(1, "ask", {"key": self.key()}), on=c)
            self.assertEqual(e.answer(1)["result"]["resultType"], "input_required")
            e = plain.post(plain.call(2, "ask", {"key": self.key()}), on=c)
            self.assertTrue(e.answer(2)["result"]["isError"])
            body = hc.text_bytes(kp.request(3, "tools/list", {"_meta": {VERSION_KEY: MODERN}}))
            fields = {**plain.headers_for(plain.request(3, "tools/list")), "Content-Length": len(body)}
            c.send(hc.head("POST", self.server.path, fields) + body)
            self.is_error(hc.Exchange(c, plain.check, owned=False), 400, -32602, 3)


class Capabilities(HttpTest):
    command = ("keel", "demo")

    def test_ver_10_missing_capability(self):
        """VER-10 E12: a call that needs an undeclared capability is answered 400 with -32021 and the capability."""
        m = self.modern()
        for tool, needed in (("book_trip", "elicitation"), ("summarize", "sampling")):
            arguments = {"text": "x"} if tool == "summarize" else {}
            with self.subTest(tool=tool):
                with m.post(m.call(1, tool, arguments)) as e:
                    body = self.is_error(e, 400, -32021, 1)
                self.assertIn(needed, body["error"]["data"]["requiredCapabilities"])
                able = self.modern({needed: {}})
                with able.post(able.call(2, tool, arguments)) as e:
                    self.assertEqual(e.answer(2)["result"]["resultType"], "input_required")


if __name__ == "__main__":
    kp.main()
