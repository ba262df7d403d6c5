"""``benchbuild judge`` on the bundled sample: train, score a file, and what is said where it cannot go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from once import BUILT, Once

from benchbuilder.cli.dispatch import main

RECIPE = ["recipe=care_mi", "evaluation.training.ablations=[]"]
NAME = "ridge_correctness"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, once: Once) -> Path:
    """A folder with the sample's build and a trained judge."""
    return once.copied((*BUILT, f"judge train {NAME} {' '.join(RECIPE)}"), tmp_path_factory.mktemp("judges"))


@pytest.fixture
def here(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(built)
    return built


def said(capsys: pytest.CaptureFixture[str]) -> str:
    both = capsys.readouterr()
    return " ".join((both.out + both.err).split())


def test_training_says_what_it_did_and_does_nothing_twice(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["judge", "train", NAME, *RECIPE]) == 0
    assert f"{NAME}: already trained, with the same settings and ratings" in said(capsys)
    before = (here / "builds/care_mi/judges" / NAME / "card.json").read_bytes()
    assert main(["judge", "train", NAME, "--again", *RECIPE]) == 0
    told = said(capsys)
    assert f"{NAME} (tfidf_ridge, correctness): trained on " in told
    assert "held out: Pearson 0." in told
    assert "The bundled ratings are illustrative" in told
    assert (here / "builds/care_mi/judges" / NAME / "card.json").read_bytes() == before


@pytest.mark.push
def test_a_file_of_answers_gets_scores_and_intervals(here: Path, capsys: pytest.CaptureFixture[str]):
    sample = Path(__file__).parents[2] / "recipes/recipe/care_mi/sample/model_answers.jsonl"
    rows = [json.loads(line) for line in sample.read_text(encoding="utf-8").splitlines()[:50]]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (here / "mine.jsonl").write_text(lines, encoding="utf-8")
    assert main(["judge", "score", NAME, "mine.jsonl", *RECIPE]) == 0
    assert f"50 answers scored by {NAME}, each ± 0." in said(capsys)
    scored = [json.loads(line) for line in (here / f"mine.{NAME}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [{name: row[name] for name in rows[0]} for row in scored] == rows
    assert {row["label"] for row in scored} <= {"learned", ""}
    assert any(row["label"] == "learned" for row in scored)
    assert all(0 <= row["low"] <= row["score"] <= row["high"] <= 1 for row in scored)
    assert main(["judge", "score", NAME, "mine.jsonl", "--output", "mine.csv", *RECIPE]) == 0
    assert (here / "mine.csv").read_text(encoding="utf-8").count("model_jia") >= 5


@pytest.mark.push
def test_a_judge_refuses_another_rubric_and_a_warning_tells_of_other_settings(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    (here / "one.csv").write_text("question,answer\n胎动减少怎么办？,应当及时就医。\n", encoding="utf-8")
    (here / "rubric.md").write_text("other\n", encoding="utf-8")
    words = ["judge", "score", NAME, "one.csv", *RECIPE]
    assert main([*words, "evaluation.rubric=rubric.md"]) == 3
    told = said(capsys)
    assert "was made for something else" in told
    assert "--anyway" in told
    assert main([*words, "evaluation.rubric=rubric.md", "--anyway"]) == 0
    assert main([*words, "evaluation.rubric=rubric.md", "evaluation.any_rubric=true"]) == 0
    capsys.readouterr()
    assert main([*words, f"evaluation.judges.{NAME}.longest=1"]) == 0
    assert f"warning: {NAME} was trained with other settings" in said(capsys)


@pytest.mark.push
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["train", "ridge_correctnes"], 2, f"did you mean '{NAME}'?"),
        (["score", NAME], 2, "benchbuild judge score NAME FILE recipe=..."),
        (["score", NAME, "none.jsonl"], 3, "cannot read none.jsonl"),
        (["score", "ridge_interpretability", "none.jsonl"], 3, "is not trained yet"),
        (["report", "ridge_interpretability"], 3, "benchbuild judge train ridge_interpretability"),
    ],
)
def test_what_cannot_be_done_is_said_with_a_way_on(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, told: str
):
    assert main(["judge", *words, *RECIPE]) == code
    assert told in said(capsys)


LOCAL = """# @package _global_
defaults:
  - /judge@evaluation.judges.encoder_correctness: encoder
  - _self_
evaluation:
  judges:
    encoder_correctness: {path: net, max_length: 24, epochs: 1, batch_size: 64, device_batch_size: 64}
"""
JUDGES = Path("builds/care_mi/judges")


@pytest.mark.full
def test_a_judge_whose_model_lies_beside_the_recipe_is_trained_and_reported_on(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    shutil.copytree(built, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    Path("recipes/local").mkdir(parents=True)
    Path("recipes/local/default.yaml").write_text(LOCAL, encoding="utf-8")
    assert main(["judge", "train", "encoder_correctness", *RECIPE]) == 3
    assert "the folder of the model to start from does not exist" in said(capsys)
    import tiny_judges as tiny  # it imports PyTorch, which other tests of this file do without

    tiny.roberta(Path("recipes/local/net"))
    assert main(["judge", "train", "encoder_correctness", *RECIPE]) == 0, said(capsys)
    names = ["encoder_correctness", NAME]
    quick = [*RECIPE, "evaluation.bootstrap.samples=100"]
    assert main(["judge", "report", *names, *quick]) == 0, said(capsys)
    told = said(capsys)
    assert "cannot be asked" not in told
    assert "warning" not in told
    (JUDGES / "encoder_correctness/held_out/judge.json").write_text("{}", encoding="utf-8")
    assert main(["judge", "report", *names, *quick]) == 0
    assert "note: encoder_correctness cannot be opened, so it gets no robustness card: the judge 'encoder_cor" in said(
        capsys
    )
    page = JUDGES / "judges_encoder_correctness-ridge_correctness.json"
    told_of = json.loads(page.read_text(encoding="utf-8"))
    assert set(told_of["judges"]) == set(names)
    assert list(told_of["aspects"][0]["robustness"]) == [NAME]
    (JUDGES / "encoder_correctness/predictions.parquet").write_bytes(b"no")
    assert main(["judge", "report", *names, *quick, "evaluation.probes=null"]) == 0
    assert "note: encoder_correctness is left out: the predictions of the judge" in said(capsys)
    assert set(json.loads(page.read_text(encoding="utf-8"))["judges"]) == {NAME}
    assert not (JUDGES / "judges.json").exists()


@pytest.mark.push
def test_settings_of_training_that_changed_are_warned_of(here: Path, capsys: pytest.CaptureFixture[str]):
    quiet = [*RECIPE, "evaluation.probes=null"]
    words = [*quiet, "evaluation.training.split=by_model", "evaluation.bootstrap.level=0.9"]
    keys = "(evaluation.training.split, evaluation.bootstrap.level)"
    assert main(["judge", "report", NAME, *words]) == 0
    assert f"warning: {NAME} was trained with other settings than the recipe has now {keys}" in said(capsys)
    assert main(["judge", "report", NAME, *quiet]) == 0
    assert "warning" not in said(capsys)
    assert main(["evaluate", "--quote", *words]) == 0
    assert f"{keys}: its scores go by those until it is trained again" in said(capsys)


@pytest.mark.push
def test_a_judge_that_was_changed_since_it_was_trained_scores_nothing(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    shutil.copytree(built, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    Path("one.csv").write_text("question,answer\n胎动减少怎么办？,应当及时就医。\n", encoding="utf-8")
    with (JUDGES / NAME / "final/ridge.json").open("a", encoding="utf-8") as stream:
        stream.write("\n")
    assert main(["judge", "score", NAME, "one.csv", *RECIPE]) == 3
    assert "was changed since it was trained" in said(capsys)
    card = json.loads((JUDGES / NAME / "card.json").read_text(encoding="utf-8"))
    del card["conformal"]
    (JUDGES / NAME / "card.json").write_text(json.dumps(card), encoding="utf-8")
    for action in (["score", NAME, "one.csv"], ["report", NAME]):
        assert main(["judge", *action, *RECIPE]) == 3
        assert "its content does not have its checksum" in said(capsys)


@pytest.mark.push
def test_a_report_on_trained_judges_plans_no_evaluation(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("benchbuilder.cli.judge.plan_evaluation", None)
    assert main(["judge", "report", NAME, *RECIPE, "evaluation.probes=null"]) == 0


@pytest.mark.parametrize(("settings", "first"), [("zh_prompted", "prompted"), ("zh_finetuned", "tuned")])
def test_a_judge_gets_its_model_by_the_words_that_are_named(
    here: Path, capsys: pytest.CaptureFixture[str], settings: str, first: str
):
    recipe = ["recipe=care_mi", f"evaluation=[zh_claims,{settings}]"]
    assert main(["evaluate", "--quote", *recipe]) == 0
    told = said(capsys)
    models = {}
    for aspect in ("correctness", "interpretability"):
        key = f"evaluation.judges.{first}_{aspect}.model"
        assert f"model@{key}=openai {key}.name=NAME" in told
        models[aspect] = [f"model@{key}=openai", f"{key}.name=of_{aspect}"]
    assert main(["show", "evaluation.judges", *recipe, *models["correctness"]]) == 0
    assert said(capsys).count("name: of_correctness") == 2
    assert main(["show", "evaluation.judges", *recipe, *models["correctness"], *models["interpretability"]]) == 0
    told = said(capsys)
    assert told.count("name: of_correctness") == told.count("name: of_interpretability") == 1


def test_a_judge_that_others_trained_is_compared_with_the_people_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    plain = ["recipe=care_mi", "annotation=none", "audit.permutations=99"]
    few = [f"evaluation.judges.{NAME}.{word}" for word in ("folds=2", "penalties=[1]", "most=500")]
    few += ["evaluation.training.ablations=[]", "evaluation.bootstrap.samples=100", "evaluation.probes=null"]
    rated = {}
    for source in ("mlecqa", "bios"):
        words = [*plain, f"source=[{source}]", f"run.dir={source}"]
        assert main(words) == 0
        rate_statements(tmp_path / source)
        files = [f"paths.model_answers={source}/answers.jsonl", f"paths.ratings={source}/ratings.csv"]
        rated[source] = [*words, *files, *few]
    assert main(["judge", "train", NAME, *rated["mlecqa"]]) == 0
    shutil.copytree("mlecqa/judges", "bios/judges")
    capsys.readouterr()
    assert main(["judge", "report", NAME, *rated["bios"]]) == 0
    assert f"{NAME} was trained for other items: the report compares it with the people who rated" in said(capsys)
    page = Path(f"bios/judges/judges_{NAME}.md").read_text(encoding="utf-8")
    assert "Trained for another benchmark" in page
    assert "mlecqa (where it was trained)" in page
    ours = [word for word in rated["bios"] if not word.startswith("paths.ratings")]
    Path("none.csv").write_text("id,model,correctness.rater_1\n", encoding="utf-8")
    assert main(["judge", "report", NAME, *ours, "paths.ratings=none.csv"]) != 0
    assert "correctness" in said(capsys)


def rate_statements(build: Path) -> None:
    """Write answers of three models, which say a right or wrong statement of an item, and three people's ratings."""
    items = [json.loads(line) for line in (build / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    answers, ratings = [], ["id,model," + ",".join(f"correctness.rater_{n}" for n in (1, 2, 3))]
    for number, item in enumerate(items):
        for turn, model in enumerate(("alpha", "beta", "gamma")):
            side, value = (("answer", 0.9), ("answer-wrong", 0.1))[(number + turn) % 2]
            answers.append(json.dumps({"id": item["id"], "model": model, "answer": item[side]}, ensure_ascii=False))
            ratings.append(f"{item['id']},{model}," + ",".join(f"{value + more:.1f}" for more in (-0.1, 0.0, 0.1)))
    (build / "answers.jsonl").write_text("\n".join(answers) + "\n", encoding="utf-8")
    (build / "ratings.csv").write_text("\n".join(ratings) + "\n", encoding="utf-8")


@pytest.mark.push
def test_a_file_is_not_written_over_itself(here: Path, capsys: pytest.CaptureFixture[str]):
    (here / "self.csv").write_text("question,answer\nq,a\n", encoding="utf-8")
    assert main(["judge", "score", NAME, "self.csv", "--output", "./self.csv", *RECIPE]) == 2
    assert "the output would overwrite the input" in said(capsys)


@pytest.mark.push
def test_a_recipe_without_evaluation_and_a_folder_without_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main(["judge", "train", *RECIPE]) == 3
    assert "build the benchmark first" in said(capsys)
    assert main(["judge", "train", "recipe=care_mi", "evaluation=[]"]) == 2
    assert "this recipe has no evaluation" in said(capsys)
