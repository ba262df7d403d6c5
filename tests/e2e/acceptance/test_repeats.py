"""What a change of prompt, endpoint or setting repeats: exactly the requests that it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from acceptance_bench import Sample, behaviour

from benchbuilder.testing import fake_openai_server

pytestmark = pytest.mark.full


def tasks(sample: Sample, since: int) -> Counter[str]:
    """What was asked, by the first line of the first prompt: repair rounds count with what they repair."""
    firsts = (next(m for m in entry["body"]["messages"] if m["role"] == "user") for entry in sample.server.log(since))
    return Counter(message["content"].partition("\n")[0] for message in firsts)


def test_only_what_a_change_is_about_is_asked_again(sample: Callable[..., Sample]) -> None:
    build = sample()
    build.server.configure(keep_bodies=True)
    assert build.build().code == 0
    whole = tasks(build, 0)
    items = build.made()["items.jsonl"]

    seen = build.requests()
    assert build.build().code == 0
    assert build.requests() == seen  # nothing changed, nothing is asked

    said = build.build("steps.state_choice.system=null")
    assert said.code == 0, said.said
    (statements,) = tasks(build, seen)
    assert build.requests() - seen == whole[statements]  # the system prompt of one step
    assert build.made()["items.jsonl"] == items

    seen = build.requests()
    assert build.build("steps.ask_oe_choice.sampling.temperature=0.5").code == 0
    (questions,) = tasks(build, seen)
    assert build.requests() - seen == whole[questions]  # one setting of one step

    seen = build.requests()
    assert build.build().code == 0
    assert build.requests() == seen  # back again: all of it is in the journal

    with fake_openai_server(behaviour()) as other:
        moved = Sample(build.folder, other, build.program)
        assert moved.build().code == 0
        assert sum(moved.asked().values()) == sum(whole.values())  # another endpoint, everything
    assert build.made()["items.jsonl"] == items


def test_raising_the_limit_repeats_only_what_was_cut(sample: Callable[..., Sample]) -> None:
    build = sample("build", "model.reuse=keep_complete", "steps.state_choice.repair_rounds=0")
    build.server.configure(rules=[{"when": {"share": 0.2, "user": "陈述句"}, "do": "truncate"}])
    assert build.build().code == 0
    cut = sum(entry["effect"] == "truncate" for entry in build.server.log() if "合成" in entry["user"])
    assert cut > 5
    build.server.configure(rules=[])
    seen = build.requests()
    assert build.build("steps.state_choice.sampling.max_new_tokens=256").code == 0
    again = [entry for entry in build.server.log(seen) if "合成" in entry["user"]]
    assert len(again) == cut
