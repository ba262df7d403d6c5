from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from benchbuilder.config import search_path as roots_module
from benchbuilder.config.load import load_recipe
from benchbuilder.config.origins import Origin, Origins, collect_origins, parse_key
from benchbuilder.config.search_path import Root, find_roots, prompt_roots
from benchbuilder.config.yaml_source import dotted, read_recipe_file
from benchbuilder.core.errors import RecipeError


def file(folder: Path, name: str, text: str) -> Any:
    (folder / name).write_text(text)
    return read_recipe_file(folder / name, Root(folder, "here"))


def test_keys_and_their_text() -> None:
    assert parse_key("a.b[0].c") == ("a", "b", 0, "c")
    assert dotted(("a", "b", 0, "c")) == "a.b[0].c"


def test_later_layers_win_and_replace_what_was_below(tmp_path: Path) -> None:
    first = file(tmp_path, "first.yaml", "a:\n  b: 1\n  c: [1, 2, 3]\n")
    second = file(tmp_path, "second.yaml", "\nb: 2\nc: [9]\n")
    origins = collect_origins([(first, ""), (second, "a")], [("a.d", {"e": 1}, "a.d={e: 1}")], {})
    assert origins.of(("a", "b")).line == 2
    assert origins.of(("a", "b")).file == tmp_path / "second.yaml"
    assert origins.exact(("a", "c", 2)) is None
    assert origins.of(("a", "d", "e")).word == "a.d={e: 1}"


def test_a_key_that_stands_nowhere_falls_back_to_the_one_above_and_then_to_the_first_file(tmp_path: Path) -> None:
    origins = collect_origins([(file(tmp_path, "first.yaml", "a:\n  b: 1\n"), "")], [], {})
    assert origins.of(("a", "x", "y")).line == 1
    assert origins.of(("z",)).file == tmp_path / "first.yaml"
    assert str(Origins().of(("z",))) == "command line: "


def test_links_are_followed_to_their_end(tmp_path: Path) -> None:
    text = "a: ${b.c}\nb:\n  c: ${.d}\n  d: x\ne: ${a}/more\nf: ${a}/../more\ng: ${a}@elsewhere\nh: ${b}\n"
    raw = {"a": "${b.c}", "b": {"c": "${.d}", "d": "x"}, "e": "${a}/more", "f": "${a}/../more", "g": "${a}@elsewhere", "h": "${b}"}  # fmt: skip # noqa: E501
    origins = collect_origins([(file(tmp_path, "one.yaml", text), "")], [("b.d", "y", "b.d=y")], raw)
    assert origins.of(("a",)) == Origin(word="b.d=y", trusted=True)
    assert origins.of(("h", "d")).word == "b.d=y"
    assert [origins.of((key,)).trusted for key in "aefg"] == [True, True, False, False]


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    origins = collect_origins([(file(tmp_path, "one.yaml", "a: ${b}\nb: ${a}\n"), "")], [], {"a": "${b}", "b": "${a}"})
    assert origins.of(("a",)).file is not None


def test_trust_is_for_local_files_of_the_current_folder_only(tmp_path: Path) -> None:
    for name in ("here/recipes/local", "there/local", "home/benchbuilder/user"):
        (tmp_path / name).mkdir(parents=True)
    env = {"XDG_CONFIG_HOME": str(tmp_path / "home")}
    roots = find_roots(["../there"], cwd=tmp_path / "here", environ=env)
    there, here, home = roots[:3]
    assert [root.label for root in roots[:3]] == ["--recipes ../there", "./recipes", "your own configuration"]
    assert here.trusts(here.path / "local/default.yaml")
    assert not here.trusts(here.path / "recipe/x.yaml")
    assert not there.trusts(there.path / "local/default.yaml")
    assert home.trusts(home.path / "model/mine.yaml")


def test_a_folder_found_twice_counts_once(tmp_path: Path) -> None:
    (tmp_path / "recipes/local").mkdir(parents=True)
    (tmp_path / "prompts").mkdir()
    roots = find_roots(["recipes"], cwd=tmp_path, environ={"BENCHBUILDER_RECIPES": str(tmp_path / "recipes")})
    assert [root.path for root in roots].count(tmp_path / "recipes") == 1
    assert roots[0].trusts(tmp_path / "recipes/local/default.yaml")
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
    assert roots_module.bundled("recipes") == tmp_path / "recipes"
    (tmp_path / "benchbuilder/bundled/recipes").mkdir(parents=True)
    assert roots_module.bundled("recipes") == tmp_path / "benchbuilder/bundled/recipes"


def test_installed_packages_bring_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy_plugin/recipes").mkdir(parents=True)
    (tmp_path / "toy_plugin/__init__.py").write_text("raise RuntimeError('must not be imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = EntryPoint("toy", "toy_plugin:recipes", "benchbuilder.recipes")
    monkeypatch.setattr(roots_module, "entry_points", lambda group: [entry])
    (root,) = [root for root in find_roots(cwd=tmp_path, environ={"HOME": "/"}) if "toy_plugin" in root.label]
    assert root.path == tmp_path / "toy_plugin/recipes"
    assert not root.trusts(root.path / "local/default.yaml")
