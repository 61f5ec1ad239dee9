"""Bars of what compare.py measured: a panel a group, how many times our time each peer took."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

COLOURS = {"numpy": "#9aa5b1", "torch": "#f4a259", "torch.compile": "#c8553d", "jax": "#5b8e7d", "mlx": "#8cb369",
           "tinygrad": "#a26ea1"}
FALLBACK = "#444444"
MOST = 30  # times our time: bars are cut there, and say how long they are
LEAST = 1 / 8


def short(name):
    """A name without what its panel says already."""
    parts = name.split("/")
    if parts[0].startswith("conv"):
        channels, size, _ = parts[2].split("x")[1:4]
        made = parts[2].split("to")[1]
        return "%s\n%s to %s\n%s x %s" % (parts[0][4:], channels, made, size, size)
    if parts[0].startswith("matmul"):
        return parts[0].replace("matmul", "a @ b").replace("_bias_gelu", "\n+ bias, gelu") + "\n" + parts[2]
    if parts[2] in ("4096x8192",):
        return parts[0].replace("_", "\n")
    return parts[0].replace("_", " ") + "\n" + parts[2]


def panel(axes, title, rows, peers):
    peers = [peer for peer in peers if any(row["seconds"].get(peer) for row in rows)]
    width = 0.84 / max(len(peers), 1)
    for index, row in enumerate(rows):
        ours = row["seconds"].get("lazuli")
        for k, peer in enumerate(peers):
            at = index + (k - (len(peers) - 1) / 2) * width
            taken = row["seconds"].get(peer)
            if not ours or not taken:
                axes.text(at, 1.02, "none", ha="center", va="bottom", fontsize=6, rotation=90, color=COLOURS.get(peer, FALLBACK))
                continue
            value = taken / ours
            shown = min(max(value, LEAST), MOST)
            axes.bar(at, shown - 1, width * 0.92, bottom=1, color=COLOURS.get(peer, FALLBACK), zorder=2)
            if shown != value:
                edge, align = (MOST * 0.93, "top") if value > MOST else (LEAST / 0.93, "bottom")
                text = "%.0f" % value if value > 1 else "1/%.0f" % (1 / value)
                axes.text(at, edge, text, ha="center", va=align, fontsize=6, rotation=90, color="white", zorder=3)
        if index:
            axes.axvline(index - 0.5, color="#e3e6ea", linewidth=0.7, zorder=0)
    axes.set_yscale("log")
    axes.set_ylim(LEAST, MOST)
    axes.yaxis.set_major_locator(FixedLocator([0.125, 0.25, 0.5, 1, 2, 4, 8, 16]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: "%gx" % y if y >= 1 else "1/%g" % (1 / y)))
    axes.axhline(1, color="#26547c", linewidth=1.4, zorder=3)
    axes.set_xticks(range(len(rows)), [short(row["name"]) for row in rows], fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.tick_params(axis="y", labelsize=8)
    axes.set_xlim(-0.6, len(rows) - 0.4)
    axes.grid(axis="y", color="#e3e6ea", linewidth=0.7, zorder=0)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")


def rows_of_panels(groups):
    """Short panels share a row of the figure."""
    out = []
    for title, rows in groups.items():
        if out and sum(len(r) for _, r in out[-1]) + len(rows) <= 13:
            out[-1].append((title, rows))
        else:
            out.append([(title, rows)])
    return out


def write(result, path):
    """Writes path.svg and path.png."""
    groups = {}
    for row in result["work"]:
        groups.setdefault(row["group"], []).append(row)
    peers = [name for name in result["libraries"] if name != "lazuli"]
    lines = rows_of_panels(groups)
    plt.rcParams["font.family"] = "DejaVu Sans"
    plt.rcParams["svg.fonttype"] = "none"
    figure = plt.figure(figsize=(13, 0.9 + 3.0 * len(lines)), layout="constrained")
    for part, line in zip(figure.subfigures(len(lines), 1, squeeze=False)[:, 0], lines):
        widths = [max(len(rows), 3) for _, rows in line]  # a title needs room
        for axes, (title, rows) in zip(part.subplots(1, len(line), squeeze=False, width_ratios=widths)[0], line):
            panel(axes, title, rows, peers)
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS.get(p, FALLBACK)) for p in peers]
    handles.append(plt.Line2D([0], [0], color="#26547c", linewidth=1.4))
    figure.legend(handles, peers + ["Lazuli = 1"], loc="outside upper center", ncols=len(peers) + 1, frameon=False, fontsize=9,
                  title="time over Lazuli's, medians of %d rounds: above the line the peer is slower" % result["rounds"],
                  title_fontsize=10)
    for ending in ("svg", "png"):
        figure.savefig("%s.%s" % (path, ending), dpi=110)
    plt.close(figure)
