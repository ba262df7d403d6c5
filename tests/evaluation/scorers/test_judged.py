"""The scorer `judged`: a judge's scores with its intervals, and only for what the judge was made for."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from judge_world import EVALUATION, World, answer, ridge, trained_on, world

from benchbuilder.config.spec.base import FileRef, KindSpec
from benchbuilder.core import registry
from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.outcomes import Dropped, NotApplicable
from benchbuilder.evaluation.judge_training.storage import load_validation_run
from benchbuilder.evaluation.judge_training.train import train_judge
from benchbuilder.evaluation.judges.base import AskingJudge, Case, JudgeSpec, ScoringJudge, make_case
from benchbuilder.evaluation.scorers.base import AspectScore
from benchbuilder.evaluation.scorers.judged import JudgedScorer, JudgedSpec
from benchbuilder.models.base import Message, Reply, Request

CONTEXT = StepContext(seed=1, language="zh", step="judge_ridge.alpha", cache=Path("none"), workplace=Path("none"))


@pytest.fixture(scope="module")
def made() -> World:
    return world(50)


@pytest.fixture(scope="module")
def rubric(tmp_path_factory: pytest.TempPathFactory) -> FileRef:
    path = tmp_path_factory.mktemp("rubric") / "rubric.md"
    path.write_text("1: right", encoding="utf-8")
    return FileRef(path="rubric.md", resolved_path=str(path))


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory, made: World, rubric: FileRef) -> Path:
    folder = tmp_path_factory.mktemp("judges")
    evaluation = EVALUATION.model_copy(update={"rubric": rubric})
    train_judge("ridge", ridge(), made, evaluation, folder, language="zh", seed=1, note=lambda line: None)
    return folder


def scorer(judges: Path, rule: FileRef | None, **other: Any) -> JudgedScorer:
    fields = {"kind": "judged", "judge": ridge(), "folder": str(judges / "ridge"), "language": "zh", "rubric": rule}
    return JudgedScorer(JudgedSpec.model_validate({**fields, **other}), CONTEXT)


@pytest.mark.push
def test_it_scores_what_the_final_judge_scores(judges: Path, rubric: FileRef, made: World):
    judged = pickle.loads(pickle.dumps(scorer(judges, rubric)))
    judged.open()
    items = {item.id: item for item in made.items}
    pairs = [(said, items[said.of]) for said in made.answers]
    found = list(judged.score(pairs))
    final = registry.create_from_spec("judge", ridge())
    final.open(judges / "ridge" / "final")
    values = final.score([make_case(item, said.text) for said, item in pairs])
    half = load_validation_run(judges, "ridge", open_judge=False).card["conformal"]["half_width"]
    for scored, value in zip(found, values, strict=True):
        (mark,) = scored
        low, high = max(0.0, value - half), min(1.0, value + half)
        assert mark == AspectScore("correctness", value, "learned", f"{low:.3f}..{high:.3f}")
    assert list(judged.score(pairs[7:9])) == found[7:9]


def test_answers_that_the_judge_did_not_learn_from_are_told_apart(judges: Path, rubric: FileRef, made: World):
    judged, item = scorer(judges, rubric), made.items[0]
    judged.open()
    seen, new = made.answers[0], answer(item, "beta", "这是训练时没有见过的一句话。")
    items = {item.id: item for item in made.items}
    labels = [scored[0].label for scored in judged.score([(seen, items[seen.of]), (new, item)])]
    assert labels == ["learned", ""]
    statement = answer(item, "best_evidence", item.payload.answer_wrong)
    assert [scored[0].label for scored in judged.score([(statement, item)])] == ["learned"]


def test_a_judge_that_was_changed_since_scores_nothing(judges: Path, rubric: FileRef, tmp_path: Path):
    shutil.copytree(judges / "ridge", tmp_path / "ridge")
    scorer(tmp_path, rubric).open()
    words = tmp_path / "ridge" / "final" / "ridge.json"
    words.write_text(words.read_text(encoding="utf-8").replace("会", "不", 1), encoding="utf-8")
    with pytest.raises(DataError, match="was changed since it was trained"):
        scorer(tmp_path, rubric).open()


def test_who_says_nothing_gains_nothing(judges: Path, rubric: FileRef, made: World):
    judged, item = scorer(judges, rubric), made.items[0]
    judged.open()
    rows = [answer(item, "alpha", text).model_copy(update={"outcome": outcome}) for text, outcome in (
        ("", "refused"), (" \n\u200b\u2060", "complete"), ("", "missing"), (item.payload.answer, "truncated"),
    )]  # fmt: skip
    refused, blank, missing, cut = judged.score([(row, item) for row in rows])
    assert refused == (AspectScore("correctness", 0.0, "refused"),)
    assert blank == (AspectScore("correctness", 0.0, "empty"),)
    assert missing == NotApplicable("missing")
    assert isinstance(cut, tuple)
    assert cut[0].label == "truncated"
    assert cut[0].value is not None
    assert cut[0].value > 0.5


def test_it_refuses_another_language_or_rubric_unless_told_to(judges: Path, rubric: FileRef, tmp_path: Path):
    other = tmp_path / "rubric.md"
    other.write_text("1: polite", encoding="utf-8")
    for wrong, told in (
        ({"language": "en"}, "made for answers in 'zh', these are in 'en'"),
        ({"rubric": FileRef(path=str(other))}, "another rubric"),
        ({"rubric": None}, "another rubric"),
    ):
        with pytest.raises(DataError) as refused:
            scorer(judges, rubric, **wrong).fingerprint()
        assert told in str(refused.value)
        assert "evaluation.any_rubric=true" in refused.value.next
        with pytest.raises(DataError):
            scorer(judges, rubric, **wrong).open()
        scorer(judges, rubric, **wrong, anyway=True).open()
    same = tmp_path / "moved.md"
    same.write_text("1: right", encoding="utf-8")
    scorer(judges, FileRef(path=str(same))).open()


def test_it_refuses_what_is_not_trained_or_was_trained_otherwise(judges: Path, rubric: FileRef, tmp_path: Path):
    with pytest.raises(DataError, match="'none' is not trained yet"):
        scorer(judges, rubric, folder=str(tmp_path / "none")).fingerprint()
    with pytest.raises(DataError, match="trained with other settings") as told:
        scorer(judges, rubric, judge=ridge(longest=1)).fingerprint()
    assert "judge train ridge" in told.value.next


@pytest.mark.push
def test_what_was_learned_is_in_the_key_and_where_it_lies_is_not(
    judges: Path, rubric: FileRef, made: World, tmp_path: Path
):
    evaluation = EVALUATION.model_copy(update={"rubric": rubric})
    for name, spec in (("same", evaluation), ("other", trained_on(synthetic=()).model_copy(update={"rubric": rubric}))):
        train_judge("ridge", ridge(), made, spec, tmp_path / name, language="zh", seed=1, note=lambda line: None)
    prints = [dict(scorer(place, rubric).fingerprint()) for place in (judges, tmp_path / "same", tmp_path / "other")]
    assert prints[0] == prints[1]
    assert prints[0]["what the judge learned"] != prints[2]["what the judge learned"]
    assert "scikit-learn" in prints[0]


class Counting(ScoringJudge):
    kind = "counting"
    spec_class = JudgeSpec

    def open(self, folder: Path | None) -> None:
        assert folder is None

    def score(self, cases: Any) -> list[float]:
        return [len(case.evidence) / 10 for case in cases]


class Curious(AskingJudge):
    kind = "curious"
    spec_class = JudgeSpec
    reasons = {"mumbled": "It said nothing that is a score."}

    @property
    def model_spec(self) -> KindSpec | None:
        return KindSpec(kind="none")

    def converse(self, case: Case) -> Generator[Request, Reply, float | Dropped]:
        reply = yield Request(messages=(Message(role="user", content=case.answer),))
        return float(reply.text) if reply.text != "?" else Dropped("mumbled", reply.text)


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"counting": Counting, "curious": Curious}
    monkeypatch.setattr(
        "benchbuilder.evaluation.scorers.judged.create_from_spec", lambda slot, spec: made[spec.kind](spec)
    )


def other(kind: str, **fields: Any) -> JudgedScorer:
    spec = JudgeSpec(kind=kind, aspect="correctness", **fields)
    return JudgedScorer(JudgedSpec(kind="judged", judge=spec, language="en"), CONTEXT)


@pytest.mark.usefixtures("untrained")
def test_a_judge_without_training_scores_any_language_and_is_given_paragraphs_if_it_wants_them(made: World):
    for evidence, value in ((True, 0.2), (False, 0.0)):
        judged = other("counting", evidence=evidence)
        judged.open()
        assert list(judged.score([(made.answers[0], made.items[0])])) == [(AspectScore("correctness", value),)]
        assert judged.model_spec is None


@pytest.mark.usefixtures("untrained")
def test_a_judge_that_asks_is_conversed_with(made: World):
    judged = other("curious")
    judged.open()
    assert judged.model_spec == KindSpec(kind="none")
    assert set(judged.reasons) == {"missing", "mumbled", "other_type"}
    for text, wanted in (("0.25", (AspectScore("correctness", 0.25),)), ("?", Dropped("mumbled", "?"))):
        talk = judged.converse(made.answers[0], made.items[0])
        assert next(talk).messages[0].content == made.answers[0].text
        with pytest.raises(StopIteration) as end:
            talk.send(Reply(text=text, outcome="complete"))
        assert end.value.value == wanted
    empty = judged.converse(made.answers[0].model_copy(update={"text": "", "outcome": "filtered"}), made.items[0])
    with pytest.raises(StopIteration) as end:
        next(empty)
    assert end.value.value == (AspectScore("correctness", 0.0, "filtered"),)
    with pytest.raises(TypeError):
        list(judged.score([]))


@pytest.mark.usefixtures("untrained")
def test_a_judge_does_not_see_the_thoughts_before_an_answer(made: World):
    judged = other("curious")
    judged.open()
    said = made.answers[0]

    def asked(text: str) -> Request | None:
        return next(judged.converse(said.model_copy(update={"text": text}), made.items[0]), None)

    plain = asked(said.text)
    assert plain is not None
    for thoughts in ("<think>会吗？</think>", "<|channel|>analysis<|message|>会吗？<|channel|>final<|message|>"):
        assert asked(thoughts + said.text) == plain
    with pytest.raises(StopIteration) as end:
        judged.converse(said.model_copy(update={"text": f"<think>{said.text}"}), made.items[0]).send(None)
    assert end.value.value == (AspectScore("correctness", 0.0, "empty"),)
