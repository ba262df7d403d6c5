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
    MIN_REPLIES_TO_CALIBRATE,
    TokenCounter,
    calibrated_counter,
    estimate_tokens,
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
    held = journal_of(journal, MIN_REPLIES_TO_CALIBRATE, billed=130, counted=100)
    plain, corrected = TokenCounter(PLAIN), calibrated_counter(PLAIN, held, "m")
    assert corrected.how == f"estimated by script, corrected by {MIN_REPLIES_TO_CALIBRATE} replies of this model"
    assert corrected.prompt(request(CHINESE * 9)) == pytest.approx(1.3 * plain.prompt(request(CHINESE * 9)), abs=1)
    assert calibrated_counter(PLAIN, held, "another").how == "estimated by script"
    held.close()
    assert calibrated_counter(PLAIN, journal, "m").how == corrected.how


def test_few_replies_correct_nothing(journal):
    held = journal_of(journal, MIN_REPLIES_TO_CALIBRATE - 1, billed=130, counted=100)
    assert calibrated_counter(PLAIN, held, "m").how == "estimated by script"
    held.close()


def test_a_journal_does_not_correct_a_tokenizer(journal, tmp_path):
    held = journal_of(journal, MIN_REPLIES_TO_CALIBRATE, billed=130, counted=100)
    spec = FakeSpec(token_counter=tokenizer_file(tmp_path))
    assert calibrated_counter(spec, held, "m").how == "tokenizer tokenizer.json"
    held.close()


def test_a_journal_that_is_not_there_is_not_made(journal):
    assert calibrated_counter(PLAIN, journal, "m").how == "estimated by script"
    assert not journal.parent.exists()
