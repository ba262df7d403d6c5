"""What `check` finds before a build: in recipes, in the columns of rows, in models and prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchbuilder.config.file_refs import missing_file_problem
from benchbuilder.config.json_schema import recipe_schema
from benchbuilder.config.load import load_recipe
from benchbuilder.config.output_names import evaluation_folder_problems
from benchbuilder.config.spec.base import FileRef
from benchbuilder.config.spec.evaluation import EvaluationSpec
from benchbuilder.core.errors import DataError, RecipeError
from benchbuilder.core.records.arrow.flatten import column_names
from benchbuilder.core.records.payloads import Choice, Fact
from benchbuilder.core.records.roles import Passage
from benchbuilder.pipeline.check import check_recipe, examine_recipe
from benchbuilder.pipeline.wiring import expand_wiring, flow_order
from benchbuilder.steps.base import text_names

# --- checking --------------------------------------------------------------------------------------------------------

FLOW = "recipes/flow/claims.yaml"


def test_a_sound_recipe_has_nothing_to_say(garden: Any) -> None:
    assert check_recipe(load_recipe(["recipe=garden"])) == ()


def test_references_are_expanded(garden: Any) -> None:
    garden.replace(FLOW, "from: pair}", "from: [pair, pair]}")
    recipe = load_recipe(["recipe=garden"]).recipe
    assert expand_wiring(recipe) == {
        "on_topic": {"each": ("plants",)},
        "state": {"each": ("on_topic",)},
        "pair": {"each": ("state",), "fact": ("on_topic",)},
        "items": {"each": ("pair",)},
    }
    assert expand_wiring(load_recipe(["recipe=garden", "steps.on_topic.from=sources.plants"]).recipe)["on_topic"] == {
        "each": ("plants",)
    }


def test_a_payload_that_no_source_has_is_no_rows(garden: Any) -> None:
    loaded = load_recipe(["recipe=garden", "source=[quiz]"])
    assert expand_wiring(loaded.recipe)["on_topic"] == {"each": ()}
    with pytest.raises(RecipeError) as caught:
        check_recipe(loaded)
    (problem,) = caught.value.problems
    assert (problem.key, problem.message) == ("items", "no rows of the chosen sources reach the items")
    assert "sources.quiz" in problem.actual


def test_steps_stand_behind_what_they_read(garden: Any) -> None:
    text = (
        "# @package steps\nitems: {kind: review, from: pair}\npair: {kind: pair, from: {each: state, fact: on_topic}}\n"
    )
    text += "state: {kind: state, from: on_topic}\non_topic: {kind: topic, from: sources.triple}\n"
    garden.write(FLOW, text)
    recipe = load_recipe(["recipe=garden"]).recipe
    assert flow_order(recipe, expand_wiring(recipe)) == ["plants", "on_topic", "state", "pair", "items"]


def test_an_unused_step_is_a_warning(garden: Any) -> None:
    garden.replace(FLOW, "items:", "spare: {kind: state, from: on_topic, min_chars: 1, endings: [], tone: x}\nitems:")
    (warning,) = check_recipe(load_recipe(["recipe=garden"]))
    assert (warning.key, warning.where) == ("steps.spare", f"{FLOW}:5")


def test_wrong_sources_alone_are_data_errors(garden: Any) -> None:
    words = ["recipe=balcony", "paths.plants=no.tsv", "paths.quiz=none.tsv"]
    with pytest.raises(DataError) as caught:
        check_recipe(load_recipe(words))
    assert "sources.plants.path: no.tsv is missing" in str(caught.value)
    assert "sources.quiz.path: none.tsv is missing" in str(caught.value)
    check_recipe(load_recipe(words), sources=())


def test_wrong_sources_stand_beside_other_problems(garden: Any) -> None:
    loaded = load_recipe(["recipe=garden", "paths.plants=no.tsv", "items=state"])
    with pytest.raises(RecipeError) as caught:
        check_recipe(loaded)
    assert [problem.key for problem in caught.value.problems] == ["items", ""]
    assert len(examine_recipe(loaded).data) == 1


def test_the_schema_knows_kinds_and_their_keys(garden: Any) -> None:
    schema = recipe_schema()
    json.dumps(schema)
    definitions = schema["$defs"]
    assert definitions["retriever"]["properties"]["kind"] == {"enum": ["bm25"]}
    assert definitions["retriever"]["allOf"][0]["then"] == {"$ref": "#/$defs/retriever.bm25"}
    bm25 = definitions["retriever.bm25"]
    assert set(bm25["properties"]) == {"kind", "k1", "top_k", "stop_words", "tokenizer"}
    assert bm25["additionalProperties"] is False
    assert "required" not in bm25
    assert bm25["properties"]["tokenizer"] == {"$ref": "#/$defs/tokenizer"}
    assert "from" in definitions["step.topic"]["properties"]
    assert schema["properties"]["steps"]["additionalProperties"] == {"$ref": "#/$defs/step"}
    assert {"defaults", "card", "paths", "schema"} <= set(schema["properties"])
    assert "$comment" in definitions["step.broken"]
    for node in definitions.values():
        for reference in _references(node):
            assert reference.removeprefix("#/$defs/") in definitions


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if "$ref" in node else []
        return own + [found for child in node.values() for found in _references(child)]
    return [found for child in node for found in _references(child)] if isinstance(node, list) else []


# --- columns ---------------------------------------------------------------------------------------------------------


def test_names_are_known_without_rows() -> None:
    assert text_names(Fact[Choice]) == ("context", "question", "options", "answer")
    assert text_names(Passage) == ("title", "text")
    assert text_names(Fact) == ()
    assert {"id", "origin.file", "payload.question", "payload.answer_key"} <= set(column_names(Fact[Choice]))


@pytest.mark.push
@pytest.mark.parametrize(
    ("key", "value", "found", "hint"),
    [
        ("steps.unique.fields.question", "payload.qestion", "payload.qestion", "payload.question"),
        ("steps.choices_on_topic.groups.anywhere", "[contxt]", "contxt", "context"),
        ("steps.screen_options.checks.all_or_none.fields", "[option]", "option", "options"),
    ],
)
def test_names_that_rows_do_not_have(key: str, value: str, found: str, hint: str) -> None:
    with pytest.raises(RecipeError) as caught:
        check_recipe(load_recipe(["recipe=care_mi", f"{key}={value}"]))
    (problem,) = caught.value.problems
    assert (problem.key, problem.actual) == (key, found)
    assert f"'{hint}'" in problem.hint
    assert problem.where.startswith("command line: ")


@pytest.mark.push
def test_a_faulty_relation_table(tmp_path: Path) -> None:
    table = tmp_path / "relations.tsv"
    table.write_text("relation\tstatement\tnegated\ttf\toe\tanswer_end\ncauses\t{hed} causes {tail}\tx\ty\tz\ttail\n")
    with pytest.raises(RecipeError, match=r"relations\.tsv:2") as caught:
        check_recipe(load_recipe(["recipe=care_mi", f"paths.relations={table}"]))
    assert {problem.key for problem in caught.value.problems} == {
        f"steps.{step}"
        for step in ("state_triple", "negate_triple", "ask_tf_triple", "ask_oe_triple", "ask_set_triple")
    }


# --- wrong models ----------------------------------------------------------------------------------------------------

SECRET = "the-secret-that-must-not-be-printed"
HOSTED = "model=openai model.name=x"


@pytest.mark.push
@pytest.mark.parametrize(
    ("words", "told", "never"),
    [
        (
            f"{HOSTED} model.tempreature=0.3",
            "steps.state_choice.sampling.temperature=0.3 is for a step of the build",
            "mean",
        ),
        (
            f"{HOSTED} model.temperature=0.3",
            "steps.state_choice.sampling.temperature=0.3 is for a step of the build",
            "mean",
        ),
        (f"{HOSTED} model.timeout=3", "did you mean 'timeout_s'?", "sampling"),
        ("model=openai", "give model.name=NAME on the command line, or set it in your recipe", "write it there"),
        ("model=replay", "give model.replies=REPLIES on the command line, or set it in", "write it there"),
        ("model=gpt-4o", "hint:    model=openai model.name=gpt-4o", "did you mean"),
        (f"{HOSTED} model.base_url=127.0.0.1:18801", "hint:    http://127.0.0.1:18801/v1", "found:   http"),
        (f"{HOSTED} model.base_url=127.0.0.1:18801/v1/", "hint:    http://127.0.0.1:18801/v1", "/v1/v1"),
        (f"{HOSTED} model.base_url=me:{SECRET}@127.0.0.1:18801", "not an address", SECRET),
        (
            f"{HOSTED} model.base_url=http://me:{SECRET}@127.0.0.1:18801",
            "must not hold user, password or query",
            SECRET,
        ),
        (f"{HOSTED} model.base_url=127.0.0.1:1/v1?{SECRET}", "not an address", SECRET),
        (f"{HOSTED} model.base_url=http://127.0.0.1:1/v1?{SECRET}", "must not hold user, password or query", SECRET),
        ("steps.state_choice.prompt=zh/mine.j2", ", or ./prompts beside your ./recipes", "site-packages"),
    ],
)
def test_message(words: str, told: str, never: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError) as caught:
        check_recipe(load_recipe(["recipe=care_mi", *words.split()]))
    text = str(caught.value)
    assert told in text
    assert never not in text


@pytest.mark.parametrize("value", ["inf", "-inf", "1e400", "nan"])
def test_no_number_is_infinite(garden: Any, value: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe(["recipe=garden", f"budget.usd={value}"])
    assert [problem.key for problem in caught.value.problems] == ["budget.usd"]


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    ref = FileRef(path=str(tmp_path))
    problem = missing_file_problem("steps.on_topic.words", ref, "", ())
    assert problem is not None
    assert "a folder, not a file" in problem.message
    assert missing_file_problem("sources.words.path", ref, "", ()) is None


@pytest.mark.parametrize(("folder", "wrong"), [("builds/x", 1), ("builds", 1), ("builds/x/store", 1), ("builds/y", 0)])
def test_an_evaluation_keeps_away_from_the_files_of_the_build(garden: Any, folder: str, wrong: int) -> None:
    loaded = load_recipe(["recipe=garden", "run.dir=builds/x"])
    evaluated = loaded.recipe.model_copy(update={"evaluation": EvaluationSpec.model_construct(dir=folder)})
    assert len(list(evaluation_folder_problems(evaluated, loaded.origins, Path.cwd()))) == wrong
