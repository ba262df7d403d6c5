"""The rules by which the program answers criteria: each looks at the build, and names what it saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchbuilder.config import CriterionState
from benchbuilder.core import read_json
from benchbuilder.exporters import annotation_summaries
from benchbuilder.publishing.release.material import ReleaseMaterial, TaskMaterial
from benchbuilder.publishing.release.scorecard.coverage import Reach, column_counts, reach_of
from benchbuilder.publishing.release.sentences import ReleaseSentence, sentence

_FEWEST_WORDINGS = 3
_EVEN = 0.1
"""The proportion of yes may differ from one half by so much."""


@dataclass(frozen=True)
class Finding:
    """The state of a criterion, and what it rests on."""

    state: CriterionState
    evidence: ReleaseSentence | str


@dataclass(frozen=True)
class BuildFacts:
    """What the rules look at: the build, its audits, and the files that other commands left in its folder.

    `released` says whether an earlier release exists.
    """

    material: ReleaseMaterial
    released: bool

    @property
    def tasks(self) -> tuple[TaskMaterial, ...]:
        """The tasks of the benchmark."""
        return self.material.tasks

    @cached_property
    def reach(self) -> tuple[Reach, ...]:
        """The reach of each task's sources."""
        return tuple(reach_of(task.finished) for task in self.tasks)

    @cached_property
    def notes(self) -> tuple[Mapping[str, Any], ...]:
        """For each task, what the step of its items noted."""
        return tuple(
            next((account.notes for account in task.finished.step_counts if account.step == task.finished.items), {})
            for task in self.tasks
        )

    def values(self, name: str) -> Counter[str]:
        """How many items of all tasks have each value of a column; those with none are left out."""
        counts: Counter[str] = Counter()
        for task in self.tasks:
            counts += column_counts(task.finished.tables[task.finished.items], name)
        return Counter({value: count for value, count in counts.items() if value})

    def file(self, name: str) -> Path | None:
        """A file of the build's folder that every task has; None if one has not."""
        folders = [self.material.store.folder / task.loaded.task for task in self.tasks]
        found = [folder / name for folder in folders if (folder / name).is_file()]
        return found[0] if len(found) == len(folders) else None

    @cached_property
    def analysis(self) -> Mapping[str, Any]:
        """The analysis of the first task; empty if a task has none."""
        file = self.file("analysis/analysis.json")
        return {} if file is None else read_json(file)

    @cached_property
    def results(self) -> Mapping[str, Any] | None:
        """The results of the evaluation of the first task; None without one."""
        file = self.file("evaluation/results.json")
        return None if file is None else read_json(file)


Rule = Callable[[BuildFacts], Finding]
_Evidence = ReleaseSentence | str


def _seen(name: str, **values: object) -> ReleaseSentence:
    return sentence(f"scorecard.evidence.{name}", **values)


def _stated(there: bool, evidence: _Evidence, missing: _Evidence) -> Finding:
    return Finding("yes", evidence) if there else Finding("no", missing)


def _share(part: int, whole: int, evidence: _Evidence) -> Finding:
    return Finding("yes" if part == whole else "partly" if part else "no", evidence)


def _uses(facts: BuildFacts) -> Finding:
    card = facts.material.loaded.whole.card
    return _share(bool(card.intended_use) + bool(card.not_for), 2, "card.intended_use, card.not_for")


def _sources(facts: BuildFacts) -> Finding:
    sources = facts.material.sources
    good = [source for source in sources if source.title and (source.url or source.citation)]
    return _share(len(good), len(sources), _seen("sources", good=len(good), n=len(sources)))


def _licences(facts: BuildFacts) -> Finding:
    sources = facts.material.sources
    good = [source for source in sources if source.terms.is_known]
    return _share(len(good), len(sources), _seen("sources", good=len(good), n=len(sources)))


def _steps(facts: BuildFacts) -> Finding:
    dropped = sum(
        n for task in facts.tasks for account in task.finished.step_counts
        for (_, outcome, _), n in account.counts.items() if outcome == "dropped"
    )  # fmt: skip
    return Finding("yes", _seen("dropped", n=dropped))


def _coverage(facts: BuildFacts) -> Finding:
    read = sum(source.facts for reach in facts.reach for source in reach.sources)
    reached = sum(source.reached for reach in facts.reach for source in reach.sources)
    if not read:
        return Finding("not_applicable", _seen("no_facts"))
    return Finding("yes", _seen("reached", reached=reached, n=read))


def _real_data(facts: BuildFacts) -> Finding:
    sample = any(task.loaded.recipe.card.illustrative for task in facts.tasks)
    return _stated(not sample, _seen("real"), _seen("sample"))


def _models(facts: BuildFacts) -> Finding:
    names = sorted({receipt.model for receipt in facts.material.receipts})
    return Finding("yes", ", ".join(names)) if names else Finding("not_applicable", _seen("no_model"))


