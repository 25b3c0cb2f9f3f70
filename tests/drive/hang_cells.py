"""The table of test_client_hang.py: every call of the client, on every transport, with every fault at every point, and the
expected outcome.

    D1   the connection is lost                        closed
    D2   HTTP: this request's response is lost         stream_lost
    D4   no answer in time                             timed_out
    D10  an invalid answer                             bad_message
    D9, D11, E1-E7  messages that belong to no call    ignored: the call continues, here until its timeout
    a refusal                                          rejected, unauthorized
    an unreachable server                              unavailable

If the outcome depends on timing, all correct kinds are listed.
"""

from dataclasses import dataclass

from hostile_lines import GARBAGE
from hostile_server import HTTP_GARBAGE, SSE_GARBAGE

LINES = ("stdio", "tcp", "unix")
HTTP = ("http_json", "http_sse")
WIRES = (*LINES, *HTTP, "old_sse")
ERAS = ("modern", "legacy")

# The name of the call, its arguments, and its method in each era (None: it has no request there).
CALLS = {
    "open": ({}, "open", "open"),
    "list_tools": ({}, "tools/list", "tools/list"),
    "list_tools_page": ({}, "tools/list", "tools/list"),
    "call_tool": ({"name": "echo", "arguments": {"text": "x" * 300_000}}, "tools/call", "tools/call"),
    "list_resources": ({}, "resources/list", "resources/list"),
    "templates": ({}, "resources/templates/list", "resources/templates/list"),
    "read": ({"uri": "test://a"}, "resources/read", "resources/read"),
    "list_prompts": ({}, "prompts/list", "prompts/list"),
    "get_prompt": ({"name": "p", "arguments": {"a": "b"}}, "prompts/get", "prompts/get"),
    "complete": ({"name": "p", "value": "x"}, "completion/complete", "completion/complete"),
    "complete_resource": ({"uri": "test://{x}", "value": "x"}, "completion/complete", "completion/complete"),
    "ping": ({}, "server/discover", "ping"),
    "set_level": ({}, None, "logging/setLevel"),
    "subscribe": ({}, "subscriptions/listen", "resources/subscribe"),
    "request": ({"method": "x/own", "params": {"text": "x" * 300_000}}, "x/own", "x/own"),
    "request_once": ({"method": "tools/call", "params": {"name": "echo"}}, "tools/call", None),
}
# Output of a child is parsed like input from a socket, so a few calls are enough for its invalid data.
GARBAGE_OF_CHILDREN = {"open", "call_tool", "ping", "subscribe"}
HAVE_NO_OPTIONS = {"open", "set_level", "subscribe"}  # they use the client's own timeout
OPEN_RESULTS = {"set_level", "request", "ping", "subscribe"}  # of the older revisions: any object is valid

ENDINGS = ("die", "close", "half", "reset")
BEFORE = ("before_written", "before_read", "mid_read", "before_answer")
PASSED_OVER = {"not_json", "no_message", "no_object", "number", "wrong_id", "null_id", "half_utf8", "deep", "huge_anonymous"}


@dataclass(frozen=True)
class Cell:
    wire: str
    era: str
    call: str
    point: str
    fault: str

    def __str__(self):
        return f"{self.wire} {self.era} {self.call}: {self.fault} at {self.point}"

    @property
    def is_http(self):
        return self.wire not in LINES

    @property
    def plan(self):
        return {"era": self.era, "method": CALLS[self.call][1 if self.era == "modern" else 2],
                "point": self.point, "fault": self.fault}


def has(wire, era, call):
    if wire == "old_sse" and era == "modern":
        return False
    if (wire, era, call) == ("http_json", "legacy", "subscribe"):
        return False  # the server refuses the stream for notifications, so the client sends no request
    return CALLS[call][1 if era == "modern" else 2] is not None


def points(wire, call):
    known = list(BEFORE)
    if call == "open":
        known.remove("before_written")  # there is no earlier request
    if wire in HTTP or wire == "old_sse":
        known.append("after_head")
    if wire == "http_sse":
        known.append("after_event")
    return (*known, "mid_answer")


def endings(wire, era):
    """Cells in which a connection or a stream ends or stalls."""
    for call in CALLS:
        if not has(wire, era, call):
            continue
        for point in points(wire, call):
            for fault in (*ENDINGS, "stall"):
                yield Cell(wire, era, call, point, fault)
            if wire == "http_sse" and point in ("after_head", "after_event", "mid_answer"):
                yield Cell(wire, era, call, point, "finish")


