"""What `as` says counts wherever the rows of a source are asked for before it is made."""

from __future__ import annotations

import json

from benchbuilder.config.load import load_recipe
from benchbuilder.core.registry import find
from benchbuilder.pipeline.cache_key import spec_parts
from benchbuilder.pipeline.wiring import expand

QUERY = "SELECT a, b, c FROM t ORDER BY a"


def test_steps_are_wired_by_what_the_records_become(tmp_path):
    def said(name: str, made: str, columns: str) -> str:
        return f"sources.{name}={{kind: sql, as: {made}, database_env: SOME_DB, query: '{QUERY}', columns: {columns}}}"

    words = [
        said("edges", "triple", "{head: a, relation: b, tail: c}"),
        said("exam", "choice", "{question: a, options: b, answer_key: c}"),
        said("pages", "passage", "{text: a}"),
    ]
    recipe = load_recipe(["recipe=care_mi", *words], cwd=tmp_path, environ={}).recipe
    wired = [name for ports in expand(recipe).values() for names in ports.values() for name in names]
    assert {"edges", "exam", "pages"} <= set(wired)
    reads = {step for step, ports in expand(recipe).items() if "edges" in ports.get("each", ())}
    assert reads == {step for step, ports in expand(recipe).items() if "cpubmed" in ports.get("each", ())}


def test_the_key_says_what_the_records_become_and_not_where_the_database_is():
    cls = find("source", "sql").load().spec_class
    given = {"kind": "sql", "as": "passage", "query": QUERY, "columns": {"text": "a"}}
    parts = spec_parts(cls.model_validate({**given, "database_env": "ONE_DB"}), lambda _: "")
    assert parts["as"] == json.dumps("passage")
    assert parts == spec_parts(cls.model_validate({**given, "database_env": "OTHER_DB"}), lambda _: "")
