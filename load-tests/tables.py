#!/usr/bin/env python3
"""Writes the tables of docs/performance.md and README.md from the JSON of the runs.

Usage: tables.py FOLDER PAGE README

FOLDER holds curves.json (by curves.sh), run.json and before.json (by run.sh), and the figures of
metrics-push.sh and autoscale.sh. A missing file leaves its tables unchanged. This script replaces
the text between `<!-- NAME: begin -->` and `<!-- NAME: end -->` in PAGE and README and leaves the
rest of them unchanged. It needs the standard library only.
"""

import json
import pathlib
import re
import statistics
import sys

HERE = pathlib.Path(__file__).parent


def number(value, decimals=0):
    if value is None:
        return "–"
    return f"{value:,.{decimals}f}".replace(",", " ")


def spread(values, decimals=0):
    """Returns the median, with minimum and maximum in brackets if there are several values."""
    if not values:
        return "–"
    middle = number(statistics.median(values), decimals)
    if len(values) == 1:
        return middle
    return f"{middle} ({number(min(values), decimals)}–{number(max(values), decimals)})"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def about(run, machine, date):
    text = (f"{date[:10]}, commit {run['commit']}, {machine['cores']} cores shared with the client "
            f"({machine['processor']}), {number(machine['memory_mib'] / 1024)} GiB, "
            f"{machine['java']}.")
    if machine["load_before"] > 0.5:
        text += (f" **The load average was {machine['load_before']:.1f} before the run: other"
                 " processes used the machine and affect these figures.**")
    return text


# --- curves.json ---


def pair_of(points, loops):
    """Returns the points of the raw server and those of Berth with this number of event loops."""
    of_loops = [point for point in points if point["loops"] == loops]
    names = list(dict.fromkeys(point["server"] for point in of_loops))
    return [[point for point in of_loops if point["server"] == name] for name in names]


def concurrency(curves):
    parts = [about(curves, curves["machine"], curves["date"])
             + f" {curves['rounds']} rounds of {curves['closed_seconds']} s for each point."]
    for loops in sorted({point["loops"] for point in curves["closed"]}):
        raw, berth = pair_of(curves["closed"], loops)
        rows = []
        for one, other in zip(raw, berth):
            shares = [b / r for r, b in zip(one["requests_per_s"], other["requests_per_s"])]
            rows.append([number(one["connections"]), spread(one["requests_per_s"]),
                         spread(other["requests_per_s"]), spread(shares, 2),
                         spread(one["p99_ms"], 2), spread(other["p99_ms"], 2)])
        parts.append(f"{loops} event loop{'s' if loops > 1 else ''}; Berth: {berth[0]['server']}")
        parts.append(table(["connections", "raw Vert.x, requests/s", "Berth, requests/s",
                            "Berth to raw", "raw, p99 ms", "Berth, p99 ms"], rows))
    return "\n\n".join(parts)


def rates(curves):
    raw, berth = pair_of(curves["open"], 1)
    rows = []
    late = total = 0
    for points in zip(raw, berth):
        row = [number(points[0]["offered_per_s"]),
               f"{points[0]['share_of_saturation'] * 100:.0f} %"]
        for name, decimals in (("achieved_per_s", 0), ("p50_ms", 3), ("p99_ms", 2)):
            for point in points:
                row.append(spread([run[name] for run in point["runs"] if run["valid"]], decimals))
        for point in points:
            total += len(point["runs"])
            late += sum(not run["valid"] for run in point["runs"])
        rows.append(row)
    lag = [run["client_lag_p99_ms"] for points in (raw, berth) for point in points
           for run in point["runs"] if run["valid"]]
    saturation = ", ".join(f"{name} {number(rate)}/s"
                           for name, rate in curves["saturation_per_s"].items())
    return "\n\n".join([
        f"Saturation in the closed loop: {saturation}; shares refer to the lower rate. "
        f"{curves['rounds']} rounds of {curves['open_seconds']:g} s for each point, "
        f"{curves['open_connections']} connections. The client's own lag at p99, median of the "
        f"runs: {number(statistics.median(lag) if lag else None, 3)} ms; {late} of {total} runs are "
        "left out because the client was late.",
        table(["offered/s", "share", "raw, achieved/s", "Berth, achieved/s", "raw, p50 ms",
               "Berth, p50 ms", "raw, p99 ms", "Berth, p99 ms"], rows)])


# --- run.json ---


