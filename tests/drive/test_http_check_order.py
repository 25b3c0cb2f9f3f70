#!/usr/bin/env python3
"""If a request fails several checks, the first one determines the response (docs/rules/protocol.md, section 1.2)."""

import copy
import itertools

import http_client as hc
import keel_process as kp
from http_client import Modern
from http_mirrored import ARGUMENTS, MIRRORED
from http_process import Control
from http_test import HttpTest
from keel_process import CAPABILITIES_KEY, VERSION_KEY


class Request:
    """A valid request that the tests make invalid."""

    def __init__(self, server):
        self.m = Modern(server, capabilities={}, credential="me")
        self.verb = "POST"
        self.message = self.m.call(1, "mirrored", copy.deepcopy(ARGUMENTS))
        self.fields = {**self.m.headers_for(self.message), **MIRRORED}
        self.body = None

    def bytes(self):
        body = hc.text_bytes(self.message) if self.body is None else self.body
        return hc.head(self.verb, self.m.server.path, {**self.fields, "Content-Length": len(body)}) + body


def header(name, value):
    def spoil(r):
        r.fields[name] = value
    return spoil


def verb(name):
    def spoil(r):
        r.verb = name
    return spoil


def body_not_json(r):
    r.body = b'{"jsonrpc":"2.0","id":1,'


def no_capabilities(r):
    del r.message["params"]["_meta"][CAPABILITIES_KEY]


def other_method_in_header(r):
    r.fields["Mcp-Method"] = "prompts/get"


def unsupported_version(r):
    r.message["params"]["_meta"][VERSION_KEY] = "2099-01-01"
    r.fields["MCP-Protocol-Version"] = "2099-01-01"


def unknown_method(r):
    r.message["method"] = "no/such"
    if r.fields["Mcp-Method"] == "tools/call":  # otherwise they disagree on purpose
        r.fields["Mcp-Method"] = "no/such"


def other_region(r):
    r.fields["Mcp-Param-Region"] = "south"


# In the order of docs/rules/protocol.md, section 1.2. With equal numbers either check may answer.
CHECKS = (
    (1, "Origin", header("Origin", "https://evil.example"), (403,), None),
    (1, "Host", header("Host", "evil.example"), (421, 403), None),
    (2, "credential", header("Authorization", None), (401,), None),
    (3, "verb", verb("PUT"), (405,), None),
    (4, "Accept", header("Accept", "text/html"), (406,), None),
    (4, "Content-Type", header("Content-Type", "text/plain"), (415,), None),
    (5, "JSON", body_not_json, (400,), -32700),
    (7, "_meta", no_capabilities, (400,), -32602),
    (8, "header", other_method_in_header, (400,), -32020),
    (9, "version", unsupported_version, (400,), -32022),
    (10, "method", unknown_method, (404,), -32601),
    (12, "parameter", other_region, (400,), -32020),
)


class Order(HttpTest):
    settings = {"identify": 1, "threads": 1}

    def setUp(self):
        self.server = self.enterContext(self.start())
        self.server.credential = "me"
        self.control = self.enterContext(Control(self.server))
        self.keys = 0

    def outcome(self, *spoilers):
        r = Request(self.server)
        for spoil in spoilers:
            spoil(r)
        r.m.note_sent(r.message if r.body is None else None)
        with self.server.connect() as c:
            c.send(r.bytes())
            e = hc.Exchange(c, r.m.check, owned=False)
            body = e.json() if e.response.content_type == "application/json" else None
            return e.status, (body or {}).get("error", {}).get("code"), body

    def test_without_a_fault(self):
        """HDR-04: the unmodified request is served."""
        status, code, body = self.outcome()
        self.assertEqual((status, code), (200, None), body)

    def test_each_alone(self):
        """HDR-04 HTTP-03 HTTP-13 VER-02 VER-08 E1 E8 E12: each check has its own status and code."""
        for _, name, spoil, statuses, code in CHECKS:
            with self.subTest(fault=name):
                got, what, body = self.outcome(spoil)
                self.assertIn(got, statuses, body)
                if code is not None:
                    self.assertEqual(what, code, body)
        self.still_serves()

    def test_each_pair(self):
        """HDR-04 HTTP-13 VER-02 VER-08: with two faults the earlier check answers, in the order of docs/rules/protocol.md, section 1.2."""
        for (i, name, spoil, statuses, code), (j, later, spoil_too, other, _) in itertools.combinations(CHECKS, 2):
            if i == j:
                statuses = (*statuses, *other)
            with self.subTest(first=name, then=later):
                got, what, body = self.outcome(spoil, spoil_too)
                self.assertIn(got, statuses, body)
                if code is not None:
                    self.assertEqual(what, code, body)
        self.still_serves()

    def test_all_at_once(self):
        """HDR-04: in a request with all faults, fixing them one by one makes the next check answer each time."""
        for at in range(len(CHECKS)):
            level, name, _, statuses, code = CHECKS[at]
            allowed = {s for i, _, _, each, _ in CHECKS[at:] if i == level for s in each}
            with self.subTest(first=name):
                got, what, body = self.outcome(*(spoil for _, _, spoil, _, _ in CHECKS[at:]))
                self.assertIn(got, allowed, body)
                if code is not None:
                    self.assertEqual(what, code, body)
        self.still_serves()

    def test_invalid_requests_reach_no_handler(self):
        """E0 HDR-04: whatever is invalid, the handler does not run and nothing is kept."""
        self.outcome()
        before = self.control.census()
        for _ in range(50):
            for _, _, spoil, _, _ in CHECKS:
                self.outcome(spoil)
        now = {}

        def is_back():
            now.update(self.control.census())
            return all(now[n] <= before[n] for n in ("connections", "in_flight", "descriptors"))

        kp.until(is_back, "all counts to return to their previous values")


if __name__ == "__main__":
    kp.main()