def _people(facts: BuildFacts) -> Finding:
    voters = [len(note.get("votes", {}).get("annotators", {})) for note in facts.notes if note.get("reviewed")]
    if len(voters) < len(facts.tasks):
        return Finding("no", _seen("no_people"))
    least = min(voters)
    if any(task.loaded.recipe.card.illustrative for task in facts.tasks):
        return Finding("no", _seen("sample_votes"))
    return Finding("yes" if least >= 2 else "partly", _seen("people", n=least))


def _agreement(facts: BuildFacts) -> Finding:
    if not all(note.get("agreement") for note in facts.notes):
        return Finding("no", _seen("no_votes"))
    if any(task.loaded.recipe.card.illustrative for task in facts.tasks):
        return Finding("no", _seen("sample_votes"))
    words = Counter(
        "unheld" if row.standing is None else row.standing.word
        for task in facts.tasks for judged in annotation_summaries(task.finished).values()
        for row in judged.agreement if row.decides
    )  # fmt: skip
    state: CriterionState = "yes" if words.total() == words["reached"] else "partly"
    counts = {word: words[word] for word in ("reached", "weak", "unknown", "unheld")}
    return Finding(state, _seen("agreement", n=words.total(), **counts))


def _label_errors(facts: BuildFacts) -> Finding:
    found = [task.finished.recheck for task in facts.tasks]
    rechecks = [recheck for recheck in found if recheck is not None]
    if not rechecks:
        return Finding("no", _seen("no_recheck"))
    complete = [one.whole for one in rechecks if one.is_complete]
    if not complete:
        decided, drawn = sum(one.decided for one in rechecks), sum(one.drawn for one in rechecks)
        return Finding("no", _seen("recheck_waiting", decided=decided, drawn=drawn))
    wrong, checked = sum(one.wrong for one in complete), sum(one.checked for one in complete)
    bound = f"{100 * max(one.high or 0 for one in complete):.1f} %"
    return _share(len(complete), len(found), _seen("recheck", wrong=wrong, n=checked, bound=bound))


def _evidence(facts: BuildFacts) -> Finding:
    with_paragraphs = any(account.role == "evidence" for task in facts.tasks for account in task.finished.step_counts)
    return _stated(with_paragraphs, _seen("paragraphs"), _seen("no_paragraphs"))


def _personal(facts: BuildFacts) -> Finding:
    recipe = facts.material.loaded.whole
    both = bool(recipe.card.personal_data) + (recipe.release.names is not None)
    return _share(both, 2, "card.personal_data, release.names")


def _gate(facts: BuildFacts) -> Finding:
    closed = sum(task.audit.result.closed for task in facts.tasks)
    if any(task.loaded.recipe.audit.gate == "none" for task in facts.tasks):
        return Finding("no", _seen("no_gate"))
    leaks = sum(task.audit.result.leak_count() for task in facts.tasks)
    checks = sum(task.audit.result.check_count() for task in facts.tasks)
    return Finding("no" if closed or not checks else "yes", _seen("leaks", leaks=leaks, n=checks))


def _contradictions(facts: BuildFacts) -> Finding:
    pairs = sum(task.texts.contradictions for task in facts.tasks)
    return _stated(not pairs, "audit/duplicates.csv", _seen("contradictions", n=pairs))


def _balance(facts: BuildFacts) -> Finding:
    verdicts = facts.values("payload.expected")
    total = verdicts.total()
    if not total:
        return Finding("not_applicable", _seen("no_questions"))
    share = verdicts["yes"] / total
    return Finding("yes" if abs(share - 0.5) <= _EVEN else "no", _seen("share", share=f"{share:.1%}", total=total))


def _wordings(facts: BuildFacts) -> Finding:
    found = facts.analysis.get("wordings", {})
    wordings, items = len(found.get("wordings", ())), [model["items"] for model in found.get("models", ())]
    if wordings >= _FEWEST_WORDINGS and items:
        return Finding("yes", _seen("wordings", n=wordings, items=max(items)))
    forms = facts.values("form")
    if len(forms) > 1:
        return Finding("partly", _seen("forms", n=len(forms)))
    return Finding("no", _seen("no_wordings"))


def _systems(facts: BuildFacts, kind: str) -> int:
    """How many baselines of a kind the recipe's evaluation has; none before it was evaluated."""
    spec = facts.tasks[0].loaded.recipe.evaluation
    if facts.results is None or spec is None:
        return 0
    return sum((str(baseline.kind) == "people") == (kind == "people") for baseline in spec.baselines.values()
               if str(baseline.kind) != "recorded")  # fmt: skip


def _chance(facts: BuildFacts) -> Finding:
    rules = _systems(facts, "rule")
    return _stated(bool(rules), _seen("rules", n=rules), _seen("not_evaluated"))


def _human(facts: BuildFacts) -> Finding:
    if not _systems(facts, "people"):
        return Finding("no", _seen("no_human"))
    if any(task.loaded.recipe.card.illustrative for task in facts.tasks):
        return Finding("no", _seen("sample_human"))
    return Finding("yes", "evaluation/results.html")


