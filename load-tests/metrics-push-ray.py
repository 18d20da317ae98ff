#!/usr/bin/env python3
"""Measures the CPU of Ray Serve's controller with and without handles of many applications.

Usage: metrics-push-ray.py FILE APPLICATIONS

Replaces the figures of this number of applications in FILE. Each application has one deployment at
zero replicas, so only the controller and this process, which has a handle of each application,
work. Handles push once a second, as Berth's instances do.
"""

import json
import os
import pathlib
import sys
import time

import ray
from ray import serve
from ray.serve._private.constants import SERVE_CONTROLLER_NAME, SERVE_NAMESPACE

SECONDS = 10
ROUNDS = 3


@serve.deployment(autoscaling_config={"min_replicas": 0, "initial_replicas": 0, "max_replicas": 1,
                                      "metrics_interval_s": 1, "look_back_period_s": 5})
class Idle:
    def __call__(self):
        return "ok"


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percents(*processes):
    """Returns the percentage of a core of each process over SECONDS, as median of the rounds."""
    rounds = []
    for _ in range(ROUNDS):
        before = [cpu_seconds(pid) for pid in processes]
        time.sleep(SECONDS)
        rounds.append([(cpu_seconds(pid) - was) * 100 / SECONDS
                       for pid, was in zip(processes, before)])
    return [sorted(each)[(ROUNDS - 1) // 2] for each in zip(*rounds)]


def measure(applications):
    serve.run_many([serve.RunTarget(target=Idle.bind(), name=f"app{i}", route_prefix=f"/app{i}")
                    for i in range(applications)], wait_for_applications_running=True)
    controller = ray.get_actor(SERVE_CONTROLLER_NAME, namespace=SERVE_NAMESPACE)
    of_controller = ray.get(controller.get_pid.remote())
    of_handles = os.getpid()
    time.sleep(5)
    without, idle = percents(of_controller, of_handles)
    handles = [serve.get_app_handle(f"app{i}") for i in range(applications)]
    for handle in handles:
        handle._init()
    time.sleep(5)
    with_them, pushing = percents(of_controller, of_handles)
    row = {"applications": applications, "controller_percent_without_handles": without,
           "controller_percent": with_them, "handles_percent": pushing - idle}
    print(row, flush=True)
    return row


def main(file, count):
    ray.init(include_dashboard=False, num_cpus=2, log_to_driver=False, logging_level="error")
    serve.start(http_options={"location": "NoServer"}, logging_config={"log_level": "ERROR"})
    row = measure(count)
    serve.shutdown()
    ray.shutdown()
    known = json.loads(file.read_text())["fleets"] if file.exists() else []
    rows = [each for each in known if each["applications"] != count] + [row]
    rows.sort(key=lambda each: each["applications"])
    file.write_text(json.dumps({"ray": ray.__version__, "fleets": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
