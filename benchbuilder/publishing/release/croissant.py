"""The release described for machines: Croissant (JSON-LD) with its properties for responsible use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from benchbuilder.publishing.release.material import ReleaseMaterial
from benchbuilder.publishing.release.record import ReleasedConfig, ReleaseRecord

_CONTEXT: Mapping[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "citeAs": "cr:citeAs", "column": "cr:column",
    "conformsTo": "dct:conformsTo", "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/", "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"}, "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty", "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract", "field": "cr:field", "fileProperty": "cr:fileProperty", "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet", "format": "cr:format", "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath", "key": "cr:key", "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path",
    "recordSet": "cr:recordSet", "references": "cr:references", "regex": "cr:regex", "repeated": "cr:repeated",
    "replace": "cr:replace", "samplingRate": "cr:samplingRate", "sc": "https://schema.org/",
    "separator": "cr:separator", "source": "cr:source", "subField": "cr:subField", "transform": "cr:transform",
}  # fmt: skip
_TYPES = {"bool": "sc:Boolean", "double": "sc:Float", "int64": "sc:Integer", "int32": "sc:Integer"}
_CANARY_NOTE = "It must not occur in training data; its canary is "


def croissant(
    material: ReleaseMaterial, record: ReleaseRecord, schemas: Mapping[str, pa.Schema], checksums: Mapping[str, str]
) -> dict[str, Any]:
    """The description as JSON-LD; `schemas` are the columns by configuration, `checksums` SHA-256 by file."""
    card, spec = material.loaded.whole.card, material.loaded.whole.release
    data: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": record.name,
        "alternateName": record.title,
        "description": f"{card.summary} {_CANARY_NOTE}{record.canary}.",
        "identifier": record.canary,
        "version": record.version,
        "datePublished": record.date,
        "inLanguage": record.language,
        "isLiveDataset": False,
        "url": spec.url or (f"https://huggingface.co/datasets/{spec.repository}" if spec.repository else ""),
        "license": record.licence,
        "citeAs": card.citation or _bibtex(material, record),
        "creator": [{"@type": "sc:Organization", "name": name} for name in spec.authors],
        **_responsible_use(material),
        "distribution": [_file(name, checksums[name]) for config in record.configs for name in config.files.values()],
        "recordSet": [_record_set(config, split, schemas[config.name], record)
                      for config in record.configs for split in config.files],
    }  # fmt: skip
    return {name: value for name, value in data.items() if value not in ("", [], None)}


def _bibtex(material: ReleaseMaterial, record: ReleaseRecord) -> str:
    authors = " and ".join(f"{{{name}}}" for name in material.loaded.whole.release.authors)
    author = f"author = {{{authors}}}, " if authors else ""
    return (
        f"@misc{{{record.name}, {author}title = {{{record.title}}}, year = {{{record.date[:4]}}}, "
        f"note = {{Version {record.version}}}}}"
    )


def record_set_name(config: str, split: str) -> str:
    """The name of a record set: that of its configuration, and of its split if it is not the one that is asked."""
    return config if split in ("test", config) else f"{config}_{split}"


def _file(name: str, sha256: str) -> dict[str, Any]:
    return {"@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name,
            "encodingFormat": "application/jsonlines", "sha256": sha256}  # fmt: skip


def _record_set(config: ReleasedConfig, split: str, schema: pa.Schema, record: ReleaseRecord) -> dict[str, Any]:
    name = record_set_name(config.name, split)
    others = {other.name for other in record.configs}
    fields = [_field(name, config.files[split], field) for field in schema if not pa.types.is_list(field.type)]
    data: dict[str, Any] = {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}
    if "id" in schema.names:
        data["key"] = {"@id": f"{name}/id"}
    if "evidence" in schema.names and "evidence" in others:
        data["description"] = "The paragraphs of an item are in the record set evidence, by the id of the item."
    return data


def _field(record_set: str, file: str, field: pa.Field[Any]) -> dict[str, Any]:
    name = f"{record_set}/{field.name}"
    return {"@type": "cr:Field", "@id": name, "name": name, "description": field.name.replace("_", " "),
            "dataType": _TYPES.get(str(field.type), "sc:Text"),
            "source": {"fileObject": {"@id": file}, "extract": {"column": field.name}}}  # fmt: skip


def _responsible_use(material: ReleaseMaterial) -> dict[str, Any]:
    """What the recipe says of uses, limits, people and annotation; what it does not say is left out."""
    card = material.loaded.whole.card
    reviewed = [note for task in material.tasks for account in task.finished.step_counts
                if (note := account.notes).get("reviewed")]  # fmt: skip
    voters = sorted({person for notes in reviewed for person in notes.get("votes", {}).get("annotators", {})})
    sources = "; ".join(
        f"{source.name}: {source.title or 'no title'} ({source.terms.declared or 'licence not stated'})"
        for source in material.sources
    )
    questions = [question["text"] for notes in reviewed for question in notes.get("questions", {}).values()]
    data = {
        "rai:dataUseCases": [*card.intended_use, *(f"Not for: {use}" for use in card.not_for)],
        "rai:dataLimitations": list(card.limitations),
        "rai:personalSensitiveInformation": card.personal_data,
        "rai:dataCollection": f"Built with benchbuilder from these sources. {sources}.",
        "rai:dataCollectionTimeFrame": card.correct_as_of,
        "rai:dataPreprocessingProtocol": _steps(material),
        "rai:dataAnnotationProtocol": list(dict.fromkeys(questions)),
        "rai:annotationsPerItem": f"Judged by {len(voters)} people." if voters else "",
        "rai:annotatorDemographics": _answered(material, "annotators_described"),
        "rai:dataSocialImpact": _answered(material, "sensitive_content"),
        "rai:dataReleaseMaintenancePlan": _answered(material, "maintenance_plan"),
        "rai:machineAnnotationTools": sorted({receipt.model for receipt in material.receipts}),
    }
    return {name: value for name, value in data.items() if value not in ("", [])}


def _answered(material: ReleaseMaterial, criterion: str) -> str:
    """What the author says of a criterion of the scorecard; empty if it is not met or not answered."""
    answer = material.loaded.whole.scorecard.answers.get(criterion)
    return answer.evidence if answer is not None and answer.state in ("yes", "partly") else ""


def _steps(material: ReleaseMaterial) -> list[str]:
    steps: dict[str, str] = {}
    for task in material.tasks:
        for account in task.finished.step_counts:
            if account.inputs:
                steps[account.step] = f"{account.step} ({account.kind})"
    return list(steps.values())
