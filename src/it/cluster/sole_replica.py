#!/usr/bin/env python3
"""The control node, with the only replica of a deployment, is killed: what a request at the worker
gets, and when. A controller that comes back serves it again.

    sole_replica.py --jar JAR        half a minute; a minute and a half before there was a time-out
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster_pair import Pair, ask, main, until  # noqa: E402


def run(jar):
    wrong = []
    with Pair(jar) as pair:
        pair.control.start().serves()
        pair.declare({"num_replicas": 1})
        until(lambda: len(pair.replicas()) == 1)
        pair.worker.start().serves()
        until(lambda: ask(pair.worker.http, "GET", "/")[0] == 200)
        pair.control.kill()
        for what in ("the first request", "the next one"):
            begin = time.monotonic()
            try:
                status, text, _ = ask(pair.worker.http, "GET", "/", timeout=70)
            except OSError as none:
                status, text = 0, repr(none)
            took = time.monotonic() - begin
            print(f"{what}: {status} after {took:.1f} s: {text[:110].strip()}")
            if status != 503 or "no controller" not in text or took > 8:
                wrong.append(f"{what} is no 503 with the reason within 8 s")
        pair.control.start().serves()
        took = until(lambda: ask(pair.worker.http, "GET", "/")[0] == 200)
        print("served again" if took is not None else "not served again")
        wrong += [] if took is not None else ["served again with a controller"]
    return wrong


main(run)
