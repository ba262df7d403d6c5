"""The plain ways, as the published scripts do it: pandas over CSV, jieba, `rank_bm25`, loops over words."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import jieba
import rank_bm25

jieba.setLogLevel(logging.WARNING)
TOP_K = 3


def warm() -> None:
    """Load jieba's dictionary, which no figure holds."""
    jieba.initialize()


def cut(text: str) -> list[str]:
    """jieba's tokens."""
    return jieba.lcut(text)


def tokens(texts: Sequence[str], stop: Collection[str]) -> list[list[str]]:
    """jieba's tokens of each text, without stop words and white space."""
    return [[token for token in jieba.lcut(text) if token.strip() and token not in stop] for text in texts]


def simplified(texts: Sequence[str]) -> list[str]:
    """Each text in simplified characters."""
    from opencc import OpenCC

    converter = OpenCC("t2s")
    return [converter.convert(text) for text in texts]


class Bm25:
    """`rank_bm25`: every paragraph is scored for every query, then all are sorted."""

    def __init__(self, documents: list[list[str]]) -> None:
        self._model = rank_bm25.BM25Okapi(documents)

    def best(self, query: list[str]) -> tuple[list[tuple[int, float]], NDArray[np.float64]]:
        """Positions and scores of the best paragraphs, and all scores."""
        scores = self._model.get_scores(query)
        return [(int(at), float(scores[at])) for at in np.argsort(scores)[::-1][:TOP_K]], scores


def same(ours: Sequence[tuple[int, float]], plain: Sequence[tuple[int, float]], scores: NDArray[np.float64]) -> bool:
    """Whether `ours` are the best ones too: the same scores to the last bit, up to which of equal ones is taken.

    Scores of zero or less are no evidence, so `ours` may be shorter by them.
    """
    wanted = [score for _, score in plain if score > 0]
    return [score for _, score in ours] == wanted and all(float(scores[at]) == score for at, score in ours)


def read_triples(path: Path, typed: bool) -> Any:
    """A table of triples with a header by pandas; where ends are written name@@type, both parts."""
    frame: Any = pd.read_csv(path, sep="\t", quoting=3, dtype=str, keep_default_na=False)
    for end in ("head", "tail") if typed else ():
        frame[[end, f"{end}_type"]] = frame[end].str.rsplit("@@", n=1, expand=True)
    return frame


def on_topic(frame: Any, words: Collection[str]) -> Any:
    """The triples both ends of which are words of the list."""
    return frame[frame["head"].isin(words) & frame["tail"].isin(words)]


def holding(texts: Sequence[str], words: Sequence[str]) -> list[bool]:
    """Whether each text holds any of the words."""
    return [any(word in text for word in words) for text in texts]


def timed(function: Any, *given: Any) -> tuple[float, Any]:
    """Seconds that a call took, and what it gave."""
    began = time.perf_counter()
    result = function(*given)
    return time.perf_counter() - began, result
