"""A tree of prefixes as text."""

from __future__ import annotations

import heapq


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def text(columns: dict, lines: int = 40) -> str:
    """Returns the heaviest prefixes of each namespace with their subtrees, and one line for each part that is left out;
    about `lines` lines at most. `columns`: the result of Index.columns()."""
    length = [int(value) for value in columns["length"]]
    hits, locks = columns["hits"], columns["locks"]
    place = {int(node): at for at, node in enumerate(columns["node"])}
    count = len(length)
    # The namespaces come after the nodes, and the root of all comes last.
    spaces = list(dict.fromkeys(columns["space"]))
    space_at = {name: count + i for i, name in enumerate(spaces)}
    root = count + len(spaces)
    parent = [place.get(int(node), space_at[space]) for node, space in zip(columns["parent"], columns["space"])]
    parent += [root] * len(spaces) + [root]
    weight, nodes = length + [0] * (len(spaces) + 1), [1] * count + [0] * (len(spaces) + 1)
    children: list[list[int]] = [[] for _ in range(root + 1)]
    for at in [*range(count - 1, -1, -1), *range(count, root)]:  # parents come before children
        weight[parent[at]] += weight[at]
        nodes[parent[at]] += nodes[at]
        children[parent[at]].append(at)
    for below in children:
        below.sort(key=lambda at: (-weight[at], at))

    # The heaviest come first; a node is shown only if its parent is. A part that is left out takes a line as well.
    shown, edge = set(), [(-weight[at], at) for at in children[root]]
    heapq.heapify(edge)
    while edge and 2 * len(shown) < lines:
        at = heapq.heappop(edge)[1]
        shown.add(at)
        for child in children[at]:
            heapq.heappush(edge, (-weight[child], child))

    out: list[str] = []

    def turns_below(at: int, indent: str) -> list[tuple[int, str, bool, bool]]:
        below = [child for child in children[at] if child in shown]
        rest = len(below) < len(children[at])
        turns = [(child, indent, not rest and i + 1 == len(below), False) for i, child in enumerate(below)]
        return [*turns, (at, indent, True, True)] if rest else turns

    stack = turns_below(root, "")[::-1]  # recursion would be as deep as the tree
    while stack:
        at, indent, last, rest = stack.pop()
        if rest:
            left = [child for child in children[at] if child not in shown]
            out.append(
                f"{indent}└─ {_plural(sum(nodes[c] for c in left), 'more node')}, "
                f"{_plural(sum(weight[c] for c in left), 'token')}"
            )
            continue
        if at >= count:
            name = spaces[at - count]
            out.append(f"{name}  {_plural(weight[at], 'token')} in {_plural(nodes[at], 'node')}")
            below = indent
        else:
            held = f", locked by {_plural(int(locks[at]), 'request')}" if locks[at] else ""
            corner = "└─ " if last else "├─ "
            out.append(f"{indent}{corner}{_plural(length[at], 'token')}, {_plural(int(hits[at]), 'hit')}{held}")
            below = indent + ("   " if last else "│  ")
        stack += turns_below(at, below)[::-1]
    return "\n".join(out)