def garbage(wire, era):
    """Cells in which the answer is invalid."""
    for call in CALLS:
        if not has(wire, era, call) or wire == "stdio" and call not in GARBAGE_OF_CHILDREN:
            continue
        kinds = [k for k in GARBAGE if k != "hundred_megabytes" or call == "call_tool"]
        if wire not in LINES:
            kinds += list(HTTP_GARBAGE)
        if wire == "http_sse":
            kinds += list(SSE_GARBAGE)
        for fault in kinds:
            yield Cell(wire, era, call, "answer", fault)


# ---- expected outcomes ----


def expected(cell):
    """The correct kinds of outcome."""
    kinds = expected_garbage(cell) if cell.point == "answer" else expected_ending(cell)
    return kinds if isinstance(kinds, set) else {kinds}


def expected_ending(cell):
    if cell.fault == "stall":
        # Over HTTP the stalled connection need not be the one that is used next.
        return {"timed_out", "result"} if cell.is_http and cell.point == "before_written" else "timed_out"
    if not cell.is_http:
        return "closed"
    if cell.wire == "old_sse" and cell.point == "before_written" and cell.fault == "die":
        # The stream is lost and the listener is closed; whichever is detected first, nothing was sent.
        return {"closed", "stream_lost", "unavailable"}
    if cell.wire == "old_sse":
        if cell.point in ("after_head", "mid_answer"):
            return "closed"  # its one stream
        if cell.fault == "die":
            return {"closed", "stream_lost"}
    if cell.point == "before_written":
        if cell.fault == "die":
            return {"unavailable", "stream_lost", "result"}  # on a connection that was still open
        return {"result", "stream_lost"}  # a new connection is opened, unless the request was already being sent
    return "stream_lost"


def is_stream(cell):
    return cell.wire == "http_sse" or cell.call == "subscribe" and cell.era == "modern"


def expected_garbage(cell):
    # Over HTTP a whole body belongs to one request, so an error in it needs no id.
    if cell.fault == "error" or cell.fault == "null_id" and cell.wire == "http_json" and not is_stream(cell):
        # An error as the answer to the version probe means an older server, which was not requested.
        return "unavailable" if cell.call == "open" and cell.era == "modern" else "rejected"
    if cell.fault == "wrong_shape" and cell.era == "legacy" and cell.call in OPEN_RESULTS:
        return "result"
    if cell.fault in SSE_GARBAGE:
        return "stream_lost"
    if cell.fault in HTTP_GARBAGE:
        return expected_http(cell)
    if cell.fault in PASSED_OVER:
        if cell.wire in LINES or cell.wire == "old_sse":
            return "timed_out"
        # An answer to another request is like no answer; on a listen stream it is a notification.
        other_answer = cell.fault == "wrong_id" and not (cell.call == "subscribe" and cell.era == "modern")
        if is_stream(cell) and not other_answer and cell.fault != "huge_anonymous":
            return "stream_lost"
    return "bad_message"


def expected_http(cell):
    fault = cell.fault.removesuffix("+close")
    if cell.call == "open" and fault in ("status_400", "status_404", "status_405", "status_429"):
        if cell.era == "modern":
            return "unavailable"  # an older server, which was not requested
        if cell.wire == "http_sse" and fault != "status_429":
            return "timed_out"  # possibly the transport of 2024-11-05: the client waits for its first event
    if fault == "status_403":
        return "unauthorized"
    if fault == "status_404" and cell.era == "legacy" and cell.call != "open" and cell.wire != "old_sse":
        return "result"  # D18: in a new session
    if fault.startswith("status_") or fault in ("redirect_away", "redirect_nowhere"):
        return "rejected"
    if fault == "redirect_to_itself":
        return "rejected" if cell.wire == "old_sse" else "result"
    if cell.wire == "old_sse" and fault not in ("two_lengths", "not_http", "endless_head"):
        return "timed_out"  # any 2xx status means accepted, but no answer follows
    if fault == "shorter_than_said":
        return "stream_lost"
    return "bad_message"


def lives_on(cell):
    """Whether the next call may use the same client."""
    if cell.call == "open":
        return False
    if not cell.is_http:
        return cell.point == "answer"
    if cell.wire == "old_sse" and (cell.point in ("after_head", "mid_answer") or "closed" in expected(cell)):
        return False
    return cell.fault != "die"
