"""Every built-in kind that evaluations use keeps its contract."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import yaml
from kind_sample import Sample, every, in_tiers, load

from benchbuilder.config.load import load_recipe
from benchbuilder.config.spec.model import Sampling
from benchbuilder.core import registry
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.roles import AnswerClaim
from benchbuilder.evaluation.claims.base import ClaimVerifier
from benchbuilder.evaluation.claims.clauses import split_clauses
from benchbuilder.evaluation.judges.base import Example, make_case
from benchbuilder.evaluation.metrics import ClusteredScore
from benchbuilder.evaluation.scorers.base import Scorer
from benchbuilder.evaluation.solvers import EvaluatedModel
from benchbuilder.testing import (
    check_baseline,
    check_judge,
    check_metric,
    check_scorer,
    check_solver,
)

BY_TRAINING = ("best_evidence",)
"""Baselines that train judges."""
PROMPTS = Path(__file__).resolve().parents[3] / "prompts"


def _judge_example(kind: str, sample: Sample, folder: Path | None = None) -> dict[str, Any]:
    """The settings of an example of each kind of judge."""
    assert sample.loaded.recipe.evaluation is not None
    bundled = [spec for spec in sample.loaded.recipe.evaluation.judges.values() if spec.kind == kind]
    if kind == "openai_finetuned":
        more = ["evaluation=[zh_claims,zh_finetuned]", "model=openai", "model.name=some-model"]
        evaluation = load_recipe(["recipe=care_mi", *more], environ={}).recipe.evaluation
        assert evaluation is not None
        bundled = [spec for spec in evaluation.judges.values() if spec.kind == kind]
    if bundled:
        return dict(bundled[0])
    prompts = Path(__file__).resolve().parents[3] / "prompts" / "zh"
    if kind in ("encoder", "decoder"):
        import tiny_judges  # it imports PyTorch, which tests of other kinds do without

        assert folder is not None
        said = yaml.safe_load((prompts.parents[1] / "recipes" / "judge" / f"{kind}.yaml").read_text("utf-8"))
        base = tiny_judges.encoder(folder) if kind == "encoder" else tiny_judges.decoder(folder)
        small = {"path": str(base), "epochs": 1, "device": "cpu", "max_length": 96, "gradient_checkpointing": False}
        more = {"prompt": str(prompts / "judge_decoder.j2")} if kind == "decoder" else {}
        return {**said, **small, **more}
    assert kind == "prompted", f"write an example of the judge {kind!r} here"
    prompt = {"path": "zh/judge_correctness.j2", "resolved_path": str(prompts / "judge_correctness.j2")}
    return {"kind": kind, "aspect": "correctness", "max_evidence_chars": 500, "reply": "json", "prompt": prompt}


@pytest.mark.parametrize("kind", in_tiers(every("baseline"), BY_TRAINING))  # pytest.mark.push, or pytest.mark.full
def test_baseline(sample: Sample, kind: str, tmp_path: Path) -> None:
    assert sample.evaluation is not None
    steps = sample.evaluation.plan.recipe.steps.values()
    specs = [step.baseline for step in steps if step.kind == "answer_by_rule" and step.baseline.kind == kind]
    if kind == "random":
        specs = [
            load("baseline", kind).spec_class(kind=kind, seed=1, texts={"tf": ("对。", "不对。")}, otherwise=("无",))
        ]
    assert specs, f"the recipe has no baseline of the kind {kind!r}: write an example here"
    answers = check_baseline(
        lambda: registry.create_from_spec("baseline", specs[0]), sample.evaluation.rows("benchmark"), tmp_path
    )
    assert any(text for text, _ in answers)


@pytest.mark.push
@pytest.mark.parametrize("kind", every("solver"))
def test_solver(sample: Sample, kind: str) -> None:
    spec = load("solver", kind).spec_class(kind=kind)
    asked = EvaluatedModel("some_model", sample.loaded.recipe.model, None, None, Sampling())
    steps = check_solver(lambda: registry.create_from_spec("solver", spec), asked)
    assert steps["answer"].from_ == {"each": ("item",)}


METRICS: dict[str, dict[str, Any]] = {
    "mean": {"missing": "zero"}, "cluster_mean": {"missing": "left_out"}, "micro_f1": {},
}  # fmt: skip
"""The settings of an example of each kind of metric."""


@pytest.mark.push
@pytest.mark.parametrize("kind", every("metric"))
def test_metric(sample: Sample, kind: str) -> None:
    evaluation = sample.evaluation
    assert evaluation is not None
    facts = {item.id: item.fact for item in evaluation.rows("benchmark")}
    scores = [score.model_copy(update={"counts": (place % 2, 1 + place % 3, 2)})
              for place, score in enumerate(evaluation.rows("verdict.model_jia"))]  # fmt: skip
    spec = load("metric", kind).spec_class(kind=kind, aspect="verdict", **METRICS[kind])
    found = check_metric(
        lambda: registry.create_from_spec("metric", spec), [ClusteredScore(one, facts[one.item]) for one in scores]
    )
    assert any(0 < value < 1 for value in found.values())


@pytest.mark.push
@pytest.mark.parametrize("kind", every("scorer"))
def test_scorer(sample: Sample, kind: str, tmp_path: Path) -> None:
    evaluation = sample.evaluation
    assert evaluation is not None
    assert sample.loaded.recipe.evaluation is not None
    specs = [spec for spec in sample.loaded.recipe.evaluation.scorers.values() if spec.kind == kind]
    if kind == "exact":
        specs = [load("scorer", kind).spec_class(kind=kind, announced=("答案是",), ignore="。，", drop=())]
    if kind == "judged":
        judge = load("judge", "similarity").spec_class.model_validate(_similarity())
        specs = [load("scorer", kind).spec_class(kind=kind, judge=judge, language="zh")]
    if kind == "support":
        tables = [str(Path(__file__).parents[3] / "recipes/verdicts/zh.yaml")]
        specs = [load("scorer", kind).spec_class.model_validate({"kind": kind, "tables": tables})]
    assert specs, f"the recipe has no scorer of the kind {kind!r}: write an example here"
    items = {item.id: item for item in evaluation.rows("benchmark")}
    if kind == "set_answer":  # every second one: its statement is the one member of its set
        items |= {name: items[name].model_copy(update={"form": "set"}) for name in sorted(items)[::2]}
    answers = [*evaluation.rows("answer.model_jia")[::9], *evaluation.rows("answer.echo")[::31]]
    pairs = [(answer, items[answer.of]) for answer in answers]
    if kind == "ratings":  # the sample's own are about items whose paragraphs people have judged
        file = tmp_path / "ratings.csv"
        lines = [f"{answer.of},{answer.model},1,0.9,1" for answer in answers]
        file.write_text("\n".join(["id,model,correctness.a,correctness.b,correctness.c", *lines]), encoding="utf-8")
        specs = [load("scorer", kind).spec_class(kind=kind, aspects=("correctness",), file=str(file), at_least=3,
                                                 tolerance=0.25, threshold=0.5)]  # fmt: skip
    context = StepContext(1, "zh", "scoring", tmp_path / "cache", tmp_path / "people")
    further = [row for name in ("model_jia", "echo") for row in evaluation.rows(f"answer_claims.{name}")]

    def make() -> Scorer:
        scorer: Scorer = registry.create_from_spec("scorer", specs[0], context)
        scorer.take_rows(further if scorer.reads is AnswerClaim else ())
        return scorer

    scored = check_scorer(make, pairs)
    assert any(isinstance(one, tuple) for one in scored)


VERIFIERS: dict[str, dict[str, Any]] = {
    "lexical": {},
    "prompted": {"prompt": {"path": "zh/verify_claims.j2", "resolved_path": str(PROMPTS / "zh/verify_claims.j2")}},
}
"""The settings of an example of each kind of verifier."""


@pytest.mark.push
@pytest.mark.parametrize("kind", every("verifier"))
def test_verifier(sample: Sample, kind: str) -> None:
    """Each says something of every clause, in order, and works in another process."""
    assert sample.evaluation is not None
    words = [str(PROMPTS.parent / "recipes/claims/zh.yaml")]
    cls = load("verifier", kind)
    verifier: ClaimVerifier = cls(cls.spec_class.model_validate({"kind": kind, "words": words, **VERIFIERS[kind]}))
    verifier = pickle.loads(pickle.dumps(verifier))
    verifier.open()
    for item in sample.evaluation.rows("benchmark")[::40]:
        case = make_case(item, f"{item.payload.answer}不过，{item.payload.answer_wrong}")
        clauses = split_clauses(case.answer, verifier.words_of(case.answer))
        with pytest.raises(StopIteration) as ended:
            next(verifier.verify(case, clauses))
        parts = ended.value.value
        assert [part.clause for part in parts] == clauses
        assert {part.reason for part in parts} <= {"", *verifier.reasons}


def _similarity() -> dict[str, Any]:
    tokenizer = load("tokenizer", "jieba").spec_class(kind="jieba")
    return {"kind": "similarity", "aspect": "correctness", "measure": "rouge_l", "tokenizer": tokenizer}


@pytest.mark.parametrize("kind", in_tiers(every("judge")))  # pytest.mark.push, or pytest.mark.full
def test_judge(sample: Sample, kind: str, tmp_path: Path) -> None:
    evaluation = sample.evaluation
    assert evaluation is not None
    items = {item.id: item for item in evaluation.rows("benchmark")}
    answered = [answer for answer in evaluation.rows("answer.model_yi") if answer.text][:40]
    cases = [make_case(items[answer.of], answer.text) for answer in answered]
    examples = [
        Example(case, (place % 11) / 10, 1.0, answer.of, items[answer.of].fact, answer.model, answer.partition)
        for place, (case, answer) in enumerate(zip(cases, answered, strict=True))
    ]
    given = _similarity() if kind == "similarity" else _judge_example(kind, sample, tmp_path / "base")
    spec = load("judge", kind).spec_class.model_validate(given)
    (tmp_path / "judge").mkdir()
    found = check_judge(lambda: registry.create_from_spec("judge", spec), cases[:12], examples, tmp_path / "judge")
    assert len(found) == (0 if kind in ("prompted", "openai_finetuned") else 12)
