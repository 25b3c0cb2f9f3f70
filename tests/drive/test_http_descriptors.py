#!/usr/bin/env python3
"""The HTTP server without free descriptors.

Alone in this file: the undefined-behavior sanitizer reads memory through its own pipes, and reports every object as invalid
if it cannot open them.
"""

# ctest-labels: release_only

import contextlib
import resource

import keel_process as kp
from http_client import Modern, Session
from http_connection import Broken
from keel_process import call
from test_http_faults import FaultTest
from test_http_load import with_threads


class Descriptors(FaultTest):
    @with_threads(1, 2)
    def test_j4_h5_no_more_descriptors(self, threads):
        """J4 H5: without free descriptors new connections are refused and existing ones are served; later new ones are served again."""
        with self.serving(threads=threads):
            m, s = Modern(self.server), Session(self.server)
            here = self.enterContext(self.server.connect())
            self.others_are_served(1, on=here)
            before = self.holds()
            hard = resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE)[1]
            for _ in range(3):
                resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE, (max(self.server.descriptors()) + 21, hard))
                there, refused = [], 0
                while refused < 50:
                    c = self.enterContext(self.server.connect())
                    c.send(m.request_bytes(m.call(1, "echo", {"text": "x"})))
                    try:
                        r = c.response()
                    except Broken:  # reset: no descriptor was free to answer
                        refused += 1
                        continue
                    self.assertIn(r.status, (200, 503))
                    r.body()
                    if r.status == 200:
                        there.append(c)
                    else:
                        refused += 1
                        self.assertFalse(r.keeps_open)
                        c.close()
                    self.assertLess(len(there), 60, "descriptors did not run out")
                self.assertGreater(len(there), 10)
                for i, c in enumerate(there):
                    self.assertEqual(m.text(m.call(i, "echo", {"text": f"{i}"}), on=c), f"{i}")
                    e = s.post(call(i, "speak", {"n": 2, "text": f"{i}"}, {"progressToken": 1}), on=c)
                    self.is_text(e.answer(i), f"{i}")
                    e.done()
                self.others_are_served(5, on=here)
                # One connection is closed, another one is accepted.
                there.pop().close()
                self.until_served(m)
                for c in there:
                    c.close()
                self.until_served(m)
                resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE, (hard, hard))
                self.is_back(before)
            self.others_are_served(20)

    def until_served(self, m):
        """Polls, because a free descriptor is not announced."""
        def served():
            with self.server.connect() as c:
                c.send(m.request_bytes(m.call(1, "echo", {"text": "x"})))
                with contextlib.suppress(Broken):
                    return c.response().status == 200
            return False
        kp.until(served, "a new client to be served")


if __name__ == "__main__":
    kp.main()
