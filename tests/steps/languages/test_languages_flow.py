"""Languages other than Chinese pass unchanged through every step, file, sheet and page."""

from __future__ import annotations

import csv
import html
import json
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from language_world import write_recipe
from samples import LANGUAGES

from benchbuilder.config.load import LoadedRecipe, load_recipe
from benchbuilder.core.text.answers import is_on_boundaries
from benchbuilder.evaluation.plan import plan_evaluation
from benchbuilder.pipeline.build import build_benchmark
from benchbuilder.pipeline.plan import make_plan
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store

pytestmark = pytest.mark.push

ABOUT = {0: 0, 1: 1, 2: 1, 3: 2}
"""Which passage each question of a language is about."""


class Quiet:
    def begin(self, step: str, total: int | None, unit: str) -> None: ...

    def advance(self, step: str, count: int) -> None: ...

    def end(self, step: str, summary: str) -> None: ...

    def note(self, text: str) -> None: ...


@dataclass(frozen=True)
class Built:
    language: dict[str, Any]
    loaded: LoadedRecipe
    store: Store
    manifests: dict[str, Any]
    evaluation: Store
    scores: dict[str, Any]

    def rows(self, step: str) -> list[Any]:
        return list(self.store.rows(self.manifests[step]))

    def file(self, name: str) -> str:
        return (self.store.folder / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=sorted(LANGUAGES))
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    language = LANGUAGES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    recipes = write_recipe(folder / "recipes", language)
    asked = ["recipe=small", f"run.dir={folder / 'build'}"]
    loaded = load_recipe(asked, recipes=[str(recipes)], cwd=folder, environ={})
    store = Store(folder / "build")
    plan = make_plan(loaded.recipe, store, Checksums(store.checksums).sha256_of)
    made = build_benchmark(plan, store, loaded.yaml, Quiet())
    planned = plan_evaluation(loaded, folder)
    scored = build_benchmark(planned.plan, planned.store, loaded.yaml, Quiet())
    return Built(language, loaded, store, made.manifests, planned.store, scored.manifests)


@pytest.mark.push
def test_every_question_and_triple_becomes_items(built: Built) -> None:
    counts = {name: built.manifests[name].rows for name in ("choices_on_topic", "triples_on_topic", "items")}
    assert counts == {"choices_on_topic": 4, "triples_on_topic": 2, "items": 16}


@pytest.mark.push
def test_no_character_of_the_sources_is_lost(built: Built) -> None:
    """Questions, answers and passages stand in items code point by code point."""
    language = built.language
    said = {item.payload.answer for item in built.rows("items")}
    for question, (right, *_) in language["questions"]:
        stem = re.split("[" + re.escape("".join(language["stops"])) + "]|\\. ", question)[-1].strip()
        assert any(answer.startswith(stem) and right in answer for answer in said), stem
    passages = {support.text for item in built.rows("items") for support in item.payload.evidence}
    assert passages == set(language["passages"])


@pytest.mark.push
def test_context_and_question_are_joined_as_the_recipe_says(built: Built) -> None:
    with_context = [item.payload for item in built.rows("items") if item.payload.context]
    assert len(with_context) >= 2
    for payload in with_context:
        context = payload.context.removesuffix(built.language["joiner"])
        assert context == context.strip()
        assert context[-1] in "".join([*built.language["stops"], *built.language["soft_stops"]])
        assert payload.flat_cells()["full-question"] == f"{context} {payload.question}"


@pytest.mark.push
def test_spans_cut_no_character_and_no_word(built: Built) -> None:
    matching = "characters" if built.language["code"] == "th" else "words"
    for step in ("state_choice", "state_triple", "negate_choice", "negate_triple", "replace_choice"):
        for row in built.rows(step):
            assert is_on_boundaries(row.answer, row.text, matching), row.text


@pytest.mark.push
def test_questions_end_in_the_mark_of_the_language(built: Built) -> None:
    for row in [*built.rows("ask_tf_choice"), *built.rows("ask_tf_triple"), *built.rows("ask_oe_choice")]:
        assert row.text.endswith(built.language["mark"])


@pytest.mark.push
def test_evidence_is_found_by_what_the_recipe_calls_a_word(built: Built) -> None:
    passages = built.language["passages"]
    order = {question: passages[ABOUT[n]] for n, (question, _) in enumerate(built.language["questions"])}
    best = {row.of: row.text for row in built.rows("evidence") if row.rank == 1}
    for candidate in built.rows("candidates"):
        about = next((text for question, text in order.items() if candidate.answer[:20] in question), None)
        if about is not None:
            assert best[candidate.id] == about, candidate.answer


@pytest.mark.push
def test_files_hold_no_character_that_was_not_there(built: Built) -> None:
    for name in ("items.jsonl", "items.tsv", "candidates.jsonl", "README.md", "report.html"):
        text = built.file(name)
        assert "\N{REPLACEMENT CHARACTER}" not in text, name
    lines = built.file("items.tsv").splitlines()
    rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    items = {row["id"]: row["answer"] for row in rows}
    assert items == {item.id: item.payload.answer for item in built.rows("items")}
    told = [json.loads(line) for line in built.file("items.jsonl").splitlines()]
    assert {one["id"]: one["payload"]["answer"] if "payload" in one else one["answer"] for one in told} == items


