"""Writes Label Studio's labelling configuration: the texts, and a control for each guiding question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from benchbuilder.annotation.formats.questions import NOTE, Control
from benchbuilder.annotation.formats.task_summary import TaskSummary
from benchbuilder.config import GuidingQuestion, ProjectSpec
from benchbuilder.core import show_invisible

HOTKEYS = "1234567890qwertasdfgzxcb"
"""Hotkeys of choices in their order; Label Studio itself uses none of them for text tasks."""

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


def labelling_config(spec: ProjectSpec, tasks: TaskSummary, controls: Sequence[Control]) -> bytes:
    """The configuration as XML. Texts are plain `Text` objects, so nothing in them is read as markup."""
    view = Element("View")
    keys = iter(HOTKEYS)
    for name, label in displayed_fields(spec, tasks).items():
        _header(view, label)
        SubElement(view, "Text", name=f"text_{name}", value=f"$text_{name}", valueType="text")
    target = next(iter(view.iter("Text"))).get("name", "")
    for control in controls:
        if not control.paragraph:
            _control(view, control, target, keys)
    for number in range(1, tasks.most_paragraphs + 1):
        _paragraph(view, spec, number)
        for control in controls:
            if control.paragraph == number:
                _control(view, control, f"paragraph_{number}", keys)
    SubElement(view, "TextArea", name=NOTE, toName=target, rows="2", maxSubmissions="1", editable="true")
    indent(view)
    return tostring(view, encoding="utf-8") + b"\n"


def displayed_fields(spec: ProjectSpec, tasks: TaskSummary) -> dict[str, str]:
    """Every displayed field with its label: those of the recipe in order, then others by name."""
    labels = spec.display_fields()
    kept = {name: label for name, label in labels.items() if name in tasks.fields or not tasks.fields}
    return kept | {name: name for name in tasks.fields if name not in labels}


def _paragraph(view: Element, spec: ProjectSpec, number: int) -> None:
    _header(view, f"{spec.paragraph} {number}")
    SubElement(view, "Text", name=f"source_{number}", value=f"$source_{number}", valueType="text")
    SubElement(view, "Text", name=f"paragraph_{number}", value=f"$paragraph_{number}", valueType="text")


def _control(view: Element, control: Control, target: str, keys: Iterator[str]) -> None:
    question = control.question
    _header(view, f"{question.label}: {question.text}")
    common = {"name": control.control_name, "toName": target} | ({"required": "true"} if control.required else {})
    if question.answer == "text":
        SubElement(view, "TextArea", common, rows=str(question.lines), maxSubmissions="1", editable="true")
    elif question.answer == "scalar":
        for line in anchor_lines(question):
            _header(view, line)
        step = format(question.step, "g")
        SubElement(view, "Number", common, min="0", max="1", step=step, slider="true")
    else:
        choices = SubElement(view, "Choices", common, choice="single-radio", showInline="true")
        for value, text in answer_options(question):
            choice = SubElement(choices, "Choice", value=displayable_text(text), alias=value)
            if key := next(keys, ""):
                choice.set("hotkey", key)


def answer_options(question: GuidingQuestion) -> list[tuple[str, str]]:
    """Values and labels of the choices: 1 before 0, or the options of a scale from the lowest."""
    if question.answer == "binary":
        return [("1", "1"), ("0", "0")]
    return [(str(n), f"{n}: {text}" if text else str(n)) for n, text in sorted(question.options.items())]


def anchor_lines(question: GuidingQuestion) -> list[str]:
    """The meanings of the bands of a scalar, from the highest."""
    return [f"{band.low:g}–{band.high:g}: {band.text}" for band in question.anchors()]


def displayable_text(text: str) -> str:
    """`text` without characters that XML forbids, and without ``$``, which starts a variable."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", show_invisible(text)).replace("$", "\N{FULLWIDTH DOLLAR SIGN}")


def _header(view: Element, text: str) -> None:
    SubElement(view, "Header", value=displayable_text(text))
