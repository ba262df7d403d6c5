"""Recipes are found and loaded, and every value knows its origin."""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf
from pydantic import ValidationError

from benchbuilder.config import search_path as roots_module
from benchbuilder.config.composition_cache import composed_recipe
from benchbuilder.config.load import load_recipe
from benchbuilder.config.origins import ValueOrigin, ValueOrigins, collect_value_origins, parse_key
from benchbuilder.config.render import annotate_with_origins, render_recipe
from benchbuilder.config.search_path import RecipeRoot, find_roots, prompt_roots
from benchbuilder.config.spec.base import CasingSpec
from benchbuilder.config.trust import trusting
from benchbuilder.config.yaml_source import dotted_key, read_recipe_file
from benchbuilder.core.errors import RecipeError

# --- loading ---------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("text", ["no", '"no"', "nb-Latn", "zh-Hant-TW", "sl-rozaj-1994", "qaa"])
def test_a_language_is_known_whatever_yaml_makes_of_it(garden: Any, text: str) -> None:
    garden.replace("recipes/recipe/garden.yaml", "language: en", f"language: {text}")
    garden.replace("recipes/source/plants.yaml", "kind:", "language: ${language}\nkind:")
    recipe = load_recipe(["recipe=garden"]).recipe
    assert recipe.language == recipe.sources["plants"].language == text.strip('"')


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
    words = ["recipe=garden"]
    (garden.folder / "recipes/local").mkdir()
    with trusting(["recipes/local"]):
        roots = find_roots(cwd=garden.folder, environ={})
    first, second = composed_recipe(words, roots).recipe, composed_recipe(words, roots).recipe
    assert first.data == second.data
    first.data["steps"].clear()
    first.origins.entries.clear()
    third = composed_recipe(words, roots).recipe
    assert third.data == second.data
    assert third.origins.entries == second.origins.entries
    garden.write("recipes/local/default.yaml", "# @package _global_\nsteps:\n  state:\n    min_chars: 7\n")
    assert composed_recipe(words, roots).recipe.data["steps"]["state"]["min_chars"] == 7
    garden.replace("recipes/local/default.yaml", "7", "8")
    assert composed_recipe(words, roots).recipe.data["steps"]["state"]["min_chars"] == 8
    (garden.folder / "recipes/local/default.yaml").unlink()
    assert composed_recipe(words, roots).recipe.data == second.data
    garden.write("elsewhere.yaml", "# @package _global_\nsteps:\n  state:\n    min_chars: 5\n")
    (garden.folder / "recipes/local/default.yaml").symlink_to(garden.folder / "elsewhere.yaml")
    assert composed_recipe(words, roots).recipe.data["steps"]["state"]["min_chars"] == 5
    garden.replace("elsewhere.yaml", "5", "6")
    assert composed_recipe(words, roots).recipe.data["steps"]["state"]["min_chars"] == 6


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
    lines = annotate_with_origins(render_recipe(loaded.recipe, runtime_options=True), loaded.origins).splitlines()

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
    assert str(origins.origin_of(("sources", "plants", "path"))) == "command line: paths.plants=x.tsv"
    assert str(origins.written_origin(("sources", "plants", "path"))) == "recipes/source/plants.yaml:3"
    assert str(origins.origin_of(("steps", "pair", "from", "fact"))) == "recipes/flow/claims.yaml:4"
    assert str(origins.origin_of(("steps", "state", "endings", 0))) == "command line: steps.state.endings=[a]"
    assert str(origins.origin_of(("nowhere", "at", "all"))).startswith("recipes/benchbuild.yaml:1")


def test_what_the_user_wrote_is_trusted(garden: Any, tmp_path: Path) -> None:
    text = f"# @package _global_\nmodel: {{base_url: 'http://localhost:1'}}\npaths: {{plants: {tmp_path}/p.tsv}}\n"
    garden.write("recipes/local/default.yaml", text)
    with trusting(["recipes/local"]):
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


def test_null_removes_an_inherited_source(garden: Any) -> None:
    recipe = load_recipe(["recipe=garden", "source=[plants,quiz]", "sources.quiz=null"]).recipe
    assert list(recipe.sources) == ["plants"]


