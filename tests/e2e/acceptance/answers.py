"""What the fake service writes for the Chinese prompts: good sentences, and now and then one that fails a check."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

_VERBS = ("变为", "使用", "属于", "首选", "选用", "可致", "应为", "应是", "是", "为", "有", "用", "在", "可", "应")

_ASKING = re.compile("(下列|以下)?哪(一)?[项种](药物)?|何时|多久|(如何|怎样)(处理)?|什么")


def reply(messages: Sequence[Mapping[str, Any]], body: Mapping[str, Any]) -> str | None:
    """The answer to one prompt; one in eleven is two sentences until the model is told."""
    first = next(message["content"] for message in messages if message["role"] == "user")
    told = messages[-1]["content"] != first
    text = _answer(first)
    if text is not None and zlib.crc32(first.encode()) % 11 == 0 and not told:
        return f"好的。{text}"
    return text


def _answer(prompt: str) -> str | None:
    if found := re.search(r"问题：(.*)\n答案：(.*)\n陈述句：$", prompt):
        asked = found[1].rstrip("？?")
        if _ASKING.search(asked):
            return f"{_ASKING.sub(lambda _: found[2], asked, count=1)}。"
        return f"{asked}是{found[2]}。".replace("是是", "是").replace("为是", "为")
    if found := re.search(r"句子：(.*)\n否定句：$", prompt):
        return _negated(found[1])
    if found := re.search(r"陈述句：(.*)\n答案：(.*)\n问题：$", prompt):
        before, _, after = found[1].rpartition(found[2])
        copula = "是" if before.endswith(("是", "为")) else ""
        return f"{before.removesuffix('是').removesuffix('为')}{copula}什么{after.rstrip('。')}？"
    if found := re.search(r"陈述句：(.*)\n问题：$", prompt):
        return f"{found[1].rstrip('。')}吗？"
    return None


def _negated(sentence: str) -> str:
    for verb in _VERBS:
        if verb in sentence:
            at = sentence.index(verb)
            return f"{sentence[:at]}不{sentence[at:]}"
    return f"并非{sentence}"
