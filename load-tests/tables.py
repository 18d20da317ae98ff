"""Writes the tables of docs/performance.md from the JSON of the runs.

Usage: tables.py FOLDER FILE

FOLDER holds curves.json (of curves.sh) and run.json (of run.sh); what is not there leaves its
tables as they are. Between `<!-- NAME: begin -->` and `<!-- NAME: end -->` of FILE stands what
this script wrote; the rest of FILE is not touched. Standard library only.
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
    """The median, with least and most in brackets when there is more than one."""
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
        text += (f" **The load average was {machine['load_before']:.1f} before it began: others were"
                 " at work, and the figures are theirs too.**")
    return text


# --- curves.json ---


def pair_of(points, loops):
    """The raw server's points and Berth's, of a number of event loops."""
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
        f"Saturation in the closed loop: {saturation}; the shares are of the lower one. "
        f"{curves['rounds']} rounds of {curves['open_seconds']:g} s for each point, "
        f"{curves['open_connections']} connections. The client's own lag at its p99, median of the "
        f"runs: {number(statistics.median(lag) if lag else None, 3)} ms; {late} of {total} runs are "
        "left out because the client was late.",
        table(["offered/s", "share", "raw, achieved/s", "Berth, achieved/s", "raw, p50 ms",
               "Berth, p50 ms", "raw, p99 ms", "Berth, p99 ms"], rows)])


# --- run.json ---


def figures(spreads, decimals, divisor=1):
    return (f"{number(spreads['median'] / divisor, decimals)} "
            f"({number(spreads['min'] / divisor, decimals)}–"
            f"{number(spreads['max'] / divisor, decimals)})")


def budgets(run):
    rows = [[each["what"], each["measured"].replace(" us", " µs"), each["noise"] or "–",
             each["limit"].replace(" us", " µs"), each["verdict"]] for each in run["budgets"]]
    return "\n\n".join([
        about(run, run["machine"], run["date"])
        + f" {run['rounds']} rounds of {run['seconds']} s for each row, alternating.",
        table(["", "measured: median (least–most)", "equal servers (A/A)", "budget", ""], rows)])


def latency(row, name):
    """Of a row whose requests are counted as many operations, it would be that of all of them."""
    counted_once = row["operations_per_request"] == 1
    return number(row[name]["median"] / 1e3 if counted_once else None, 2)


def rows_of(run):
    rows = []
    for row in run["rows"]:
        ratio = row.get("cpu_ratio")
        rows.append([row["name"], row["protocol"], number(row["connections"]),
                     figures(row["per_s"], 0), latency(row, "p50_us"), latency(row, "p99_us"),
                     figures(row["cpu_us"], 2),
                     number(row["allocated_bytes"]["median"]),
                     number(row["resident_mib"]["median"]),
                     f"{ratio['median']:.2f}" if ratio else "1"])
    return table(["", "protocol", "c", "per s", "p50 ms", "p99 ms", "CPU µs", "bytes allocated",
                  "RSS MiB", "CPU to its baseline"], rows)


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
                            f"server CPU µs per {each['unit']}", "CPU, to Berth's first row"],
                           rows))
    return "\n\n".join(parts)


def start_up(run):
    start = run["start_ms"]
    if not start:
        return "Not in the last run."
    return f"Process start to the first 200 of `/echo`: {figures(start, 0)} ms."


# --- the file ---


def main(folder, file):
    text = file.read_text()
    sections = {"curves.json": {"concurrency": concurrency, "offered rate": rates},
                "run.json": {"budgets": budgets, "rows": rows_of, "peers": peers,
                             "start-up": start_up}}
    for source, parts in sections.items():
        path = folder / source
        if not path.exists():
            print(f"not there: {path}; its tables stay as they are")
            continue
        run = json.loads(path.read_text())
        for name, write in parts.items():
            marks = re.compile(f"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)", re.S)
            if not marks.search(text):
                sys.exit(f"{file}: no marks for {name}")
            body = write(run) + "\n"
            text = marks.sub(lambda found, body=body: found[1] + body + found[2], text)
            print(f"written: {name}, from {path}")
    file.write_text(text)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
