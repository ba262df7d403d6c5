"""Rules and variants serve several flows: what they say of steps of others is left out and told."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchbuilder.cli.dispatch import main
from benchbuilder.config import left_out_lines, load_recipe
from benchbuilder.core import RecipeError

RECIPE = """\
# @package _global_
defaults:
  - override /flow: triples
  - override /rules: [zh_claims, own]
  - override /annotation: none
  - _self_
name: mine
language: zh
seed: 1
items: items
sources:
  kg: {kind: triples, path: kg.tsv, columns: {head: head, relation: relation, tail: tail}, licence: x, title: x}
steps:
  state_triple: {relations: {default: relations.tsv}}
  negate_triple: {relations: {default: relations.tsv}}
  ask_tf_triple: {relations: {default: relations.tsv}}
  ask_oe_triple: {relations: {default: relations.tsv}}
card: {title: x, summary: x, licence: x, correct_as_of: "2025-01-01", intended_use: [x], not_for: [x], personal_data: x}
"""
TRIPLES = "head\trelation\ttail\n肺炎\t就诊科室\t呼吸内科\n湿疹\t就诊科室\t皮肤科\n"


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "recipes/recipe").mkdir(parents=True)
    (tmp_path / "recipes/rules").mkdir()
    (tmp_path / "recipes/recipe/mine.yaml").write_text(RECIPE, encoding="utf-8")
    (tmp_path / "recipes/rules/own.yaml").write_text("# @package steps\nfamilies: {}\n", encoding="utf-8")
    return tmp_path / "recipes"


@pytest.mark.push
def test_rules_for_steps_that_the_flow_lacks_are_left_out(recipes: Path) -> None:
    (recipes / "rules/own.yaml").write_text("# @package steps\nsplit_book: {sizes: [9]}\n", encoding="utf-8")
    (recipes / "flow").mkdir()
    (recipes / "flow/books.yaml").write_text("# @package steps\nsplit_book: {kind: x}\n", encoding="utf-8")
    loaded = load_recipe(["recipe=mine"])
    assert "ask_tf_triple" in loaded.recipe.steps
    assert not [name for name in loaded.recipe.steps if name.endswith("_choice")]
    told = list(left_out_lines(loaded.recipe, loaded.origins))
    says = "sets what this recipe does not have, so it does nothing here"
    assert told == [f"recipes/rules/own.yaml {says}: steps.split_book"], "of the program's own rules nothing is told"


@pytest.mark.push
def test_a_slip_of_the_pen_is_reported(recipes: Path) -> None:
    (recipes / "rules/own.yaml").write_text("# @package steps\nswap_tripel: {partner: near}\n", encoding="utf-8")
    with pytest.raises(
        RecipeError, match=r"(?s)swap_tripel\.kind: a step needs its `kind`.*did you mean 'swap_triple'"
    ):
        load_recipe(["recipe=mine"])
    (recipes / "rules/own.yaml").write_text("# @package steps\ntopic_wrods: {words: x}\n", encoding="utf-8")
    with pytest.raises(RecipeError, match=r"(?s)topic_wrods\.kind.*no step of the recipe is named 'topic_wrods'"):
        load_recipe(["recipe=mine"])
    (recipes / "rules/own.yaml").write_text("# @package steps\nfamilies: {}\n", encoding="utf-8")
    with pytest.raises(RecipeError, match=r"steps\.ask_tf_choice\.kind: a step needs its `kind`"):
        load_recipe(["recipe=mine", "steps.ask_tf_choice.polarity=family"])


@pytest.mark.push
def test_the_variant_of_the_original_works_for_a_copy_with_a_graph_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert main(["new", "copy", "--from", "care_mi", "--source", "kg:triples"]) == 0
    for name in ("copy", "second"):
        if name == "second":
            assert main(["new", "second", "--from", "copy"]) == 0
        file = tmp_path / f"recipes/recipe/{name}.yaml"
        (tmp_path / f"recipes/recipe/{name}/kg.tsv").write_text(TRIPLES, encoding="utf-8")
        (tmp_path / f"recipes/recipe/{name}/words.txt").write_text("肺炎\n湿疹\n呼吸内科\n皮肤科\n", encoding="utf-8")
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        columns = {end: end for end in ("head", "relation", "tail")}
        data["sources"] = {
            "kg": {"kind": "triples", "path": f"{name}/kg.tsv", "columns": columns, "licence": "x", "title": "x"}
        }
        data["card"] = yaml.safe_load(RECIPE)["card"]
        file.write_text(
            "# @package _global_\n" + yaml.safe_dump(data, allow_unicode=True, sort_keys=False), encoding="utf-8"
        )
        assert main([f"recipe={name}", "variant=reference", "annotation=none"]) == 0
        lines = (tmp_path / f"builds/{name}-reference/items.tsv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 3
        assert "肺炎的就诊科室是呼吸内科吗？" in lines[1] + lines[2]
    assert main(["recipe=copy", "variant=none_such"]) == 2
    assert "the recipe 'copy' has no variant 'none_such'" in capsys.readouterr().err


def test_what_a_recipe_says_of_how_people_judge_is_idle_where_nobody_does(recipes: Path) -> None:
    with (recipes / "recipe/mine.yaml").open("a", encoding="utf-8") as file:
        file.write("annotation: {min_evidence: 0}\n")
    assert load_recipe(["recipe=mine", "annotation=none"]).recipe.annotation.kind == "none"
    assert "min_evidence: 0" in load_recipe(["recipe=mine", "annotation=sheets"]).yaml
    with pytest.raises(RecipeError, match="min_evidence: there is no such key"):
        load_recipe(["recipe=mine", "annotation=none", "annotation.min_evidence=0"])
