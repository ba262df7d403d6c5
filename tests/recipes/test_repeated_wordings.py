"""A sentence that the rules fill in stands in one file of recipes; those that stand in several are listed here."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import yaml

from benchbuilder.config import parse_yaml_tree

RECIPES = Path(__file__).parents[2] / "recipes"
PLACE = re.compile(r"\{[a-z_]+\}")

REPEATED = {
    # options that are chosen one without the other, and a variant that replaces the list: nothing that both have
    # could be referred to
    "{statement}吗？": 3,
    "{statement}，这种说法对吗？": 2,
    "{end}什么？": 2,
    "“{claim}”这种说法对吗？": 3,
    "Is this true? “{claim}”": 2,
    # a table of relations is read as it stands, without references
    "{head}的{relation}包括哪些？": 2,
}
"""The number of files with each sentence that stands in several."""


def texts(node: yaml.Node | None) -> Iterator[str]:
    if isinstance(node, yaml.ScalarNode):
        yield str(node.value)
    elif isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from texts(value)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from texts(child)


def test_no_further_sentence_stands_in_several_files() -> None:
    found = defaultdict[str, set[Path]](set)
    for path in sorted(RECIPES.rglob("*.yaml")):
        for text in texts(parse_yaml_tree(path.read_text(encoding="utf-8"))):
            if PLACE.search(text) and "${" not in text and re.search(r"\w", PLACE.sub("", text)):
                found[text].add(path)
    assert {text: len(files) for text, files in found.items() if len(files) > 1} == REPEATED
