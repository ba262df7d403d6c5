"""What may not be released, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from benchbuilder.core import count_phrase
from benchbuilder.exporters import annotation_summaries
from benchbuilder.publishing.release.licences import licence_terms
from benchbuilder.publishing.release.material import ReleaseMaterial
from benchbuilder.publishing.release.private_folder import PrivateFolder, Use
from benchbuilder.publishing.release.scorecard.scorecard import Scorecard

RefusalCode = Literal["audit", "licence", "illustrative", "names", "labels", "agreement", "scorecard"]


@dataclass(frozen=True)
class ReleaseRefusal:
    """A reason not to release: what it is about, what is wrong, and what mends it."""

    code: RefusalCode
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.text} ({self.remedy})"


def find_refusals(
    material: ReleaseMaterial, uses: Mapping[str, Use], private: PrivateFolder, card: Scorecard
) -> list[ReleaseRefusal]:
    """Every reason not to release a build; `uses` says what each question is used for now, by its secret name."""
    return [
        *_audit_refusals(material),
        *_agreement_refusals(material),
        *_licence_refusals(material),
        *_declared_refusals(material),
        *_label_refusals(uses, private),
        *_scorecard_refusals(card),
    ]


def _audit_refusals(material: ReleaseMaterial) -> Iterator[ReleaseRefusal]:
    remedy = "see benchbuild audit"
    for task in material.tasks:
        result, named = task.audit.result, f"{task.loaded.task}: " if task.loaded.task else ""
        if task.loaded.recipe.audit.gate == "none":
            yield ReleaseRefusal("audit", f"{named}the audit has no gate", "set audit.gate=audit")
        elif result.closed:
            leaks = (
                f"{count_phrase(result.leak_count(), 'check')} and {count_phrase(result.leaking_word_count(), 'word')}"
            )
            yield ReleaseRefusal("audit", f"{named}the audit closes the gate: {leaks} leak", remedy)
        if task.texts.contradictions:
            pairs = count_phrase(task.texts.contradictions, "pair")
            yield ReleaseRefusal("audit", f"{named}{pairs} of items contradict each other", remedy)


def _agreement_refusals(material: ReleaseMaterial) -> Iterator[ReleaseRefusal]:
    for task in material.tasks:
        named = f"{task.loaded.task}: " if task.loaded.task else ""
        for step, judged in annotation_summaries(task.finished).items():
            for word, rows in (("weak", judged.questions("weak")), ("unknown", judged.refused)):
                names = ", ".join(row.name for row in rows if row.standing and row.standing.word == word)
                if names:
                    text = "people agree too little on" if word == "weak" else "people judged too little to tell for"
                    yield ReleaseRefusal("agreement", f"{named}{step}: {text} {names}",
                                         "see benchbuild votes quality")  # fmt: skip


def _licence_refusals(material: ReleaseMaterial) -> Iterator[ReleaseRefusal]:
    own = licence_terms(material.loaded.whole.card.licence)
    if not own.declared:
        yield ReleaseRefusal("licence", "the benchmark has no licence", "set card.licence")
    unknown: dict[str, list[str]] = {}
    for source in material.sources:
        terms = source.terms
        if not terms.is_known:
            unknown.setdefault(terms.declared, []).append(source.name)
        elif terms.change == "no":
            yield ReleaseRefusal("licence", f"{source.name} is {terms.name}: changed copies may not be passed on",
                          "leave the source out, or ask its owner")  # fmt: skip
        elif terms.commercial == "no" and own.commercial == "yes":
            text = f"{source.name} is {terms.name}: not for commercial use, but {own.name} allows it"
            yield ReleaseRefusal("licence", text, "set card.licence to one that does not")
    for declared, names in unknown.items():
        said = f"given as {declared!r}" if declared else "not stated"
        text = f"what the licence of {', '.join(names)} allows is unknown: it is {said}"
        yield ReleaseRefusal("licence", text, f"set sources.{names[0]}.licence to its identifier, such as CC-BY-4.0")


def _declared_refusals(material: ReleaseMaterial) -> Iterator[ReleaseRefusal]:
    recipe = material.loaded.whole
    if recipe.card.illustrative:
        yield ReleaseRefusal("illustrative", "the data is illustrative: no expert has checked it",
                      "use real sources and set card.illustrative=false")  # fmt: skip
    if recipe.release.names is None:
        yield ReleaseRefusal("names", "the recipe does not say whether its texts name people",
                      "set release.names to none, public or private")  # fmt: skip
    elif recipe.release.names == "private":
        yield ReleaseRefusal(
            "names", "the texts name private persons", "replace the names, then set release.names=none"
        )


def _label_refusals(uses: Mapping[str, Use], private: PrivateFolder) -> Iterator[ReleaseRefusal]:
    opened = sum(private.uses.get(name) == "private" and use != "private" for name, use in uses.items())
    if opened:
        text = f"the labels of {count_phrase(opened, 'question')} were private before, and would be published"
        yield ReleaseRefusal("labels", text, "keep release.private as it was, or drop these questions")


def _scorecard_refusals(card: Scorecard) -> Iterator[ReleaseRefusal]:
    for row in card.missing():
        said = "nobody answered it" if row.state == "unknown" else f"{row.state}: {row.evidence}"
        yield ReleaseRefusal("scorecard", f"scorecard.required names {row.criterion.id}, and {said}",
                             "see benchbuild scorecard")  # fmt: skip
