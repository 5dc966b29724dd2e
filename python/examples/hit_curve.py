#!/usr/bin/env python3
"""Hit rates over capacities, for some policies and one of our own.

    hit_curve.py [TRACE]

Without a trace it runs the workload of configs/workloads/agents.yaml. With matplotlib it also writes hit_curve.png.
"""
import pathlib
import sys

import canopy

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CAPACITIES = [25_000, 50_000, 100_000, 200_000, 400_000]


# %% A policy of our own: what many requests share is worth most for each token of room.
class KeepShared(canopy.Policy):
    """the prefix with the fewest hits, weighed by its length, is evicted first"""

    def rank(self, node):
        return node.hits * node.length, node.last_access


# %% Each policy at each capacity.
source = {"trace": sys.argv[1]} if len(sys.argv) > 1 else {"workload": SOURCE / "configs/workloads/agents.yaml"}
capacities = [capacity * (20 if len(sys.argv) > 1 else 1) for capacity in CAPACITIES]
rates = {}
for policy in ("lru", "lfu", "slru", KeepShared()):
    for capacity in capacities:
        report = canopy.replay(**source, capacity=capacity, page_size=16, policy=policy)
        rates.setdefault(report.policy, []).append(report.hit_rate)

# %% The curve as text: a bar of 50 marks is a hit rate of 100 %.
for name, values in rates.items():
    print(name)
    for capacity, rate in zip(capacities, values):
        print(f"  {capacity:>12,} tokens  {rate:7.2%}  {'#' * round(rate * 50)}")

# %% And as a picture, where matplotlib is installed.
try:
    import matplotlib
except ImportError:
    sys.exit(0)
matplotlib.use("agg")
from matplotlib import pyplot  # noqa: E402

for name, values in rates.items():
    pyplot.plot(capacities, values, marker="o", label=name)
pyplot.xlabel("capacity, tokens")
pyplot.ylabel("hit rate")
pyplot.legend()
pyplot.savefig("hit_curve.png", dpi=120)
print("hit_curve.png")