def test_what_the_command_line_says_of_it_is_wrong(garden: Any) -> None:
    with pytest.raises(RecipeError, match="a source needs its `kind`"):
        load_recipe(["recipe=garden", "sources.quiz.title=Quiz"])


# --- origins ---------------------------------------------------------------------------------------------------------


def file(folder: Path, name: str, text: str) -> Any:
    (folder / name).write_text(text)
    return read_recipe_file(folder / name, RecipeRoot(folder, "here"))


def test_keys_and_their_text() -> None:
    assert parse_key("a.b[0].c") == ("a", "b", 0, "c")
    assert dotted_key(("a", "b", 0, "c")) == "a.b[0].c"


def test_later_layers_win_and_replace_what_was_below(tmp_path: Path) -> None:
    first = file(tmp_path, "first.yaml", "a:\n  b: 1\n  c: [1, 2, 3]\n")
    second = file(tmp_path, "second.yaml", "\nb: 2\nc: [9]\n")
    origins = collect_value_origins([(first, ""), (second, "a")], [("a.d", {"e": 1}, "a.d={e: 1}")], {})
    assert origins.origin_of(("a", "b")).line == 2
    assert origins.origin_of(("a", "b")).file == tmp_path / "second.yaml"
    assert origins.entries.get(("a", "c", 2)) is None
    assert origins.origin_of(("a", "d", "e")).override == "a.d={e: 1}"


def test_a_key_that_stands_nowhere_falls_back_to_the_one_above_and_then_to_the_first_file(tmp_path: Path) -> None:
    origins = collect_value_origins([(file(tmp_path, "first.yaml", "a:\n  b: 1\n"), "")], [], {})
    assert origins.origin_of(("a", "x", "y")).line == 1
    assert origins.origin_of(("z",)).file == tmp_path / "first.yaml"
    assert str(ValueOrigins().origin_of(("z",))) == "command line: "


def test_links_are_followed_to_their_end(tmp_path: Path) -> None:
    text = "a: ${b.c}\nb:\n  c: ${.d}\n  d: x\ne: ${a}/more\nf: ${a}/../more\ng: ${a}@elsewhere\nh: ${b}\n"
    raw = {"a": "${b.c}", "b": {"c": "${.d}", "d": "x"}, "e": "${a}/more", "f": "${a}/../more", "g": "${a}@elsewhere", "h": "${b}"}  # fmt: skip # noqa: E501
    origins = collect_value_origins([(file(tmp_path, "one.yaml", text), "")], [("b.d", "y", "b.d=y")], raw)
    assert origins.origin_of(("a",)) == ValueOrigin(override="b.d=y", trusted=True, moved=True)
    assert origins.origin_of(("h", "d")).override == "b.d=y"
    assert [origins.origin_of((key,)).trusted for key in "aefg"] == [True, True, False, False]


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    origins = collect_value_origins(
        [(file(tmp_path, "one.yaml", "a: ${b}\nb: ${a}\n"), "")], [], {"a": "${b}", "b": "${a}"}
    )
    assert origins.origin_of(("a",)).file is not None


def test_trust_is_for_what_the_user_named(tmp_path: Path) -> None:
    for name in ("here/recipes/local", "there/local", "home/benchbuilder/user"):
        (tmp_path / name).mkdir(parents=True)
    env = {"XDG_CONFIG_HOME": str(tmp_path / "home")}
    with trusting([str(tmp_path / "here/recipes/local")]):
        roots = find_roots(["../there"], cwd=tmp_path / "here", environ=env)
    there, here, home, bundled = roots[:4]
    assert [root.label for root in roots[:3]] == ["--recipes ../there", "./recipes", "your own configuration"]
    assert here.trusts(here.path / "local/default.yaml")
    assert not here.trusts(here.path / "recipe/x.yaml")
    assert not there.trusts(there.path / "local/default.yaml")
    assert home.trusts(home.path / "model/mine.yaml")
    assert bundled.trusts(bundled.path / "model/openai.yaml")


