"""How wrong answers work: are they ever chosen, and whom do they attract?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Codes, Texts
from benchbuilder.evaluation.analysis.rest_scores import column_correlations, rest_scores
from benchbuilder.evaluation.analysis.section import LEAST_MODELS, AnalysisSection, AnalysisSettings


@dataclass(frozen=True)
class WrongAnswerTable(AnalysisSection):
    """One entry for each wrong answer, in every column: of open questions the one, of multiple choice each option.

    Attributes:
        items: The number of items that have such answers.
        ids: Ids of items.
        options: The key of the option; empty for open questions.
        texts: The wrong answer of an open question; empty for options.
        n: The number of models of which it is known what they said.
        said: The share of them that said it.
        right: The share of them that said the right answer, or the mean score of open questions.
        with_rest: Correlation of saying it with the mean score on all other families; nan below 5 models.
        weak: Whether no model said it.
        attracts: Whether more models said it than the right answer, or better models said it more often.
        why: Why there is nothing to show.
    """

    items: int
    ids: Texts
    options: Texts
    texts: Texts
    n: Codes
    said: Floats
    right: Floats
    with_rest: Floats
    weak: np.ndarray[Any, np.dtype[np.bool_]]
    attracts: np.ndarray[Any, np.dtype[np.bool_]]
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """How many are never said, and how many attract."""
        if self.why is not None:
            return [self.why.text(t)]
        return [t("analysis.wrong_answers", n=len(self.ids), items=self.items, weak=int(self.weak.sum()),
                  attracts=int(self.attracts.sum()))]  # fmt: skip

    def item_columns(self) -> Mapping[str, Any]:
        """The share of models that said the wrong answer; of options, the most frequent one."""
        most: dict[str, float] = {}
        for name, share in zip(self.ids, self.said.tolist(), strict=True):
            most[name] = max(share, most.get(name, 0.0))
        return {"said_wrong": most}


def wrong_answers(answered: AnsweredItems, settings: AnalysisSettings) -> WrongAnswerTable:  # noqa: ARG001
    """How often models say the wrong answers of open questions and of multiple choice."""
    models = answered.models_only()
    rest = rest_scores(models)
    open_question = ~np.isnan(models.said_wrong).all(axis=0)
    places = [np.flatnonzero(open_question)]
    said, right = [models.said_wrong[:, open_question]], [models.scores[:, open_question]]
    options = [""] * int(open_question.sum())
    for place, keys in enumerate(models.items.options):
        wrong = [at for at, key in enumerate(keys) if key != models.items.keys[place]]
        chosen = models.chosen[:, [place]]
        if not wrong or models.items.keys[place] not in keys or (chosen < 0).all():
            continue
        options += [keys[at] for at in wrong]
        places.append(np.full(len(wrong), place))
        said.append(np.where(chosen >= 0, chosen == np.array(wrong), np.nan))
        right.append(np.where(chosen >= 0, models.scores[:, [place]], np.nan).repeat(len(wrong), axis=1))
    return _table(models, np.concatenate(places), np.hstack(said), np.hstack(right), options, rest)


def _table(
    models: AnsweredItems, places: Codes, said: Floats, right: Floats, options: Sequence[str], rest: Floats
) -> WrongAnswerTable:
    keys = np.empty(len(options), np.object_)
    keys[:] = options
    known = ~np.isnan(said)
    n = known.sum(0)
    share, of_right = (
        np.where(known, values, 0.0).sum(0) / np.maximum(n, 1) for values in (said, np.where(known, right, np.nan))
    )
    with_rest = np.where(n >= LEAST_MODELS, column_correlations(said, rest[:, places]), np.nan)
    return WrongAnswerTable(
        items=len(np.unique(places)), ids=models.items.ids[places], options=keys,
        texts=np.where(keys == "", models.items.wrong_answers[places], ""), n=n, said=share, right=of_right,
        with_rest=with_rest, weak=share == 0, attracts=(share > of_right) | (with_rest > 0),
        why=None if len(places) else AnalysisNote("analysis.no_wrong_answers"),
    )  # fmt: skip
