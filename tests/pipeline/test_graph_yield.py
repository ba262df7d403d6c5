"""The lines at the end of a build that say what became of the facts of a graph, and which sources gave no item."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchbuilder.cli.build import sources_without_items
from benchbuilder.pipeline import BuildReport, Manifest, graph_lines, graph_next


def manifest(step: str, kind: str, *counts: tuple[str, str, str, int], rows: int = 1, row: str = "", **notes: Any):
    return Manifest(
        step=step, kind=kind, row=row, key="", key_inputs={}, inputs={}, digest="", outcomes="", rows=rows, shards=1,
        counts=counts, notes=notes,
    )  # fmt: skip


def lines(*manifests: Manifest) -> list[str]:
    return list(graph_lines({one.step: one for one in manifests}))


def test_the_share_of_facts_and_the_reasons_that_cost_most_are_told():
    swap = manifest(
        "swap", "swap_triple", ("kg", "kept", "", 60), ("kg", "dropped", "open_relation", 100),
        ("other", "dropped", "open_relation", 20), ("kg", "dropped", "unspecific", 10),
        ("kg", "dropped", "left_over", 6), ("kg", "dropped", "no_partner", 4),
        ("kg", "not_applicable", "false_statement", 7),
    )  # fmt: skip
    asked = manifest(
        "sets", "ask_set_triple", ("kg", "kept", "", 10), ("kg", "not_applicable", "in_set", 30),
        ("kg", "not_applicable", "asked_true_or_false", 120), ("kg", "dropped", "too_many_ends", 40),
    )  # fmt: skip
    assert lines(swap, asked, manifest("other", "screen", ("kg", "kept", "", 5))) == [
        "swap: 60 of 200 facts (30 %) exchange their answers; not: open_relation 60 %, unspecific 5 %, left_over 3 %",
        "sets: 40 of 200 facts (20 %) are in 10 set questions; 120 are asked as true/false questions; "
        "not: too_many_ends 20 %",
    ]
    assert lines(manifest("swap", "swap_triple")) == []
    assert lines(manifest("sets", "ask_set_triple", ("kg", "not_applicable", "switched_off", 5))) == []


@pytest.mark.parametrize(
    ("tried", "more"),
    [
        ({"now": 10, "strict": 10, "balanced": 25, "loose": 40},
         ". With people's votes on them, swap=balanced 15 more, swap=loose 30 more"),
        ({"now": 25, "strict": 10, "balanced": 25, "loose": 40}, ". With people's votes on them, swap=loose 15 more"),
        ({"now": 40, "strict": 10, "balanced": 25, "loose": 40}, ""),
    ],
)  # fmt: skip
def test_what_other_presets_bring_is_told_where_it_was_tried(tried, more):
    swap = manifest("swap", "swap_triple", ("kg", "kept", "", 50), ("kg", "dropped", "unspecific", 50),
                    presets={"facts": 100, "of": 100, "exchanged": tried})  # fmt: skip
    assert lines(swap)[0].partition("unspecific 50 %")[2] == more
    part = swap.model_copy(update={"notes": {"presets": {"facts": 50, "of": 100, "exchanged": tried}}})
    assert lines(part)[0].count(" about ") == more.count("swap=")


def test_a_graph_that_yields_nothing_ends_in_the_reason_and_in_settings_that_were_tried():
    presets = {
        "facts": 60, "of": 60, "functional": ["产地", "x'y"],
        "exchanged": {"now": 0, "strict": 0, "balanced": 32, "loose": 60, "functional": 58},
    }  # fmt: skip
    swap = manifest("swap", "swap_triple", ("kg", "dropped", "near_known", 31), ("kg", "dropped", "kin_has_it", 29),
                    rows=0, presets=presets)  # fmt: skip
    listed = """'steps.swap.relations.functional=["产地","x'"'"'y"]'"""
    assert graph_next({"swap": swap}) == (
        "swap loses the facts to near_known and kin_has_it; next: give this command again with "
        "swap=balanced (32 more; with people's votes on them) or swap=loose (60 more; with people's votes on them) or "
        f"{listed} (58 more; if a concept has only one right end in these relations)"
    )
    assert lines(swap)[0].endswith(f". If a concept has only one right end in these relations, {listed} 58 more")
    unlisted: dict[str, Any] = {
        "facts": 9, "of": 9, "exchanged": {"now": 0, "unlisted": 6}, "lists": ["open", "kinds"],
    }  # fmt: skip
    is_open = manifest("swap", "swap_triple", ("kg", "dropped", "open_relation", 9), rows=0, presets=unlisted)
    assert graph_next({"swap": is_open}) == (
        "swap loses the facts to open_relation; next: give this command again with steps.swap.relations.open=[] "
        "steps.swap.relations.kinds=[] (6 more; if every end that the graph does not list is wrong)"
    )
    assert graph_next({"swap": manifest("swap", "swap_triple", ("kg", "dropped", "no_partner", 1))}) == ""


def test_a_source_of_facts_that_gave_rows_and_no_item_is_named():
    manifests = {
        "kg": manifest("kg", "triples", rows=5, row="fact[triple]"), "exam": manifest("exam", "x", row="fact[choice]"),
        "book": manifest("book", "corpus", row="passage"), "words": manifest("words", "terms", row="fact[term]"),
        "none": manifest("none", "triples", rows=0, row="fact[triple]"),
        "topic": manifest("topic", "topic", ("kg", "dropped", "off_topic", 4), ("exam", "dropped", "off_topic", 1)),
        "state": manifest("state", "state_triple", ("kg", "dropped", "unknown_relation", 1)),
        "items": manifest("items", "annotate", ("exam", "kept", "", 1)),
    }  # fmt: skip
    report = BuildReport(folder=Path(), manifests=manifests)
    sources = ["kg", "exam", "book", "words", "none"]

    def recipe(*items: str) -> Any:
        return SimpleNamespace(sources=sources, by_task=lambda: {name: SimpleNamespace(items=name) for name in items})

    assert list(sources_without_items(report, recipe("items"))) == [
        "warning: no item came of the 5 rows of source 'kg': topic off_topic 4, state unknown_relation 1"
    ]
    manifests["other"] = manifest("other", "annotate", ("kg", "kept", "", 2))
    assert not list(sources_without_items(report, recipe("items", "other"))), "another task has items of it"
    manifests["chats"] = manifest("chats", "annotate", ("chat", "kept", "", 2))
    assert not list(sources_without_items(report, recipe("items", "chats"))), "items are not parted by source"
