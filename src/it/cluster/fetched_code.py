#!/usr/bin/env python3
"""Kills and restarts the control node while a worker builds the code of a replica, after it killed
another worker, which the control node waits for. The first worker's replica begins to run after that
worker reported its inventory, and before the other worker is declared lost. The controller must know
every running replica.

    fetched_code.py --jar JAR        a minute
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster_pair import Node, Pair, main, until  # noqa: E402

APPLICATION = """
import dev.berth.api.*;
import io.vertx.core.Future;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;

public final class Slow {
  /** On n2 waits until the file `go` exists. */
  public static Application build(Map<String, Object> args) throws Exception {
    String[] words = ProcessHandle.current().info().arguments().orElseThrow();
    if (Arrays.stream(words).anyMatch(word -> word.endsWith("n2.yaml"))) {
      Files.writeString(Path.of("building"), "");
      while (!Files.exists(Path.of("go"))) {
        Thread.sleep(20);
      }
    }
    AsyncHandler handler = (request, context) -> Future.succeededFuture(Response.text("hi"));
    return Application.of(Deployment.of("slow", replica -> handler).withMaxOngoingRequests(8));
  }
}
"""


def run(jar):
    with Pair(jar, APPLICATION) as pair:
        control, worker = pair.control, pair.worker
        control.start().serves()
        worker.start().serves()
        third = Node(pair, "n3")
        try:
            third.start().serves()
            pair.declare({"num_replicas": 3, "max_replicas_per_node": 1})
            building = os.path.join(pair.folder, "building")
            if until(lambda: "n1" in pair.replicas().values() and os.path.exists(building), 60, 0.02) is None:
                return ["a replica runs on n1, and n2 builds one"]
            third.kill()
            control.kill()
            before = control.said()
            control.start()
            if until(lambda: "node n2~" in control.said()[len(before):], 60, 0.02) is None:
                return ["n2 is a node again"]
            time.sleep(1)  # for its inventory
            with open(os.path.join(pair.folder, "go"), "w"):
                pass
            control.serves()
        finally:
            third.end()
        time.sleep(15)  # n3 is lost after 10 s
        until(lambda: len(pair.replicas()) == 2, 30)
        time.sleep(5)
        known = pair.replicas()
        there = pair.hosted(control) + pair.hosted(worker)
        print(f"{len(there)} replicas run, the controller knows {len(known)} of them (expected: 2)")
        return [] if sorted(there) == sorted(known) and len(known) == 2 else ["the controller knows all"]


main(run)
