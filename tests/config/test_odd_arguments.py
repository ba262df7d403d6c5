"""Overrides, paths and names that no file system or parser takes: each ends in a message that names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchbuilder.config.load import load_recipe
from benchbuilder.config.output_names import output_name_fault
from benchbuilder.config.spec.base import FileRef
from benchbuilder.core.errors import DataError, RecipeError
from benchbuilder.core.special_files import special_file
from benchbuilder.pipeline.check import check_recipe
from benchbuilder.sources.formats.files import find_files


def told(*words: str) -> str:
    with pytest.raises(RecipeError) as caught:
        load_recipe(words)
    return str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["recipe=garden", 'name="\udcff"'], r"this override is not valid text"),
        (["=", "recipe=garden"], "this override has no key"),
        (["recipe=garden", "+x=" + "[" * 300 + "]" * 300], "this value is nested too deeply"),
        (["recipe=garden", "+x=" + "[" * 3000], "this value is nested too deeply"),
        pytest.param(["recipe=garden", f"seed={'9' * 5000}"], "this value cannot be read", id="many digits"),
    ],
)
def test_overrides_that_no_parser_takes(garden: Any, words: list[str], message: str) -> None:
    said = told(*words)
    assert message in said
    assert said.encode()


def test_brackets_in_quotes_are_text(garden: Any) -> None:
    said = told("recipe=garden", f"+card.nothing='{'[' * 50}'")
    assert "nested" not in said


@pytest.mark.parametrize(
    ("escape", "message"),
    [
        (r"\0plants.tsv", "no path holds the character NUL"),
        (r"\ud800.tsv", "this text has half a character"),
        (r"\UFFFFFFFF.tsv", "an escape in the file is no character"),
    ],
)
def test_escapes_in_a_recipe(garden: Any, escape: str, message: str) -> None:
    garden.write("recipes/local/default.yaml", f'# @package _global_\npaths: {{plants: "{escape}"}}\n')
    assert message in told("recipe=garden")


def test_links_in_a_circle_are_named(garden: Any) -> None:
    (garden.folder / "circle.tsv").symlink_to("circle.tsv")
    (garden.folder / "nowhere.tsv").symlink_to("nothing")
    assert special_file(garden.folder / "nowhere.tsv") == "a link that leads nowhere"
    assert "this is a link that leads in a circle, not a file" in told("recipe=garden", "paths.plants=circle.tsv")
    for pattern, message in (("c*", "circle.tsv is a link that leads in a circle"), ("n*", "link that leads nowhere")):
        ref = FileRef(path=pattern, resolved_path=str(garden.folder / pattern))
        with pytest.raises(DataError, match=message):
            find_files(ref, key="sources.x.path", suffixes=[".tsv"])


@pytest.mark.parametrize("pattern", ["in/circle", "in/c*", "in"])
def test_links_in_a_circle_below_a_recipe(garden: Any, pattern: str) -> None:
    folder = garden.folder / "recipes/local/in"
    folder.mkdir(parents=True)
    (folder / "circle").symlink_to("circle")
    garden.write("recipes/local/default.yaml", f"# @package _global_\npaths: {{plants: {pattern}}}\n")
    with pytest.raises((RecipeError, DataError)):
        check_recipe(load_recipe(["recipe=garden"]))


def test_the_folder_of_a_build_is_a_folder(garden: Any) -> None:
    Path("file").touch()
    Path("nowhere").symlink_to("nothing")
    assert "this is a file, not a folder" in told("recipe=garden", "run.dir=file")
    assert "this is a file, not a folder" in told("recipe=garden", "run.dir=file/below")
    assert "this is a link that leads nowhere, not a folder" in told("recipe=garden", "run.dir=nowhere")
    assert load_recipe(["recipe=garden", "run.dir=new/below"])


@pytest.mark.parametrize("name", ["CON", "nul.jsonl", "a/Lpt1.x.y", "COM¹", "aux .txt", "items.", "a ./b"])
def test_names_that_windows_cannot_have(name: str) -> None:
    assert output_name_fault(name) == "Windows cannot have a file of this name"


def test_names_of_outputs_end_somewhere() -> None:
    assert output_name_fault("题" * 67) == "this name is longer than 200 bytes"
    assert not output_name_fault("题" * 66)
    assert not output_name_fault("console.jsonl")