def figures(spreads, decimals, divisor=1):
    return (f"{number(spreads['median'] / divisor, decimals)} "
            f"({number(spreads['q1'] / divisor, decimals)}–"
            f"{number(spreads['q3'] / divisor, decimals)})")


def interval(verdict):
    value = verdict.get("value")
    if not value or not verdict["noise"]:
        return "–"
    low, high = value["surely_from"], value["surely_to"]
    return f"{number(low, 2)}{' to ' if low < 0 else '–'}{number(high, 2)}"


def typeset(text):
    """Returns a figure such as (0.97-1.03) in the typography of the page."""
    return re.sub(r"(?<=\d)-(?=\d)", "–", text).replace(" us", " µs") if text else "–"


def warmed(run):
    """Returns a sentence about the servers whose JIT compilers still worked when rounds began."""
    cold = [f"{each['server']} of {each['group']} ({each['jit_percent']:.0f} %)"
            for each in run.get("warming", []) if not each["reached"]]
    return f" Not warm, with the share of the JIT compilers: {', '.join(cold)}." if cold else ""


def rounds(run):
    return (f" {run['starts']} start{'s' if run['starts'] > 1 else ''} of each server,"
            f" {run['rounds']} rounds in each, slices of {run['slice_ms']} ms.")


def verdicts(run):
    return [each for each in run["budgets"] if each["verdict"] not in ("elsewhere", "not measured")]


def budgets(run):
    rows = [[each["what"], typeset(each["measured"]),
             typeset(each["noise"]), interval(each), typeset(each["limit"]),
             each["verdict"]] for each in run["budgets"]]
    return "\n\n".join([
        about(run, run["machine"], run["date"]) + rounds(run),
        table(["", "CPU relative to the baseline: median (quartiles)", "equal servers (A/A)",
               "95 % interval of the median", "budget", "verdict"], rows)])


def latency(row, name):
    """Returns a latency in ms, absent if one request of the row counts as several operations."""
    counted_once = row["operations_per_request"] == 1
    return number(row[name]["median"] / 1e3 if counted_once else None, 2)


def rows_of(run):
    rows = []
    for row in run["rows"]:
        ratio = row.get("cpu_ratio")
        rows.append([row["name"], row["protocol"], number(row["connections"]),
                     number(row["per_s"]["median"]), latency(row, "p50_us"), latency(row, "p99_us"),
                     figures(row["cpu_us"], 2), number(row["user_us"], 2),
                     number(row.get("jit_percent"), 1),
                     number(row["allocated_bytes"]["median"]),
                     number(row["resident_mib"]["median"]),
                     number(row["wire_bytes"]), number(row["packets"], 2),
                     figures(ratio, 2) if ratio else "1"])
    return table(["", "protocol", "connections", "per s", "p50 ms", "p99 ms", "CPU µs", "user part",
                  "JIT share, %", "bytes allocated", "RSS MiB", "bytes sent", "packets",
                  "CPU relative to the baseline"], rows)


def before(run):
    known = {row["id"]: row for row in run["rows"]}
    rows = []
    for each in run["budgets"]:
        now, then = known.get(each["id"]), known.get(f"before-{each['id']}")
        if now and then:
            both = [f"{number(then[name]['median'], decimals)} → {number(now[name]['median'], decimals)}"
                    for name, decimals in (("cpu_us", 2), ("allocated_bytes", 0))]
            both += [f"{number(then[name], decimals)} → {number(now[name], decimals)}"
                     for name, decimals in (("wire_bytes", 0), ("packets", 2))]
        else:
            both = ["–"] * 4
        rows.append([each["what"], typeset(each["measured"]), typeset(each["noise"]),
                     interval(each), each["verdict"], *both])
    return "\n\n".join([
        about(run, run["machine"], run["date"]) + rounds(run),
        table(["", "new to old: median (quartiles)", "old to old (A/A)",
               "95 % interval of the median", "verdict", "CPU µs", "bytes allocated", "bytes sent",
               "packets"],
              rows)])


