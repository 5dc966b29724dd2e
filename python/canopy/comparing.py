"""Policies compared with the exact optimum, and hit rates at all capacities from one pass."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Callable, Sequence

import numpy

from . import _core, frames
from .doubts import warn_of
from .replaying import default_engine, one_source, within


_ARRAYS = {"hit_tokens": "u8", "hit_rate": "f8", "flop_hit_rate": "f8", "rejected": "u8", "regret_tokens": "u8"}


def _columns(rows: list[dict[str, Any]], names: str) -> dict[str, Any]:
    """Returns columns of the rows of the JSON: lists where a figure is not known."""
    columns = {name: [row.get(name) for row in rows] for name in names.split()}
    return {
        name: numpy.array(values, _ARRAYS[name]) if name in _ARRAYS and None not in values else values
        for name, values in columns.items()
    }


def _figures(kind: type, found: dict[str, Any]) -> dict[str, Any]:
    return {field.name: found[field.name] for field in dataclasses.fields(kind) if field.name in found}


@dataclasses.dataclass(frozen=True, repr=False)
class Comparison:
    """Results of several policies at several capacities. Counts are tokens unless the name says otherwise."""

    source: str
    page_size: int
    requests: int
    warm_up: int
    prompt_tokens: int
    infinite_tokens: int
    distinct_tokens: int
    largest_request: int
    violations: int
    violation_reports: list[str]
    doubts: list[dict[str, Any]]
    notes: list[str]
    seconds: float
    row_columns: dict[str, Any] = dataclasses.field(compare=False)
    slice_columns: dict[str, Any] = dataclasses.field(compare=False)

    def columns(self) -> dict[str, Any]:
        """Returns a row for each policy and capacity: policy, capacity (None: no limit), hit_tokens, hit_rate (0 to 1),
        flop_hit_rate (a token deep in a prompt costs more), optimum_share (of the optimum's hit tokens), evicted_tokens,
        rejected (requests that did not fit), regret_tokens (evicted and requested again; None: not known), index_seconds, digest."""
        return dict(self.row_columns)

    def rows(self) -> list[dict[str, Any]]:
        """Returns the columns as a list of dictionaries, one for each row."""
        columns = {
            name: values.tolist() if isinstance(values, numpy.ndarray) else values
            for name, values in self.row_columns.items()
        }
        return [dict(zip(columns, values)) for values in zip(*columns.values())]

    def frame(self):
        """Returns the rows as a data frame (pandas)."""
        return frames.frame(self.columns())

    def slices(self):
        """Returns what each row reused of each part of the requests, as a data frame (pandas): by (namespace, turn, new
        tokens, answer), part, requests, prompt_tokens, hit_tokens, seen_tokens (requested before)."""
        return frames.frame(self.slice_columns)

    def __repr__(self) -> str:
        return (
            f"<canopy.Comparison on {self.source}: {len(self.row_columns['policy'])} rows, {self.requests:,} requests, "
            f"in {self.seconds:.2f} s>"
        )


@dataclasses.dataclass(frozen=True, repr=False)
class Curve:
    """Hit rate over capacity under LRU that evicts page by page. Counts are tokens, except `requests`."""

    source: str
    page_size: int
    requests: int
    prompt_tokens: int
    largest_request: int
    infinite_tokens: int
    enough_tokens: int
    half_tokens: int
    nine_tenths_tokens: int
    doubts: list[dict[str, Any]]
    point_columns: dict[str, Any] = dataclasses.field(compare=False)

    def columns(self) -> dict[str, Any]:
        """Returns a row for each point: capacity, hit_tokens, hit_rate (0 to 1), error (of the hit rate at 95 %
        confidence; None: exact), stay_seconds (time that a prefix stays after its last use, in the trace's time; None:
        not known)."""
        return dict(self.point_columns)

    def frame(self):
        """Returns the points as a data frame (pandas)."""
        return frames.frame(self.columns())

    def __repr__(self) -> str:
        return (
            f"<canopy.Curve of {self.source}, page {self.page_size}: {self.infinite_tokens:,} of {self.prompt_tokens:,} "
            f"tokens can be reused, with room for {self.enough_tokens:,}>"
        )


def compare(
    trace: str | os.PathLike | None = None,
    *,
    workload: str | os.PathLike | None = None,
    engine: Any = None,
    policies: Sequence[Any] = ("lru", "optimum"),
    capacities: Sequence[int],
    page_size: int | None = None,
    index: Any = None,
    set: dict[str, Any] | None = None,
    warm_up: int = 0,
    flop_depth: float = 8192,
    jobs: int | None = None,
    seed: int = 0,
    block_size: int | None = None,
    progress: Callable[[float, int], Any] | None = None,
) -> Comparison:
    """Runs a trace under several policies at several capacities and compares them with the optimum, as `canopy compare`.

    trace, workload   one of them, as for replay
    engine            a path, YAML text or a dictionary; None: as for replay. Its feed and its stores are left out
    policies          names, {"slru": {"protect_after": 3}}, objects with `rank` (Policy; each run gets its own deep copy),
                      and rows that are computed: "optimum", "lru_trimmed" (LRU page by page), "infinite"
    capacities        sizes of the first group's pool, tokens; rounded down to whole pages
    page_size, index, set   as for replay
    warm_up           requests that run first and are not counted
    flop_depth        a token at depth d costs 1 + d / flop_depth in flop_hit_rate
    jobs              runs at once; None: one for each core. Policies in Python share one interpreter's lock
    seed, block_size  as for replay; block_size None: the block size of the trace's format
    progress          called several times a second with the share that is done and the number of requests so far

    All figures except the seconds are the same for any number of jobs. Other threads run meanwhile. Raises ValueError for
    unusable arguments, and the exceptions of policies, of `progress` and of Ctrl-C."""
    path = one_source("compare", trace, workload, seed, block_size)
    if isinstance(policies, (str, dict)) or hasattr(policies, "rank"):
        policies = [policies]
    if not len(policies) or not len(capacities):
        raise ValueError("compare: name at least one policy and one capacity")
    within("compare", "flop_depth", flop_depth, 1, 1e12)
    config = default_engine() if engine is None else engine
    changes: dict[str, Any] = {"feed": {"off": {}}}
    changes[f"groups.{_core.group_names(config)[0]}.capacity"] = "unlimited"  # each run has its own
    if page_size is not None:
        changes["page_size"] = page_size
    if index is not None:
        changes["index"] = index
    text = _core.compare(
        engine=config,
        changes={**changes, **(set or {})},
        trace=path if trace is not None else None,
        workload=path if workload is not None else None,
        policies=list(policies),
        capacities=[int(capacity) for capacity in capacities],
        warm_up=warm_up,
        flop_depth=flop_depth,
        jobs=jobs or 0,
        block_size=block_size or 0,
        seed=seed,
        progress=progress,
    )
    found = {"violation_reports": [], "doubts": [], "notes": [], **json.loads(text), "source": os.path.basename(path)}
    warn_of(found["doubts"])
    rows = [{**row, "capacity": row["capacity_tokens"], "regret_tokens": (row["regret"] or {}).get("tokens")} for row in found["rows"]]
    parts = [
        {"policy": row["policy"], "capacity": row["capacity"], "by": kind, "part": one["name"], **one}
        for row in rows
        for kind, slices in row["slices"].items()
        for one in slices
    ]
    return Comparison(
        **_figures(Comparison, found),
        row_columns=_columns(
            rows,
            "policy capacity hit_tokens hit_rate flop_hit_rate optimum_share evicted_tokens rejected regret_tokens index_seconds "
            "digest",
        ),
        slice_columns=_columns(parts, "policy capacity by part requests prompt_tokens hit_tokens seen_tokens"),
    )


def curve(
    trace: str | os.PathLike | None = None,
    *,
    workload: str | os.PathLike | None = None,
    page_size: int = 16,
    capacities: Sequence[int] = (),
    warm_up: int = 0,
    sample: float = 1.0,
    seed: int = 0,
    block_size: int | None = None,
    progress: Callable[[float, int], Any] | None = None,
) -> Curve:
    """Computes what LRU reuses at every capacity, from one pass over a trace, as `canopy compare --curve`.

    trace, workload   one of them, as for replay
    page_size         tokens
    capacities        capacities of the points, tokens; none: about ten for each power of ten, up to the smallest pool that
                      is enough
    warm_up           requests that are read and not counted
    sample            share of the pages that is examined, for traces of a billion tokens; 1: all, and the curve is exact
    seed, block_size  as for replay; block_size None: the block size of the trace's format
    progress          called every 64 requests with the share that is done and the number of requests so far

    Other threads run meanwhile. Raises ValueError for unusable arguments, and the exceptions of `progress` and of
    Ctrl-C."""
    path = one_source("curve", trace, workload, seed, block_size)
    if page_size < 1:
        raise ValueError("curve: page_size must be at least 1 token")
    within("curve", "sample", sample, 1e-6, 1)
    text = _core.curve(
        trace=path if trace is not None else None,
        workload=path if workload is not None else None,
        page_size=page_size,
        capacities=sorted(int(capacity) for capacity in capacities),
        warm_up=warm_up,
        sample=sample,
        block_size=block_size or 0,
        seed=seed,
        progress=progress,
    )
    found = {"doubts": [], **json.loads(text), "source": os.path.basename(path)}
    warn_of(found["doubts"])
    capacity = numpy.array([point["capacity_tokens"] for point in found["points"]], "u8")
    columns = {"capacity": capacity, **_columns(found["points"], "hit_tokens hit_rate error stay_seconds")}
    return Curve(**_figures(Curve, found), point_columns=columns)
