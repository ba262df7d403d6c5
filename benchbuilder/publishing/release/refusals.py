"""What may not be released, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchbuilder.annotation import DATABASE_FILE
from benchbuilder.config import LoadedRecipe, Recipe, display_path
from benchbuilder.exporters import annotation_summaries
from benchbuilder.pipeline import judging_option, most_evidence
from benchbuilder.publishing.release.licences import LicenceTerms, licence_terms, likely_licence
from benchbuilder.publishing.release.material import ReleaseMaterial, TaskMaterial
from benchbuilder.publishing.release.private_folder import PrivateFolder, Use
from benchbuilder.publishing.release.scorecard.scorecard import Scorecard
from benchbuilder.publishing.release.sentences import ReleaseSentence, sentence

_WANTED = 3
"""So many supporting paragraphs the bundled ways of asking people want at most."""
RefusalCode = Literal["audit", "licence", "illustrative", "names", "labels", "agreement", "unjudged", "scorecard"]


@dataclass(frozen=True)
class ReleaseRefusal:
    """A reason not to release: what it is about, what is wrong, and what mends it."""

    code: RefusalCode
    text: ReleaseSentence
    remedy: str

    def __str__(self) -> str:
        return f"{self.text} ({self.remedy})"


def open_before_release(loaded: LoadedRecipe) -> tuple[str, ...]:
    """What the settings of a recipe lack for a release, whatever its build holds: what to set, in words."""
    recipe = loaded.whole
    sources = [(name, licence_terms(spec.licence)) for name, spec in recipe.sources.items()]
    declared = [*_licence_refusals(recipe, sources), *_declared_refusals(recipe)]
    for part in loaded.by_task():
        if part.recipe.audit.gate == "none":
            declared.append(_no_gate())
        if part.recipe.annotation.kind == "none" and not any(
            spec.kind == "vote" for spec in part.recipe.steps.values()
        ):
            declared.append(ReleaseRefusal("unjudged", sentence("refusal.unjudged", n=0), _people_remedy(part)))
    return tuple(dict.fromkeys(refusal.remedy for refusal in declared))


def find_refusals(
    material: ReleaseMaterial, uses: Mapping[str, Use], private: PrivateFolder, card: Scorecard
) -> list[ReleaseRefusal]:
    """Every reason not to release a build; `uses` says what each question is used for now, by its secret name."""
    return [
        *_audit_refusals(material),
        *_agreement_refusals(material),
        *_licence_refusals(material.loaded.whole, [(source.name, source.terms) for source in material.sources]),
        *_declared_refusals(material.loaded.whole),
        *_label_refusals(uses, private),
        *_scorecard_refusals(card),
    ]


def _audit_refusals(material: ReleaseMaterial) -> Iterator[ReleaseRefusal]:
    remedy = "see benchbuild audit"
    for task in material.tasks:
        result = task.audit.result
        if task.loaded.recipe.audit.gate == "none":
            no_gate = _no_gate()
            yield ReleaseRefusal(no_gate.code, _of_task(task, no_gate.text), no_gate.remedy)
        elif result.closed:
            leaks = sentence("refusal.closed", checks=result.leak_count(), words=result.leaking_word_count())
            yield ReleaseRefusal("audit", _of_task(task, leaks), remedy)
        if pairs := task.texts.contradictions:
            yield ReleaseRefusal("audit", _of_task(task, sentence("refusal.contradictions", n=pairs)), remedy)


def _no_gate() -> ReleaseRefusal:
    return ReleaseRefusal("audit", sentence("refusal.no_gate"), "set audit.gate=audit")


def _votes_remedy(build: Path) -> str:
    """What to do if people have voted, and this command reads none of it; empty if nobody has."""
    folder = build / "annotation"
    if not any((folder / name).is_file() or any((folder / name).glob("*")) for name in ("filled", DATABASE_FILE)):
        return ""
    return f"votes lie in {display_path(folder)}: repeat the words annotation=… of the build that asked for them"


def _people_remedy(loaded: LoadedRecipe) -> str:
    options = [judging_option(loaded.roots, loaded.recipe, way) for way in ("app", "sheets")]
    most = most_evidence(loaded.recipe)
    more = f", with annotation.min_evidence={most}," if most is not None and most < _WANTED else ""
    foreign = loaded.recipe.language.partition("-")[0] != "en" and "_en" in options[0]
    judged = "lets people judge the items, by questions in English" if foreign else "lets people judge the items"
    return f"{' or '.join(f'annotation={option}' for option in options)}{more} {judged}"


def _of_task(task: TaskMaterial, text: ReleaseSentence) -> ReleaseSentence:
    return sentence("refusal.of_task", task=task.loaded.task, text=text) if task.loaded.task else text


def _agreement_refusals(material: ReleaseMaterial) -> Iterator[ReleaseRefusal]:
    for task in material.tasks:
        summaries = annotation_summaries(task.finished)
        if not summaries:
            unjudged = _of_task(task, sentence("refusal.unjudged", n=len(task.finished.tables[task.finished.items])))
            yield ReleaseRefusal(
                "unjudged", unjudged, _votes_remedy(material.store.folder) or _people_remedy(task.loaded)
            )
        for step, judged in summaries.items():
            for word, rows in (("weak", judged.questions("weak")), ("unknown", judged.refused)):
                names = ", ".join(row.name for row in rows if row.standing and row.standing.word == word)
                if names:
                    text = _of_task(task, sentence(f"refusal.agreement_{word}", step=step, questions=names))
                    yield ReleaseRefusal("agreement", text, _WEAK)


_WEAK = (
    "see benchbuild votes quality; let more people judge, or reword what they differ on; annotation.floor says how far "
    "they must agree"
)


def _licence_refusals(recipe: Recipe, sources: Iterable[tuple[str, LicenceTerms]]) -> Iterator[ReleaseRefusal]:
    own = licence_terms(recipe.card.licence)
    if not own.declared:
        yield ReleaseRefusal("licence", sentence("refusal.no_licence"), "set card.licence")
    elif meant := likely_licence(own):
        text = sentence("refusal.licence_misspelt", licence=repr(own.declared), meant=meant)
        yield ReleaseRefusal("licence", text, f"set card.licence={meant}, or say its name in words")
    unknown: dict[str, list[str]] = {}
    for source, terms in sources:
        if not terms.is_known:
            unknown.setdefault(terms.declared, []).append(source)
        elif terms.change == "no":
            text = sentence("refusal.no_changes", source=source, licence=terms.name)
            yield ReleaseRefusal("licence", text, "leave the source out, or ask its owner")
        elif terms.commercial == "no" and own.commercial == "yes":
            text = sentence("refusal.no_commerce", source=source, licence=terms.name, own=own.name)
            yield ReleaseRefusal("licence", text, "set card.licence to one that does not")
    for declared, names in unknown.items():
        key = "refusal.licence_given" if declared else "refusal.licence_missing"
        text = sentence(key, sources=", ".join(names), licence=repr(declared))
        keys = " and ".join(f"sources.{name}.licence" for name in names)
        yield ReleaseRefusal("licence", text, f"set {keys} to its identifier, such as CC-BY-4.0")


def _declared_refusals(recipe: Recipe) -> Iterator[ReleaseRefusal]:
    if recipe.card.illustrative:
        remedy = "use real sources and set card.illustrative=false"
        yield ReleaseRefusal("illustrative", sentence("refusal.illustrative"), remedy)
    if recipe.release.names is None:
        remedy = "set release.names to none, public or private"
        yield ReleaseRefusal("names", sentence("refusal.names_unsaid"), remedy)
    elif recipe.release.names == "private":
        remedy = "replace the names, then set release.names=none"
        yield ReleaseRefusal("names", sentence("refusal.names_private"), remedy)


def _label_refusals(uses: Mapping[str, Use], private: PrivateFolder) -> Iterator[ReleaseRefusal]:
    opened = sum(private.uses.get(name) == "private" and use != "private" for name, use in uses.items())
    if opened:
        remedy = "keep release.private as it was, or drop these questions"
        yield ReleaseRefusal("labels", sentence("refusal.labels", n=opened), remedy)


def _scorecard_refusals(card: Scorecard) -> Iterator[ReleaseRefusal]:
    for row in card.missing():
        name = row.criterion.id
        if row.state == "unknown":
            text = sentence("refusal.required_unanswered", criterion=name)
        else:
            text = sentence("refusal.required_unmet", criterion=name, state=row.state, evidence=row.evidence)
        yield ReleaseRefusal("scorecard", text, "see benchbuild scorecard")
