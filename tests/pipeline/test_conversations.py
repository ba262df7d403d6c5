"""Steps that put prompts, in a build: outcomes, failures, what is asked again and what never."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking_kinds import Loud, LoudSpec, asked
from engine_bench import Bench

from benchbuilder.authoring.dry_run.run import nodes_without_prompts
from benchbuilder.core import registry
from benchbuilder.core.errors import DataError, InstallationError, ServiceError, TooManyFailures
from benchbuilder.models.base import Model
from benchbuilder.pipeline.plan import recorded_changes
from benchbuilder.pipeline.run_node import NodeRunner
from benchbuilder.pipeline.store.folder import Store

LINES = ["cat", "mute dog", "come later", "ox", "zebra", "cat again", "late night"]


@pytest.fixture(autouse=True)
def _asking_kinds() -> Iterator[None]:
    registry.BUILT_IN_KINDS["step"]["t_ask"] = "asking_kinds:Ask"
    registry.BUILT_IN_KINDS["model"]["t_loud"] = "asking_kinds:Loud"
    registry.kinds_of_slot.cache_clear()
    yield
    del registry.BUILT_IN_KINDS["step"]["t_ask"], registry.BUILT_IN_KINDS["model"]["t_loud"]
    registry.kinds_of_slot.cache_clear()


def bench(folder: Path, *, broken: tuple[str, ...] = (), name: str = "loud", **more: Any) -> Bench:
    spec = LoudSpec(kind="t_loud", name=name, log=str(folder / "log.txt"), broken=broken)
    steps: dict[str, dict[str, Any]] = {
        "short": {"kind": "t_short", "from": "sources.left", "at_most": 40},
        "loud": {"kind": "t_ask", "from": "short", "model": spec} | more.pop("loud", {}),
        "again": {"kind": "t_ask", "from": "loud", "model": spec, "ask": "Again: "},
        "unique": {"kind": "t_unique", "from": "again"},
    }
    return Bench(folder, {"left": more.pop("lines", LINES)}, steps, "unique", **more)


def outcomes(made: Bench, step: str) -> dict[str, str]:
    """The outcome of each row, by what was dropped or kept."""
    seal = made.inspector().manifests[step]
    return {f"{outcome}:{reason}": n for _, outcome, reason, n in seal.counts}


def test_every_row_gets_its_fate(tmp_path: Path) -> None:
    made = bench(tmp_path)
    report = made.build()
    assert made.texts("loud") == ["CAT!", "COME LATER!", "ZEBRA!", "CAT AGAIN!", "LATE NIGHT!"]
    assert outcomes(made, "loud") == {"kept:": 5, "dropped:no_mark": 1, "dropped:short": 1}
    by_step = {receipt.step: receipt for receipt in report.receipts}
    assert by_step["loud"].calls == 8  # six lines, two of them twice
    assert by_step["again"].calls == 5
    assert by_step["loud"].prompt_tokens > 0


def test_a_second_build_asks_nothing(tmp_path: Path) -> None:
    bench(tmp_path).build()
    before = asked(tmp_path / "log.txt")
    report = bench(tmp_path).build()
    assert report.built_steps == []
    assert asked(tmp_path / "log.txt") == before
    assert sum(receipt.calls for receipt in report.receipts) == 13


def test_refreshing_a_step_takes_its_replies_from_the_journal(tmp_path: Path) -> None:
    bench(tmp_path).build()
    before = asked(tmp_path / "log.txt")
    report = bench(tmp_path).build(refresh=("loud",))
    assert "loud" in report.built_steps
    assert asked(tmp_path / "log.txt") == before


def test_another_prompt_asks_again_and_another_model_too(tmp_path: Path) -> None:
    bench(tmp_path).build()
    first = asked(tmp_path / "log.txt")
    bench(tmp_path, loud={"ask": "Shout: "}).build()
    second = asked(tmp_path / "log.txt") - first
    # the first step asks anew; what it writes is the same, so the second step asks nothing
    assert {line.partition(": ")[0] for line in second} == {"Shout"}
    bench(tmp_path, name="louder").build()
    assert asked(tmp_path / "log.txt") - first - second == first


@pytest.mark.push
def test_rows_that_fail_are_named_and_tried_again_alone(tmp_path: Path) -> None:
    with pytest.raises(TooManyFailures, match=r"1 of 7 branches of step 'loud' failed"):
        bench(tmp_path, broken=("zebra",)).build()
    tolerant = bench(tmp_path, broken=("zebra",), tolerated=0.2)
    tolerant.build()
    assert outcomes(tolerant, "loud") == {"kept:": 4, "dropped:no_mark": 1, "dropped:short": 1, "failed:": 1}
    assert "the model has no answer" in tolerant.why()["loud"] or "1 branches failed" in tolerant.why()["loud"]
    before = asked(tmp_path / "log.txt")
    healed = bench(tmp_path, tolerated=0.2)
    healed.build()
    assert outcomes(healed, "loud") == {"kept:": 5, "dropped:no_mark": 1, "dropped:short": 1}
    assert asked(tmp_path / "log.txt") - before == {"Louder: zebra": 1, "Again: ZEBRA!": 1}
    whole = bench(tmp_path / "whole")
    whole.build()
    assert healed.digests() == whole.digests()


def test_a_build_with_too_many_failures_says_why_and_names_each(tmp_path: Path) -> None:
    former = bench(tmp_path, name="former")
    former.build()
    made = bench(tmp_path, broken=("zebra", "ox", "cat"))
    with pytest.raises(TooManyFailures) as told:
        made.build()
    assert "most often: the model has no answer (3 of 3)" in told.value.why
    assert "ledger.tsv" in told.value.where
    out = made.folder / "out"
    failed = [line.split("\t") for line in (out / "ledger.tsv").read_text(encoding="utf-8").splitlines()]
    assert [line[0] for line in failed if line[1] == "failed"] == ["loud"] * 3
    # what the former settings made lies there no more, and comes back with them
    assert sorted(made.outputs()) == ["ledger.tsv", "recipe.yaml", "replies.sqlite"]
    assert any("removed outdated outputs" in text and "items.txt" in text for _, text in made.watcher.said)
    former.build()
    assert "items.txt" in former.outputs()
    assert "failed" not in (out / "ledger.tsv").read_text(encoding="utf-8")


def test_outputs_that_fit_what_is_sealed_stay_when_a_build_stops(tmp_path: Path, monkeypatch: Any) -> None:
    made = bench(tmp_path, broken=("zebra",), tolerated=0.2)
    made.build()
    before = made.outputs()

    def nobody(*_: Any) -> None:
        raise ServiceError("nobody is there")

    monkeypatch.setattr(Loud, "generate", nobody)
    with pytest.raises(ServiceError):
        made.build()
    assert made.outputs() == before


def test_a_library_that_is_missing_is_told_before_any_step(tmp_path: Path, monkeypatch: Any) -> None:
    def missing(self: Any) -> None:
        raise InstallationError("more is needed")

    made = bench(tmp_path)
    monkeypatch.setattr(Loud, "ready", missing)
    with pytest.raises(InstallationError):
        made.build()
    assert made.watcher.said == []
    monkeypatch.undo()
    made.build()
    monkeypatch.setattr(Loud, "ready", missing)
    made.build()  # all is there: nobody is asked


@pytest.mark.push
def test_small_shards_make_the_same(tmp_path: Path) -> None:
    one, many = bench(tmp_path / "one"), bench(tmp_path / "many", run={"shard_rows": 2})
    one.build()
    many.build()
    assert one.digests() == many.digests()


def test_a_build_that_was_stopped_asks_only_for_what_is_missing(tmp_path: Path, monkeypatch: Any) -> None:
    whole = bench(tmp_path / "whole")
    whole.build()
    settle, done = NodeRunner._make_shards, []

    def stop(self: Any, node: Any, *rest: Any) -> None:
        settle(self, node, *rest)
        done.append(node.name)
        if node.name == "again":
            raise OSError("pulled the plug")

    made = bench(tmp_path / "torn")
    monkeypatch.setattr(NodeRunner, "_make_shards", stop)
    with pytest.raises(OSError, match="plug"):
        made.build()
    monkeypatch.undo()
    made.build()
    assert made.digests() == whole.digests()
    assert max(asked(tmp_path / "torn" / "log.txt").values()) == max(asked(tmp_path / "whole" / "log.txt").values())


def test_which_steps_are_free(tmp_path: Path) -> None:
    plan = bench(tmp_path).plan()
    assert nodes_without_prompts(plan) == {"left", "short"}
    asking = [name for name, node in plan.nodes.items() if node.model_spec is not None]
    assert plan.ancestors_of(asking) == {"left", "short", "loud", "again"}


def test_the_stand_in_is_a_model(tmp_path: Path) -> None:
    model: Model = registry.create_from_spec("model", LoudSpec(kind="t_loud", log=str(tmp_path / "log.txt")))
    assert isinstance(model, Loud)
    assert model.sent_settings({"temperature": 0, "top_k": 3}) == {"temperature": 0}


def _change_to_former_layout(store: Store) -> None:
    """Rename files and fields of a built folder to what they were called before."""
    for file in store.steps.glob("*/*/outcomes-*.parquet"):
        file.rename(file.with_name(file.name.replace("outcomes", "fates")))
    for path in store.steps.glob("*/*/manifest.json"):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        del manifest["checksum"]
        former = {"key_inputs": "asked", "outcomes": "fates", "external_inputs": "observed"}
        manifest = {former.get(name, name): value for name, value in manifest.items()} | {"state": "sealed"}
        path.write_text(json.dumps(manifest), encoding="utf-8")


def test_a_folder_of_the_former_layout_is_built_anew_and_asks_nothing_again(tmp_path: Path) -> None:
    made = bench(tmp_path)
    made.build()
    digests, items, before = made.digests(), made.outputs()["items.txt"], asked(tmp_path / "log.txt")
    _change_to_former_layout(made.store)
    elsewhere = made.store.steps / "gone" / "0123"
    elsewhere.mkdir(parents=True)
    (elsewhere / "fates-00000.parquet").touch()

    assert set(made.why().values()) == {"run: built by another version of benchbuilder"}
    with pytest.raises(DataError, match="nothing is built") as error:
        made.inspector()
    assert "was built by another version of benchbuilder" in error.value.why
    assert "building again makes every step anew" in error.value.why

    report = made.build()
    assert report.built_steps == ["left", "short", "loud", "again", "unique"]
    notes = [text for step, text in made.watcher.said if not step]
    assert len(notes) == 1
    assert "another version" in notes[0]
    assert asked(tmp_path / "log.txt") == before
    assert (made.digests(), made.outputs()["items.txt"]) == (digests, items)
    assert (elsewhere / "fates-00000.parquet").exists()
    assert made.build().built_steps == []
    assert not [text for step, text in made.watcher.said if not step]


def test_what_was_built_is_compared_with_the_recipe_as_it_is(tmp_path: Path) -> None:
    """Steps before the one in question count; a model that steps inherit may be left out of the comparison."""
    made = bench(tmp_path)
    made.build()
    manifest = made.inspector().manifests["unique"]

    def changes(now: Bench, *, own_model: bool = True) -> list[str]:
        plan = now.plan()
        if not own_model:
            model = now.steps["loud"]["model"]
            plan = replace(plan, recipe=plan.recipe.model_copy(update={"model": model}))
        return recorded_changes(plan, "unique", made.store, manifest, any_model=True)

    assert changes(made) == []
    other = bench(tmp_path, name="other")
    assert changes(other) == [f'{step}: model.name: "loud" -> "other"' for step in ("again", "loud")]
    assert changes(other, own_model=False) == []
    made.steps["short"]["at_most"] = 5
    assert changes(made) == ["short: at_most: 40 -> 5"]
