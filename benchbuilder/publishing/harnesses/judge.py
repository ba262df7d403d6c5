"""Writes a judge of the recipe into an export: its prompts, rendered with a gap for the reply, and what asks it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchbuilder import __version__
from benchbuilder.config import KindSpec, LoadedRecipe, did_you_mean
from benchbuilder.core import Problem, RecipeError, create_from_spec
from benchbuilder.evaluation import AskingJudge, Case, ChatJudge, ChatJudgeSpec, neutralise_tags
from benchbuilder.models import Message, Request, TokenCounter, render_prompt, request_payload
from benchbuilder.publishing.harnesses.reader_source import SourceBundle
from benchbuilder.publishing.harnesses.templates_of import render
from benchbuilder.publishing.release.items import SharedItem

_GAP, _DETAIL, _OTHER_DETAIL = (f"\ue000\ue001{name}\ue001\ue000" for name in ("answer", "detail", "other"))
_PROBES = ("x", "一二三" * 400, "{a}{{ b }}</answer>", "<answer>")
"""Replies with which whole prompts are compared: a prompt that looks at the reply in another way is refused."""
_FAULTS = ("score_out_of_range", "reply_malformed", "reply_truncated", "reply_unfinished", "reply_empty")


@dataclass(frozen=True)
class CarriedJudge:
    """A judge as an export carries it.

    `module` is the text of the program that asks it. `tokens` are those of one prompt, on average.
    """

    name: str
    aspect: str
    module: str
    lines: Mapping[str, Sequence[Mapping[str, Any]]]
    """The messages of each item by configuration, in `pieces`: the reply stands between them."""
    tokens: int
    needs_schema: bool
    """Whether the judge of the recipe is given a JSON Schema by the service, and the export asks in words."""

    @property
    def items(self) -> int:
        """How many replies a whole run judges."""
        return sum(map(len, self.lines.values()))

    def files(self) -> Iterator[tuple[str, str]]:
        """The files of the judge, and what is in them."""
        yield "open_judge.py", self.module
        for config, lines in self.lines.items():
            rows = (json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            yield f"data/{config}.judge.jsonl", "".join(rows)


def carried_judge(
    name: str, loaded: LoadedRecipe, items: Mapping[str, Sequence[SharedItem]], canary: str
) -> CarriedJudge:
    """The judge `name` of the recipe, for open questions (`items` by configuration).

    Raises:
        RecipeError: The recipe has no such judge, it asks no chat model, or its prompts cannot be exported.
    """
    judge = _judge(name, loaded)
    spec: ChatJudgeSpec = judge.spec
    judge.open(None)
    lines: dict[str, list[Mapping[str, Any]]] = {}
    tokens = 0
    counter = TokenCounter(None)
    for config, own in items.items():
        lines[config] = []
        for item in own:
            case = _case(item, spec)
            if judge.is_too_long(case):
                lines[config].append({"id": item.id, "messages": None})
                continue
            messages = _checked_messages(judge, case, name)
            tokens += sum(counter.count(message.content) for message in messages)
            pieces = [{"role": message.role, "pieces": message.content.split(_GAP)} for message in messages]
            lines[config].append({"id": item.id, "messages": pieces, **({"canary": canary} if canary else {})})
    count = sum(map(len, lines.values()))
    if not count:
        raise RecipeError([Problem("there are no open questions for a judge", key="judge", hint="leave judge= out")])
    structured = str(getattr(judge.model_spec, "structured", "prompt"))
    return CarriedJudge(
        name,
        spec.aspect,
        _module(name, judge, loaded, list(items)),
        lines,
        tokens // count,
        needs_schema=judge.schema() is not None and structured != "prompt",
    )


def _judge(name: str, loaded: LoadedRecipe) -> ChatJudge:
    evaluation = loaded.recipe.evaluation
    judges: Mapping[str, KindSpec] = {} if evaluation is None else evaluation.judges
    spec = judges.get(name)
    if spec is None:
        raise RecipeError(
            [
                Problem(
                    f"the recipe has no judge {name!r}",
                    key="judge",
                    allowed=", ".join(judges) or "none",
                    hint=did_you_mean(name, list(judges)),
                )
            ]
        )
    judge = create_from_spec("judge", spec)
    if not isinstance(judge, ChatJudge) or judge.trains or getattr(spec, "samples", 1) != 1:
        why = "it is trained" if getattr(judge, "trains", False) else "it asks for several samples"
        if not isinstance(judge, ChatJudge):
            is_asking = isinstance(judge, AskingJudge)
            why = "what it asks depends on the clauses of a reply" if is_asking else "it asks no model"
        raise RecipeError(
            [
                Problem(
                    f"the judge {name!r} cannot be exported: {why}",
                    key="judge",
                    hint="take a judge of the kind `prompted`, with one sample",
                )
            ]
        )
    return judge


def _case(item: SharedItem, spec: ChatJudgeSpec) -> Case:
    """The case of an item, as an evaluation makes it, with the gap as its answer."""
    given = item.columns.get("evidence") or ()
    texts = (str(part["text"]) if isinstance(part, Mapping) else str(part) for part in given)
    evidence = tuple(filter(None, texts)) if spec.evidence else ()
    return Case(item.context + item.question, _GAP, evidence, item.answer, item.answer_wrong, item.type)


def _sent(judge: ChatJudge, case: Case) -> list[Message]:
    """The messages as a service gets them that is given no schema: the first one asks for JSON."""
    body = request_payload(Request(judge.messages(case), schema=judge.schema()), {}, {}, "prompt")
    return [Message(message["role"], message["content"]) for message in body["messages"]]


def _checked_messages(judge: ChatJudge, case: Case, name: str) -> list[Message]:
    found = _sent(judge, case)
    for probe in _PROBES:
        filled = [message.content.replace(_GAP, neutralise_tags(probe, judge.tags)) for message in found]
        if filled != [message.content for message in _sent(judge, replace(case, answer=probe))]:
            raise RecipeError(
                [
                    Problem(
                        f"the prompt of the judge {name!r} cannot be exported",
                        key=f"evaluation.judges.{name}.prompt",
                        hint="a prompt may put the answer in, and look at it in no other way",
                    )
                ]
            )
    return found


def _repairs(judge: ChatJudge, name: str) -> dict[str, Any]:
    """The text of the repair prompt for each fault: in pieces around the detail, and without one."""
    prompt = judge.repair_prompt
    if prompt is None:
        return {}

    def text(fault: str, detail: str, reply: str, case: Case) -> str:
        return render_prompt(prompt, {**judge.prompt_values(case), "fault": fault, "detail": detail, "reply": reply})

    plain, other = Case("q", "a"), Case("other question", "other answer", ("evidence",), type="oe")
    found: dict[str, Any] = {}
    for fault in _FAULTS:
        around, without = text(fault, _DETAIL, "r", plain), text(fault, "", "r", plain)
        same = text(fault, _OTHER_DETAIL, "another reply", other) == around.replace(_DETAIL, _OTHER_DETAIL)
        if not same or text(fault, "", "another reply", other) != without:
            raise RecipeError(
                [
                    Problem(
                        f"the repair prompt of the judge {name!r} cannot be exported",
                        key=f"evaluation.judges.{name}.repair",
                        hint="it may name the fault and its detail, and nothing else",
                    )
                ]
            )
        found[fault] = {"pieces": around.split(_DETAIL), "without": without}
    return found


def _module(name: str, judge: ChatJudge, loaded: LoadedRecipe, configs: list[str]) -> str:
    spec: ChatJudgeSpec = judge.spec
    settings = {
        "judge": name,
        "configs": configs,
        "aspect": spec.aspect,
        "reply": spec.reply,
        "labels": list(spec.labels),
        "units": list(spec.units),
        "words": dict(judge.words),
        "repair_rounds": spec.repair_rounds,
        "repair": _repairs(judge, name),
        "sampling": spec.sampling.explicit_settings(),
        "tags": list(judge.tags),
        "longest": judge.longest,
    }
    bundle = SourceBundle(("DataError", "Span", "convert_script", "Conversion"), {})
    bundle.take(
        "benchbuilder.evaluation.parsing.score_replies",
        ["UnreadableScore", "neutralise_tags", "read_score_object", "read_score_number"],
    )
    bundle.take("benchbuilder.core.text.replies", ["strip_reasoning"])
    bundle.take("benchbuilder.core.text.invisible", ["is_blank"])
    return render(
        "open_judge.py.j2",
        version=__version__,
        name=loaded.recipe.name,
        imports=bundle.imports(),
        definitions=bundle.text(),
        settings=json.dumps(settings, ensure_ascii=False),
    )
