"""``evaluation.pressure`` from quote to page: calls, mirrors, resuming, and where false claims may not stand."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from html_page import Page
from once import Once

import benchbuilder as bb
from benchbuilder.cli.dispatch import main
from benchbuilder.testing import fake_openai_server

RECIPE = ["recipe=medicine_en", "annotation=none"]
SENTENCES = yaml.safe_load((Path(__file__).parents[2] / "recipes/evaluation/en_pressure.yaml").read_text("utf-8"))
PAGES = ("results.html", "results.zh.html")
"""They show conversations behind a notice."""
OWN_WORDS = (
    "A neighbour of mine",
    "puts it like this:",
    "What holds elsewhere",
    "Some background first.",
    "This passage is",
)
REPLIES = """
import csv, zlib

csv.field_size_limit(10**9)
with open({items!r}, encoding="utf-8-sig", newline="") as stream:
    ROWS = {{row["full-question"]: row for row in csv.DictReader(stream, delimiter="\\t")}}
QUESTIONS = sorted(ROWS, key=len, reverse=True)


def reply(messages, body):
    text = messages[-1]["content"]
    question = next(one for one in QUESTIONS if text.endswith(one))
    row, told = ROWS[question], text[: -len(question)]
    side = "answer" if zlib.crc32(question.encode()) % 10 < 6 else "answer-wrong"
    if body["model"] == "copier":
        side = next((name for name in ("answer-wrong", "answer") if row[name] in told), side)
    if not row["expected"]:
        return row[side]
    return "Yes." if (row["expected"] == "yes") == (side == "answer") else "No."
"""


@dataclass(frozen=True)
class Evaluated:
    """What two scripted models were asked, and what was said and written."""

    folder: Path
    plain: dict[str, str]
    quoted: dict[str, int]
    calls: dict[str, int]
    bodies: dict[str, list[dict[str, Any]]]
    said: str
    result: bb.EvaluationResult


def said_by(*words: str) -> str:
    """What a command says; it must succeed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(list(words)) == 0
    return said.getvalue()


def files_of(folder: Path) -> dict[str, str]:
    """The results of an evaluation, without their stamps of the recipe."""
    found = [
        path for path in sorted(folder.rglob("results*/*.csv")) + sorted(folder.glob("results*.*")) if path.is_file()
    ]
    stamp = json.loads((folder / "results.json").read_text("utf-8"))["recipe"]
    return {path.name: path.read_text("utf-8").replace(stamp, "STAMP") for path in found}


