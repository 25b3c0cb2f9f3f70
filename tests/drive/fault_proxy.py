"""Runs the proxy that breaks connections at seeded random points (tests/caller/proxy.cpp)."""

import subprocess

from http_process import program


class FaultProxy:
    """Forwards to the server at `to` ("127.0.0.1:4711"). A fault occurs after `mean` bytes on average."""

    def __init__(self, seed, to, mean):
        self.process = subprocess.Popen([program("test-caller"), "proxy", str(seed), to, str(mean)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.address = f"127.0.0.1:{int(self.process.stdout.readline())}"
        self.faults = {}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        """Ends the proxy; `faults` then has the number of faults of each kind."""
        said, _ = self.process.communicate()
        words = said.decode().split()
        self.faults = {name: int(count) for name, count in zip(words[::2], words[1::2])}
        return False