def test_a_folder_found_twice_counts_once(tmp_path: Path) -> None:
    (tmp_path / "recipes/local").mkdir(parents=True)
    (tmp_path / "prompts").mkdir()
    roots = find_roots(["recipes"], cwd=tmp_path, environ={"BENCHBUILDER_RECIPES": str(tmp_path / "recipes")})
    assert [root.path for root in roots].count(tmp_path / "recipes") == 1
    assert not roots[0].trusts(tmp_path / "recipes/local/default.yaml")
    assert prompt_roots(roots)[0] == tmp_path / "prompts"


def test_a_strangers_local_folder_is_not_trusted(garden: Any) -> None:
    garden.write("../stranger/local/default.yaml", "# @package _global_\npaths: {plants: /etc/passwd}\n")
    with pytest.raises(RecipeError, match="a recipe cannot name absolute paths"):
        load_recipe(["recipe=garden"], recipes=["../stranger"])


def test_select_is_a_link_if_there_is_something_to_select(garden: Any) -> None:
    garden.replace("recipes/retriever/bm25.yaml", "top_k: 3", "top_k: 3\nstop_words: ${oc.select:paths.stop,null}")
    assert load_recipe(["recipe=garden"]).recipe.retriever.stop_words is None
    garden.replace("recipes/recipe/garden.yaml", "paths:\n", "paths:\n  stop: garden/words.txt\n")
    loaded = load_recipe(["recipe=garden"])
    assert loaded.recipe.retriever.stop_words.file == garden.folder / "recipes/recipe/garden/words.txt"


def test_bundled_folders_in_a_wheel_and_in_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roots_module, "__file__", str(tmp_path / "benchbuilder/config/search_path.py"))
    assert roots_module.bundled_folder("recipes") == tmp_path / "recipes"
    (tmp_path / "benchbuilder/bundled/recipes").mkdir(parents=True)
    assert roots_module.bundled_folder("recipes") == tmp_path / "benchbuilder/bundled/recipes"


def test_installed_packages_bring_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy_plugin/recipes").mkdir(parents=True)
    (tmp_path / "toy_plugin/__init__.py").write_text("raise RuntimeError('must not be imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = EntryPoint("toy", "toy_plugin:recipes", "benchbuilder.recipes")
    monkeypatch.setattr(roots_module, "installed_entry_points", lambda group: [entry])
    (root,) = [root for root in find_roots(cwd=tmp_path, environ={"HOME": "/"}) if "toy_plugin" in root.label]
    assert root.path == tmp_path / "toy_plugin/recipes"
    assert root.trusts(root.path / "model/theirs.yaml")


def test_letters_are_lowered_only_where_names_are_listed() -> None:
    with pytest.raises(ValidationError, match="list these words under `names`, or write keep"):
        CasingSpec(default="lower")
    assert CasingSpec().default == "keep"


def test_a_path_of_the_command_line_that_nothing_reads_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(RecipeError, match="nothing in this recipe reads this path") as raised:
        load_recipe(["recipe=exam_any", "paths.model_answer=a.csv"])
    (problem,) = raised.value.problems
    assert problem.key == "paths.model_answer"
    assert "did you mean 'model_answers'?" in problem.hint


def test_a_path_of_the_recipe_may_go_even_if_nothing_reads_it_and_a_slip_of_the_pen_may_not(garden: Any) -> None:
    garden.replace("recipes/recipe/garden.yaml", "paths:\n", "paths:\n  votes: garden/votes\n")
    given = ["recipe=garden"]
    load_recipe([*given, "paths.votes=null"])
    with pytest.raises(RecipeError, match="nothing in this recipe reads this path"):
        load_recipe([*given, "paths.vots=null"])
    with pytest.raises(RecipeError, match="nothing in this recipe reads this path"):
        load_recipe([*given, "paths.votes=mine"])


@pytest.mark.push
@pytest.mark.parametrize("recipe", ["exam_any", "reading_en", "claims_en", "clinic_zu", "law_zh", "care_mi"])
def test_every_recipe_reads_answers_that_models_gave_before(recipe: str) -> None:
    loaded = load_recipe([f"recipe={recipe}", "paths.model_answers=given.csv"])
    assert loaded.recipe.evaluation is not None
    answers = loaded.recipe.evaluation.answers
    assert answers is not None
    assert answers.path == "given.csv"