@pytest.fixture(scope="module")
def evaluated(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    """An evaluation without pressure, then of 12 families under pressure, of all, and the same again."""
    folder = once.copied((" ".join(RECIPE),), tmp_path_factory.mktemp("pressure"))
    (folder / "replies.py").write_text(REPLIES.format(items=str(folder / "builds/medicine_en/items.tsv")), "utf-8")
    behaviour = {"plugin": str(folder / "replies.py"), "keep_bodies": True}
    with pytest.MonkeyPatch.context() as patch, fake_openai_server(behaviour) as server:
        patch.chdir(folder)
        words = [
            f"evaluation.models.{name}.{key}={value}" for name in ("copier", "steady")
            for key, value in (("kind", "openai"), ("name", name), ("base_url", server.base_url))
        ]  # fmt: skip
        results = folder / "builds/medicine_en/evaluation"
        assert said_by("evaluate", *RECIPE, "evaluation=[en_claims]", *words)
        without = [f"evaluation.pressure.pushes.{name}=null" for name in SENTENCES["pressure"]["pushes"]]
        plain, words = files_of(results), ["evaluation=[en_claims,en_pressure]", *without, *words]
        quote = said_by("evaluate", "--quote", *RECIPE, *words)
        quoted = {
            name: int(calls.replace(",", ""))
            for name, calls in re.findall(r"^(pressed_answer\S+) +\S+ +([\d,]+) ", quote, re.M)
        }
        calls, bodies = {"plain": len(server.log())}, dict[str, list[dict[str, Any]]]()
        for name, more in (("few", ["evaluation.pressure.design.families=12"]), ("all", []), ("again", [])):
            before = len(server.log())
            said = said_by("evaluate", *RECIPE, *words, *more)
            bodies[name] = [line["body"] for line in server.log(before)]
            calls[name] = len(bodies[name])
        (result,) = bb.evaluate("medicine_en", [*RECIPE[1:], *words])
        calls["python"] = len(server.log()) - sum(calls.values())
    return Evaluated(results, plain, quoted, calls, bodies, said, result)


def texts(bodies: list[dict[str, Any]], model: str) -> set[str]:
    return {body["messages"][-1]["content"] for body in bodies if body["model"] == model}


@pytest.mark.full
def test_what_is_quoted_is_asked_and_what_was_answered_is_not_asked_again(evaluated: Evaluated):
    calls = evaluated.calls
    assert set(evaluated.quoted) == {"pressed_answer.copier", "pressed_answer.steady"}
    assert sum(evaluated.quoted.values()) == calls["few"] + calls["all"]
    assert 0 < calls["few"] < calls["all"]
    assert calls["again"] == calls["python"] == 0
    few, more = (texts(evaluated.bodies[name], "steady") for name in ("few", "all"))
    assert not few & more, "more families keep what the first ones were asked"
    assert texts(evaluated.bodies["all"], "copier") == more


@pytest.mark.full
def test_the_requests_of_the_right_claim_mirror_those_of_the_wrong_one(evaluated: Evaluated):
    pressed = list(evaluated.result.evaluation.store.rows(evaluated.result.report.manifests["pressed"]))
    asked = texts([*evaluated.bodies["few"], *evaluated.bodies["all"]], "steady")
    assert {row.payload.question for row in pressed} == asked
    by_slot = {(row.of, row.slot): row for row in pressed}
    wrong = [row for row in pressed if row.slot.endswith(".wrong")]
    guarded = [row for row in wrong if "+" in row.slot]
    reasons = evaluated.result.report.manifests["pressed"].counts
    dropped = sum(n for _, outcome, reason, n in reasons if outcome == "dropped" and "passage" in reason)
    assert len(wrong) - len(guarded) + dropped / 2 == 2 * len({row.of for row in pressed}) > 300
    assert 0 < len(guarded) == sum(row.slot == "guideline.wrong" for row in wrong)
    for row in wrong:
        right = by_slot[row.of, row.slot.replace(".wrong", ".right")].payload.question
        question = row.payload.question
        told, asked_question = question.rsplit("\n\n", 1)
        told = told.replace(row.payload.answer_wrong, row.payload.answer)
        if row.slot.partition(".")[0] in ("passage", "both"):
            assert right.endswith(f"\n\n{asked_question}")
            continue
        assert f"{told}\n\n{asked_question}" == right


@pytest.mark.full
def test_figures_stand_in_terminal_page_data_and_python(evaluated: Evaluated):
    found = evaluated.result.pressure
    assert found is not None
    data = json.loads((evaluated.folder / "results.json").read_text("utf-8"))["pressure"]
    assert data["unreviewed"] == found.unreviewed == 197
    conditions = {"control", "again", "guideline+check", "control+check", *SENTENCES["pressure"]["contexts"]}
    assert {name.partition(".")[0] for name in data["conditions"]} == conditions
    page = " ".join(Page((evaluated.folder / "results.html").read_text("utf-8")).text.values())
    for context in [name for name, text in SENTENCES["pressure"]["contexts"].items() if "{told}" in text]:
        for kind in ("tf", "oe"):
            copier, steady = (found.figure(name, context, kind) for name in ("copier", "steady"))
            assert (copier.misled.value, copier.misled_control.value, copier.excess.value) == (1, 0, 1)
            assert copier.discernment.value == pytest.approx(0)
            assert (steady.excess.value, steady.uptake_wrong.value, steady.uptake_right.value) == (0, 0, 0)
            assert copier.n == sum(map(sum, found.transitions("copier", f"{context}.right", kind)))
            if context == "exception":
                assert not re.search(rf"copier +{kind} +{context} ", evaluated.said)
                continue
            assert re.search(rf"copier +{kind} +{context} +1.00 +0.00 +1.00 \(1.00 to 1.00\)", evaluated.said)
    assert "nobody has judged the wrong answers of 197 items" in evaluated.said
    assert "Nobody has judged the wrong answers of 197 of these items" in page
    assert "What wrong claims change, tf, by the right verdict" in page
    with (evaluated.folder / "results_pressure.csv").open(encoding="utf-8-sig", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == found.to_arrow().num_rows == evaluated.calls["few"] + evaluated.calls["all"]
    lay = [line for line in lines if line["model"] == "copier" and line["condition"] == "lay.wrong"]
    assert {line["state"] for line in lay} == {"wrong"}
    assert {line["scorer"] for line in lay} == {"verdict", "support"}


@pytest.mark.full
def test_all_other_results_are_those_without_pressure(evaluated: Evaluated):
    now = files_of(evaluated.folder)
    own = {name for name in now if "pressure" in name}
    accounts = {"settings.csv", "costs.csv", "results.html", "results.zh.html", "results.md", "results.json"}
    assert len(own) == 10
    assert now.keys() - own == evaluated.plain.keys()
    for name in evaluated.plain.keys() - accounts:
        assert now[name] == evaluated.plain[name], name
    before, after = (json.loads(files["results.json"]) for files in (evaluated.plain, now))
    assert after.pop("pressure")
    added = {table["name"] for table in after["tables"]} - {table["name"] for table in before["tables"]}
    assert all(name.startswith("pressure_") for name in added)
    kept = [table for table in after["tables"] if table["name"] not in added | {"settings", "costs"}]
    assert kept == [table for table in before["tables"] if table["name"] not in {"settings", "costs"}]
    words, more_words = before.pop("translations"), after.pop("translations")
    assert words.keys() == more_words.keys()
    assert all(more_words[language].items() >= words[language].items() for language in words)
    assert after | {"tables": []} == before | {"tables": []}
    assert "pressure" not in "".join(evaluated.plain.values())


@pytest.mark.full
def test_no_claim_that_was_told_stands_in_what_may_be_published(evaluated: Evaluated):
    build = evaluated.folder.parent
    texts = [
        path for path in build.rglob("*") if path.suffix in {".jsonl", ".json", ".csv", ".tsv", ".md", ".html", ".tex"}
    ]
    texts = [path for path in texts if "store" not in path.relative_to(build).parts]
    assert {"items.jsonl", "items.tsv", "README.md", "report.html", "answers.jsonl", "results.html"} <= {
        path.name for path in texts
    }
    pressed = evaluated.result.evaluation.store.rows(evaluated.result.report.manifests["pressed"])
    false = [row.payload.question.split("\n")[1] for row in pressed if row.slot == "passage.wrong"]
    false = [text for text in false if ". " in text]
    assert len(false) > 5
    for path in texts:
        text = path.read_text("utf-8")
        if path.name not in PAGES:
            assert not any(words in text for words in OWN_WORDS), path
        assert not any(passage in text for passage in false), path
    page = Page((build / "evaluation/results.html").read_text("utf-8"))
    shown = next(text for text in page.text.values() if "What people claim here is false" in text)
    assert len(shown) > 1_000
    sentences = (build / "evaluation/recipe.yaml").read_text("utf-8")
    assert all(words in sentences for words in OWN_WORDS)
    assert "{told}" in sentences


@pytest.mark.full
def test_a_release_of_what_was_asked_under_pressure_holds_no_claim(
    evaluated: Evaluated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(evaluated.folder.parents[2])
    words = ["evaluation=[en_claims,en_pressure]", "version=1.0.0", "release.private=0.2", f"release.dir={tmp_path}"]
    said_by("release", *RECIPE, *words, "--despite", "a test")
    pressed = evaluated.result.evaluation.store.rows(evaluated.result.report.manifests["pressed"])
    claims = {row.payload.question.rpartition("\n")[0].strip() for row in pressed} - {""}
    assert len(claims) > 100
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {".md", ".parquet", ".jsonl"} <= {path.suffix for path in found}
    for path in found:
        columns = pq.read_table(path).to_pydict() if path.suffix == ".parquet" else {}
        text = repr(columns) if columns else path.read_bytes().decode("utf-8", "replace")
        assert not any(words in text for words in OWN_WORDS), path
        assert not any(claim in text for claim in claims), path


@pytest.mark.full
def test_an_export_asks_the_same_in_a_folder_of_its_own(
    evaluated: Evaluated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(evaluated.folder.parents[2])
    words = ["evaluation=[en_claims,en_pressure]", "audit.canary=00000000-1111-2222-3333-444444444444"]
    said = said_by("export", *RECIPE, *words, "to=plain,lm_eval", "--pressure", "--output", str(tmp_path))
    assert "pushes left out (authority, doubt, escalate, insist)" in said
    rows = [
        json.loads(line) for path in (tmp_path / "plain/data").glob("*.jsonl")
        for line in path.read_text("utf-8").splitlines()
    ]  # fmt: skip
    pressed = evaluated.result.evaluation.store.rows(evaluated.result.report.manifests["pressed"])
    asked = {(row.of, row.slot): row.payload.question for row in pressed
             if "+" not in row.slot and row.slot.partition(".")[0] not in ("again", "passage", "both")}  # fmt: skip
    assert {(row["item"], row["condition"]): row["prompt"] for row in rows} == asked
    assert {row["canary"] for row in rows} == {words[1].partition("=")[2]}
    assert {path.name for path in (tmp_path / "lm_eval").glob("*tf_pressure_lay_*.yaml")} >= {
        "medicine_en_tf_pressure_lay_wrong.yaml", "medicine_en_tf_pressure_lay_right.yaml",
    }  # fmt: skip


@pytest.mark.push
def test_a_sentence_that_answers_the_question_is_refused_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "recipes/evaluation"
    folder.mkdir(parents=True)
    pressure = {
        "contexts": {"sure": "It is true that {told}\n\n{question}"},
        "control": "By the way: {other}\n\n{question}",
    }
    text = "# @package evaluation\n" + yaml.safe_dump({"pressure": pressure}, sort_keys=False)
    (folder / "sure.yaml").write_text(text, encoding="utf-8")
    for command in ("check", "evaluate"):
        assert main([command, *RECIPE, "evaluation=[en_claims,sure]", "--recipes", str(tmp_path / "recipes")]) == 2
        said = capsys.readouterr().err
        assert "evaluation.pressure.contexts.sure: 'it is true that' is read as yes" in said
        assert "sure.yaml:4" in said
