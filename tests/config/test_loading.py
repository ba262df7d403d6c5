from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from benchbuilder.config.compose import compose
from benchbuilder.config.load import load_recipe
from benchbuilder.config.render import annotate, render
from benchbuilder.config.search_path import find_roots
from benchbuilder.core.errors import RecipeError


def test_a_recipe_becomes_specs(garden: Any) -> None:
    recipe = load_recipe(["recipe=garden"]).recipe
    assert (recipe.name, recipe.language, recipe.seed, recipe.variant) == ("garden", "en", 7, None)
    assert list(recipe.sources) == ["plants"]
    assert list(recipe.steps) == ["on_topic", "state", "pair", "items"]
    assert recipe.steps["state"].endings == (".", "!")
    assert recipe.steps["pair"].from_ == {"each": ("state",), "fact": ("on_topic",)}
    assert type(recipe.retriever).__name__ == "Bm25Spec"


def test_null_inherits_the_recipes_node(garden: Any) -> None:
    recipe = load_recipe(["recipe=garden"]).recipe
    assert recipe.steps["state"].model is recipe.model
    assert recipe.steps["items"].retriever is recipe.retriever
    assert recipe.retriever.tokenizer is recipe.tokenizer


def test_a_step_can_have_a_model_of_its_own(garden: Any) -> None:
    recipe = load_recipe(["recipe=garden", "model@steps.state.model=remote", "steps.state.model.name=tiny"]).recipe
    assert (recipe.model.kind, recipe.steps["state"].model.kind) == ("none", "remote")
    assert recipe.steps["state"].model.name == "tiny"


@pytest.mark.parametrize(
    ("words", "read", "value"),
    [
        (["retriever.top_k=2"], lambda r: r.retriever.top_k, 2),
        (["annotation.min_evidence=2"], lambda r: r.annotation.min_evidence, 2),
        (["annotation=none"], lambda r: r.annotation.kind, "none"),
        (["model=remote", "model.name=x"], lambda r: r.model.name, "x"),
        (["model=none"], lambda r: r.model.kind, "none"),
        (["retriever=wide"], lambda r: (r.retriever.k1, r.retriever.top_k), (2.0, 5)),
        (["+retriever=wide"], lambda r: r.retriever.top_k, 5),
        (["source=[quiz]"], lambda r: list(r.sources), ["quiz"]),
        (["variant=strict"], lambda r: (r.variant, r.steps["state"].min_chars), ("strict", 9)),
        (["variant=garden/strict"], lambda r: r.variant, "strict"),
        (["variant=null"], lambda r: r.variant, None),
        (["variant=strict", "steps.state.min_chars=1"], lambda r: r.steps["state"].min_chars, 1),
        (["steps.state.timeout_s=5"], lambda r: r.steps["state"].timeout_s, 5.0),
        (["tolerate.failed_rows=0.5"], lambda r: r.tolerate.failed_rows, 0.5),
        (["card.title='花园'"], lambda r: r.card.title, "花园"),
        (["steps.state.endings=[a,b,c]"], lambda r: r.steps["state"].endings, ("a", "b", "c")),
        (["run={workers: 4}"], lambda r: r.run.workers, 4),
        (["+run.workers=5"], lambda r: r.run.workers, 5),
        (["++run.workers=6"], lambda r: r.run.workers, 6),
        (["~steps.state.prompt"], lambda r: r.steps["state"].prompt, None),
    ],
)  # fmt: skip
def test_the_command_line_wins(garden: Any, words: list[str], read: Any, value: Any) -> None:
    assert read(load_recipe(["recipe=garden", *words]).recipe) == value


def test_a_thin_clone(garden: Any) -> None:
    loaded = load_recipe(["recipe=balcony"])
    assert (loaded.recipe.name, loaded.recipe.steps["state"].min_chars) == ("balcony", 2)
    assert list(loaded.recipe.sources) == ["plants", "quiz"]
    assert loaded.recipe.steps["state"].tone == "plain"


def test_local_files_come_after_the_variant_and_before_the_command_line(garden: Any) -> None:
    garden.write("recipes/local/default.yaml", "# @package _global_\nsteps: {state: {min_chars: 4, tone: local}}\n")
    state = load_recipe(["recipe=garden", "variant=strict", "steps.state.tone=given"]).recipe.steps["state"]
    assert (state.min_chars, state.tone) == (4, "given")


