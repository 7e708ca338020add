"""Python imports this at its start; the moto server of the tests runs with it."""

import os
import sys
import threading

# moto has no locks: it relies on a request not being interrupted between the check of a
# condition and the write. Python may switch threads there after 5 ms, and then two updates
# of one item both pass. Without switches but at input and output, each request is as
# atomic as DynamoDB says.
sys.setswitchinterval(3600)


def end_with_parent():
    """The tests hold the other end of standard input; when they die, so does the server."""
    while sys.stdin.buffer.raw.read(64):
        pass
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()