def cost(run):
    """Returns the table of all measured rows, the unfavourable included."""
    rows = [[each["what"], typeset(each["measured"]),
             typeset(each["noise"]), typeset(each["limit"]),
             each["verdict"]] for each in verdicts(run)]
    page = (HERE.parent / "docs" / "performance.md").read_text()
    decision = re.search(r"^Decision\.decide: .*?: (\S+) \(budget (\S+): (\w+)\)$", page, re.M)
    if decision and not any(each["id"] == "decision" for each in verdicts(run)):
        rows.append(["a routing decision among 10 000 replicas to one among 10 (JMH)",
                     decision[1], "–", f"<= {decision[2]}", decision[3].upper()])
    ours = {row["id"]: row for row in run["rows"]}["no-op-1"]
    theirs = {row["name"]: row["cpu_us"]
              for row in json.loads((HERE / "peers.json").read_text())["tables"][0]["peers"]}

    def of(name):
        return number(next(cpu for peer, cpu in theirs.items() if peer.startswith(name)))

    return "\n\n".join([
        about(run, run["machine"], run["date"]) + rounds(run) + warmed(run)
        + " Server CPU per request without the JIT compilers, as the ratio of neighbouring slices:"
        " median (quartiles). A/A is the same ratio of two equal servers in the same rounds. A row"
        " whose A/A is wider than its distance from the budget is *not established*.",
        table(["server CPU", "relative to raw Vert.x with the same bytes", "A/A", "budget",
               "verdict"], rows),
        f"A routed no-op took {number(ours['cpu_us']['median'], 1)} µs of CPU and had a p99 of"
        f" {latency(ours, 'p99_us')} ms at 64 connections. On a machine of this size Ray Serve's"
        f" fastest mode takes {of('Ray Serve 2.60.0, HAProxy + ')} µs and DJL Serving"
        f" {of('DJL')} µs; nginx as a proxy takes {of('nginx')} µs in addition to its upstream."])


SUMMARY = {
    "no-op-1-cpu": "no-op, one event loop, 64 connections",
    "connections-cpu": "no-op, 4 096 connections",
    "composition-cpu": "a request whose handler calls another deployment",
    "tick-cpu": "100 events of a stream in one tick, to raw Vert.x that joins them",
    "start": "process start to the first response",
}


def cost_summary(run):
    """Returns the five rows of README, with the command and two missed budgets among them."""
    measured = {each["id"]: each for each in run["budgets"]}
    machine = run["machine"]
    rows = [[name, typeset(measured[row]["measured"]), typeset(measured[row]["noise"]),
             typeset(measured[row]["limit"]), measured[row]["verdict"]]
            for row, name in SUMMARY.items() if row in measured]
    return "\n\n".join([
        "Ratio to raw Vert.x that returns the same bytes: server CPU per request, or time to"
        " start; median (quartiles). Equal servers show the noise. A row with more noise than"
        " distance from its budget is *not established*.",
        table(["`bash load-tests/run.sh`", "ratio", "equal servers", "budget", "verdict"], rows),
        f"Measured {run['date'][:10]}, commit {run['commit']}, on {machine['cores']} cores"
        f" ({machine['processor']}) shared with the client; the load average was"
        f" {machine['load_before']:.1f} before the run."])


def peers(run):
    known = json.loads((HERE / "peers.json").read_text())
    ours = {row["id"]: row for row in run["rows"]}
    parts = []
    for each in known["tables"]:
        rows = []
        first = None
        for row in each["ours"]:
            if row["id"] in ours:
                measured = ours[row["id"]]
                cpu = measured["cpu_us"]["median"]
                if first is None:
                    first = cpu
                rows.append([f"**{row['name']}**" if row["name"].startswith("Berth")
                             else row["name"],
                             number(measured["per_s"]["median"]),
                             latency(measured, "p50_us"), latency(measured, "p99_us"),
                             number(cpu, 1), ""])
        if first is None:
            continue
        for row in each["peers"]:
            rows.append([row["name"], number(row["per_s"]), number(row["p50_ms"], 2),
                         number(row["p99_ms"], 2), number(row["cpu_us"], 0 if row["cpu_us"] > 99 else 1),
                         f"{row['cpu_us'] / first:.1f}×"])
        parts.append(f"### {each['title']}")
        parts.append(table(["", f"{each['unit']}s/s", "p50 ms", "p99 ms",
                            f"server CPU µs per {each['unit']}",
                            "CPU, relative to Berth's first row"],
                           rows))
    return "\n\n".join(parts)


def start_up(run):
    start = run["start_ms"]
    if not start:
        return "Not in the last run."
    return (f"Process start to the first 200 of `/echo`: {figures(start, 0)} ms; raw Vert.x in the"
            f" same rounds: {figures(start['base'], 0)} ms. The ratio is"
            f" {figures(start['ratio'], 2)}.")


