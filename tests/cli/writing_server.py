"""A service that writes statements, negations and questions well enough for some of them to pass the checks."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchbuilder.testing import FakeOpenAI, fake_openai_server

SECRET = "sk-this-is-a-secret"
PLUGIN = """
import re

ASKING = ["是什么", "什么", "何时", "多少", "哪些", "哪一", "哪种", "如何", "怎样"]


def reply(messages, body):
    text = next(message["content"] for message in messages if message["role"] == "user")
    if found := re.findall(r"问题：(.*)\\n答案：(.*)\\n陈述句：$", text):
        question, answer = found[-1]
        for word in ASKING:
            if word in question:
                return question.replace(word, answer, 1) + "。"
        if len(messages) > 2 or body["model"] == "blunt":  # after a fault
            return question + "是" + answer + "。"
        return question + "<script>\\x1b[31m" + answer
    if found := re.findall(r"句子：(.*)\\n否定句：$", text):
        return "并非" + found[-1]
    if found := re.findall(r"陈述句：(.*)\\n答案：(.*)\\n问题：$", text):
        return found[-1][0].rstrip("。").replace(found[-1][1], "什么") + "？"
    return None
"""


@contextmanager
def writing(folder: Path) -> Generator[FakeOpenAI]:
    """The service, with the key in the environment that it wants."""
    plugin = folder / "plugin.py"
    plugin.write_text(PLUGIN, encoding="utf-8")
    with (
        fake_openai_server({"plugin": str(plugin), "api_key": SECRET}) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("OPENAI_API_KEY", SECRET)
        patch.delenv("OPENAI_BASE_URL", raising=False)
        yield server


def words(server: FakeOpenAI, name: str = "gpt-4o-mini") -> list[str]:
    """The words that choose the service's model."""
    return ["model=openai", f"model.name={name}", f"model.base_url={server.base_url}"]


def ids(text: str, kind: str) -> list[str]:
    """The ids of rows of a kind in `text`."""
    return re.findall(rf"{kind}-[0-9a-f]{{20}}", text)
