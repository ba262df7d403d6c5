"""Reads the answers to questions that were asked in several wordings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.config import BUILT_WORDING
from benchbuilder.core import Table
from benchbuilder.evaluation.analysis.answered import AnsweredItems, WordedAnswers
from benchbuilder.evaluation.analysis.read_items import family_codes, found_places, text_column
from benchbuilder.evaluation.plan import Evaluation
from benchbuilder.evaluation.results.run import VERDICT, WITHOUT_VERDICT
from benchbuilder.evaluation.steps.reword import REWORDED, wording_of

_compute: Any = pc


def worded_answers(evaluation: Evaluation, found: AnsweredItems) -> WordedAnswers | None:
    """The answers in every wording of the models that have some; None if there are none.

    Args:
        evaluation: The planned evaluation.
        found: The answers to the items as they were built.
    """
    questions = next(iter(_tables(evaluation, REWORDED, "item")), None)
    if questions is None or not len(questions.ids()):
        return None
    known = found_places(questions.arrow.column("of"), pa.array(found.items.ids.tolist(), pa.string()))
    items = np.unique(known[known >= 0])
    item_of = np.where(known >= 0, np.searchsorted(items, known), -1)
    slots = [wording_of(slot) for slot in questions.column("slot")]
    names = list(dict.fromkeys(name for name, _ in slots))
    repeats = 1 + max(repeat for _, repeat in slots)
    shape = (1 + len(names), repeats, len(items))
    cells = np.array([[1 + names.index(name), repeat] for name, repeat in slots])
    scores: dict[str, Any] = {}
    without: dict[str, Any] = {}
    scorers = set[str]()
    places = pa.array(questions.ids(), pa.string())
    systems = {system.name: place for place, system in enumerate(found.systems)}
    for table in _tables(evaluation, f"{REWORDED}_", "score"):
        arrow = table.arrow.filter(_compute.equal(table.arrow.column("aspect"), VERDICT))
        at = found_places(arrow.column("item"), places)
        labels = _compute.is_in(arrow.column("label"), value_set=pa.array(WITHOUT_VERDICT)).to_numpy()
        values = np.where(labels, 0.0, np.asarray(arrow.column("value").to_numpy(), np.float64))
        scorers.update(map(str, arrow.column("scorer").to_pylist()))
        for row, model in enumerate(arrow.column("model").to_pylist()):
            if model in systems and at[row] >= 0 and item_of[at[row]] >= 0:
                own = scores.setdefault(model, np.full(shape, np.nan))
                cell = (*cells[at[row]], item_of[at[row]])
                own[cell] = values[row]
                without.setdefault(model, np.zeros(shape, np.bool_))[cell] = labels[row]
    if not scores:
        return None
    alike = np.isin(found.items.scorers[items].astype(np.str_), sorted(scorers))
    for model, own in scores.items():
        own[0, 0] = np.where(alike, found.scores[systems[model], items], np.nan)
        without[model][0, 0] = found.without[systems[model], items]
    texts = questions.column("payload.question")
    first = int(np.flatnonzero(item_of == 0)[0])
    of_first = {name: text for of, (name, _), text in zip(item_of, slots, texts, strict=True) if of == item_of[first]}
    return WordedAnswers(
        (BUILT_WORDING, *names), (str(found.items.questions[items[0]]), *(of_first[name] for name in names)),
        tuple(scores), text_column(list(found.items.ids[items])),
        family_codes([str(family) for family in found.items.families[items]]),
        np.array(list(scores.values())), np.array(list(without.values())),
    )  # fmt: skip


def _tables(evaluation: Evaluation, begin: str, row: str) -> Iterator[Table[Any]]:
    """The tables of steps whose names begin like this: those of the plan, else what an earlier run left."""
    store, planned = evaluation.store, evaluation.plan.nodes
    stored = {path.name for path in store.steps.glob(f"{begin}*") if path.is_dir()}
    for name in sorted(stored):
        manifest = store.manifest(name, planned[name].key) if name in planned else store.latest(name)
        if manifest is not None and manifest.row.partition("[")[0] == row:
            yield store.rows(manifest)