def _uncertainty(facts: BuildFacts) -> Finding:
    return _stated(facts.results is not None, "evaluation/results.html", _seen("not_evaluated"))


def _scoring(facts: BuildFacts) -> Finding:
    if not facts.values("payload.type")["oe"]:
        return Finding("not_applicable", _seen("no_open"))
    return _stated(facts.file("judges/judges.json") is not None, "judges/judges.html", _seen("no_judges"))


def _analysis(facts: BuildFacts) -> Finding:
    if not facts.analysis:
        return Finding("no", _seen("no_analysis"))
    return _stated(bool(_real_models(facts)), "analysis/analysis.json", _seen("invented"))


def _real_models(facts: BuildFacts) -> list[Mapping[str, Any]]:
    """The models of the analysis whose answers are not made up."""
    systems: list[dict[str, Any]] = facts.analysis.get("models", [])
    return [system for system in systems if system["group"] == "model" and not system["invented"]]


def _consistency(facts: BuildFacts) -> Finding:
    models = {model["model"] for model in facts.analysis.get("consistency", {}).get("models", ())}
    there = models & {system["name"] for system in _real_models(facts)}
    return _stated(bool(there), "analysis/analysis.json", _seen("no_consistency"))


def _variants(facts: BuildFacts) -> Finding:
    counts = [system["variants"] for system in _real_models(facts)]
    known = [count for count in counts if count]
    if not known:
        return Finding("no", _seen("no_variants"))
    evidence = _seen("variants", models=len(known), n=max(known))
    return _share(len(known), len(counts), evidence)


def _exposure(facts: BuildFacts) -> Finding:
    files = [name for name in ("audit/exposure.csv", "audit/matches.csv") if facts.file(name) is not None]
    return _stated(bool(files), ", ".join(files), _seen("no_exposure"))


def _replication(facts: BuildFacts) -> Finding:
    there = bool(facts.material.loaded.whole.release.repository)
    return Finding("yes" if there else "partly", "release.json; release.repository")


def _private(facts: BuildFacts) -> Finding:
    share = facts.material.loaded.whole.release.private
    return _stated(share > 0, f"release.private={share:g}", _seen("nothing_private"))


def _version(facts: BuildFacts) -> Finding:
    return _stated(facts.released, "release.json, SHA256SUMS, CHANGES.md", _seen("not_released"))


def _licence(facts: BuildFacts) -> Finding:
    return _stated(
        facts.material.loaded.whole.card.licence.strip() not in ("", "not stated"),
        "card.licence",
        _seen("empty", keys="card.licence"),
    )


def _knowledge_date(facts: BuildFacts) -> Finding:
    day = facts.material.loaded.whole.card.correct_as_of
    return _stated(bool(day), day, _seen("empty", keys="card.correct_as_of"))


def _citation(facts: BuildFacts) -> Finding:
    recipe = facts.material.loaded.whole
    there = bool(recipe.card.citation or recipe.release.authors)
    return _stated(there, "CITATION.cff", _seen("empty", keys="card.citation, release.authors"))


def _limits(facts: BuildFacts) -> Finding:
    limits = len(facts.material.loaded.whole.card.limitations)
    return _stated(bool(limits), f"card.limitations: {limits}", _seen("empty", keys="card.limitations"))


def _contact(facts: BuildFacts) -> Finding:
    spec = facts.material.loaded.whole.release
    where = spec.contact or spec.repository or ""
    return _stated(bool(where), where, _seen("no_contact"))


RULES: Mapping[str, Rule] = {
    "uses_stated": _uses,
    "sources_described": _sources,
    "licences_known": _licences,
    "steps_documented": _steps,
    "coverage": _coverage,
    "real_data": _real_data,
    "models_named": _models,
    "people_judged": _people,
    "agreement": _agreement,
    "label_errors": _label_errors,
    "evidence_given": _evidence,
    "personal_data": _personal,
    "shortcut_gate": _gate,
    "no_contradictions": _contradictions,
    "balanced_verdicts": _balance,
    "several_wordings": _wordings,
    "chance_level": _chance,
    "human_level": _human,
    "uncertainty": _uncertainty,
    "scoring_validated": _scoring,
    "item_analysis": _analysis,
    "consistency": _consistency,
    "scores_by_part": _uncertainty,
    "variants_counted": _variants,
    "contamination_canary": lambda _: Finding("yes", _seen("canary")),
    "private_split": _private,
    "random_order": lambda _: Finding("yes", "release.json: seed"),
    "replication": _replication,
    "contamination_checked": _exposure,
    "version": _version,
    "licence": _licence,
    "citation": _citation,
    "limitations": _limits,
    "knowledge_date": _knowledge_date,
    "local_models": lambda _: Finding("yes", "benchbuild evaluate, benchbuild export"),
    "contact": _contact,
}
"""The rule of each criterion that the program answers."""
