from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchbuilder.config.spec.base import PromptRef
from benchbuilder.evaluation.judge_training.finetune_files import (
    TrainingFileCheck,
    check_training_file,
    job_tokens,
    leaked_examples,
    sample_by_weight,
    write_training_file,
)
from benchbuilder.evaluation.judges.base import Case, Example
from benchbuilder.evaluation.judges.openai_finetuned import OpenAIFinetunedJudge, OpenAIFinetunedSpec, TuningSpec
from benchbuilder.models.gateway.token_count import TokenCounter
from benchbuilder.models.providers.openai import OpenAISpec

PROMPTS = Path(__file__).parents[3] / "prompts"
TUNING = TuningSpec(epochs=3)
MODEL = OpenAISpec(kind="openai", name="small")


def spec_of(**more: Any) -> OpenAIFinetunedSpec:
    prompt = PromptRef(path="zh/judge_tuned.j2", resolved_path=str(PROMPTS / "zh" / "judge_tuned.j2"))
    given: dict[str, Any] = {"kind": "openai_finetuned", "aspect": "correctness", "max_evidence_chars": 1000,
                             "decimals": 2, "prompt": prompt, "tuning": TUNING, "model": MODEL}  # fmt: skip
    return OpenAIFinetunedSpec(**{**given, **more})


def judge() -> OpenAIFinetunedJudge:
    made = OpenAIFinetunedJudge(spec_of())
    made.open(None)
    return made


def examples(count: int, weight: float = 1.0) -> list[Example]:
    return [
        Example(
            Case(f"第{n}个问题？", f"回答{n}。\u2028第二段。", ("资料。",)),
            n / count,
            weight,
            f"i{n}",
            f"f{n}",
            "m",
            "s",
        )
        for n in range(count)
    ]


def check(path: Path, tuning: TuningSpec = TUNING) -> TrainingFileCheck:
    return check_training_file(path, TokenCounter(MODEL), tuning)


def turns(*pairs: Sequence[str]) -> str:
    return json.dumps({"messages": [{"role": role, "content": text} for role, text in pairs]}, ensure_ascii=False)


GOOD = turns(("user", "打分"), ("assistant", "0.80"))


def test_what_is_written_is_right_and_the_same_each_time(tmp_path: Path):
    assert write_training_file(tmp_path / "a" / "train.jsonl", judge(), examples(40), seed=1, without_evidence=0.5) == 0
    assert write_training_file(tmp_path / "b.jsonl", judge(), examples(40)[::-1], seed=1, without_evidence=0.5) == 0
    written = (tmp_path / "a" / "train.jsonl").read_bytes()
    assert written == (tmp_path / "b.jsonl").read_bytes()
    assert written != b"".join(sorted(written.splitlines(keepends=True)))
    found = check(tmp_path / "a" / "train.jsonl")
    assert (found.examples, found.problems) == (40, ())
    rows = [json.loads(line) for line in written.split(b"\n")[:-1]]
    assert 8 < sum("<reference>" in row["messages"][0]["content"] for row in rows) < 32


def test_what_is_too_long_for_a_prompt_is_left_out_and_counted(tmp_path: Path):
    long = [Example(Case("问？", "答" * 60_001), 1.0, 1.0, "x", "x", "m", "s")]
    assert write_training_file(tmp_path / "train.jsonl", judge(), [*examples(12), *long], seed=1) == 1
    assert check(tmp_path / "train.jsonl").examples == 12


def test_a_weight_below_1_keeps_that_share():
    assert sample_by_weight(examples(50), 1) == examples(50)
    kept = sample_by_weight(examples(1000, 0.3), 1)
    assert 250 < len(kept) < 350
    assert sample_by_weight(examples(1000, 0.3)[::-1], 1) == kept[::-1]
    assert sample_by_weight(examples(1000, 0.3), 2) != kept


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"), ("", "empty"), ("[]", "an object with `messages` only"),
        ('{"prompt": "a", "completion": "0.5"}', "an object with `messages` only"),
        (GOOD[:-1] + ', "text": "a"}', "an object with `messages` only"),
        ('{"messages": "a"}', "an object with `messages`"), ('{"messages": ["a"]}', "the role of a message is one of"),
        (turns(("user", "a")), "expected a request and its reply, not user"), (turns(), "not nothing"),
        (turns(("assistant", "0.5"), ("user", "a")), "a request and its reply"),
        (turns(("user", "a"), ("assistant", "0.5"), ("user", "a"), ("assistant", "0.5")), "a request and its reply"),
        (turns(("user", "a"), ("assistant", "85")), "the reply is not a score from 0 to 1"),
        (turns(("user", "a"), ("assistant", "good")), "the reply is not a score from 0 to 1"),
        (turns(("user", " "), ("assistant", "0.5")), "the message of role user has no text"),
        (turns(("tool", "a")), "the role of a message is one of"),
        ('{"messages": [{"role": "user", "content": 5}]}', "no text"),
        ('{"messages": [{"role": "user", "content": "a", "name": "b"}]}', "only role, content"),
        ('{"messages": [{"role": "user", "content": "a", "weight": 0.5}]}', "a weight of 0 or 1"),
    ],
)  # fmt: skip
def test_a_line_that_is_not_right_is_named(tmp_path: Path, line: str, message: str):
    path = tmp_path / "train.jsonl"
    path.write_text(f"{GOOD}\n" * 11 + f"{line}\n{GOOD}\n", encoding="utf-8")
    found = check(path)
    assert found.examples == 12
    [problem] = found.problems
    assert problem.startswith("line 12: ")
    assert message in problem


def test_bytes_that_are_no_text_are_named(tmp_path: Path):
    path = tmp_path / "train.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + f"{GOOD}\n".encode() + f"{GOOD}\n".encode("utf-16-le") + f"{GOOD}\n".encode() * 10
    )
    told = " | ".join(check(path).problems)
    assert "byte order mark" in told
    assert "line 2: " in told


def test_too_few_and_too_long_are_named_and_long_lists_are_cut(tmp_path: Path):
    path = tmp_path / "train.jsonl"
    path.write_text(f"{GOOD}\n" * 9, encoding="utf-8")
    assert check(path).problems == ("9 valid examples; the service needs at least 10",)
    path.write_text(f"{GOOD}\n" * 90, encoding="utf-8")
    problems = check(path, TuningSpec(epochs=3, most_tokens=5)).problems
    assert len(problems) == 21
    assert problems[-1] == "and 70 more"
    valid = tmp_path / "valid.jsonl"
    valid.write_text(f"{GOOD}\n", encoding="utf-8")
    assert check(valid).problems == ()


def test_what_is_in_both_files_is_a_leak(tmp_path: Path):
    for name, start in (("train.jsonl", 0), ("valid.jsonl", 35)):
        write_training_file(tmp_path / name, judge(), examples(40)[start:], seed=1)
    training, validation = check(tmp_path / "train.jsonl"), check(tmp_path / "valid.jsonl")
    assert leaked_examples(training, validation) == ["5 of the held-out cases are in the training file too"]


def test_tokens_are_those_of_training_times_the_epochs(tmp_path: Path):
    for name in ("train.jsonl", "valid.jsonl"):
        write_training_file(tmp_path / name, judge(), examples(40), seed=1)
    files = [check(tmp_path / name) for name in ("train.jsonl", "valid.jsonl")]
    expected, most = job_tokens(files, spec_of())
    assert expected == files[0].tokens * 3
    assert most == expected * 2
    assert files[0].longest * 40 >= files[0].tokens > 40 * 30
    assert "estimated" in files[0].how
