"""Checks that every message of a server matches the official schema of the revision in use.

A MessageCheck reads both directions of one connection. The client's messages determine the revision and the method that an
answer belongs to. It also reports the revisions in which a server has answered (see proof.py).
tests/support/message_check.cpp does the same with Keel's own validator; this one uses python3-jsonschema, which is
independent of Keel.

Without the official schemas (see official_data.py) only the rules in this file are checked.
"""

import functools
import json

import jsonschema

import official_data
import proof

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST_LEGACY = LEGACY[-1]
MODERN = "2026-07-28"
WITH_BATCHES = "2025-03-26"

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

LONGEST = 17 * 1024 * 1024  # maximum length of a line that a server accepts

MAY_ASK = ("tools/call", "prompts/get", "resources/read")
CAPABILITY = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
SUBSCRIBED = ("notifications/resources/updated", "notifications/tools/list_changed",
              "notifications/resources/list_changed", "notifications/prompts/list_changed",
              "notifications/subscriptions/acknowledged")


class OffSchema(AssertionError):
    """The server sent an invalid message."""


class Revision:
    """One official schema: its definitions, each compiled once."""

    available = True

    def __init__(self, name, folder):
        self.name = name
        self.document = json.loads((folder / name / "schema.json").read_text())
        self.key = "$defs" if "$defs" in self.document else "definitions"
        self.definitions = self.document[self.key]
        self.validators = {}
        self.methods = {}  # "tools/call" -> "CallToolRequest"
        for definition, content in self.definitions.items():
            method = content.get("properties", {}).get("method", {}).get("const")
            if method and definition.endswith(("Request", "Notification")):
                self.methods[method] = definition

    def check(self, definition, value):
        if definition not in self.validators:
            document = {"$schema": self.document["$schema"], "$ref": f"#/{self.key}/{definition}",
                        self.key: self.definitions}
            self.validators[definition] = jsonschema.validators.validator_for(document)(document)
        problem = jsonschema.exceptions.best_match(self.validators[definition].iter_errors(value))
        if problem is not None:
            raise OffSchema(f"not a {definition} of {self.name}: {problem.json_path}: {problem.message[:500]}")

    def result_of(self, request):
        name = request.removesuffix("Request") + "Result"
        return name if name in self.definitions else "EmptyResult"

    def error(self):
        return "JSONRPCErrorResponse" if "JSONRPCErrorResponse" in self.definitions else "JSONRPCError"


class UncheckedRevision:
    """Replaces a missing schema: everything is valid, and no method is known."""

    available = False
    methods = {}

    def check(self, definition, value):
        pass

    def error(self):
        return "JSONRPCError"


@functools.cache
def revision(name):
    folder = official_data.find("schema")
    return Revision(name, folder) if folder else UncheckedRevision()


def require(condition, why):
    if not condition:
        raise OffSchema(why)


def key_of(ident):
    """Ids are typed: 1 is not "1"."""
    return type(ident).__name__, str(ident)


def must_be_declared(capabilities, method, params):
    needed = CAPABILITY.get(method)
    if needed is None:
        return
    require(needed in capabilities, f"{method} for a client that has not declared {needed}")
    declared = capabilities[needed]
    if method == "elicitation/create":
        modes = {"form", "url"} & set(declared) or {"form"}
        require(params.get("mode", "form") in modes, "elicitation in a mode that the client has not declared (ELI-02)")
    if method == "sampling/createMessage" and ("tools" in params or "toolChoice" in params):
        require("tools" in declared, "tools for a client that has not declared sampling.tools (SAM-02)")


