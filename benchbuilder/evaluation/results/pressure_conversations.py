"""The conversations in which models gave right answers up, as they were held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchbuilder.config import PressureSpec, is_afresh
from benchbuilder.core import Item, RowIndex, combined_column
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.evaluation.results.gather import answer_texts, first_known
from benchbuilder.evaluation.results.pressed_answers import RIGHT, WRONG, PressedAnswers
from benchbuilder.evaluation.results.pressure import PressureResults
from benchbuilder.evaluation.steps.press import PRESSED
from benchbuilder.evaluation.steps.push import FIRST_TURN, PUSHED, UNTOLD, pushed_text
from benchbuilder.exporters import FinishedBuild, ReportEntry, load_entries

_MOST = 20
"""How many conversations of a model are shown."""


@dataclass(frozen=True)
class LostConversation:
    """A conversation that begins with a right answer and ends with a wrong one, in a `condition` (context or push).

    Or, where a push ends afresh: a wrong answer that was kept, and called wrong in the conversation after it.
    `exchanges` are what was said (without the prompt around it), what was replied, and whether that was afresh, from
    the question on. A context opens a conversation of its own.
    """

    model: str
    condition: str
    entry: ReportEntry
    exchanges: tuple[tuple[str, str, bool], ...]


def lost_conversations(finished: FinishedBuild, found: PressureResults | None) -> Iterator[LostConversation]:
    """Up to 20 conversations of each model: of the items that it gave up most often, the longest one of each.

    Contexts with a passage are left out: a false paragraph is shown nowhere.
    """
    if found is None:
        return
    evaluation = finished.recipe["evaluation"]
    spec = PressureSpec.model_validate(evaluation["pressure"])
    said: dict[str, Sequence[str]] = {
        f"{name}.wrong": (text,) for name, text in spec.texts.items() if "{passage}" not in text
    }
    said |= {f"{push}.{side}": texts for push, texts in spec.push_turns.items() for side in ("wrong", UNTOLD)}
    chosen = [(own, place, name) for own in found.answers for place, name in _chosen(own, said, spec)]
    places = sorted({place for _, place, _ in chosen})
    entries = dict(zip(places, load_entries(finished, [found.items.ids[place] for place in places]), strict=True))
    firsts = answer_texts(finished, found.items.index(), places)
    models = dict.fromkeys(own.model for own, _, _ in chosen)
    replies = {model: _replies(finished, model, found.items.index(), places) for model in models}
    for own, place, name in chosen:
        row, side = entries[place].row, name.rpartition(".")[2]
        if not isinstance(row, Item):  # items are what was asked
            continue
        turns = zip(_slots(name, spec), said[name], strict=True)
        first, seed = firsts[own.model, place], finished.recipe["seed"]
        exchanges = [(make_case(row, "").question, first, False)]
        exchanges += [
            (
                pushed_text(text, row, side, spec.sources, seed, first)[1],
                replies[own.model][place, slot],
                is_afresh(text),
            )
            for slot, text in turns
        ]
        yield LostConversation(own.model, name, entries[place], tuple(exchanges))


def _slots(name: str, spec: PressureSpec) -> list[str]:
    """The slots of the answers of a conversation."""
    turns = spec.push_turns.get(name.rpartition(".")[0])
    return [name] if turns is None else [f"{name}.{turn}" for turn in range(FIRST_TURN, FIRST_TURN + len(turns))]


def _chosen(own: PressedAnswers, said: Mapping[str, Sequence[str]], spec: PressureSpec) -> list[tuple[int, str]]:
    """The item and the name of each conversation that is shown."""
    lost: dict[int, list[str]] = {}
    for name in said:
        slots = _slots(name, spec)
        if all(slot in own.later for slot in slots):
            *before, last = (own.later[slot] for slot in slots)
            if is_afresh(said[name][-1]):
                shown = np.logical_and.reduce([states == WRONG for states in (own.first, *before)]) & (last == RIGHT)
            else:
                shown = np.logical_and.reduce([own.first == RIGHT, *(states >= 0 for states in before), last == WRONG])
            for place in np.flatnonzero(shown).tolist():
                lost.setdefault(place, []).append(name)
    order = sorted(lost, key=lambda place: (-len(lost[place]), place))[:_MOST]
    return [(place, max(lost[place], key=lambda name: len(said[name]))) for place in order]


def _replies(finished: FinishedBuild, model: str, index: RowIndex, wanted: Sequence[int]) -> dict[tuple[int, str], str]:
    """What a model replied under pressure to some items, by the slots of its replies."""
    found: dict[tuple[int, str], str] = {}
    batches = finished.tables[PRESSED].batches(["id", "slot"]) if PRESSED in finished.tables else ()
    told = [(combined_column(batch, "id"), combined_column(batch, "slot").to_pylist()) for batch in batches]
    asked = RowIndex(ids for ids, _ in told)
    contexts = np.array([*(slot for _, slots in told for slot in slots), ""], np.object_)  # the last: no known question
    for name in (f"{PRESSED}_answer.{model}", f"{PUSHED}.{model}"):
        for batch in finished.tables[name].batches(["parents", "slot", "text"]) if name in finished.tables else ():
            places = first_known(combined_column(batch, "parents"), index)
            shown = np.isin(places, wanted)
            few = batch.filter(pa.array(shown))  # replies are long, and few are shown
            own = contexts[first_known(combined_column(few, "parents"), asked)]
            texts = (combined_column(few, column).to_pylist() for column in ("slot", "text"))
            lines = zip(places[shown].tolist(), own.tolist(), *texts, strict=True)
            found |= {(place, context or slot): text for place, context, slot, text in lines}
    return found
