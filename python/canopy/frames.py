"""Columns as data frames, if pandas is installed."""

from __future__ import annotations


def frame(columns: dict):
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "a data frame needs pandas, which is not installed (pip install pandas); columns without it: .columns()"
        ) from None
    return pandas.DataFrame(columns)
