#!/usr/bin/env python3
"""Starts a worker and a control node whose port of the event bus is in use. Each start must end with
the reason, as must a second worker with the state directory of the first.

    throwing_start.py --jar JAR        half a minute
"""

import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster_pair import Node, Pair, main  # noqa: E402


def ended(node, why, limit_s=15):
    """Prints the end of a node's start; returns whether it failed with the reason in its log."""
    try:
        node.process.wait(limit_s)
        how = f"exit {node.process.returncode}"
    except subprocess.TimeoutExpired:
        node.process.send_signal(signal.SIGTERM)
        try:
            node.process.wait(5)
            how = "still runs, ends at SIGTERM"
        except subprocess.TimeoutExpired:
            how = "still runs, also after SIGTERM"
    says = why in node.said()
    print(f"{node.name}: {how}, {'with' if says else 'without'} the reason")
    return how.startswith("exit") and says and node.process.returncode != 0


def run(jar):
    wrong = []
    with Pair(jar) as pair, socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        for node in (pair.control, pair.worker):
            node.start("berth.messages=event_bus", f"berth.cluster.ports.bus={port}")
            if not ended(node, "berth.cluster.ports.bus: cannot listen"):
                wrong.append(f"a bus port in use on {node.name} fails with the reason")
            node.end()
            open(node.log, "w").close()
        pair.control.start().serves()
        pair.worker.start().serves()
        third = Node(pair, "n3")
        try:
            third.start(f"berth.state_dir={pair.folder}/n2-state")
            if not ended(third, "is in use by another instance"):
                wrong.append("a state_dir of another worker fails with the reason")
        finally:
            third.end()
    return wrong


main(run)
