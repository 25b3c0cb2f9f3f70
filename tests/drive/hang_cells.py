"""The table of test_client_hang.py: every call of the client, on every wire, with every fault at every point; and what the
call must end with.

    D1   the connection is gone                        closed
    D2   HTTP: this request's response is gone         stream_lost
    D4   no answer in time                             timed_out
    D10  an answer that is none                        bad_message
    D9, D11, E1-E7  what belongs to no call            is passed over: the call goes on, here until its time is up
    a refusal                                          rejected, unauthorized
    a server that cannot be reached                    unavailable

Where a kind is a matter of who is quicker, all that can be right are listed.
"""

from dataclasses import dataclass

from hostile_lines import GARBAGE
from hostile_server import HTTP_GARBAGE, SSE_GARBAGE

LINES = ("stdio", "tcp", "unix")
HTTP = ("http_json", "http_sse")
WIRES = (*LINES, *HTTP, "old_sse")
ERAS = ("modern", "legacy")

# The name of the call, its arguments, and what it is on the wire in each era (None: it has no request there).
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
# What a child says is read as what a socket says: some calls will do for its garbage.
GARBAGE_OF_CHILDREN = {"open", "call_tool", "ping", "subscribe"}
HAVE_NO_OPTIONS = {"open", "set_level", "subscribe"}  # their time is the client's own
OPEN_RESULTS = {"set_level", "request", "ping", "subscribe"}  # of the older revisions: any object will do

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
    return CALLS[call][1 if era == "modern" else 2] is not None


def points(wire, call):
    known = list(BEFORE)
    if call == "open":
        known.remove("before_written")  # there is nothing before it
    if wire in HTTP or wire == "old_sse":
        known.append("after_head")
    if wire == "http_sse":
        known.append("after_event")
    return (*known, "mid_answer")


def endings(wire, era):
    """Cells in which a connection, or a stream, ends or stalls."""
    for call in CALLS:
        if not has(wire, era, call):
            continue
        for point in points(wire, call):
            for fault in (*ENDINGS, "stall"):
                yield Cell(wire, era, call, point, fault)
            if wire == "http_sse" and point in ("after_head", "after_event", "mid_answer"):
                yield Cell(wire, era, call, point, "finish")


def garbage(wire, era):
    """Cells in which the answer is something else."""
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


# ---- what is right ----


def expected(cell):
    """The kinds of outcome that are right."""
    kinds = expected_garbage(cell) if cell.point == "answer" else expected_ending(cell)
    return kinds if isinstance(kinds, set) else {kinds}


def expected_ending(cell):
    if cell.fault == "stall":
        # Over HTTP the connection that stalls need not be the one that is used next.
        return {"timed_out", "result"} if cell.is_http and cell.point == "before_written" else "timed_out"
    if not cell.is_http:
        return "closed"
    if cell.wire == "old_sse" and cell.point == "before_written" and cell.fault == "die":
        # The stream is gone and nobody listens any more; whichever is found out first, nothing was sent.
        return {"closed", "stream_lost", "unavailable"}
    if cell.wire == "old_sse":
        if cell.point in ("after_head", "mid_answer"):
            return "closed"  # its one stream
        if cell.fault == "die":
            return {"closed", "stream_lost"}
    if cell.point == "before_written":
        if cell.fault == "die":
            return {"unavailable", "stream_lost", "result"}  # on a connection that was there still
        return {"result", "stream_lost"}  # another connection is made, unless the request was on its way already
    return "stream_lost"


def is_stream(cell):
    return cell.wire == "http_sse" or cell.call == "subscribe" and cell.era == "modern"


def expected_garbage(cell):
    # Over HTTP there is only one request that a whole body can be about: an error in it needs no id.
    if cell.fault == "error" or cell.fault == "null_id" and cell.wire == "http_json" and not is_stream(cell):
        # To the question for its era an error is the answer of an older server, which is not what was asked for.
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
        # An answer to something else is told from nothing at all; for a listen stream it is a notification.
        other_answer = cell.fault == "wrong_id" and not (cell.call == "subscribe" and cell.era == "modern")
        if is_stream(cell) and not other_answer and cell.fault != "huge_anonymous":
            return "stream_lost"
    return "bad_message"


def expected_http(cell):
    fault = cell.fault.removesuffix("+close")
    if cell.call == "open" and fault in ("status_400", "status_404", "status_405", "status_429"):
        if cell.era == "modern":
            return "unavailable"  # an older server, which is not what was asked for
        if cell.wire == "http_sse" and fault != "status_429":
            return "timed_out"  # perhaps the transport of 2024-11-05: its first event is waited for
    if fault == "status_403":
        return "unauthorized"
    if fault == "status_404" and cell.era == "legacy" and cell.call != "open" and cell.wire != "old_sse":
        return "result"  # D18: in a new session
    if fault.startswith("status_") or fault in ("redirect_away", "redirect_nowhere"):
        return "rejected"
    if fault == "redirect_to_itself":
        return "rejected" if cell.wire == "old_sse" else "result"
    if cell.wire == "old_sse" and fault not in ("two_lengths", "not_http", "endless_head"):
        return "timed_out"  # 2xx is as good as accepted, whatever follows; but nothing comes
    if fault == "shorter_than_said":
        return "stream_lost"
    return "bad_message"


def lives_on(cell):
    """Whether the next call may be made with the same client."""
    if cell.call == "open":
        return False
    if not cell.is_http:
        return cell.point == "answer"
    if cell.wire == "old_sse" and (cell.point in ("after_head", "mid_answer") or "closed" in expected(cell)):
        return False
    return cell.fault != "die"
