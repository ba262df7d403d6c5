"""Conversations driven again from the journal, previews and recordings, over stand-in kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from asking_kinds import asked
from engine_bench import Quiet
from test_conversations import bench

from benchbuilder.authoring.dry_run.preview import Preview, preview_plan, render_preview_page
from benchbuilder.authoring.dry_run.recorded_replies import collect_replies
from benchbuilder.core import registry
from benchbuilder.core.display import row_text
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.models.providers.replay import RecordedReply
from benchbuilder.pipeline import PromptSteps, journal_lookup
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.shards.work import ShardRanges
from benchbuilder.pipeline.store.folder import Store


@pytest.fixture(autouse=True)
def _asking_kinds() -> Iterator[None]:
    registry.BUILT_IN_KINDS["step"]["t_ask"] = "asking_kinds:Ask"
    registry.BUILT_IN_KINDS["model"]["t_loud"] = "asking_kinds:Loud"
    registry.kinds_of_slot.cache_clear()
    yield
    del registry.BUILT_IN_KINDS["step"]["t_ask"], registry.BUILT_IN_KINDS["model"]["t_loud"]
    registry.kinds_of_slot.cache_clear()


def test_every_conversation_is_told_again_without_asking(tmp_path: Path) -> None:
    made = bench(tmp_path)
    made.build()
    before = asked(tmp_path / "log.txt")
    desk = PromptSteps(made.plan(), made.store, made.inspector().manifests)
    told: dict[str, tuple[list[str], str]] = {}
    with journal_lookup(made.store) as lookup:
        for row in desk.input_rows("loud"):
            transcript = desk.transcript_of("loud", row, lookup)
            assert transcript.outcomes is not None
            outcome = transcript.outcomes[0]
            end = (
                row_text(outcome.row)
                if isinstance(outcome, Kept)
                else outcome.reason
                if isinstance(outcome, Dropped)
                else "?"
            )
            told[row.text] = ([turn.reply.text for turn in transcript.turns if turn.reply is not None], end)
        written = next(row for row in made.store.rows(desk.manifests["loud"]) if row.text == "COME LATER!")
        assert [turn.request.sample for turn in desk.turns_behind("loud", written, lookup)] == [0, 1]
    assert told["cat"] == (["CAT!"], "CAT!")
    assert told["come later"] == (["COME LATER", "COME LATER!"], "COME LATER!")
    assert told["mute dog"] == (["MUTE DOG", "MUTE DOG"], "no_mark")
    assert told["ox"] == ([], "short")
    assert asked(tmp_path / "log.txt") == before


def test_where_no_journal_is_none_is_made(tmp_path: Path) -> None:
    made = bench(tmp_path)
    with journal_lookup(made.store) as lookup:
        plan = made.plan()
        found = collect_replies(plan, made.store, lookup, Quiet())
    assert found.replies == []
    assert found.missing_by_step == {"loud": 6}  # the second step has no rows yet
    assert not made.store.journal.exists()
    assert not asked(tmp_path / "log.txt")


def test_a_recording_holds_what_the_steps_use(tmp_path: Path) -> None:
    made = bench(tmp_path)
    made.build()
    with journal_lookup(made.store) as lookup:
        found = collect_replies(made.plan(), made.store, lookup, Quiet())
    assert found.used_by_step == {"loud": 8, "again": 5}
    assert not found.missing_by_step
    assert all(isinstance(reply, RecordedReply) and reply.model == "loud" for reply in found.replies)
    assert {reply.messages[0].content for reply in found.replies} == set(asked(tmp_path / "log.txt"))
    # another prompt: its replies are not there, and those of the old one are not handed on
    with journal_lookup(made.store) as lookup:
        other = collect_replies(bench(tmp_path, loud={"ask": "Shout: "}).plan(), made.store, lookup, Quiet())
    assert other.missing_by_step == {"loud": 6}
    assert other.replies == []


def shown(done: Preview, step: str) -> dict[str, tuple[str, str, str]]:
    """Outcome, who wrote it, and result, by the input."""
    found = next(one for one in done.steps if one.name == step)
    return {row.input: (row.outcome, row.method, row.result) for row in found.preview_rows}


def test_a_preview_tells_every_fate_and_its_replies_are_kept(tmp_path: Path) -> None:
    made = bench(tmp_path, broken=("zebra",))
    done = preview_plan(made.plan(), made.store, 4, Quiet())
    assert shown(done, "loud") == {
        "cat": ("kept", "model", "CAT!"),
        "mute dog": ("dropped", "model", "dropped (no_mark): MUTE DOG"),
        "come later": ("kept", "model", "COME LATER!"),
        "zebra": ("failed", "model", "the model has no answer"),
    }
    assert set(shown(done, "again")) == {"CAT!", "COME LATER!"}
    assert {receipt.step: receipt.calls for receipt in done.spent} == {"loud": 5, "again": 2}
    before = asked(tmp_path / "log.txt")
    again = preview_plan(bench(tmp_path).plan(), made.store, 4, Quiet())
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
    monkeypatch.setattr(ShardRanges, "table", _noting(read))
    done = preview_plan(
        bench(tmp_path, lines=lines, run={"shard_rows": 2}).plan(), Store(tmp_path / "out"), rows, Quiet()
    )
    asking = [line for line in lines if len(line) > 2][:rows]
    others = [line for line in lines if len(line) < 3][: max(0, rows - len(asking))]
    assert list(shown(done, "loud")) == [line for line in lines if line in {*asking, *others}]
    assert max(read) <= pieces


def _noting(read: list[int]) -> object:
    """The reading of shards that notes how many pieces of what comes into the first prompts were read."""
    table = ShardRanges.table

    def noted(self: ShardRanges, index: int) -> object:
        read.extend(index + 1 for piece in self.shards[index] if piece.path.parts[-3] == "short")
        return table(self, index)

    return noted


def test_a_page_holds_no_markup_of_models(tmp_path: Path) -> None:
    made = bench(tmp_path, lines=["<img src=x onerror=alert(1)>", "a & b </td>"])
    plan: Plan = made.plan()
    page = render_preview_page(preview_plan(plan, made.store, 5, Quiet()), plan.recipe)
    assert "&lt;IMG SRC=X" in page
    assert "<img" not in page.lower()
    assert page.lower().count("</td>") == page.lower().count("<td")
