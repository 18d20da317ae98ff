#!/usr/bin/env python3
"""Kills the control node with the only replica of a deployment, and restarts it with an older state.
Requests at the worker must get a 503 with the reason in time. A controller with its newest state must
serve again.

    sole_replica.py --jar JAR        a minute; three before the time-out existed
"""

import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster_pair import Pair, ask, main, until  # noqa: E402


def refused(pair, what, wrong):
    begin = time.monotonic()
    try:
        status, text, _ = ask(pair.worker.http, "GET", "/", timeout=70)
    except OSError as none:
        status, text = 0, repr(none)
    took = time.monotonic() - begin
    print(f"{what}: {status} after {took:.1f} s: {text[:110].strip()}")
    if status != 503 or "no controller" not in text or took > 8:
        wrong.append(f"{what} gets a 503 with the reason within 8 s")


def state(pair, name):
    return os.path.join(pair.folder, name)


def run(jar):
    wrong = []
    with Pair(jar) as pair:
        pair.control.start().serves()
        pair.declare({"num_replicas": 1})
        until(lambda: len(pair.replicas()) == 1)
        pair.control.kill()
        shutil.copytree(state(pair, "n1-state"), state(pair, "older"))
        pair.control.start().serves()
        until(lambda: len(pair.replicas()) == 1)
        pair.worker.start().serves()
        until(lambda: ask(pair.worker.http, "GET", "/")[0] == 200)
        pair.declare({"num_replicas": 1, "max_ongoing_requests": 4})
        time.sleep(2)  # until the worker receives the command
        pair.control.kill()
        refused(pair, "the first request", wrong)
        refused(pair, "the second request", wrong)
        os.rename(state(pair, "n1-state"), state(pair, "newest"))
        shutil.copytree(state(pair, "older"), state(pair, "n1-state"))
        pair.control.start()
        stands = until(lambda: "stands_by" in ask(pair.control.admin, "GET", "/api/v1/cluster")[1], 30)
        print("the control node with an older state " + ("commands" if stands is None else "stands by"))
        time.sleep(6)
        for what in ("the third request", "the fourth request"):
            refused(pair, what, wrong)
        pair.control.kill()
        shutil.rmtree(state(pair, "n1-state"))
        os.rename(state(pair, "newest"), state(pair, "n1-state"))
        pair.control.start().serves()
        took = until(lambda: ask(pair.worker.http, "GET", "/")[0] == 200)
        print("served again" if took is not None else "not served again")
        wrong += [] if took is not None else ["served again with a controller"]
    return wrong


main(run)
