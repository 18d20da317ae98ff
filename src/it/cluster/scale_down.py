#!/usr/bin/env python3
"""Kills and restarts the control node: an idle autoscaling deployment must scale down to its minimum.

    scale_down.py --jar JAR        a minute and a half at most
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster_pair import Pair, main, until  # noqa: E402

AUTOSCALING = {
    "min_replicas": 1, "max_replicas": 4, "initial_replicas": 3, "target_ongoing_requests": 1,
    "look_back_period_s": 3, "downscale_delay_s": 20, "upscale_delay_s": 1}


def run(jar):
    with Pair(jar) as pair:
        pair.control.start().serves()
        pair.worker.start().serves()
        pair.declare({"autoscaling_config": AUTOSCALING})
        if until(lambda: len(pair.replicas()) == 3, 60) is None:
            return ["three initial replicas"]
        pair.control.kill()
        pair.control.start().serves()
        took = until(lambda: len(pair.replicas()) == 1, 75)
        if took is None:
            print(f"still {len(pair.replicas())} replicas 75 s after the restart of the control node")
            return ["scaled down"]
        print(f"1 replica {took:.0f} s after the restart of the control node")
        return []


main(run)