def test_any_number_of_calls_in_one_process(garden: Any) -> None:
    texts = {load_recipe(["recipe=garden"]).yaml for _ in range(3)}
    load_recipe(["recipe=balcony"])
    with pytest.raises(RecipeError):
        load_recipe(["recipe=nope"])
    assert texts == {load_recipe(["recipe=garden"]).yaml}


def test_the_same_files_are_composed_once_and_changed_ones_anew(garden: Any) -> None:
    words, roots = ["recipe=garden"], find_roots(cwd=garden.folder, environ={})
    first, second = compose(words, roots), compose(words, roots)
    assert first.data == second.data
    first.data["steps"].clear()
    first.origins.entries.clear()
    third = compose(words, roots)
    assert third.data == second.data
    assert third.origins.entries == second.origins.entries
    garden.write("recipes/local/default.yaml", "# @package _global_\nsteps:\n  state:\n    min_chars: 7\n")
    assert compose(words, roots).data["steps"]["state"]["min_chars"] == 7
    garden.replace("recipes/local/default.yaml", "7", "8")
    assert compose(words, roots).data["steps"]["state"]["min_chars"] == 8
    (garden.folder / "recipes/local/default.yaml").unlink()
    assert compose(words, roots).data == second.data
    garden.write("elsewhere.yaml", "# @package _global_\nsteps:\n  state:\n    min_chars: 5\n")
    (garden.folder / "recipes/local/default.yaml").symlink_to(garden.folder / "elsewhere.yaml")
    assert compose(words, roots).data["steps"]["state"]["min_chars"] == 5
    garden.replace("elsewhere.yaml", "5", "6")
    assert compose(words, roots).data["steps"]["state"]["min_chars"] == 6


def test_resolvers_come_back_after_composing(garden: Any) -> None:
    OmegaConf.register_new_resolver("mine", lambda: "x", replace=True)
    try:
        load_recipe(["recipe=garden"])
        assert OmegaConf.has_resolver("mine")
        assert OmegaConf.has_resolver("oc.env")
    finally:
        OmegaConf.clear_resolver("mine")


def test_paths_hang_on_the_file_that_wrote_them(garden: Any) -> None:
    files = dict(load_recipe(["recipe=garden"]).files)
    folder = garden.folder / "recipes/recipe/garden"
    assert files["sources.plants.path"].file == folder / "plants.tsv"
    assert files["steps.on_topic.words"].file == folder / "words.txt"
    assert files["steps.state.prompt"].file == garden.folder / "prompts/en/state.j2"


def test_a_path_of_the_command_line_hangs_on_the_current_folder(garden: Any, tmp_path: Path) -> None:
    loaded = load_recipe(["recipe=garden", "paths.plants=../mine.tsv", f"steps.on_topic.words={tmp_path}/w.txt"])
    assert loaded.recipe.sources["plants"].path.file == garden.folder.parent / "mine.tsv"
    assert loaded.recipe.steps["on_topic"].words.file == tmp_path / "w.txt"


def test_a_clone_elsewhere_keeps_the_paths_of_its_base(garden: Any, tmp_path: Path) -> None:
    other = garden.write("../mine/recipe/roof.yaml", "# @package _global_\ndefaults: [garden, _self_]\nname: roof\n")
    loaded = load_recipe(["recipe=roof"], recipes=[str(other.parent.parent)])
    assert loaded.recipe.sources["plants"].path.file == garden.folder / "recipes/recipe/garden/plants.tsv"


def test_the_text_is_the_same_on_every_machine(garden: Any) -> None:
    loaded = load_recipe(["recipe=garden", "run.workers=3", "steps.state.timeout_s=1"])
    assert loaded.yaml == load_recipe(["recipe=garden"]).yaml
    assert str(garden.folder) not in loaded.yaml
    data = yaml.safe_load(loaded.yaml)
    assert list(data)[:4] == ["schema", "name", "language", "seed"]
    assert data["sources"]["plants"]["path"] == "garden/plants.tsv"
    assert data["steps"]["state"]["model"] is None
    assert "run" not in data


