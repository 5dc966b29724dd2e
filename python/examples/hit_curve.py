#!/usr/bin/env python3
"""Hit rates over capacities: what any cache could reach, what some policies reach, and a policy of our own.

    hit_curve.py [TRACE]

Without a trace it runs the workload of configs/workloads/agents.yaml. With matplotlib it also writes hit_curve.png. The
`# %%` lines mark cells for editors that support notebooks.
"""
import pathlib
import sys

import canopy

SOURCE = pathlib.Path(__file__).resolve().parents[2]
source = {"trace": sys.argv[1]} if len(sys.argv) > 1 else {"workload": SOURCE / "configs/workloads/agents.yaml"}

# %% One pass computes what LRU reuses at every capacity, and how much can be reused at all.
curve = canopy.curve(**source)
points = curve.columns()
print(curve)

# %% Capacities that matter: those at which a tenth, a quarter, a half, three quarters and nine tenths of that are reused.
reached = points["hit_tokens"] / max(curve.infinite_tokens, 1)
capacities = sorted({int(points["capacity"][(reached >= share).argmax()]) for share in (0.1, 0.25, 0.5, 0.75, 0.9)})
capacities = [capacity for capacity in capacities if capacity >= curve.largest_request] or capacities[-1:]


# %% A policy of our own: a prefix is worth more the more requests share it, and the longer it is.
class KeepShared(canopy.Policy):
    """the prefix with the fewest hits, weighed by its length, is evicted first"""

    def rank(self, node):
        return node.hits * node.length, node.last_access


# %% This policy and others, compared with the most that any policy could reach.
found = canopy.compare(**source, capacities=capacities, policies=["lru", "slru", "hazard", KeepShared(), "optimum"])
rates = {}
for row in found.rows():
    rates.setdefault(row["policy"], []).append(row["hit_rate"])

# %% As text: a bar of 50 marks is a hit rate of 100 %.
for name, values in rates.items():
    print(name)
    for capacity, rate in zip(capacities, values):
        print(f"  {capacity:>12,} tokens  {rate:7.2%}  {'#' * round(rate * 50)}")

# %% And as a picture, if matplotlib is installed.
try:
    import matplotlib
except ImportError:
    sys.exit(0)
matplotlib.use("agg")
from matplotlib import pyplot  # noqa: E402

pyplot.plot(points["capacity"], points["hit_rate"], color="grey", label="lru page by page")
for name, values in rates.items():
    pyplot.plot(capacities, values, marker="o", label=name)
pyplot.xscale("log")
pyplot.xlabel("capacity, tokens")
pyplot.ylabel("hit rate")
pyplot.legend()
pyplot.savefig("hit_curve.png", dpi=120)
print("hit_curve.png")
