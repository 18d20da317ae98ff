#!/usr/bin/env python3
"""Draws the JSON files of a folder as SVG files beside them, each for a light and a dark page.

Usage: draw.py FOLDER
"""

import json
import pathlib
import statistics
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator  # noqa: E402

THEMES = {
    "light": {"ink": "#1f2328", "grid": "#d1d9e0", "page": "#ffffff", "raw": "#6e7781",
              "berth": "#0969da", "spread": "#1a7f37"},
    "dark": {"ink": "#e6edf3", "grid": "#3d444d", "page": "#0d1117", "raw": "#9198a1",
             "berth": "#4493f8", "spread": "#3fb950"},
}


def short(value, _=None):
    return f"{value:,.0f}".replace(",", " ") if value >= 1 else f"{value:g}"


def spread(values):
    return statistics.median(values), min(values), max(values)


def line(axes, xs, values, label, colour, dashed=False, marker="o"):
    """Draws medians with a band from minimum to maximum; leaves out points without rounds."""
    points = [(x, *spread(v)) for x, v in zip(xs, values) if v]
    if not points:
        return
    x, median, least, most = zip(*points)
    axes.fill_between(x, least, most, color=colour, alpha=0.18, linewidth=0)
    axes.plot(x, median, color=colour, label=label, linewidth=1.8, marker=marker, markersize=3.5,
              linestyle="--" if dashed else "-")


def chart(theme, height, columns=1):
    colours = THEMES[theme]
    plt.rcParams.update({
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "berth",  # the same JSON gives the same file
        "font.family": "sans-serif",
        "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans", "sans-serif"],
        "font.size": 10,
        "text.color": colours["ink"],
        "axes.labelcolor": colours["ink"],
        "axes.edgecolor": colours["grid"],
        "axes.facecolor": "none",
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": colours["grid"],
        "grid.linewidth": 0.6,
        "xtick.color": colours["ink"],
        "ytick.color": colours["ink"],
        "legend.frameon": False,
    })
    figure, panels = plt.subplots(2, columns, figsize=(7.6, height), sharex="col")
    figure.patch.set_facecolor(colours["page"])
    return colours, figure, panels


def plain_numbers(axis):
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(short))


def log_latency(axes):
    """Makes an axis logarithmic, with readable ticks even if it spans less than a decade."""
    axes.set_ylabel("ms (log)")
    axes.set_yscale("log")
    least, most = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if most / least < 300 else (1,)))
    plain_numbers(axes.yaxis)


def servers(points):
    """Returns the measured servers in the order of the file, as (name, event loops)."""
    return list(dict.fromkeys((point["server"], point["loops"]) for point in points))


def style(server, loops, colours):
    raw = server.startswith("raw")
    colour = colours["raw"] if raw else colours["berth"] if loops == 1 else colours["spread"]
    return colour, f"{server}, {loops} event loop{'s' if loops > 1 else ''}"


def over_concurrency(curves, theme):
    colours, figure, (rate, tail) = chart(theme, 7.2)
    for server, loops in servers(curves["closed"]):
        points = [p for p in curves["closed"] if (p["server"], p["loops"]) == (server, loops)]
        xs = [p["connections"] for p in points]
        colour, label = style(server, loops, colours)
        dashed = loops > 1
        line(rate, xs, [[v / 1000 for v in p["requests_per_s"]] for p in points], label, colour,
             dashed)
        line(tail, xs, [p["p99_ms"] for p in points], label, colour, dashed)
    rate.set_title("Throughput over concurrency (closed loop)")
    rate.set_ylabel("1 000 requests/s")
    rate.set_ylim(bottom=0)
    rate.legend(fontsize=9)
    tail.set_title("p99 latency over concurrency (closed loop)")
    log_latency(tail)
    tail.set_xscale("log", base=2)
    tail.set_xlabel("connections, each with one request at a time (log)")
    tail.set_xticks(sorted({p["connections"] for p in curves["closed"]}))
    plain_numbers(tail.xaxis)
    return figure


