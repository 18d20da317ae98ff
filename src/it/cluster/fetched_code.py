#!/usr/bin/env python3
"""The control node is killed while a worker fetches the code of a replica, and starts again; another
worker, which it waits for, is gone. Whatever the first worker runs then, the controller knows.

    fetched_code.py --jar JAR        a minute
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster_pair import Node, Pair, main, until  # noqa: E402


def run(jar):
    with Pair(jar) as pair:
        pair.control.start().serves()
        pair.worker.start().serves()
        third = Node(pair, "n3")
        try:
            third.start().serves()
            pair.declare({"num_replicas": 3, "max_replicas_per_node": 1}, seconds=8)
            # The control node has built it, and the workers build it again.
            if until(lambda: "n1" in pair.replicas().values(), 60, 0.02) is None:
                return ["a replica on n1"]
            third.kill()
            pair.control.kill()
            pair.control.start().serves()
        finally:
            third.end()
        time.sleep(25)  # n3 is lost after 10 s
        until(lambda: len(pair.replicas()) == 2, 30)
        time.sleep(10)
        known = pair.replicas()
        there = pair.hosted(pair.control) + pair.hosted(pair.worker)
        print(f"{len(there)} replicas run, the controller knows {len(known)} of them (room for: 2)")
        return [] if sorted(there) == sorted(known) and len(known) == 2 else ["all are known"]


main(run)