def test_origins_of_what_is_shown(garden: Any) -> None:
    loaded = load_recipe(["recipe=garden", "variant=strict", "retriever.top_k=2"])
    lines = annotate(render(loaded.recipe, knobs=True), loaded.origins).splitlines()

    def note(start: str) -> str:
        return next(line for line in lines if line.strip().startswith(start)).partition("  # ")[2]

    assert note("top_k:") == "command line: retriever.top_k=2"
    assert note("k1:") == "recipes/retriever/bm25.yaml:2"
    assert note("min_chars:") == "recipes/variant/garden/strict.yaml:4"
    assert note("path: garden") == "recipes/recipe/garden.yaml:13 (${paths.plants})"
    assert note("timeout_s:") == "default"
    assert note("variant:") == "command line: variant=strict"
    assert yaml.safe_load("\n".join(lines))["retriever"]["top_k"] == 2


def test_origins_follow_links_packages_and_lists(garden: Any) -> None:
    origins = load_recipe(["recipe=garden", "paths.plants=x.tsv", "steps.state.endings=[a]"]).origins
    assert str(origins.of(("sources", "plants", "path"))) == "command line: paths.plants=x.tsv"
    assert str(origins.written(("sources", "plants", "path"))) == "recipes/source/plants.yaml:3"
    assert str(origins.of(("steps", "pair", "from", "fact"))) == "recipes/flow/claims.yaml:4"
    assert str(origins.of(("steps", "state", "endings", 0))) == "command line: steps.state.endings=[a]"
    assert str(origins.of(("nowhere", "at", "all"))).startswith("recipes/benchbuild.yaml:1")


def test_what_the_user_wrote_is_trusted(garden: Any, tmp_path: Path) -> None:
    text = f"# @package _global_\nmodel: {{base_url: 'http://localhost:1'}}\npaths: {{plants: {tmp_path}/p.tsv}}\n"
    garden.write("recipes/local/default.yaml", text)
    loaded = load_recipe(["recipe=garden", "model=remote", "run.dir=/tmp/there"])
    assert loaded.recipe.model.base_url == "http://localhost:1"
    assert loaded.recipe.sources["plants"].path.file == tmp_path / "p.tsv"


def test_the_users_own_configuration_is_trusted(garden: Any, tmp_path: Path) -> None:
    home = tmp_path / "config/benchbuilder"
    garden.write(str(home / "user/default.yaml"), "# @package _global_\nrun: {workers: 8}\n")
    garden.write(str(home / "model/mine.yaml"), "kind: remote\nname: big\nbase_url: http://localhost:2\n")
    recipe = load_recipe(["recipe=garden", "model=mine"]).recipe
    assert (recipe.run.workers, recipe.model.base_url) == (8, "http://localhost:2")


def test_recipes_are_found_by_flag_and_environment(garden: Any, tmp_path: Path, monkeypatch: Any) -> None:
    one = garden.write("../one/recipe/roof.yaml", "# @package _global_\ndefaults: [garden, _self_]\nname: roof\n")
    two = garden.write("../two/recipe/yard.yaml", "# @package _global_\ndefaults: [garden, _self_]\nname: yard\n")
    monkeypatch.setenv("BENCHBUILDER_RECIPES", os.pathsep.join([str(two.parent.parent)]))
    assert load_recipe(["recipe=roof"], recipes=[str(one.parent.parent)]).recipe.name == "roof"
    assert load_recipe(["recipe=yard"]).recipe.name == "yard"


def test_what_a_recipe_says_of_a_source_that_is_not_chosen_does_not_count(garden: Any) -> None:
    garden.write("recipes/variant/garden/quizzed.yaml", "# @package _global_\nsources: {quiz: {title: Quiz}}\n")
    recipe = load_recipe(["recipe=garden", "variant=quizzed"]).recipe
    assert list(recipe.sources) == ["plants"]
    recipe = load_recipe(["recipe=garden", "variant=quizzed", "source=[quiz]"]).recipe
    assert recipe.sources["quiz"].title == "Quiz"


def test_what_the_command_line_says_of_it_is_wrong(garden: Any) -> None:
    with pytest.raises(RecipeError, match="a source needs its `kind`"):
        load_recipe(["recipe=garden", "sources.quiz.title=Quiz"])
