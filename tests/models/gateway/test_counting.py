from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from gateway_models import FakeSpec, request

from benchbuilder.config.spec.base import FileRef
from benchbuilder.core.errors import RecipeError
from benchbuilder.models.base import Message, Request
from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.journal_tables import Cost, JournalRequest, SettledReply, settle_reply, write_reply
from benchbuilder.models.gateway.token_count import (
    LEAST_REPLIES,
    PromptFit,
    TokenCounter,
    calibrated_counter,
    estimate_tokens,
    fit_line,
    mean_reply,
)

CHINESE = "妊娠期糖尿病患者应当在医生指导下控制饮食，并定期监测血糖。"
ENGLISH = "Women with gestational diabetes should follow a diet and have their blood glucose measured regularly."
PLAIN = FakeSpec()


def test_the_estimate_is_sensible_for_each_script():
    # between what recent vocabularies of 100,000 and of 250,000 pieces make of such sentences
    assert 16 <= estimate_tokens(CHINESE) <= 26
    assert 16 <= estimate_tokens(ENGLISH) <= 22
    assert 4 <= estimate_tokens("1234567890") <= 5
    assert 6 <= estimate_tokens("こんにちは、世界。") <= 9
    assert 5 <= estimate_tokens("임신 중 당뇨병 검사") <= 8
    assert 3 <= estimate_tokens("диабет беременных") <= 9
    assert estimate_tokens("") == 0


def test_mixed_text_is_the_sum_of_its_parts():
    assert estimate_tokens("维生素D") == pytest.approx(estimate_tokens("维生素") + estimate_tokens("D"))


def test_a_request_counts_messages_marks_and_schema():
    counter = TokenCounter(PLAIN)
    one = Request((Message("user", ENGLISH),))
    two = Request((Message("system", ENGLISH), Message("user", ENGLISH)))
    schema = Request((Message("user", ENGLISH),), schema={"type": "object", "properties": {"text": {}}})
    assert counter.prompt(one) > counter.count(ENGLISH)
    assert counter.prompt(two) > 2 * counter.count(ENGLISH)
    assert counter.prompt(schema) > counter.prompt(one)
    assert counter.how == "estimated by script"
    assert not counter.exact


@pytest.mark.parametrize("text", [CHINESE, ENGLISH, "😀" * 30, "ลูก" * 9, "\x00\n\n  {}[]" * 5])
def test_a_bound_is_never_below_the_count(text):
    counter = TokenCounter(PLAIN)
    assert counter.bound(request(text)) >= len(text.encode()) >= counter.count(text) - 1


def tokenizer_file(folder: Path) -> FileRef:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    file = folder / "tokenizer.json"
    tokenizer.save(str(file))
    return FileRef(path="tokenizer.json", resolved_path=str(file))


def test_a_tokenizer_file_counts_exactly(tmp_path):
    counter = TokenCounter(FakeSpec(token_counter=tokenizer_file(tmp_path)))
    assert counter.how == "tokenizer tokenizer.json"
    assert counter.count("a b a x") == 4
    assert counter.prompt(request("a b a x")) == 4 + 4 + 3
    assert counter.upper_bound(request("a b a x " * 100)) < counter.bound(request("a b a x " * 100))


def test_a_file_that_is_no_tokenizer_is_told(tmp_path):
    pytest.importorskip("tokenizers")
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps({"not": "a tokenizer"}))
    with pytest.raises(RecipeError, match="1 problem") as told:
        TokenCounter(FakeSpec(token_counter=FileRef(path="tokenizer.json", resolved_path=str(file))))
    assert "not a tokenizer file" in str(told.value)


def journal_of(file: Path, replies: int, *, billed: int, counted: int) -> Journal:
    held = Journal(file)
    for number in range(replies):
        asked = JournalRequest(str(number), None, "s", "m", "", request("x"), {}, counted, Cost(900, 900, None), "")
        held.commit_later(partial(write_reply, request=asked, body="{}", time="t"))
        settled = SettledReply("complete", Cost(billed, 5, None), 0, estimated=False)
        held.commit_now(partial(settle_reply, key=str(number), settled=settled))
    return held


