"""Reasons why figures are not those of the call."""

from __future__ import annotations

import warnings
from typing import Any


class DoubtWarning(RuntimeWarning):
    """The figures of a call are not those of its arguments, or may not be: a component was refused memory, or an input
    changed while it was read."""


def warn_of(doubts: list[dict[str, Any]]) -> None:
    """Warns the caller's caller of each doubt."""
    for doubt in doubts:
        warnings.warn(doubt["sentence"], DoubtWarning, stacklevel=3)
