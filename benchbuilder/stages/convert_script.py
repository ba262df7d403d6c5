"""Bring facts into one script and one form of Unicode, the original text kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from benchbuilder.ports.stage import Map, Port
from benchbuilder.records.envelope import Row
from benchbuilder.records.fact import Fact
from benchbuilder.records.fates import Fate, Kept
from benchbuilder.records.payload import Payload
from benchbuilder.spec.base import StepSpec
from benchbuilder.text.normalise import NormalForm, in_form
from benchbuilder.text.script import Conversion, convert_script, script_version


class ConvertScriptSpec(StepSpec):
    """`convert` names an OpenCC configuration (``t2s``: traditional to simplified), `normal_form` a form of Unicode
    (``NFC``: a letter and its marks as one character where there is one); ``null`` changes nothing."""

    convert: Conversion | None
    normal_form: NormalForm | None = None

    def parts(self) -> tuple[str, ...]:
        """The names of what is done, in order."""
        return tuple(name for name in (self.normal_form, self.convert) if name is not None)

    def write(self, text: str) -> str:
        """`text` in the form and the script."""
        text = text if self.normal_form is None else in_form(text, self.normal_form)
        return text if self.convert is None else convert_script(text, self.convert)


class ConvertScript(Map):
    """Converts every text of a fact.

    A fact that the conversion does not change passes as the very row that it is. A changed one carries its text from
    before in `original`: the cells of its flat form, joined by tabs.
    """

    kind: ClassVar[str] = "convert_script"
    spec_class: ClassVar[type[StepSpec]] = ConvertScriptSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact)}
    output: ClassVar[type[Row] | None] = None

    spec: ConvertScriptSpec

    def fingerprint(self) -> Mapping[str, str]:
        """The version of OpenCC, where it is used."""
        return {} if self.spec.convert is None else {"opencc": script_version()}

    def map(self, row: Fact[Any], parents: Mapping[str, Any]) -> Iterable[Fate]:  # noqa: ARG002
        """The converted fact."""
        if not self.spec.parts():
            return [Kept(row)]
        payload: Payload = row.payload.map_texts(self.spec.write)
        if payload == row.payload:
            return [Kept(row)]
        original = row.original or "\t".join(row.payload.flat().values())
        made_by = self.made_by("+".join(self.spec.parts()))
        return [Kept(type(row).child(row, made_by=made_by, payload=payload, original=original))]
