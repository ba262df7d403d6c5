"""Conversations driven again from the journal, previews and recordings, over stand-in kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from asking_kinds import asked
from engine_bench import Quiet
from test_conversations import bench

from benchbuilder.authoring.dry_run.preview import Preview, preview, preview_page
from benchbuilder.authoring.dry_run.record_replies import record
from benchbuilder.authoring.dry_run.transcripts import Desk, looking
from benchbuilder.core import registry
from benchbuilder.core.display import row_text
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.models.providers.replay import Recorded
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.shards.work import Cut
from benchbuilder.pipeline.store.folder import Store


@pytest.fixture(autouse=True)
def _asking_kinds() -> Iterator[None]:
    registry.BUILT_IN["stage"]["t_ask"] = "asking_kinds:Ask"
    registry.BUILT_IN["model"]["t_loud"] = "asking_kinds:Loud"
    registry.known.cache_clear()
    yield
    del registry.BUILT_IN["stage"]["t_ask"], registry.BUILT_IN["model"]["t_loud"]
    registry.known.cache_clear()


def test_every_conversation_is_told_again_without_asking(tmp_path: Path) -> None:
    made = bench(tmp_path)
    made.build()
    before = asked(tmp_path / "log.txt")
    desk = Desk(made.plan(), made.store, made.inspector().manifests)
    told: dict[str, tuple[list[str], str]] = {}
    with looking(made.store) as lookup:
        for row in desk.each("loud"):
            transcript = desk.transcript("loud", row, lookup)
            assert transcript.fates is not None
            fate = transcript.fates[0]
            end = row_text(fate.row) if isinstance(fate, Kept) else fate.reason if isinstance(fate, Dropped) else "?"
            told[row.text] = ([turn.reply.text for turn in transcript.turns if turn.reply is not None], end)
        written = next(row for row in made.store.rows(desk.manifests["loud"]) if row.text == "COME LATER!")
        assert [turn.request.sample for turn in desk.turns("loud", written, lookup)] == [0, 1]
    assert told["cat"] == (["CAT!"], "CAT!")
    assert told["come later"] == (["COME LATER", "COME LATER!"], "COME LATER!")
    assert told["mute dog"] == (["MUTE DOG", "MUTE DOG"], "no_mark")
    assert told["ox"] == ([], "short")
    assert asked(tmp_path / "log.txt") == before


def test_where_no_journal_is_none_is_made(tmp_path: Path) -> None:
    made = bench(tmp_path)
    with looking(made.store) as lookup:
        plan = made.plan()
        found = record(plan, made.store, lookup, Quiet())
    assert found.replies == []
    assert found.missing == {"loud": 6}  # the second step has no rows yet
    assert not made.store.journal.exists()
    assert not asked(tmp_path / "log.txt")


def test_a_recording_holds_what_the_steps_use(tmp_path: Path) -> None:
    made = bench(tmp_path)
    made.build()
    with looking(made.store) as lookup:
        found = record(made.plan(), made.store, lookup, Quiet())
    assert found.used == {"loud": 8, "again": 5}
    assert not found.missing
    assert all(isinstance(reply, Recorded) and reply.model == "loud" for reply in found.replies)
    assert {reply.messages[0].content for reply in found.replies} == set(asked(tmp_path / "log.txt"))
    # another prompt: its replies are not there, and those of the old one are not handed on
    with looking(made.store) as lookup:
        other = record(bench(tmp_path, loud={"ask": "Shout: "}).plan(), made.store, lookup, Quiet())
    assert other.missing == {"loud": 6}
    assert other.replies == []


def shown(done: Preview, step: str) -> dict[str, tuple[str, str, str]]:
    """Fate, who wrote it, and result, by the input."""
    found = next(one for one in done.steps if one.name == step)
    return {row.input: (row.fate, row.by, row.result) for row in found.shown}


def test_a_preview_tells_every_fate_and_its_replies_are_kept(tmp_path: Path) -> None:
    made = bench(tmp_path, broken=("zebra",))
    done = preview(made.plan(), made.store, 4, Quiet())
    assert shown(done, "loud") == {
        "cat": ("kept", "model", "CAT!"),
        "mute dog": ("dropped", "model", "dropped (no_mark): MUTE DOG"),
        "come later": ("kept", "model", "COME LATER!"),
        "zebra": ("failed", "model", "the model has no answer"),
    }
    assert set(shown(done, "again")) == {"CAT!", "COME LATER!"}
    assert {receipt.step: receipt.calls for receipt in done.spent} == {"loud": 5, "again": 2}
    before = asked(tmp_path / "log.txt")
    again = preview(bench(tmp_path).plan(), made.store, 4, Quiet())
    assert shown(again, "loud")["zebra"] == ("kept", "model", "ZEBRA!")
    assert {receipt.step: receipt.calls for receipt in again.spent} == {"loud": 1, "again": 1}
    bench(tmp_path).build()
    repeated = before & (asked(tmp_path / "log.txt") - before)
    assert set(repeated) <= {"Louder: zebra"}


@pytest.mark.parametrize(("rows", "pieces"), [(1, 1), (3, 3), (5, 4), (20, 4)])
def test_a_preview_reads_no_more_than_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, pieces: int
) -> None:
    """Rows that ask come first, in their order; the rows of a step are looked at piece by piece."""
    lines = ["ox", "cat", "it", "late night", "zebra", "so", "far out", "no"]
    read: list[int] = []
    monkeypatch.setattr(Cut, "table", _noting(read))
    done = preview(bench(tmp_path, lines=lines, run={"shard_rows": 2}).plan(), Store(tmp_path / "out"), rows, Quiet())
    asking = [line for line in lines if len(line) > 2][:rows]
    others = [line for line in lines if len(line) < 3][: max(0, rows - len(asking))]
    assert list(shown(done, "loud")) == [line for line in lines if line in {*asking, *others}]
    assert max(read) <= pieces


def _noting(read: list[int]) -> object:
    """The reading of shards that notes how many pieces of what comes into the first prompts were read."""
    table = Cut.table

    def noted(self: Cut, index: int) -> object:
        read.extend(index + 1 for piece in self.shards[index] if piece.path.parts[-3] == "short")
        return table(self, index)

    return noted


def test_a_page_holds_no_markup_of_models(tmp_path: Path) -> None:
    made = bench(tmp_path, lines=["<img src=x onerror=alert(1)>", "a & b </td>"])
    plan: Plan = made.plan()
    page = preview_page(preview(plan, made.store, 5, Quiet()), plan.recipe)
    assert "&lt;IMG SRC=X" in page
    assert "<img" not in page.lower()
    assert page.lower().count("</td>") == page.lower().count("<td")