def over_rate(curves, theme):
    colours, figure, (middle, tail) = chart(theme, 7.2)
    for server, loops in servers(curves["open"]):
        points = [p for p in curves["open"] if (p["server"], p["loops"]) == (server, loops)]
        xs = [p["offered_per_s"] / 1000 for p in points]
        colour, label = style(server, loops, colours)
        for axes, figure_name in ((middle, "p50_ms"), (tail, "p99_ms")):
            valid = [[r[figure_name] for r in p["runs"] if r["valid"]] for p in points]
            line(axes, xs, valid, label, colour)
            late = [(x, r[figure_name]) for x, p in zip(xs, points)
                    for r in p["runs"] if not r["valid"]]
            if late:
                axes.scatter(*zip(*late), marker="x", s=18, linewidths=0.8, alpha=0.5,
                             color=colour, label="late client: not the server's figure"
                             if axes is middle and loops == 1 and "raw" in label else None)
    for axes, name in ((middle, "p50"), (tail, "p99")):
        axes.set_title(f"{name} latency over the offered rate (open loop, from the due time)")
        log_latency(axes)
    if middle.lines:
        middle.legend(fontsize=9)
    tail.set_xlabel("1 000 requests/s offered")
    tail.set_xlim(left=0)
    return figure


def over_handles(measured, theme):
    rows = measured["fleets"]
    colours, figure, (messages, controller) = chart(theme, 7.2)
    for way, colour in (("one for each handle", colours["raw"]),
                        ("one for each instance", colours["berth"])):
        for instances, marker in ((1, "o"), (10, "s"), (100, "^")):
            points = [row for row in rows if (row["way"], row["instances"]) == (way, instances)]
            xs = [row["handles"] for row in points]
            label = f"{way}, {instances} instance{'s' if instances > 1 else ''}"
            dashed = instances > 1
            line(messages, xs, [[row["messages_per_s"]] for row in points], label, colour, dashed,
                 marker)
            line(controller, xs, [[max(row["controller_percent"], 1e-4)] for row in points], label,
                 colour, dashed, marker)
    messages.set_title("Messages to the controller per second")
    messages.set_yscale("log")
    messages.set_ylim(top=2e7)  # room for the legend
    messages.legend(fontsize=8, ncols=2, loc="upper left")
    plain_numbers(messages.yaxis)
    controller.set_title("Controller's share of a core for these messages, without sockets")
    controller.set_ylabel("% (log)")
    controller.set_yscale("log")
    controller.set_xscale("log")
    controller.set_xlabel("handles on each instance (log)")
    plain_numbers(controller.yaxis)
    plain_numbers(controller.xaxis)
    return figure


def over_time(measured, theme):
    pictures = measured["pictures"]
    traces = list(dict.fromkeys(picture["trace"] for picture in pictures))
    colours, figure, (replicas, waits) = chart(theme, 6.4, len(traces))
    styles = {"Berth": (colours["berth"], "-"), "Berth, panic window": (colours["berth"], ":"),
              "Berth, panic window, 60 s down": (colours["berth"], "--"),
              "Ray Serve": (colours["spread"], "-"), "Knative": (colours["raw"], "--")}
    for picture in pictures:
        column = traces.index(picture["trace"])
        minutes = [i * picture["every_s"] / 60 for i in range(len(picture["needed"]))]
        colour, dash = styles[picture["scaler"]]
        if picture["scaler"] == "Berth":
            replicas[column].fill_between(minutes, picture["needed"], color=colours["grid"],
                                          linewidth=0, label="offered, in replicas")
        replicas[column].step(minutes, picture["running"], where="post", color=colour,
                              linestyle=dash, linewidth=1.4, label=picture["scaler"])
        waits[column].plot(minutes, picture["wait_s"], color=colour, linestyle=dash, linewidth=1.4)
        replicas[column].set_title(picture["trace"])
        waits[column].set_yscale("symlog", linthresh=1)
        waits[column].set_ylim(bottom=0)
        waits[column].yaxis.set_major_formatter(FuncFormatter(short))
        waits[column].set_xlabel("minutes")
    replicas[0].set_ylabel("running replicas")
    waits[0].set_ylabel("s in the queue (log)")
    replicas[-1].legend(fontsize=7)
    return figure


CHARTS = {"autoscale": ("autoscale.json", over_time),
          "concurrency": ("curves.json", over_concurrency),
          "offered-rate": ("curves.json", over_rate),
          "metrics-push": ("metrics-push.json", over_handles)}


def main(folder):
    for name, (source, draw) in CHARTS.items():
        if not (folder / source).exists():
            continue
        measured = json.loads((folder / source).read_text())
        for theme in THEMES:
            figure = draw(measured, theme)
            figure.tight_layout(h_pad=2)
            file = folder / f"{name}-{theme}.svg"
            figure.savefig(file, metadata={"Date": None, "Creator": None})
            text = file.read_text()  # no trailing blanks, for readable diffs
            file.write_text("\n".join(row.rstrip() for row in text.splitlines()) + "\n")
            plt.close(figure)
            print(f"drawn: {file}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
