"""The judge kind `tfidf_ridge`: ridge regression on n-grams and on the relation of an answer to its evidence."""

from __future__ import annotations

import json
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from benchbuilder.core import DataError, Floats, compose_characters, read_json, require_extra, to_half_width
from benchbuilder.evaluation.judges.base import Case, Example, JudgeSpec, TrainedJudge, library_versions

_ARRAYS, _WORDS = "ridge.npz", "ridge.json"
_FORMAT = 1
_BLOCKS = ("answer", "added", "lost", "verdict")


class TfidfRidgeSpec(JudgeSpec):
    """Features and regularisation.

    N-grams have up to `longest` characters and occur in at least `fewest` examples; of each block, the `most` frequent
    ones count. `weights` are the weights of blocks relative to the numeric features. The penalty is the one of
    `penalties` with the least squared error in a cross-validation with `folds`, which never divides an item family.
    """

    longest: Annotated[int, Field(ge=1, le=6)]
    fewest: Annotated[int, Field(ge=1)]
    most: Annotated[int, Field(ge=10)]
    weights: dict[str, Annotated[float, Field(ge=0)]]
    penalties: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1)]
    folds: Annotated[int, Field(ge=2, le=20)]


@dataclass(frozen=True)
class _Block:
    """The n-grams of a block with their place among the columns, and how rare each is."""

    places: Mapping[str, int]
    rarity: Floats
    start: int


