"""Training files for services that fine-tune chat models: written, checked and counted offline."""

from __future__ import annotations

import hashlib
import json
from collections import Counter as Count
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError, parse_json, read_given_file, write_atomically
from benchbuilder.evaluation.judge_training.examples import draw_number, drop_some_evidence
from benchbuilder.evaluation.judges.base import Example
from benchbuilder.evaluation.judges.openai_finetuned import OpenAIFinetunedJudge, OpenAIFinetunedSpec, TuningSpec
from benchbuilder.evaluation.parsing.score_replies import UnreadableScore, read_score_number
from benchbuilder.models import Message, Request, TokenCounter

TRAIN, VALID = "train.jsonl", "valid.jsonl"
_MOST_BYTES = 512 * 1024 * 1024
_ROLES = ("system", "user", "assistant")
_SHOWN = 20
ESTIMATE_MARGIN = 2.0
"""The factor by which a token estimate may be too low: older vocabularies need up to twice as many for Chinese."""


@dataclass(frozen=True)
class TrainingFileCheck:
    """The contents of a training file: examples, tokens (`how` names the counter), longest example, and problems."""

    file: Path
    examples: int = 0
    tokens: int = 0
    longest: int = 0
    how: str = ""
    exact: bool = False
    sha256: str = ""
    problems: tuple[str, ...] = ()
    prompt_hashes: frozenset[str] = field(default_factory=frozenset[str], repr=False)
    """Hashes of the prompts, to find leaks between files."""


def sample_by_weight(examples: Iterable[Example], seed: int) -> list[Example]:
    """Sample the examples with a weight below 1 at that rate: training files have no weights between 0 and 1."""
    return [
        example for example in examples if example.weight >= 1 or draw_number(example, seed, "weight") < example.weight
    ]


def write_training_file(
    path: Path, judge: OpenAIFinetunedJudge, examples: Sequence[Example], *, seed: int, without_evidence: float = 0.0
) -> int:
    """Write the examples, some without their paragraphs, and return the number of examples that were too long.

    `seed` shuffles them, because services read files in order.
    """
    fitting = [example for example in examples if not judge.is_too_long(example.case)]
    examples_to_write = drop_some_evidence(fitting, without_evidence, seed)
    lines = [json.dumps(judge.training_line(example), ensure_ascii=False) for example in examples_to_write]
    lines.sort(key=lambda line: hashlib.blake2b(f"{seed}{line}".encode(), digest_size=8).digest())
    write_atomically(path, "".join(f"{line}\n" for line in lines))
    return len(examples) - len(fitting)


def check_training_file(path: Path, counter: TokenCounter, tuning: TuningSpec) -> TrainingFileCheck:
    """Everything that a service would refuse, or that would not teach scores, with its line."""
    try:
        data = read_given_file(path)
    except OSError as error:
        raise DataError(
            f"there is no training file {path.name}", where=str(path), why=error.strerror or str(error),
            next="benchbuild finetune export writes it",
        ) from error  # fmt: skip
    problems: list[str] = []
    sizes: list[int] = []
    prompts = Count[str]()
    if len(data) > _MOST_BYTES:
        problems.append(f"the file has {len(data):,} bytes; the limit is {_MOST_BYTES:,}")
    if data.startswith(b"\xef\xbb\xbf"):
        problems.append("line 1: the file begins with a byte order mark, which many services do not read")
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1] if not lines[-1] else lines, 1):
        messages = _messages(line)
        if isinstance(messages, str):
            problems.append(f"line {number}: {messages}")
            continue
        sizes.append(counter.prompt(Request(tuple(messages))))
        prompts[_hash(messages[:-1])] += 1
        if sizes[-1] > tuning.most_tokens:
            problems.append(f"line {number}: {sizes[-1]:,} tokens; the limit of the service is {tuning.most_tokens:,}")
    if len(sizes) < tuning.least_examples and path.name != VALID:
        problems.append(f"{len(sizes)} valid examples; the service needs at least {tuning.least_examples}")
    return TrainingFileCheck(
        path, len(sizes), sum(sizes), max(sizes, default=0), counter.how, counter.exact,
        hashlib.sha256(data).hexdigest(), tuple(_shortened(problems)), frozenset(prompts),
    )  # fmt: skip


def leaked_examples(training: TrainingFileCheck, validation: TrainingFileCheck) -> list[str]:
    """Cases that are in both files."""
    both = len(training.prompt_hashes & validation.prompt_hashes)
    return [f"{both} of the held-out cases are in the training file too"] if both else []


def job_tokens(files: Sequence[TrainingFileCheck], spec: OpenAIFinetunedSpec) -> tuple[int, int]:
    """The billed tokens of a job: expected, and if estimates are too low. Validation files are not billed."""
    trained = sum(checked.tokens for checked in files if checked.file.name != VALID)
    exact = all(checked.exact for checked in files)
    expected = trained * spec.tuning.epochs
    return expected, expected if exact else round(expected * ESTIMATE_MARGIN)


def _shortened(problems: Sequence[str]) -> Iterator[str]:
    yield from problems[:_SHOWN]
    if len(problems) > _SHOWN:
        yield f"and {len(problems) - _SHOWN} more"


def _hash(messages: Sequence[Message]) -> str:
    text = json.dumps([[message.role, message.content] for message in messages], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _messages(line: bytes) -> list[Message] | str:
    """The messages of a line, or its problem."""
    try:
        row: Any = parse_json(line.decode("utf-8"))
    except UnicodeDecodeError:
        return "not UTF-8"
    except ValueError as error:
        return f"not JSON: {error}" if line.strip() else "empty"
    if not isinstance(row, dict) or set(row) != {"messages"} or not isinstance(row["messages"], list):
        return "expected an object with `messages` only: services refuse mixed formats"
    turns: list[Any] = row["messages"]
    wrong = next(filter(None, map(_wrong_turn, turns)), "")
    if wrong:
        return wrong
    messages = [Message(turn["role"], turn["content"]) for turn in turns]
    roles = [message.role for message in messages]
    if roles not in (["system", "user", "assistant"], ["user", "assistant"]):
        return f"expected a request and its reply, not {', '.join(roles) or 'nothing'}"
    if isinstance(read_score_number(messages[-1].content), UnreadableScore):
        return f"the reply is not a score from 0 to 1: {messages[-1].content[:40]!r}"
    return messages


def _wrong_turn(turn: Any) -> str:
    if not isinstance(turn, dict) or turn.get("role") not in _ROLES:
        return f"the role of a message is one of {', '.join(_ROLES)}"
    content: Any = turn.get("content")
    if not isinstance(content, str) or not content.strip():
        return f"the message of role {turn['role']} has no text"
    more = set(turn) - {"role", "content", "weight"}
    if more or turn.get("weight", 1) not in (0, 1):
        return f"a message has only role, content and a weight of 0 or 1: {', '.join(sorted(more)) or 'weight'}"
    return ""