@pytest.mark.push
def test_the_report_shows_each_text_whole_and_in_its_direction(built: Built) -> None:
    page = built.file("report.html")
    shown = re.findall(rf'<p class="ask" lang="{built.language["code"]}" dir="auto">(.*?)</p>', page, re.DOTALL)
    questions = {item.payload.context + item.payload.question for item in built.rows("items")}
    assert {html.unescape(re.sub("</?span[^>]*>", "", text)) for text in shown} == questions
    assert "text-align: left" not in page


@pytest.mark.push
def test_baselines_are_scored_by_the_verdicts_of_the_language(built: Built) -> None:
    scored = [manifest for manifest in built.scores.values() if manifest.row == "score"]
    rows = [row for manifest in scored for row in built.evaluation.rows(manifest) if row.scorer == "verdict"]
    right = Counter(row.model for row in rows if row.label == "right")
    wrong = Counter(row.model for row in rows if row.label == "wrong")
    asked = sum(item.payload.type == "tf" for item in built.rows("items"))
    assert right["agrees"] + wrong["agrees"] == right["denies"] + wrong["denies"] == asked
    assert (right["agrees"], wrong["agrees"]) == (wrong["denies"], right["denies"])


@pytest.mark.push
def test_the_results_show_each_text_whole_and_in_its_direction(built: Built) -> None:
    folder = built.evaluation.folder
    page = (folder / "results.html").read_text(encoding="utf-8")
    assert "\N{REPLACEMENT CHARACTER}" not in page
    assert f'lang="{built.language["code"]}" dir="auto"' in page


@pytest.mark.push
def test_composed_words_are_found_in_texts_whose_marks_stand_apart(built: Built) -> None:
    assert all(unicodedata.is_normalized("NFC", word) for word in built.language["words"] if built.language["apart"])
    texts = [row.payload.question for row in built.rows("choices_on_topic")]
    assert all(unicodedata.is_normalized("NFC", text) != built.language["apart"] for text in texts)


@pytest.mark.push
def test_one_form_of_unicode_if_the_recipe_names_it(tmp_path: Path) -> None:
    recipes = write_recipe(tmp_path / "recipes", LANGUAGES["yo"])
    asked = [
        "recipe=small",
        f"run.dir={tmp_path / 'build'}",
        "++steps.choices.normal_form=NFC",
        "++steps.paragraphs.normal_form=NFC",
    ]
    loaded = load_recipe(asked, recipes=[str(recipes)], cwd=tmp_path, environ={})
    store = Store(tmp_path / "build")
    plan = make_plan(loaded.recipe, store, Checksums(store.checksums).sha256_of)
    made = build_benchmark(plan, store, loaded.yaml, Quiet(), write_outputs=False)
    for row in store.rows(made.manifests["choices"]):
        assert unicodedata.is_normalized("NFC", row.payload.question)
        assert not unicodedata.is_normalized("NFC", row.original)
    assert all(unicodedata.is_normalized("NFC", row.text) for row in store.rows(made.manifests["paragraphs"]))


@pytest.mark.push
def test_sheets_give_back_what_people_were_shown(built: Built, tmp_path: Path) -> None:
    from filled_sheets import write_sample_votes

    from benchbuilder.annotation.backends.sheets import SheetsBackend, SheetsSpec

    language = built.language
    text, right, wrong = language["labels"]
    labels = {
        "sheet": text, "guide": right, "item": "#", "part": "?", "text": text, "right": right, "wrong": wrong,
        "source": "-", "note": wrong, "annotator": "*", "key": "@", "claim": text, "paragraph": right,
        "instructions": [language["ask"]],
    }  # fmt: skip
    question = {"order": 1, "subject": "claim", "label": language["ask"], "text": language["ask"]}
    note = {"order": 2, "subject": "claim", "label": wrong, "text": wrong, "answer": "text"}
    spec = SheetsSpec.model_validate({
        "kind": "sheets", "questions": {"right": question, "said": note}, "keep": {"right": 1}, "rule": "mean",
        "annotators": ["a"], "bootstrap": {"samples": 100, "level": 0.95, "seed": 1}, "labels": labels,
    })  # fmt: skip
    rows, evidence = built.rows("candidates"), built.rows("evidence")
    remark = f"{language['word']} {language['questions'][3][0]}"
    votes = tmp_path / "votes"
    write_sample_votes(rows, evidence, spec, lambda *what: 1 if what[3] == "right" else remark, votes, seed=1)
    _as_workbook(votes / "a.csv", tmp_path / "people" / "votes" / "a.xlsx", language["digit"])

    from benchbuilder.annotation.tasks import judgement_requests, make_candidate_tasks

    asked = judgement_requests(make_candidate_tasks(rows, evidence).tasks, spec)
    ballot = SheetsBackend(spec).collect(list(asked), tmp_path / "people")
    assert {value for by in ballot.by_subject.values() for value in by.values()} == {1, remark}
    assert len(ballot.by_subject) == 2 * len(make_candidate_tasks(rows, evidence).tasks)


def _as_workbook(sheet: Path, workbook: Path, one: str) -> None:
    """What somebody makes of a CSV who fills it in with the digits of the language, and saves it as XLSX."""
    workbook.parent.mkdir(parents=True)
    book = openpyxl.Workbook()
    for line in csv.reader(sheet.read_text(encoding="utf-8-sig").splitlines(keepends=True)):
        book.active.append([one if cell == "1" else cell for cell in line])
    book.save(workbook)
