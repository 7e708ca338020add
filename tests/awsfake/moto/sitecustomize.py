"""Python imports this at its start; the moto server of these tests runs with it."""

import os
import sys
import threading


def end_with_parent():
    """The tests hold the other end of standard input; when they die, so does the server."""
    while sys.stdin.buffer.raw.read(64):
        pass
    os._exit(0)


# moto has no locks. Without a switch of threads inside a request, each is as atomic as AWS
# says that it is.
sys.setswitchinterval(3600)
threading.Thread(target=end_with_parent, daemon=True).start()
