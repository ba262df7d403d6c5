"""Claims that a model reads from a paragraph: every check, the repair rounds, and the reading alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from claim_rows import MODEL, PROMPTS, RECIPES, make, talk, tokenizer
from preparation_rows import page

from benchbuilder.core.records.outcomes import Dropped, Kept, NotApplicable
from benchbuilder.models.base import Reply

TEXT = "成人每日饮水量一般为1500毫升。口服补液盐开封后应在24小时内用完。剧烈呕吐者可能需要静脉补液。"
EN = "Oral rehydration salts usually keep for 24 hours after mixing. Zinc shortens diarrhoea in children under five."
QUOTES = {
    "water": "成人每日饮水量一般为1500毫升",
    "salts": "口服补液盐开封后应在24小时内用完",
    "drip": "剧烈呕吐者可能需要静脉补液",
}
GOOD = {name: f"{quote}。" for name, quote in QUOTES.items()}


def reader(language: str = "zh", **spec: Any) -> Any:
    """The step by the bundled rules, with a model set."""
    rules = yaml.safe_load((RECIPES / "rules" / f"{language}_documents.yaml").read_text("utf-8"))["read_claims"]
    for name in ("prompt", "system", "repair", "alone"):
        rules[name] = {"path": rules[name], "resolved_path": str(PROMPTS / rules[name])}
    words = tokenizer("jieba" if language == "zh" else "whitespace")
    return make("read_claims", {**rules, "model": MODEL, "tokenizer": words, **spec})


def line(claim: str, quote: str, **more: Any) -> str:
    return json.dumps({"claim": claim, "quote": quote, **more}, ensure_ascii=False)


def read(*replies: str | Reply, text: str = TEXT, language: str = "zh", **spec: Any) -> list[Any]:
    """The outcomes of a paragraph after `replies`."""
    return talk(reader(language, **spec), page(text, title="家庭用药指南 > 补液"), *replies)[0]


def test_claims_that_pass_are_bound_to_their_quotes():
    reply = "\n".join(
        [line(GOOD["water"], QUOTES["water"], as_of=""), line("口服补液盐开封后应在24小时内用完", QUOTES["salts"])]
    )
    row = page(TEXT, title="家庭用药指南 > 补液")
    outcomes, requests = talk(reader(), row, reply, "无", "无")
    assert [outcome.slot for outcome in outcomes] == ["1", "2"]
    payload = outcomes[1].row.payload
    assert (payload.text, payload.label, payload.quote) == (GOOD["salts"], "true", QUOTES["salts"])
    assert (payload.gold, payload.about) == ((TEXT,), "world")
    assert outcomes[1].row.parents == (row.id,)
    assert [request.sample for request in requests] == [0, 0, 0]
    assert TEXT in requests[0].messages[-1].content
    assert all(TEXT not in request.messages[-1].content for request in requests[1:])


FAULTS = [
    ("quote_not_found", "成人每日饮水量一般为1500毫升。", "成人每天饮水量一般为1500毫升"),
    ("quote_too_short", "成人饮水量为1500毫升。", "1500毫升"),
    ("unsupported_words", "维生素制剂开封后应冷藏避光保存24小时。", QUOTES["salts"]),
    ("other_numbers", "口服补液盐开封后应在48小时内用完。", QUOTES["salts"]),
    ("other_numbers", "口服补液盐开封后应用完。", QUOTES["salts"]),
    ("pronoun", "它开封后应在24小时内用完。", QUOTES["salts"]),
    ("points_elsewhere", "上述口服补液盐开封后应在24小时内用完。", QUOTES["salts"]),
    ("several_facts", "口服补液盐开封后应在24小时内用完；开封后应用完。", QUOTES["salts"]),
    ("several_facts", "口服补液盐应用完。口服补液盐开封后应在24小时内用完。", QUOTES["salts"]),
    ("hedge_lost", "剧烈呕吐者需要静脉补液。", QUOTES["drip"]),
    ("not_a_sentence", "剧烈呕吐者可能需要静脉补液吗？", QUOTES["drip"]),
    ("too_long", "剧烈呕吐者可能需要静脉补液" * 7, QUOTES["drip"]),
    ("reply_markup", "**剧烈呕吐者**可能需要静脉补液。", QUOTES["drip"]),
    ("reply_odd_characters", "剧烈呕吐者\u0007可能需要静脉补液。", QUOTES["drip"]),
]


@pytest.mark.parametrize(("reason", "claim", "quote"), FAULTS)
def test_each_check_is_a_reason(reason, claim, quote):
    [outcome] = read(line(claim, quote), repair_rounds=0)
    assert isinstance(outcome, Dropped)
    assert (outcome.reason, outcome.slot) == (reason, "1")
    assert outcome.detail.endswith(claim if claim.endswith(("。", "？")) else f"{claim}。")


@pytest.mark.parametrize(
    ("reason", "claim", "quote"),
    [
        ("hedge_lost", "Oral rehydration salts keep for 24 hours after mixing.", EN.split(". ", maxsplit=1)[0]),
        ("pronoun", "It shortens diarrhoea in children under five.", EN.split(". ")[1]),
        ("other_numbers", "Zinc shortens diarrhoea in children under six.", EN.split(". ")[1]),
        ("several_facts", "Zinc shortens diarrhoea, and it helps children under five.", EN.split(". ")[1]),
        ("unsupported_words", "Zinc cures severe pneumonia in children under five.", EN.split(". ")[1]),
    ],
)
def test_the_checks_of_another_language_are_its_data(reason, claim, quote):
    [outcome] = read(line(claim, quote), text=EN, language="en", repair_rounds=0)
    assert (outcome.reason, outcome.slot) == (reason, "1") or (reason, outcome.reason) == ("several_facts", "pronoun")


def test_white_space_width_and_quotation_marks_of_a_quote_do_not_count():
    [outcome] = read(line(GOOD["water"], "“成人每日饮水量 一般为１５００毫升”"), "无")
    assert isinstance(outcome, Kept)


def test_the_second_claim_with_the_same_quote_is_dropped():
    lines = [line(GOOD["salts"], QUOTES["salts"]), line("口服补液盐应在开封后24小时内用完。", QUOTES["salts"])]
    first, second = read("\n".join(lines), "无", repair_rounds=0)
    assert isinstance(first, Kept)
    assert (second.reason, second.slot) == ("already_said", "2")


def test_a_repair_names_the_fault_and_touches_only_the_faulty_claim():
    bad = line("剧烈呕吐者需要静脉补液。", QUOTES["drip"])
    replies = [
        f"{line(GOOD['water'], QUOTES['water'])}\n{bad}",
        "无",
        line(GOOD["drip"], QUOTES["drip"], number=2),
        "无",
    ]
    outcomes, requests = talk(reader(), page(TEXT, title="补液"), *replies)
    assert [outcome.row.payload.text for outcome in outcomes] == [GOOD["water"], GOOD["drip"]]
    told = requests[2]
    assert (told.sample, len(told.messages)) == (1, 4)
    assert "2. 剧烈呕吐者需要静脉补液。" in told.messages[-1].content
    assert "“可能”" in told.messages[-1].content.replace("原文有", "")
    assert GOOD["water"] not in told.messages[-1].content


def test_after_two_rounds_the_last_fault_is_the_reason():
    replies = [
        line("剧烈呕吐者需要静脉补液。", QUOTES["drip"]),
        line("剧烈呕吐者需要补液。", QUOTES["drip"]),
        "随便说说",
    ]
    [outcome] = read(*replies)
    assert (outcome.reason, outcome.slot) == ("hedge_lost", "1")


def test_a_claim_that_leaves_something_open_is_repaired_or_dropped():
    replies = [
        line(GOOD["drip"], QUOTES["drip"]),
        "哪一类呕吐者",
        line(GOOD["drip"], QUOTES["drip"], number=1),
        "哪一类呕吐者",
        "无",
    ]
    [outcome] = read(*replies)
    assert (outcome.reason, outcome.slot) == ("not_standalone", "1")
    assert "哪一类呕吐者" in outcome.detail


@pytest.mark.parametrize("reply", ["无", "无。", "没有。", "“无”"])
def test_a_paragraph_without_facts_is_no_loss(reply):
    assert read(reply) == [NotApplicable("no_claim")]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("抱歉。", "reply_malformed"),
        ("", "reply_empty"),
        ('{"claim": "a"', "reply_malformed"),
        ('{"claim": 3, "quote": []}', "reply_malformed"),
        ("<think>嗯", "reply_unfinished"),
        (Reply('{"claim": "a"', "truncated"), "reply_truncated"),
        (Reply("", "refused"), "reply_refused"),
        ("{" * 3000, "reply_malformed"),
    ],
)
def test_a_reply_without_claims_is_one_drop_of_the_paragraph(reply, reason):
    [outcome] = read(reply, repair_rounds=0)
    assert (outcome.reason, outcome.slot) == (reason, "")


def test_half_a_character_harms_nothing():
    [outcome] = read('{"claim": "剧烈呕吐者\\ud83d可能需要静脉补液。", "quote": "\\udc00剧烈呕吐"}', repair_rounds=0)
    outcome.detail.encode()


def test_the_whole_lines_of_a_reply_that_broke_off_count():
    cut = f"{line(GOOD['water'], QUOTES['water'])}\n" + '{"claim": "口服'
    [outcome] = read(Reply(cut, "truncated"), "无")
    assert isinstance(outcome, Kept)


def test_lists_fences_and_too_many_lines():
    entries = [json.loads(line(GOOD[name], QUOTES[name])) for name in ("water", "salts", "drip")]
    reply = f"```json\n{json.dumps({'facts': entries}, ensure_ascii=False)}\n```"
    outcomes = read(reply, "无", "无", most=2)
    assert [type(outcome) for outcome in outcomes] == [Kept, Kept, Dropped]
    assert outcomes[2].reason == "too_many"


DATES = [{"document": "?", "date": "x"}, {"date": "2024-05"}]


def test_dates_come_from_the_paragraph_or_the_document():
    text = "2023年起，社区卫生站每周五提供免费的血压测量服务。"
    claim = line(text, text.removesuffix("。"), as_of="2023年")
    [named] = read(claim, "无", text=text)
    [invented] = read(
        claim.replace('"2023年"', '"2031年"'),
        "无",
        text=text,
        dates=DATES,
    )
    assert (named.row.payload.as_of, invented.row.payload.as_of) == ("2023年", "2024-05")


def test_without_a_model_nothing_is_asked():
    assert list(reader(model=None).map(page(TEXT), {})) == [Dropped("needs_model")]


def test_the_paragraph_before_is_shown_without_headings():
    row = page("一、补液\n成人每日饮水量一般为1500毫升。\n剧烈呕吐者可能需要静脉补液。")
    paragraphs = make("paragraphs", {"min_chars": 2, "filter_bases": [], "words": None, "headings": ["一、.*"]})
    first, second = (outcome.row for outcome in paragraphs.map(row, {}) if isinstance(outcome, Kept))
    asked = [next(reader().converse(one, {"page": row})).messages[-1].content for one in (first, second)]
    assert "上一段" not in asked[0]
    assert "上一段（只用来弄清名称）：成人每日饮水量一般为1500毫升。" in asked[1]
    assert "章节：一、补液" in asked[0]


def test_a_reply_may_be_one_object_by_a_schema():
    step = reader(reply="json")
    facts = [{"number": 1, "claim": GOOD["water"], "quote": QUOTES["water"], "as_of": ""}]
    outcomes, requests = talk(step, page(TEXT), json.dumps({"facts": facts}, ensure_ascii=False), "无")
    assert [type(outcome) for outcome in outcomes] == [Kept]
    assert requests[0].schema["required"] == ["facts"]
    assert requests[1].schema is None
    assert talk(step, page(TEXT), '{"facts": []}')[0] == [NotApplicable("no_claim")]


def test_a_refusal_to_read_alone_is_no_fault_of_the_claim():
    [outcome] = read(line(GOOD["water"], QUOTES["water"]), Reply("", "refused"))
    assert (outcome.reason, outcome.slot) == ("reply_refused", "1")