# --- metrics-push.json, metrics-push-ray.json ---


def metrics_push(run):
    per_handle = {(row["instances"], row["handles"]): row for row in run["fleets"]
             if row["way"] == "one for each handle"}
    rows = []
    for row in run["fleets"]:
        if row["way"] == "one for each handle":
            continue
        other = per_handle.get((row["instances"], row["handles"]))
        both = [[number(each[name] / divisor, decimals) if each else "–" for each in (row, other)]
                for name, divisor, decimals in (("messages_per_s", 1, 0), ("bytes_per_s", 1e3, 1),
                                                ("pusher_percent", 1, 3),
                                                ("controller_percent", 1, 3))]
        rows.append([number(row["instances"]), number(row["handles"]),
                     *(figure for pair in both for figure in pair)])
    return table(["instances", "handles on each", "messages/s", "per handle", "kB/s", "per handle",
                  "one pusher, % of a core", "per handle", "controller, % of a core", "per handle"],
                 rows)


def metrics_push_of_ray(run):
    rows = [[number(row["applications"]), number(row["controller_percent_without_handles"], 1),
             number(row["controller_percent"], 1), number(row["handles_percent"], 1)]
            for row in run["fleets"]]
    return table([f"applications, Ray {run['ray']}", "controller without handles, % of a core",
                  "controller with one handle each, % of a core", "handle process, % of a core"],
                 rows)


# --- the files ---


# --- autoscale.json ---


def autoscale(measured):
    rows = {}
    for row in measured["compared"]:
        rows.setdefault((row["trace"], row["scaler"]), {})[row["seeds"]] = row

    def both(pair, key, decimals=0):
        return f"{number(pair['before'][key], decimals)} / {number(pair['after'][key], decimals)}"

    head = ["load", "autoscaler", "replica-seconds", "wasted", "late requests, %",
            "longest time below need, s", "overshoot"]
    text = table(head, [
        [trace, scaler, both(pair, "replica_s"), both(pair, "wasted_replica_s"),
         both(pair, "late_percent", 2), both(pair, "behind_s"), both(pair, "overshoot", 1)]
        for (trace, scaler), pair in rows.items()])
    for other in ("Ray Serve", "Knative"):
        counts = {"better": 0, "worse": 0, "mixed": 0}
        for (trace, scaler), pair in rows.items():
            for seeds, theirs in pair.items() if scaler == other else ():
                ours = rows[trace, "Berth"][seeds]
                signs = {(ours[key] > theirs[key]) - (ours[key] < theirs[key])
                         for key in ("replica_s", "late_percent")} - {0}
                counts["mixed" if len(signs) != 1 else "worse" if 1 in signs else "better"] += 1
        text += (f"\n\nCompared with {other} by (replica-seconds, late requests), Berth is better"
                 f" in {counts['better']} of {sum(counts.values())}, worse in {counts['worse']}, and"
                 f" mixed or equal in {counts['mixed']}.")
    return text


def fill(file, source, parts):
    """Writes the tables of one run between their marks in one file."""
    if not source.exists():
        print(f"{source}: missing: its tables in {file} are unchanged")
        return
    run = json.loads(source.read_text())
    if run.get("rows") and "slice_ms" not in run:
        print(f"{source}: written by an older method: its tables in {file} are unchanged")
        return
    text = file.read_text()
    for name, write in parts.items():
        marks = re.compile(f"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)", re.S)
        if not marks.search(text):
            sys.exit(f"{file}: no mark {name} (expected: <!-- {name}: begin --> and its end)")
        body = write(run) + "\n"
        text = marks.sub(lambda found, body=body: found[1] + body + found[2], text)
        print(f"wrote {name} in {file} from {source}")
    file.write_text(text)


def main(folder, page, readme):
    fill(page, folder / "curves.json", {"concurrency": concurrency, "offered rate": rates})
    fill(page, folder / "run.json",
         {"budgets": budgets, "rows": rows_of, "peers": peers, "start-up": start_up,
          "cost": cost})
    fill(page, folder / "before.json", {"before": before})
    fill(page, folder / "metrics-push.json", {"metrics push": metrics_push})
    fill(page, folder / "metrics-push-ray.json", {"metrics push of Ray": metrics_push_of_ray})
    fill(page, folder / "autoscale.json", {"autoscale": autoscale})
    fill(readme, folder / "run.json", {"cost summary": cost_summary})


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:4]))
