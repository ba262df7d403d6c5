"""``benchbuild evaluate`` and ``benchbuild results`` on the bundled sample."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from once import EVALUATED, Once

from benchbuilder.annotation.review_projects import rating_tasks
from benchbuilder.cli.dispatch import main
from benchbuilder.config.load import load_recipe
from benchbuilder.evaluation.baselines.recorded import recorded_answer_models
from benchbuilder.testing import FakeOpenAI, fake_openai_server

RECIPE = ["recipe=care_mi", "evaluation.judges=null"]
SECRET = "sk-this-is-a-secret"
STORE = Path("builds/care_mi/evaluation")


@pytest.fixture(scope="module")
def evaluated(once: Once) -> Path:
    """A folder with the sample's build and its evaluation."""
    return once.after((*EVALUATED, f"evaluate {' '.join(RECIPE)}"))


@pytest.fixture
def here(evaluated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it as the current folder."""
    shutil.copytree(evaluated, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    return tmp_path / "work"


@pytest.fixture(scope="module")
def service() -> Iterator[FakeOpenAI]:
    with fake_openai_server({"fixed": "是的。", "keep_bodies": True}) as server:
        yield server


@pytest.fixture
def server(service: FakeOpenAI) -> FakeOpenAI:
    service.reset()
    return service


def said(capsys: pytest.CaptureFixture[str]) -> str:
    both = capsys.readouterr()
    return " ".join((both.out + both.err).split())


def model(name: str, server: FakeOpenAI) -> list[str]:
    key = f"evaluation.models.{name}"
    return [f"{key}.kind=openai", f"{key}.name={name}", f"{key}.base_url={server.base_url}"]


@pytest.mark.push
def test_an_evaluation_says_what_it_did_and_runs_nothing_twice(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["evaluate", "-v", *RECIPE]) == 0
    told = said(capsys)
    assert "10 systems on 390 items, in builds/care_mi/evaluation" in told
    assert "answer.echo reused" in told
    assert "built" not in told
    assert "illustrative, not checked by experts" in told
    assert "next: open builds/care_mi/evaluation/results.html in a browser" in told
    assert "next: benchbuild analyse, with the same arguments, says what these answers show" in told


@pytest.mark.push
def test_the_books_of_an_evaluation_balance(here: Path):
    """Every item is answered by everybody, and every answer has a score or a reason."""
    for place in (STORE / "store/steps").glob("*/*/manifest.json"):
        manifest = json.loads(place.read_text(encoding="utf-8"))
        if manifest["step"].startswith("answer."):
            assert (manifest["rows"], sum(n for *_, n in manifest["counts"])) == (390, 390)
        elif manifest["step"].startswith("verdict."):
            assert sum(n for *_, n in manifest["counts"]) == 390


@pytest.mark.push
def test_without_a_build_there_is_nothing_to_evaluate_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", *RECIPE]) == 3
    told = said(capsys)
    assert "there is nothing to evaluate on: builds/care_mi is not built yet" in told
    assert "build the benchmark first" in told


def test_a_model_of_the_command_line_is_asked_and_a_quote_asks_nobody(
    here: Path, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
):
    words = ["recipe=care_mi", "evaluation.judges=null", "model=openai", "model.name=Some/Model-1",
             f"model.base_url={server.base_url}"]  # fmt: skip
    assert main(["evaluate", "--quote", *words]) == 0
    assert "answer.some_model_1" in said(capsys)
    assert main(["results", *words]) == 0
    assert not server.log(), "neither a quote nor a report asks a model"
    assert main(["evaluate", *words]) == 0
    assert "390 replies by Some/Model-1" in said(capsys)
    asked = [entry["body"]["messages"] for entry in server.log()]
    assert len(asked) == 390
    assert all(len(messages) == 1 and messages[0]["role"] == "user" for messages in asked)
    assert "some_model_1" in (STORE / "results.html").read_text(encoding="utf-8")
    assert main(["evaluate", *words]) == 0
    assert len(server.log()) == 390
    assert SECRET not in (STORE / "recipe.yaml").read_text(encoding="utf-8")


def test_replies_that_were_cut_off_are_told_above_the_figures(
    here: Path, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
):
    server.configure(rules=[{"do": "truncate", "when": {"share": 0.5}}])
    words = ["recipe=care_mi", "evaluation.judges=null", "model=openai", "model.name=short",
             f"model.base_url={server.base_url}", "evaluation.sampling.max_new_tokens=16"]  # fmt: skip
    assert main(["evaluate", *words]) == 0
    server.configure(rules=[])
    told = said(capsys)
    warned = re.search(r"warning: short: (\d+) of 390 replies hit the limit of 16 tokens", told)
    assert warned is not None, told
    assert 0 < int(warned[1]) < 390
    assert warned.start() < told.index("tf accuracy:")
    page = (STORE / "results.zh.html").read_text(encoding="utf-8")
    assert f"short：390 条回复中有 {warned[1]} 条达到 16 个词元的上限" in page


def test_several_models_and_a_cap_that_stops_them(here: Path, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]):
    words = [*RECIPE, "evaluation.baselines=null", "evaluation.answers=null", *model("one", server),
             *model("two", server)]  # fmt: skip
    assert main(["evaluate", *words, "budget.tokens=3000"]) == 4
    told = said(capsys)
    assert "budget.tokens" in told
    first = len(server.log())
    assert 0 < first < 2 * 390
    assert main(["evaluate", *words]) == 0
    bodies = {(entry["body"]["model"], entry["body"]["messages"][0]["content"]) for entry in server.log()}
    assert len(bodies) == len(server.log()) == 2 * 390, "what was paid for before the cap is not asked again"


@pytest.mark.push
def test_results_stay_where_a_model_cannot_be_asked(here: Path, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]):
    before = (STORE / "results.html").read_bytes()
    server.configure(api_key="sk-another-key")
    try:
        assert main(["evaluate", *RECIPE, *model("one", server)]) == 4
    finally:
        server.configure(api_key=None)
    told = said(capsys)
    assert "does not accept the key" in told
    assert "removed outdated" not in told
    assert (STORE / "results.html").read_bytes() == before


@pytest.mark.push
def test_a_setting_that_a_model_does_not_know_is_told_before_anything_is_asked(
    here: Path, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
):
    words = [*RECIPE, *model("one", server), "evaluation.sampling_of.one.no_repeat_ngram_size=3"]
    assert main(["evaluate", *words]) == 2
    assert "no_repeat_ngram_size" in said(capsys)
    assert main(["evaluate", *RECIPE, "evaluation.sampling_of.other.temperature=0.1"]) == 2
    assert "no model of this name is asked" in said(capsys)
    assert not server.log()


def test_a_model_of_the_group_can_be_added_with_a_plus_and_keeps_what_is_not_overridden(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    words = ["+model@evaluation.models.mini=openai", "evaluation.models.mini.name=gpt-4o-mini",
             "evaluation.sampling_of.mini.temperature=0.01"]  # fmt: skip
    assert main(["evaluate", "--quote", *RECIPE, *words]) == 0
    told = said(capsys)
    assert "answer.mini gpt-4o-mini 390" in told
    assert "if all are long 390" in told, "the limit of new tokens stays, although the temperature was overridden"
    assert "798,720" in told
    assert main(["evaluate", "--quote", *RECIPE, "model=none"]) == 0
    assert "nothing to pay" in said(capsys)


@pytest.mark.push
def test_what_is_misunderstood_is_told(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["evaluate", *RECIPE, "--expected", "no"]) == 2
    assert "--benchmark FILE" in said(capsys)
    assert main(["evaluate", *RECIPE, "--benchmark", "nowhere.tsv"]) == 3
    assert "evaluation.benchmark.path: nowhere.tsv is missing" in said(capsys)


@pytest.mark.push
def test_two_who_answer_cannot_have_one_name(here: Path, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]):
    assert main(["evaluate", *RECIPE, *model("echo", server)]) == 2
    assert "two models or baselines have the name 'echo'" in said(capsys)


def test_a_benchmark_of_others_is_evaluated_beside_ours(here: Path, capsys: pytest.CaptureFixture[str]):
    shutil.copy("builds/care_mi/items.tsv", "theirs.tsv")
    assert main(["evaluate", *RECIPE, "--benchmark", "theirs.tsv"]) == 0
    told = said(capsys)
    assert "4 systems on 390 items" in told, (
        "answers, ratings and figures that came with the recipe are of its own items"
    )
    assert "illustrative" not in told
    (theirs,) = STORE.parent.glob("evaluation-theirs-*")
    first = [(folder / "results.md").read_text(encoding="utf-8").splitlines()[2] for folder in (STORE, theirs)]
    assert first[0] == first[1]
    assert "一律答“是”对" in first[0]
    assert main(["results", *RECIPE, "--beside", str(theirs)]) == 0
    assert (STORE / "beside.html").exists()
    assert main(["results", *RECIPE, "--beside", "nowhere"]) == 3
    assert "has no results" in said(capsys)


def test_two_benchmarks_of_one_name_do_not_share_a_folder(here: Path, capsys: pytest.CaptureFixture[str]):
    for place in ("a", "b"):
        Path(place).mkdir()
        Path(f"{place}/基准.tsv").write_text(f"q-type\tfull-question\texpected\nTF\t{place}？\tyes\n", encoding="utf-8")
        assert main(["evaluate", *RECIPE, "evaluation.outputs=null", "--benchmark", f"{place}/基准.tsv"]) == 0
    assert len(list(STORE.parent.glob("evaluation-benchmark-*"))) == 2


def test_a_benchmark_without_a_row_that_can_be_used_is_an_error(here: Path, capsys: pytest.CaptureFixture[str]):
    Path("none.tsv").write_text("q-type\tfull-question\nXX\tWhat?\n", encoding="utf-8")
    assert main(["evaluate", *RECIPE, "--benchmark", "none.tsv"]) == 3
    told = said(capsys)
    assert "no row of the benchmark could be used" in told
    assert "unknown_type 1" in told
    Path("some.tsv").write_text("q-type\tfull-question\nXX\tWhat?\nTF\tIs it?\n", encoding="utf-8")
    assert main(["evaluate", *RECIPE, "--benchmark", "some.tsv"]) == 0
    assert " warning: 1 of 2 rows of the benchmark were not used: unknown_type 1 (" in said(capsys)


@pytest.mark.push
def test_items_of_other_words_are_not_evaluated_on(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["evaluate", *RECIPE, "steps.candidates.wrong_tf=[negated]"]) == 3
    told = said(capsys)
    assert "the items in builds/care_mi were built with other settings than the recipe has now" in told
    assert "build first, with the arguments of this command" in told


def test_people_get_a_sheet_and_their_answers_count(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["evaluate", *RECIPE, "--sheet", "people.csv"]) == 0
    assert "200 questions to answer in people.csv" in said(capsys)
    assert main(["evaluate", *RECIPE, "--sheet", "people.csv"]) == 3
    assert "people may have filled it in" in said(capsys)
    with Path("people.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 200
    for row in rows[:30]:
        row |= {"answer": "是的。", "person": "w1"}
    with Path("people.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert main(["evaluate", *RECIPE, "paths.human_answers=people.csv"]) == 0
    answers = Path(STORE / "results_tables/answers.csv").read_text(encoding="utf-8")
    (people,) = [line for line in csv.DictReader(answers.splitlines()) if "people" in line.values()]
    assert "30" in people.values()


@pytest.mark.push
def test_answers_are_written_for_people_to_rate(here: Path):
    """In the form that the review of answers reads, and recorded answers too."""
    rows = [json.loads(line) for line in (STORE / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["model"] for row in rows} == {f"model_{n}" for n in ("jia", "yi", "bing", "ding", "wu")} | {"people"}
    assert 630 < len(rows) < 615 + 43, "some have no text: there is nothing to rate"
    assert all(row["answer"] and row["reference"] for row in rows)
    recipe = load_recipe(["recipe=care_mi", f"paths.answers={STORE / 'answers.jsonl'}"]).recipe
    tasks = rating_tasks("answers", recipe.reviews["answers"], None, recipe.seed)
    assert tasks is not None
    assert len(tasks) > 500
    assert recorded_answer_models(STORE / "answers.jsonl") == list(dict.fromkeys(row["model"] for row in rows))


def test_ratings_of_what_is_not_there_are_told(here: Path, capsys: pytest.CaptureFixture[str]):
    lines = ["id,model,correctness.a,correctness.b,correctness.c", "item-nobody-knows,model_jia,0.5,0.5,0.5"]
    Path("ratings.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["evaluate", *RECIPE, "paths.ratings=ratings.csv"]) == 0
    assert "3 ratings are of other items than the benchmark's" in said(capsys)


def test_another_verdict_table_runs_the_verdicts_alone(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["evaluate", "-v", *RECIPE, "evaluation.scorers.similarity.measures=[chrf]"]) == 0
    told = capsys.readouterr().out.splitlines()
    built = {line.split()[0].partition(".")[0] for line in told if " built " in line}
    assert built == {"similarity"}


@pytest.mark.push
def test_a_recipe_without_evaluation_says_how_to_get_one(garden: Any, capsys: pytest.CaptureFixture[str]):
    assert main(["evaluate", "recipe=garden"]) == 2
    assert "says nothing of evaluating" in said(capsys)


@pytest.mark.push
def test_rules_alone_make_no_file_to_rate_and_the_files_of_another_build_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    names = [(f"Question {n} of these?", f"right {n}", f"wrong {n}") for n in range(12)]
    rows = [{"question": q, "right": r, "wrong": w} for q, r, w in names]
    (tmp_path / "quiz.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["new", "quiz", "--data", "quiz.jsonl"]) == 0
    assert main(["recipe=quiz"]) == 0
    assert main(["recipe=quiz", "seed=2"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "recipe=quiz"]) == 0
    told = said(capsys)
    assert "note: the files in builds/quiz are of another build (recipe=quiz seed=2): give its overrides" in told
    assert "not scored, since none of their answers could be: best_evidence 4 systems on " in told
    assert "answers.jsonl" not in told
    assert not Path("builds/quiz/evaluation/answers.jsonl").exists()
    assert main(["evaluate", "recipe=quiz", "seed=2"]) == 0
    assert "of another build" not in said(capsys)
    assert main(["analyse", "recipe=quiz"]) == 0
    assert "ask in one way" not in said(capsys)