class TfidfRidgeJudge(TrainedJudge):
    """Scores in milliseconds and trains in seconds, without a GPU.

    The n-grams of the answer capture style. The other features capture facts: how much of the answer (and of its
    content beyond the question) the paragraphs contain, and in which characters a sentence differs from the nearest
    sentence in them (a negation, another name). Order of paragraphs, width, case, punctuation and white space make no
    difference.
    """

    kind: ClassVar[str] = "tfidf_ridge"
    spec_class: ClassVar[type[JudgeSpec]] = TfidfRidgeSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.spec: TfidfRidgeSpec = spec
        self._blocks: dict[str, _Block] = {}
        self._centre = self._width = self._coefficients = np.zeros(0)
        self._intercept = 0.0

    def ready(self) -> None:
        """InstallationError if scikit-learn or scipy, which training needs, is missing."""
        require_extra("judge", f"the judge kind {self.kind!r}")

    def fingerprint(self) -> Mapping[str, str]:
        """The version of scikit-learn."""
        return library_versions(["scikit-learn"])

    def train(
        self, examples: Sequence[Example], held_out: Sequence[Example], folder: Path, seed: int,  # noqa: ARG002
        note: Callable[[str], None],
    ) -> Mapping[str, Any]:  # fmt: skip
        """Train; the penalty is chosen on `examples` only, and nothing is random.

        It runs on one thread: the matrices are small and sparse, so more threads would only wait for each other.
        """
        self.ready()
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            return self._learn(examples, folder, note)

    def _learn(self, examples: Sequence[Example], folder: Path, note: Callable[[str], None]) -> Mapping[str, Any]:
        features = [self._features(example.case) for example in examples]
        self._learn_columns(features)
        columns = self._matrix(features)
        targets = np.array([example.target for example in examples])
        weights = np.array([example.weight for example in examples])
        penalty, errors = self._penalty(columns, targets, weights, examples)
        self._coefficients, self._intercept = _fit(columns, targets, weights, penalty)
        note(f"{columns.shape[1]} features of {len(examples)} examples, penalty {penalty:g}")
        self._save(folder, penalty)
        return {
            "features": int(columns.shape[1]),
            "penalty": penalty,
            "error_by_penalty": {f"{key:g}": round(value, 6) for key, value in errors.items()},
        }

    def _features(self, case: Case) -> CaseFeatures:
        return extract_features(case if self.spec.evidence else case.without_evidence(), self.spec.longest)

    def _learn_columns(self, features: Sequence[CaseFeatures]) -> None:
        start = len(RELATIONS)
        for name in _BLOCKS:
            holders = Counter(gram for case_features in features for gram in case_features.blocks[name])
            common = [(count, gram) for gram, count in holders.items() if count >= self.spec.fewest]
            kept = sorted(common, key=lambda pair: (-pair[0], pair[1]))[: self.spec.most]
            grams = sorted(gram for _, gram in kept)
            rarity = np.array([math.log((1 + len(features)) / (1 + holders[gram])) + 1 for gram in grams])
            self._blocks[name] = _Block({gram: place for place, gram in enumerate(grams)}, rarity, start)
            start += len(grams)
        numbers = np.array([case_features.relations for case_features in features])
        self._centre, width = numbers.mean(axis=0), numbers.std(axis=0)
        self._width = np.where(width > 1e-9, width, 1.0)

    def _penalty(
        self, columns: Any, targets: Floats, weights: Floats, examples: Sequence[Example]
    ) -> tuple[float, dict[float, float]]:
        """The penalty with the least error on unseen families, and the squared error of each on rated answers."""
        families = np.array([example.family for example in examples])
        rated = np.array([not example.synthetic for example in examples])
        counted = rated if len(set(families[rated])) >= 2 else np.ones(len(examples), dtype=bool)
        folds = min(self.spec.folds, len(set(families)))
        if folds < 2 or len(self.spec.penalties) == 1:
            return self.spec.penalties[len(self.spec.penalties) // 2], {}
        from sklearn.model_selection import GroupKFold

        sums, count = dict.fromkeys(self.spec.penalties, 0.0), 0
        for learn, test in GroupKFold(folds).split(columns, groups=families):
            scored = test[counted[test]]
            count += len(scored)
            learnt, seen = (columns[learn], targets[learn], weights[learn]), columns[scored]
            for penalty in self.spec.penalties:
                coefficients, intercept = _fit(*learnt, penalty)
                predicted = np.clip(seen @ coefficients + intercept, 0, 1)
                sums[penalty] += float(((predicted - targets[scored]) ** 2).sum())
        errors = {penalty: total / max(1, count) for penalty, total in sums.items()}
        return min(errors, key=lambda penalty: (errors[penalty], -penalty)), errors

    def score(self, cases: Sequence[Case]) -> list[float]:
        """Score each case by itself."""
        return [self._score(self._features(case)) for case in cases]

    def _score(self, features: CaseFeatures) -> float:
        places, values = self._row(features)
        return float(min(1.0, max(0.0, self._intercept + math.fsum(values * self._coefficients[places]))))

    def _row(self, features: CaseFeatures) -> tuple[NDArray[np.intp], Floats]:
        """Positions and values of a case's non-zero features."""
        places: list[int] = list(range(len(RELATIONS)))
        values: list[float] = list((np.array(features.relations) - self._centre) / self._width)
        for name in _BLOCKS:
            block, weight = self._blocks[name], self.spec.weights.get(name, 1.0)
            counts = sorted(
                (block.places[gram], count) for gram, count in features.blocks[name].items() if gram in block.places
            )
            rows = [(1 + math.log(count)) * float(block.rarity[place]) for place, count in counts]
            norm = math.sqrt(math.fsum(value * value for value in rows)) or 1.0
            places += [block.start + place for place, _ in counts]
            values += [weight * value / norm for value in rows]
        return np.array(places, dtype=np.intp), np.array(values)

    def _matrix(self, features: Sequence[CaseFeatures]) -> Any:
        from scipy.sparse import csr_matrix

        rows = [self._row(one) for one in features]
        ends = np.cumsum([0, *(len(places) for places, _ in rows)])
        width = len(RELATIONS) + sum(len(block.places) for block in self._blocks.values())
        values, places = (np.concatenate(parts) for parts in ([v for _, v in rows], [p for p, _ in rows]))
        return csr_matrix((values, places, ends), shape=(len(rows), width))

    def _save(self, folder: Path, penalty: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {f"rarity_{name}": block.rarity for name, block in self._blocks.items()}
        arrays |= {"coefficients": self._coefficients, "intercept": np.array(self._intercept)}
        np.savez(folder / _ARRAYS, centre=self._centre, width=self._width, **arrays)
        words = {
            "format": _FORMAT,
            "penalty": penalty,
            "relations": list(RELATIONS),
            "blocks": {name: list(block.places) for name, block in self._blocks.items()},
        }
        (folder / _WORDS).write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8", newline="\n")

    def open(self, folder: Path | None) -> None:
        """Read the trained judge; DataError if there is none, or another version of this kind wrote it."""
        if folder is None:
            raise DataError("a judge of kind 'tfidf_ridge' must be trained", next="benchbuild judge train recipe=...")
        try:
            words = read_json(folder / _WORDS)
            with np.load(folder / _ARRAYS, allow_pickle=False) as arrays:
                loaded = {name: np.asarray(arrays[name]) for name in arrays.files}
            if words["format"] != _FORMAT or words["relations"] != list(RELATIONS):
                raise ValueError("another version of this kind wrote it")
            start = len(RELATIONS)
            for name in _BLOCKS:
                grams: list[str] = words["blocks"][name]
                places = {gram: place for place, gram in enumerate(grams)}
                self._blocks[name] = _Block(places, loaded[f"rarity_{name}"], start)
                start += len(grams)
            self._centre, self._width = loaded["centre"], loaded["width"]
            self._coefficients, self._intercept = loaded["coefficients"], float(loaded["intercept"])
            self._check_loaded()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, BadZipFile) as error:
            raise DataError(
                "the trained judge cannot be read", where=str(folder), why=str(error),
                next="benchbuild judge train recipe=...",
            ) from error  # fmt: skip

    def _check_loaded(self) -> None:
        """Raise ValueError unless the arrays fit together and are finite."""
        width = len(RELATIONS) + sum(len(block.places) for block in self._blocks.values())
        shapes = [(self._centre, len(RELATIONS)), (self._width, len(RELATIONS)), (self._coefficients, width)]
        shapes += [(block.rarity, len(block.places)) for block in self._blocks.values()]
        for array, length in shapes:
            if array.shape != (length,) or array.dtype.kind != "f" or not np.isfinite(array).all():
                raise ValueError(f"an array of {length} numbers was expected, found {array.shape} of {array.dtype}")
        if not math.isfinite(self._intercept) or not (self._width > 0).all():
            raise ValueError("the intercept or a width is invalid")


def _fit(columns: Any, targets: Floats, weights: Floats, penalty: float) -> tuple[Floats, float]:
    """Coefficients and intercept of the weighted ridge regression."""
    from sklearn.linear_model import Ridge

    # so near to the solution that the processor, whose sums round otherwise, shows in no digit that is told
    model = Ridge(alpha=penalty, solver="sparse_cg", tol=1e-11, max_iter=2000)
    model.fit(columns, targets, sample_weight=weights)
    return np.asarray(model.coef_, dtype=np.float64), float(model.intercept_)


RELATIONS = (
    "in question", "in evidence", "new in evidence", "best window", "worst sentence", "mean sentence",
    "question in evidence", "question window", "longest alike", "unlike evidence", "evidence unlike", "no evidence",
    "length", "sentences",
)  # fmt: skip
"""The numeric features, in order."""
_OPENING = 4
"""Number of characters at the start of a sentence that may contain a verdict."""
_FEWEST = 0.3
"""Proportion of a sentence that a window of the evidence must contain for the two to be compared."""

Grams = frozenset[str]


@dataclass(frozen=True, slots=True)
class CaseFeatures:
    """A case as counts of n-grams in blocks, and the numbers of `RELATIONS`.

    Blocks: ``answer`` (the answer's own n-grams), ``added`` (those of its sentences that the nearest sentence of the
    evidence lacks), ``lost`` (the reverse), and ``verdict`` (pairs of an opening of a sentence and what is asked
    beyond the evidence, or nothing).
    """

    blocks: Mapping[str, Mapping[str, int]]
    relations: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SentencePart:
    """A sentence: its letters and digits, and their bigrams."""

    text: str
    pairs: Grams


def extract_features(case: Case, max_ngram: int) -> CaseFeatures:
    """The features of a case without its statements; n-grams of the answer have up to `max_ngram` characters."""
    parts, asked = sentence_parts(case.answer), sentence_parts(case.question)
    windows = tuple(dict.fromkeys(part for text in sorted(case.evidence) for part in sentence_parts(text)))
    own = Counter(gram for part in parts for gram in character_ngrams(part.text, 1, max_ngram))
    question_pairs, known = _union(asked), _union(windows)
    nearest = [_nearest(part, windows) for part in parts]
    proportions = [proportion for proportion, _ in nearest]
    question_nearest = [_nearest(part, windows) for part in asked]
    added, lost = _difference_ngrams(parts, nearest)
    beyond, _ = _difference_ngrams(asked, question_nearest)
    pairs = _union(parts)
    sizes = [max(1, len(part.pairs)) for part in parts]
    relations = (
        _proportion_known(pairs, question_pairs),
        _proportion_known(pairs, known),
        _proportion_known(pairs - question_pairs, known),
        max(proportions, default=0.0),
        min(proportions, default=0.0),
        sum(s * n for s, n in zip(proportions, sizes, strict=True)) / max(1, sum(sizes)),
        _proportion_known(question_pairs, known),
        max((proportion for proportion, _ in question_nearest), default=0.0),
        max((n for n, part in zip(proportions, parts, strict=True) if part.pairs & question_pairs), default=0.0),
        math.log1p(sum(added.values())),
        math.log1p(sum(lost.values())),
        float(not windows),
        math.log1p(sum(len(part.text) for part in parts)),
        math.log1p(len(parts)),
    )
    blocks = {"answer": own, "added": added, "lost": lost, "verdict": _new_characters(parts, beyond)}
    return CaseFeatures(blocks, relations)


@lru_cache(maxsize=8192)
def sentence_parts(text: str) -> tuple[SentencePart, ...]:
    """The sentences and clauses of a text, cut at punctuation, without white space, differences of width, and case."""
    cut = "".join(_bare_character(character) for character in to_half_width(compose_characters(text)).casefold())
    return tuple(
        SentencePart(bare, frozenset(character_ngrams(bare, 2, 2)) or frozenset({bare}))
        for bare in cut.split("\n")
        if bare
    )


@lru_cache(maxsize=65536)
def _bare_character(character: str) -> str:
    """A letter or number unchanged, a line end for a mark that ends or divides, and nothing for other characters."""
    category = unicodedata.category(character)
    if category[0] in "LNM":
        return character
    return "\n" if category == "Po" or character in "\n\r" else ""


def character_ngrams(text: str, min_length: int, max_length: int) -> Iterable[str]:
    """The character n-grams of a text.

    >>> list(character_ngrams("abc", 1, 2))
    ['a', 'b', 'c', 'ab', 'bc']
    """
    for size in range(min_length, max_length + 1):
        for start in range(len(text) - size + 1):
            yield text[start : start + size]


def _union(parts: Iterable[SentencePart]) -> Grams:
    return frozenset(pair for part in parts for pair in part.pairs)


def _proportion_known(features: Grams, known_features: Grams) -> float:
    return len(features & known_features) / len(features) if features else 0.0


def _nearest(part: SentencePart, windows: Sequence[SentencePart]) -> tuple[float, SentencePart | None]:
    """The proportion of `part` in the window that contains most of it, and this window (of several, the shortest)."""
    best: tuple[int, int, str] | None = None
    nearest: SentencePart | None = None
    for window in windows:
        rank = (-len(part.pairs & window.pairs), len(window.pairs), window.text)
        if best is None or rank < best:
            best, nearest = rank, window
    return (0.0, None) if nearest is None else (_proportion_known(part.pairs, nearest.pairs), nearest)


def _difference_ngrams(
    parts: Sequence[SentencePart], nearest: Sequence[tuple[float, SentencePart | None]]
) -> tuple[Counter[str], Counter[str]]:
    """The n-grams of one and two characters that sentences have and their nearest windows lack, and the reverse.

    Windows that contain too little of a sentence do not count. Of a window, only the part from the first to the last
    shared character counts.
    """
    added, lost = Counter[str](), Counter[str]()
    for part, (proportion, window) in zip(parts, nearest, strict=True):
        if window is None or proportion < _FEWEST:
            continue
        known = frozenset(part.text)
        places = [at for at, character in enumerate(window.text) if character in known]
        span = window.text[places[0] : places[-1] + 1] if places else ""
        ours, theirs = Counter(character_ngrams(part.text, 1, 2)), Counter(character_ngrams(span, 1, 2))
        added += ours - Counter(character_ngrams(window.text, 1, 2))
        lost += theirs - ours
    return added, lost


def _new_characters(parts: Sequence[SentencePart], beyond: Mapping[str, int]) -> Counter[str]:
    """Pairs of an opening of a sentence, and a character that the question has and the evidence lacks."""
    openings = {gram for part in parts for gram in character_ngrams(part.text[:_OPENING], 1, 2)}
    asked = [gram for gram in beyond if len(gram) == 1] or [""]
    return Counter(f"{opening}|{gram}" for opening in openings for gram in asked)