def test_an_estimate_is_corrected_by_what_the_service_counted(journal):
    held = journal_of(journal, LEAST_REPLIES, billed=130, counted=100)
    plain, corrected = TokenCounter(PLAIN), calibrated_counter(PLAIN, held, "m")
    assert corrected.how == f"estimated by script, corrected by {LEAST_REPLIES} replies of this model"
    assert corrected.prompt(request(CHINESE * 9)) == pytest.approx(1.3 * plain.prompt(request(CHINESE * 9)), abs=1)
    assert calibrated_counter(PLAIN, held, "another").how == "estimated by script"
    held.close()
    assert calibrated_counter(PLAIN, journal, "m").how == corrected.how


def test_the_first_reply_shows_what_a_service_puts_around_a_prompt(journal):
    held = journal_of(journal, 1, billed=130, counted=100)
    learnt = calibrated_counter(PLAIN, held, "m")
    assert learnt.how == "estimated by script, corrected by 1 reply of this model"
    assert learnt.prompt(request("x")) == TokenCounter(PLAIN).prompt(request("x")) + 30
    assert mean_reply(held, "m", "s") is None, "one reply does not tell how long replies are"
    held.close()


def test_what_a_service_puts_around_a_prompt_is_learnt_for_a_tokenizer(journal, tmp_path):
    held = journal_of(journal, LEAST_REPLIES, billed=31, counted=100)
    spec = FakeSpec(token_counter=tokenizer_file(tmp_path))
    learnt = calibrated_counter(spec, held, "m")
    assert learnt.how == f"tokenizer tokenizer.json, corrected by {LEAST_REPLIES} replies of this model"
    assert learnt.prompt(request("a b a x")) == 30 + 4, "the journaled prompts have one token, and 31 were billed"
    held.close()


def test_a_chat_template_beside_the_tokenizer_counts(journal, tmp_path):
    spec = FakeSpec(token_counter=tokenizer_file(tmp_path))
    template = "a a a {% for message in messages %}{{ bos_token }} {{ message['content'] }} {% endfor %}b"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": template, "bos_token": "b"}))
    counter = TokenCounter(spec)
    assert counter.how == "tokenizer tokenizer.json and its chat template"
    assert counter.prompt(request("a b a x")) == 3 + 1 + 4 + 1
    (tmp_path / "chat_template.jinja").write_text("{{ raise_exception('no') }}")
    assert TokenCounter(spec).prompt(request("a b a x")) == 4 + 4 + 3, "a template that refuses counts nothing"


def test_an_overhead_per_call_is_told_from_a_factor():
    """A service that adds 23 tokens to each call and counts three for two of ours."""
    journal = [(count, 23 + 1.5 * count) for count in (12, 30, 18, 55, 140, 22, 31, 47, 90, 26)]
    fit = fit_line(journal * 8)
    assert 12 < fit.per_call < 30
    few = fit_line(journal[:5])
    assert few.per_call + 60 * few.factor == pytest.approx(23 + 1.5 * 60, rel=0.25)
    one = fit_line(journal[1:2])
    assert one.per_call + 60 * one.factor == pytest.approx(23 + 1.5 * 60, rel=0.15), "without it, 47 % too few"
    assert fit_line([]) == PromptFit()


def test_the_mean_reply_of_a_step_is_learnt(journal):
    held = journal_of(journal, LEAST_REPLIES, billed=31, counted=100)
    assert mean_reply(held, "m", "s") == 5
    assert mean_reply(held, "m", "another") is None
    held.close()


def test_a_journal_that_is_not_there_is_not_made(journal):
    assert calibrated_counter(PLAIN, journal, "m").how == "estimated by script"
    assert not journal.parent.exists()
