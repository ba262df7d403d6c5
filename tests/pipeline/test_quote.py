"""Quotes against what builds then use."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest
from asking_kinds import Ask, Loud, LoudSpec, asked
from engine_bench import Bench, Quiet

from benchbuilder.authoring.dry_run.estimate_cost import Quote, quote_plan
from benchbuilder.config.spec.base import FileRef, PromptRef, RuntimeOption
from benchbuilder.config.spec.model import BatchSpec, HostedSpec
from benchbuilder.core import registry
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.roles import Passage
from benchbuilder.models.base import HostedModel, Message, RefusedRequestError, Reply, Request, Usage
from benchbuilder.models.conversation import Conversation
from benchbuilder.models.gateway.token_count import TokenCounter

LINES = ["cat", "zebra", "ox", "cat and cat", "a late night", "cat  and cat"]
PRICES = """as_of: 2026-01-02
source: https://example.org/prices
currency: USD
per_tokens: 1000000
models:
  far: {input: 2.0, output: 8.0, batch: 0.5}
"""


class FarSpec(HostedSpec):
    name: str = "far"
    log: str = ""
    mute: tuple[str, ...] = ()
    broken: Annotated[tuple[str, ...], RuntimeOption()] = ()


class Far(HostedModel):
    """Answers in capitals and counts as quotes do; what holds a word of `mute` gets no mark, of `broken` no answer."""

    kind = "t_far"
    spec_class = FarSpec
    settings = frozenset({"temperature", "max_new_tokens"})

    def identity(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "name": self.spec.name}

    async def send(self, request: Request) -> str:
        text = request.messages[0].content
        with Path(self.spec.log).open("a", encoding="utf-8") as log:
            log.write(text + "\n")
        if any(word in text for word in self.spec.broken):
            raise RefusedRequestError("no answer")
        mark = "" if any(word in text for word in self.spec.mute) else "!"
        answer = text.partition(": ")[2].upper() + mark
        count = TokenCounter(None)
        return f"{count.prompt(request)} {count.count(answer)} {answer}"

    def read(self, body: str) -> Reply:
        prompt, completion, answer = body.split(" ", 2)
        return Reply(answer, "complete", Usage(int(prompt), int(completion)))


class AskMuchSpec(Ask.spec_class):  # type: ignore[misc, name-defined]
    repair_rounds: int = 2
    repair: PromptRef | None = None
    limit: int | None = 20


class AskMuch(Ask):
    """Asks with a limit, and tells the model what was wrong."""

    kind = "t_ask_much"
    spec_class = AskMuchSpec

    def converse(self, row: Passage, parents: Mapping[str, Any]) -> Conversation:
        if len(row.text) < 3:
            return [Dropped("short", row.text)]
        first: tuple[Message, ...] = (Message("user", self.spec.ask + row.text.replace("  ", " ")),)
        messages, repair = first, self.spec.repair.file.read_text(encoding="utf-8")
        sampling = {"temperature": 0} if self.spec.limit is None else {"temperature": 0, "max_new_tokens": 20}
        for sample in range(self.spec.repair_rounds + 1):
            reply = yield Request(messages, sampling, sample=sample, expected=row.text.replace("  ", " ").upper() + "!")
            if reply.text.endswith("!"):
                made = self.produced_by("model/t")
                return [
                    Kept(Passage.child(row, produced_by=made, base=row.base, document=row.document, text=reply.text))
                ]
            messages = (*first, Message("assistant", reply.text), Message("user", f"{repair}: {reply.text}"))
        return [Dropped("no_mark", reply.text)]


@pytest.fixture(autouse=True)
def _asking_kinds() -> Iterator[None]:
    names = {"step": {"t_ask": Ask, "t_ask_much": AskMuch}, "model": {"t_loud": Loud, "t_far": Far}}
    for slot, classes in names.items():
        for name, cls in classes.items():
            module = "asking_kinds" if cls in (Ask, Loud) else __name__
            registry.BUILT_IN_KINDS[slot][name] = f"{module}:{cls.__name__}"
    registry.kinds_of_slot.cache_clear()
    yield
    for slot, classes in names.items():
        for name in classes:
            del registry.BUILT_IN_KINDS[slot][name]
    registry.kinds_of_slot.cache_clear()


def far(folder: Path, *, prices: bool = True, **more: Any) -> FarSpec:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "prices.yaml"
    file.write_text(PRICES, encoding="utf-8")
    ref = FileRef(path="prices.yaml", resolved_path=str(file)) if prices else None
    return FarSpec(kind="t_far", log=str(folder / "log.txt"), prices=ref, **more)


def bench(folder: Path, spec: Any, lines: Sequence[str] = LINES, **more: Any) -> Bench:
    folder.mkdir(parents=True, exist_ok=True)
    repair = folder / "repair.j2"
    repair.write_text("Loud texts end with a mark, but this one does not", encoding="utf-8")
    ask = {"kind": "t_ask_much", "model": spec, "repair": PromptRef(path="repair.j2", resolved_path=str(repair))}
    steps: dict[str, dict[str, Any]] = {
        "short": {"kind": "t_short", "from": "sources.left", "at_most": 40},
        "loud": ask | {"from": "short"} | more.pop("loud", {}),
        "again": ask | {"from": "loud", "ask": "Again: "},
        "unique": {"kind": "t_unique", "from": "again"},
    }
    return Bench(folder, {"left": list(lines)}, steps, "unique", **more)


def quoted(made: Bench, refresh: tuple[str, ...] = ()) -> Quote:
    found = quote_plan(made.plan(), made.store, Quiet(), frozenset(refresh))
    assert found is not None
    return found


def test_the_quote_is_what_the_build_then_uses(tmp_path: Path) -> None:
    made = bench(tmp_path, far(tmp_path))
    before = quoted(made)
    assert asked(tmp_path / "log.txt") == {}, "a quote asks nobody"
    receipts = {receipt.step: receipt for receipt in made.build().receipts}
    assert [step.step for step in before.steps] == ["loud", "again"]
    for step in before.steps:
        receipt = receipts[step.step]
        assert step.calls.expected == receipt.calls == 4, "five lines are asked about, two of them alike"
        assert step.prompt_tokens.expected == receipt.prompt_tokens
        assert step.completion_tokens.expected == receipt.completion_tokens
        assert step.usd is not None
        assert receipt.usd is not None
        assert math.isclose(step.usd.expected, receipt.usd)
        assert step.prices_as_of == receipt.prices_as_of == "2026-01-02"
        assert (step.counting_method, step.answered, step.refused) == ("estimated by script", 0, 0)
    assert quote_plan(made.plan(), made.store, Quiet()) is None, "what is sealed costs nothing"


def test_at_most_holds_when_no_reply_passes(tmp_path: Path) -> None:
    spec = far(tmp_path, mute=("a",))
    before = quoted(bench(tmp_path, spec))
    receipts = {receipt.step: receipt for receipt in bench(tmp_path, spec).build().receipts}
    step, receipt = before.steps[0], receipts["loud"]
    assert step.calls.at_most == receipt.calls == 12
    assert step.prompt_tokens.at_most is not None
    assert step.prompt_tokens.expected < receipt.prompt_tokens <= step.prompt_tokens.at_most
    assert step.completion_tokens.at_most == 12 * 20
    assert step.usd is not None
    assert receipt.usd is not None
    assert step.usd.at_most is not None
    assert step.usd.expected < receipt.usd <= step.usd.at_most


def test_replies_that_are_there_are_free(tmp_path: Path) -> None:
    spec = far(tmp_path)
    bench(tmp_path, spec, LINES[:2]).build()
    before = asked(tmp_path / "log.txt")
    more = bench(tmp_path, spec)
    found = quoted(more)
    assert [(step.answered, step.calls.expected) for step in found.steps] == [(2, 2), (2, 2)]
    assert sum(receipt.calls for receipt in found.spent) == 4
    usd = sum(receipt.usd or 0 for receipt in more.build().receipts) - sum(receipt.usd or 0 for receipt in found.spent)
    assert found.usd is not None
    assert math.isclose(found.usd.expected, usd)
    assert set((asked(tmp_path / "log.txt") - before).values()) == {1}


def test_a_refreshed_step_is_answered_from_the_journal(tmp_path: Path) -> None:
    made = bench(tmp_path, far(tmp_path))
    made.build()
    found = quoted(made, refresh=("again",))
    assert [(step.step, step.answered, step.calls.expected) for step in found.steps] == [("again", 4, 0)]
    assert found.usd is not None
    assert found.usd.at_most == 0


def test_failed_rows_alone_are_quoted_again(tmp_path: Path) -> None:
    bench(tmp_path, far(tmp_path, broken=("zebra",)), tolerated=0.5).build()
    healed = bench(tmp_path, far(tmp_path), tolerated=0.5)
    assert [(step.step, step.answered, step.calls.expected) for step in quoted(healed).steps] == [
        ("loud", 3, 1),
        ("again", 3, 1),
    ]


def test_no_price_is_invented(tmp_path: Path) -> None:
    assert quoted(bench(tmp_path / "a", far(tmp_path / "a", prices=False))).usd is None
    unknown = quoted(bench(tmp_path / "b", far(tmp_path / "b", name="further")))
    assert [(step.usd, step.prices_as_of) for step in unknown.steps] == [(None, "")] * 2


def test_the_batch_has_its_own_price(tmp_path: Path) -> None:
    live, batch = (
        quoted(bench(tmp_path / str(number), far(tmp_path / str(number), batch=spec)))
        for number, spec in enumerate((None, BatchSpec()))
    )
    assert live.usd is not None
    assert batch.usd is not None
    assert math.isclose(batch.usd.expected, live.usd.expected / 2)
    assert [step.batch_proportion for step in batch.steps] == [0.5, 0.5]


def test_a_model_in_this_process_has_no_price(tmp_path: Path) -> None:
    found = quoted(bench(tmp_path, LoudSpec(kind="t_loud", log=str(tmp_path / "log.txt"))))
    assert found.usd is not None
    assert found.usd.at_most == 0
    assert all(step.is_local and step.calls.expected == 4 and step.prompt_tokens.expected > 0 for step in found.steps)


def test_without_a_limit_there_is_no_upper_end(tmp_path: Path) -> None:
    found = quoted(bench(tmp_path, far(tmp_path), loud={"limit": None}))
    assert found.steps[0].completion_tokens.at_most is None
    assert found.steps[1].completion_tokens.at_most == 4 * 20 * 3
    assert found.usd is not None
    assert found.usd.at_most is None
    assert found.usd.expected > 0


def test_a_step_behind_people_is_named(tmp_path: Path) -> None:
    made = bench(tmp_path, far(tmp_path))
    made.steps["again"]["from"] = "vote"
    made.steps = {"short": made.steps["short"], "loud": made.steps["loud"], "vote": {"kind": "t_vote", "from": "loud"},
                  "again": made.steps["again"], "unique": made.steps["unique"]}  # fmt: skip
    found = quoted(made)
    assert [step.step for step in found.steps] == ["loud"]
    assert found.skipped == {"again": "needs vote"}


def test_what_the_quote_built_is_reused(tmp_path: Path) -> None:
    made = bench(tmp_path, far(tmp_path))
    quoted(made)
    report = made.build()
    assert report.reused_steps == ["left", "short"]
    assert not list((tmp_path / "out" / "store").glob("scratch-*"))
