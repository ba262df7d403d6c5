"""The judge that learns in seconds: it judges by the evidence, and says the same whenever and wherever it is asked."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_world import ridge, trained_on, world

from benchbuilder.core.errors import DataError, InstallationError
from benchbuilder.evaluation.judge_training.examples import make_examples
from benchbuilder.evaluation.judge_training.splits import Split, split_examples
from benchbuilder.evaluation.judges.base import Case, Example
from benchbuilder.evaluation.judges.tfidf_ridge import RELATIONS, TfidfRidgeJudge, extract_features


def halves(**changes: Any) -> Split:
    made, evaluation = world(90), trained_on(split="by_question", **changes)
    assert evaluation.training is not None
    examples = make_examples(made.items, made.answers, made.scores, "correctness", evaluation.training)
    return split_examples(examples, evaluation.training, 1)


def learned(folder: Path, examples: tuple[Example, ...], **spec: Any) -> TfidfRidgeJudge:
    judge = TfidfRidgeJudge(ridge(**spec))
    judge.train(examples, (), folder, 1, lambda line: None)
    return judge


@pytest.fixture(scope="module")
def parts() -> Split:
    return halves()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("judge") / "final"


@pytest.fixture(scope="module")
def judge(parts: Split, folder: Path) -> TfidfRidgeJudge:
    return learned(folder, parts.training)


def accuracy(judge: TfidfRidgeJudge, held_out: tuple[Example, ...]) -> float:
    scores = np.array(judge.score([example.case for example in held_out]))
    targets = np.array([example.target for example in held_out])
    return float(((scores >= 0.5) == (targets >= 0.5)).mean())


def test_it_judges_facts_that_it_has_never_seen(judge: TfidfRidgeJudge, parts: Split):
    targets = np.array([example.target for example in parts.held_out])
    majority = max((targets >= 0.5).mean(), (targets < 0.5).mean())
    assert accuracy(judge, parts.held_out) > 0.95 > majority + 0.2


def test_without_paragraphs_it_cannot_tell_another_name(parts: Split, tmp_path: Path):
    blind = learned(tmp_path / "blind", parts.training, evidence=False)
    scores = dict(zip(parts.held_out, blind.score([example.case for example in parts.held_out]), strict=True))
    named = [(score, example.target) for example, score in scores.items() if "不" not in example.case.answer]
    assert abs(np.corrcoef(np.array(named).T)[0, 1]) < 0.5
    case = parts.held_out[0].case
    assert blind.score([case]) == blind.score([case.without_evidence()])


def test_a_negation_and_another_name_lower_the_score(judge: TfidfRidgeJudge, parts: Split):
    for example in parts.held_out:
        case = example.case
        right = replace(case, answer=case.right)
        scores = judge.score([right, replace(case, answer=case.right.replace("会", "不会")),
                              replace(case, answer=case.wrong)])  # fmt: skip
        assert scores[0] - max(scores[1:]) > 0.3


def test_what_means_the_same_scores_the_same(judge: TfidfRidgeJudge, parts: Split):
    for example in parts.held_out[:20]:
        case = example.case
        same = [
            replace(case, evidence=case.evidence[::-1]),
            replace(case, answer=f"  {case.answer}\u3000\n"),
            replace(case, answer=case.answer.replace("。", ".")),
            replace(case, evidence=(*case.evidence, case.evidence[0])),
        ]
        assert judge.score(same) == judge.score([case]) * len(same)


def test_alone_in_company_and_in_any_order(judge: TfidfRidgeJudge, parts: Split):
    cases = [example.case for example in parts.held_out]
    together = judge.score(cases)
    assert [judge.score([case])[0] for case in cases] == together
    mixed = list(range(len(cases)))
    random.Random(1).shuffle(mixed)
    assert judge.score([cases[place] for place in mixed]) == [together[place] for place in mixed]
    assert judge.score([]) == []


@pytest.mark.push
def test_after_reload_and_in_another_process(judge: TfidfRidgeJudge, folder: Path, parts: Split, tmp_path: Path):
    cases = [example.case for example in parts.held_out[:40]]
    again = TfidfRidgeJudge(ridge())
    again.open(folder)
    assert again.score(cases) == judge.score(cases)
    asked = tmp_path / "asked.json"
    rows = [[case.question, case.answer, case.evidence] for case in cases]
    asked.write_text(json.dumps([str(folder), ridge().model_dump(), rows]), encoding="utf-8")
    code = (
        "import json, sys; from pathlib import Path\n"
        "from benchbuilder.evaluation.judges.tfidf_ridge import TfidfRidgeJudge, TfidfRidgeSpec\n"
        "from benchbuilder.evaluation.judges.base import Case\n"
        "folder, spec, rows = json.loads(Path(sys.argv[1]).read_text(encoding='utf-8'))\n"
        "judge = TfidfRidgeJudge(TfidfRidgeSpec.model_validate(spec)); judge.open(Path(folder))\n"
        "print(json.dumps(judge.score([Case(q, a, tuple(e)) for q, a, e in rows])))\n"
        "assert 'sklearn' not in sys.modules and 'scipy' not in sys.modules\n"
    )
    told = subprocess.run([sys.executable, "-c", code, str(asked)], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout) == judge.score(cases)


def test_the_same_training_gives_the_same_bytes(parts: Split, folder: Path, judge: TfidfRidgeJudge, tmp_path: Path):
    learned(tmp_path / "again", parts.training)
    for name in ("ridge.npz", "ridge.json"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()
    assert not [path for path in folder.iterdir() if path.suffix in (".pkl", ".pickle", ".joblib")]


@pytest.mark.push
def test_the_penalty_is_chosen_without_the_held_out_examples(parts: Split, tmp_path: Path):
    facts = [
        TfidfRidgeJudge(ridge()).train(parts.training, held_out, tmp_path / name, 1, lambda line: None)
        for name, held_out in (("with", parts.held_out), ("without", ()))
    ]
    assert facts[0] == facts[1]
    errors: dict[str, float] = facts[0]["error_by_penalty"]
    assert f"{facts[0]['penalty']:g}" == min(errors, key=errors.__getitem__)


def test_weights_of_examples_count(parts: Split, tmp_path: Path):
    loud = tuple(replace(e, weight=1.0, target=1.0 - e.target) if e.synthetic else replace(e, weight=0.001)
                 for e in parts.training)  # fmt: skip
    assert accuracy(learned(tmp_path / "loud", loud), parts.held_out) < 0.5


def test_few_examples_and_equal_targets_are_no_trouble(parts: Split, tmp_path: Path):
    same = tuple(replace(example, target=0.8) for example in parts.training[:6])
    judge = learned(tmp_path / "same", same)
    assert judge.score([parts.held_out[0].case]) == pytest.approx([0.8], abs=1e-6)
    one = learned(tmp_path / "one", parts.training[:1])
    assert one.score([parts.held_out[0].case]) == pytest.approx([parts.training[0].target], abs=0.3)


def test_a_folder_without_a_judge_is_refused_with_a_way_on(tmp_path: Path, folder: Path, judge: TfidfRidgeJudge):
    with pytest.raises(DataError, match="cannot be read"):
        TfidfRidgeJudge(ridge()).open(tmp_path)
    with pytest.raises(DataError, match="must be trained"):
        TfidfRidgeJudge(ridge()).open(None)
    words = json.loads((folder / "ridge.json").read_text(encoding="utf-8"))
    (tmp_path / "ridge.npz").write_bytes((folder / "ridge.npz").read_bytes())
    (tmp_path / "ridge.json").write_text(json.dumps({**words, "format": 0}), encoding="utf-8")
    with pytest.raises(DataError, match="another version") as told:
        TfidfRidgeJudge(ridge()).open(tmp_path)
    assert "judge train" in told.value.next


@pytest.mark.usefixtures("judge")  # which writes the folder, whichever worker begins
@pytest.mark.parametrize(
    "damage",
    [
        {"coefficients": np.zeros(3)},
        {"centre": np.full(len(RELATIONS), np.nan)},
        {"rarity_answer": np.zeros(1)},
        {"width": np.zeros(len(RELATIONS))},
        {"intercept": np.array(np.inf)},
        {"intercept": np.zeros(2)},
        {"coefficients": np.array(["x"])},
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(tmp_path: Path, folder: Path, damage: dict[str, Any]):
    with np.load(folder / "ridge.npz") as arrays:
        np.savez(tmp_path / "ridge.npz", **{**dict(arrays), **damage})
    (tmp_path / "ridge.json").write_bytes((folder / "ridge.json").read_bytes())
    with pytest.raises(DataError, match="cannot be read"):
        TfidfRidgeJudge(ridge()).open(tmp_path)


@pytest.mark.usefixtures("judge")  # which writes the folder, whichever worker begins
@pytest.mark.parametrize("words", ["[]", '{"format": 1, "relations": [], "blocks": 3}', "null"])
def test_words_that_are_none_are_refused(tmp_path: Path, folder: Path, words: str):
    (tmp_path / "ridge.npz").write_bytes((folder / "ridge.npz").read_bytes())
    (tmp_path / "ridge.json").write_text(words, encoding="utf-8")
    with pytest.raises(DataError, match="cannot be read"):
        TfidfRidgeJudge(ridge()).open(tmp_path)


@pytest.mark.usefixtures("judge")  # once something was learned, all libraries with threads are there
def test_training_takes_one_thread_and_gives_the_others_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from threadpoolctl import threadpool_info, threadpool_limits

    from benchbuilder.evaluation.judges import tfidf_ridge

    fit, seen = tfidf_ridge._fit, set[int]()

    def spy(*args: Any) -> Any:
        seen.update(pool["num_threads"] for pool in threadpool_info())
        return fit(*args)

    monkeypatch.setattr(tfidf_ridge, "_fit", spy)

    with threadpool_limits(2):
        before = [pool["num_threads"] for pool in threadpool_info()]
        learned(tmp_path, halves().training)
        assert [pool["num_threads"] for pool in threadpool_info()] == before
    assert seen == {1}


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(InstallationError, match=r"needs sklearn, which is not installed\n.*benchbuilder\[judge\]"):
        TfidfRidgeJudge(ridge()).ready()


TEXT = st.text(st.sampled_from("会不引起甲乙丙丁，。？ \nAｂ1!"), max_size=30)


@pytest.mark.push
@settings(max_examples=150)
@given(TEXT, TEXT, st.lists(TEXT, max_size=4), st.randoms())
def test_any_texts_can_be_seen_and_scored(
    judge: TfidfRidgeJudge, question: str, answer: str, evidence: list[str], rng: random.Random
):
    case = Case(question, answer, tuple(evidence))
    seen = extract_features(case, 2)
    assert len(seen.relations) == len(RELATIONS)
    assert np.isfinite(seen.relations).all()
    (score,) = judge.score([case])
    assert 0 <= score <= 1
    assert judge.score([replace(case, evidence=tuple(rng.sample(evidence, len(evidence))))]) == [score]


def test_a_lone_negation_is_all_that_differs():
    case = Case("甲会引起什么？", "甲不会引起乙。", ("临床上，甲会引起乙，应当处理。", "丙与丁无关。"))
    assert set(extract_features(case, 2).blocks["added"]) == {"不", "甲不", "不会"}
    assert set(extract_features(replace(case, answer="甲会引起乙。"), 2).blocks["added"]) == set()
    lost = extract_features(replace(case, answer="甲引起乙。"), 2).blocks["lost"]
    assert set(lost) == {"会", "甲会", "会引"}


def test_a_verdict_is_seen_beside_what_the_question_has_beyond_the_evidence():
    case = Case("甲不会引起乙吗？", "是的。", ("甲会引起乙。",))
    assert "是|不" in extract_features(case, 2).blocks["verdict"]
    assert extract_features(replace(case, question="甲会引起乙"), 2).blocks["verdict"].keys() == {"是|", "的|", "是的|"}
