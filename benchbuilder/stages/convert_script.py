"""Bring facts into one script, the original text kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar

from benchbuilder.ports.stage import Map, Port
from benchbuilder.records.envelope import Row
from benchbuilder.records.fact import Fact
from benchbuilder.records.fates import Fate, Kept
from benchbuilder.records.payload import Payload
from benchbuilder.spec.base import StepSpec
from benchbuilder.text.script import Conversion, convert_script, script_version


class ConvertScriptSpec(StepSpec):
    """`convert` names an OpenCC configuration (``t2s``: traditional to simplified); ``null`` changes nothing."""

    convert: Conversion | None


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
        conversion = self.spec.convert
        if conversion is None:
            return [Kept(row)]
        payload: Payload = row.payload.map_texts(partial(convert_script, conversion=conversion))
        if payload == row.payload:
            return [Kept(row)]
        original = row.original or "\t".join(row.payload.flat().values())
        made_by = self.made_by(conversion)
        return [Kept(type(row).child(row, made_by=made_by, payload=payload, original=original))]
