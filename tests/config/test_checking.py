from __future__ import annotations

import json
from typing import Any

import pytest

from benchbuilder.config.json_schema import recipe_schema
from benchbuilder.config.load import load_recipe
from benchbuilder.core.errors import DataError, RecipeError
from benchbuilder.pipeline.check import check, examine
from benchbuilder.pipeline.wiring import expand, flow_order

FLOW = "recipes/flow/claims.yaml"


def test_a_sound_recipe_has_nothing_to_say(garden: Any) -> None:
    assert check(load_recipe(["recipe=garden"])) == ()


def test_references_are_expanded(garden: Any) -> None:
    garden.replace(FLOW, "from: pair}", "from: [pair, pair]}")
    recipe = load_recipe(["recipe=garden"]).recipe
    assert expand(recipe) == {
        "on_topic": {"each": ("plants",)},
        "state": {"each": ("on_topic",)},
        "pair": {"each": ("state",), "fact": ("on_topic",)},
        "items": {"each": ("pair",)},
    }
    assert expand(load_recipe(["recipe=garden", "steps.on_topic.from=sources.plants"]).recipe)["on_topic"] == {
        "each": ("plants",)
    }


def test_a_payload_that_no_source_has_is_no_rows(garden: Any) -> None:
    loaded = load_recipe(["recipe=garden", "source=[quiz]"])
    assert expand(loaded.recipe)["on_topic"] == {"each": ()}
    with pytest.raises(RecipeError) as caught:
        check(loaded)
    (problem,) = caught.value.problems
    assert (problem.key, problem.message) == ("items", "no source stands behind the items")
    assert "sources.quiz" in problem.found


def test_steps_stand_behind_what_they_read(garden: Any) -> None:
    text = (
        "# @package steps\nitems: {kind: review, from: pair}\npair: {kind: pair, from: {each: state, fact: on_topic}}\n"
    )
    text += "state: {kind: state, from: on_topic}\non_topic: {kind: topic, from: sources.triple}\n"
    garden.write(FLOW, text)
    recipe = load_recipe(["recipe=garden"]).recipe
    assert flow_order(recipe, expand(recipe)) == ["plants", "on_topic", "state", "pair", "items"]


def test_an_unused_step_is_a_warning(garden: Any) -> None:
    garden.replace(FLOW, "items:", "spare: {kind: state, from: on_topic, min_chars: 1, endings: [], tone: x}\nitems:")
    (warning,) = check(load_recipe(["recipe=garden"]))
    assert (warning.key, warning.where) == ("steps.spare", f"{FLOW}:5")


def test_wrong_sources_alone_are_data_errors(garden: Any) -> None:
    words = ["recipe=balcony", "paths.plants=no.tsv", "paths.quiz=none.tsv"]
    with pytest.raises(DataError) as caught:
        check(load_recipe(words))
    assert "sources.plants.path: no.tsv is missing" in str(caught.value)
    assert "sources.quiz.path: none.tsv is missing" in str(caught.value)
    check(load_recipe(words), sources=())


def test_wrong_sources_stand_beside_other_problems(garden: Any) -> None:
    loaded = load_recipe(["recipe=garden", "paths.plants=no.tsv", "items=state"])
    with pytest.raises(RecipeError) as caught:
        check(loaded)
    assert [problem.key for problem in caught.value.problems] == ["items", ""]
    assert len(examine(loaded).data) == 1


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
    assert "from" in definitions["stage.topic"]["properties"]
    assert schema["properties"]["steps"]["additionalProperties"] == {"$ref": "#/$defs/stage"}
    assert {"defaults", "card", "paths", "schema"} <= set(schema["properties"])
    assert "$comment" in definitions["stage.broken"]
    for node in definitions.values():
        for reference in _references(node):
            assert reference.removeprefix("#/$defs/") in definitions


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if "$ref" in node else []
        return own + [found for child in node.values() for found in _references(child)]
    return [found for child in node for found in _references(child)] if isinstance(node, list) else []
