#!/usr/bin/env python3
"""Prints target/jmh.json as a Markdown table, with the verdict on the routing decision's budget.

usage: jmh_table.py [--write] [FILE]

--write also writes the output between its marks in docs/performance.md.
"""
import contextlib
import datetime
import io
import json
import os
import sys

import startup

BUDGET = 1.2


def name(run):
    """Returns the benchmark's class and method without package and suffix: Ledger.refuse."""
    return ".".join(run["benchmark"].split(".")[-2:]).replace("Benchmark.", ".")


def table(path):
    with open(path, encoding="utf-8") as file:
        runs = json.load(file)
    day = datetime.date.fromtimestamp(os.path.getmtime(path))
    print(f"{day}, JDK {runs[0]['jdkVersion']}, JMH {runs[0]['jmhVersion']}, {runs[0]['forks']} forks, "
          f"{runs[0]['measurementIterations']} iterations of {runs[0]['measurementTime']} each\n")
    print("| part | parameters | ns per operation (99.9 %) | bytes per operation |")
    print("|---|---|---|---|")
    decisions = {}
    for run in runs:
        time = run["primaryMetric"]
        bytes_per = run["secondaryMetrics"].get("gc.alloc.rate.norm", {}).get("score")
        params = ", ".join(f"{key} {value}" for key, value in run.get("params", {}).items())
        params = params.replace("message ", "")
        error = time["scoreError"]
        print(f"| {name(run)} | {params} | {time['score']:.1f} ± {float(error):.1f} | "
              f"{'' if bytes_per is None else format(round(bytes_per), ',').replace(',', ' ')} |")
        if name(run).startswith("Decision."):
            decisions.setdefault(name(run), {})[int(run["params"]["replicas"])] = time["score"]
    print()
    for of, by_size in decisions.items():
        if len(by_size) > 1:
            least, most = min(by_size), max(by_size)
            ratio = by_size[most] / by_size[least]
            print(f"{of}: {least} -> {most} replicas: {ratio:.2f}x"
                  + (f" (budget {BUDGET}x: {'met' if ratio <= BUDGET else 'missed'})"
                     if of.endswith(".decide") else ""))


def main():
    arguments = [each for each in sys.argv[1:] if each != "--write"]
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        table(arguments[0] if arguments else "target/jmh.json")
    print(text.getvalue(), end="")
    if "--write" in sys.argv:
        startup.put("parts", text.getvalue())


if __name__ == "__main__":
    main()