class MessageCheck:
    def __init__(self):
        self.session = None  # the negotiated older revision
        self.modern = False  # a modern request was sent
        self.client_capabilities = {}
        self.server_capabilities = {}
        self.asked = {}  # by id: requests without an answer, oldest first
        self.listens = set()
        self.questions = set()
        self.rest = bytearray()
        self.well_known = set()  # answers that were checked before, without their ids
        self.off = None

    def expect_off_schema(self, reason):
        """Turns the check off: this connection uses invalid messages on purpose."""
        self.off = reason

    def in_force(self):
        return self.session or (MODERN if self.modern else LATEST_LEGACY)

    # ---- the client ----

    def sent(self, data):
        """Bytes as they are written: lines may arrive in pieces."""
        first, *others = bytes(data).split(b"\n")
        if len(self.rest) < LONGEST:  # a longer line is only answered with an error
            self.rest += first
        for each in others:
            if len(self.rest) < LONGEST:
                self.sent_line(bytes(self.rest))
            self.rest = bytearray(each)

    def sent_line(self, text):
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return
        for each in message if isinstance(message, list) else [message]:
            if isinstance(each, dict) and isinstance(each.get("method"), str) and "id" in each:
                self.note_request(each)

    def note_request(self, m):
        params = m.get("params") if isinstance(m.get("params"), dict) else {}
        meta = params.get("_meta") if isinstance(params.get("_meta"), dict) else {}
        name, capabilities = None, {}
        if VERSION_KEY in meta:
            name, capabilities = MODERN, meta.get(CAPABILITIES_KEY)
            if not self.session and m["method"] != "server/discover":
                self.modern = True
            if m["method"] == "subscriptions/listen":
                self.listens.add(key_of(m["id"]))
        elif m["method"] == "initialize":
            capabilities = params.get("capabilities")
        self.asked.setdefault(key_of(m["id"]), []).append((m["method"], name, capabilities))

    # ---- the server ----

    def received(self, line):
        """Raises OffSchema, with the message and the reason."""
        if self.off:
            return
        try:
            if isinstance(line, list):
                require(self.in_force() == WITH_BATCHES, "a batch outside of revision 2025-03-26")
                # Errors without an id are not allowed there: see check_answer.
                revision(WITH_BATCHES).check("JSONRPCBatchResponse", [each for each in line if "id" in each])
            for each in line if isinstance(line, list) else [line]:
                self.check(each)
        except OffSchema as e:
            raise OffSchema(f"{e}\n    in {json.dumps(line)[:2000]}") from None

    def check(self, m):
        require(isinstance(m, dict), "not an object")
        if "method" not in m:
            self.check_answer(m)
        elif "id" in m:
            self.check_request(m)
        else:
            self.check_notification(m)

    def check_answer(self, m):
        if "id" not in m:
            # An error without an id. Revisions before 2025-11-25 do not define it, nor any other form.
            return self.check_error(m, MODERN if self.modern and not self.session else LATEST_LEGACY)
        waiting = self.asked.get(key_of(m["id"]), [])
        if not waiting:  # the request was sent in a way that this check does not see
            return revision(self.in_force()).check("JSONRPCMessage", m)
        problem = None
        for i, (method, name, capabilities) in enumerate(waiting):
            opening = method == "initialize" and name is None
            if opening and isinstance(m.get("result"), dict):
                name = m["result"].get("protocolVersion")
            name = name or self.in_force()
            try:
                self.check_one_answer(m, method, name, capabilities)
            except OffSchema as e:
                problem = e
                continue
            if opening and "result" in m:
                self.session = name
                self.client_capabilities = capabilities
                self.server_capabilities = m["result"]["capabilities"]
            if name == (self.session or MODERN):  # otherwise it is a guess, or a refused request of the other era
                proof.spoke(name)
            del waiting[i]
            return None
        raise problem

    def check_one_answer(self, m, method, name, capabilities):
        require(type(m["id"]) in (str, int), "an id that is neither a string nor an integer")
        require(m.get("jsonrpc") == "2.0", "no version")
        # Load tests get the same answer hundreds of thousands of times.
        known = (method, name, m.keys() == {"jsonrpc", "id", "result"}, repr(m.get("result", m.get("error"))))
        if known in self.well_known:
            return
        if "error" in m:
            self.check_error(m, name)
        else:
            self.check_result(m, method, name, capabilities)
        if len(self.well_known) < 1000 and len(known[3]) < 5000 and "requestState" not in known[3]:
            self.well_known.add(known)

    def check_result(self, m, method, name, capabilities):
        require(name in (*LEGACY, MODERN), f"an unknown revision: {name}")
        schema = revision(name)
        schema.check("JSONRPCMessage", m)
        result = m["result"]
        if name == MODERN:
            self.check_modern_result(result, method)
            if result["resultType"] == "input_required":
                return self.check_questions(result, method, capabilities)
        if method in schema.methods:  # otherwise a custom method
            schema.check(schema.result_of(schema.methods[method]), result)

    def check_modern_result(self, result, method):
        kind = result.get("resultType")
        require(kind in ("complete", "input_required"), "a result without a known resultType (BASE-10)")
        require(SERVER_INFO_KEY in result.get("_meta", {}), "a result without serverInfo (VER-18)")
        hinted = "ttlMs" in result or "cacheScope" in result
        require(kind == "complete" or not hinted, "a cache hint on an input_required result (CACHE-01)")
        cacheable = method in ("server/discover", "resources/read") or (
            method.endswith("/list") and method in revision(MODERN).methods)
        if kind == "complete" and cacheable:
            require(isinstance(result.get("ttlMs"), int) and result["ttlMs"] >= 0, "no ttlMs (CACHE-01)")
            require(result.get("cacheScope") in ("public", "private"), "no cacheScope (CACHE-01)")

    def check_questions(self, result, method, capabilities):
        require(method in MAY_ASK, f"input_required as the answer to {method} (MRTR-02)")
        require("inputRequests" in result or "requestState" in result, "input_required that asks nothing (MRTR-03)")
        for each in result.get("inputRequests", {}).values():
            must_be_declared(capabilities, each.get("method"), each.get("params", {}))
        revision(MODERN).check("InputRequiredResult", result)

    def check_error(self, m, name):
        require(name in (*LEGACY, MODERN), f"an unknown revision: {name}")
        schema = revision(name)
        schema.check("JSONRPCMessage", m)
        schema.check(schema.error(), m)
        if name != MODERN:
            return
        code = m["error"]["code"]
        if code == -32022:
            schema.check("UnsupportedProtocolVersionError", m)
        elif code == -32021:
            schema.check("MissingRequiredClientCapabilityError", m)
        else:
            require(code not in (-32002, -32042), "a code of older revisions (BASE-14)")
            require(not -32099 <= code <= -32020, "a code that the specification keeps (BASE-13)")

    def check_request(self, m):
        self.questions.add(key_of(m["id"]))
        name = self.in_force()
        require(name != MODERN, "a request of the server's (BASE-16)")
        schema = revision(name)
        schema.check("JSONRPCMessage", m)
        if m["method"] in schema.methods:
            schema.check(schema.methods[m["method"]], m)
            schema.check("ServerRequest", m)
        must_be_declared(self.client_capabilities, m["method"], m.get("params", {}))

    def check_notification(self, m):
        name = self.in_force()
        schema = revision(name)
        schema.check("JSONRPCMessage", m)
        method = m["method"]
        if method in schema.methods:
            schema.check(schema.methods[method], m)
            schema.check("ServerNotification", m)
        elif schema.available:
            require(not method.startswith("notifications/"), f"no notification of revision {name}")
            return
        if name == MODERN:
            proof.spoke(name)  # a listen may have no other answer than its notifications
        params = m.get("params", {})
        if method == "notifications/cancelled":
            require(key_of(params.get("requestId")) in (self.listens if name == MODERN else self.questions),
                    "a cancellation of something that is not the server's (CAN-01, SUB-05)")
        elif method == "notifications/message" and name != MODERN:
            require("logging" in self.server_capabilities, "logging was not declared (LOG-01)")
        elif method in SUBSCRIBED and name == MODERN:
            require(key_of(params.get("_meta", {}).get(SUBSCRIPTION_KEY)) in self.listens,
                    "no subscriptionId of a listen (SUB-03)")
