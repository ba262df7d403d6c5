"""Whole builds by the command line, as users run them: what they are told, what they need, what they found."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scale.watch import Opened, run
from scale.words import CARE_MI

RECIPE = (
    "recipe=care_mi", "annotation=none", "review=[]", "evaluation=[]", "paths.votes=null", "paths.model_answers=null",
    "paths.human_answers=null", "paths.ratings=null",
)  # fmt: skip
"""The bundled recipe to the end, without people: every candidate with its evidence becomes an item."""
_SHAPE = (
    "{kind: triples, path: %s, language: zh, title: a table, licence: none, format: tsv, header: true, "
    "quoting: false, columns: {%s}}"
)
_ENDS = "head: head, relation: relation, tail: tail"
_TYPED_ENDS = f"{_ENDS}, head_type: head_type, tail_type: tail_type"
SAYS = 2_000


PROGRAM = (sys.executable, "-c", "import sys; from benchbuilder.cli.dispatch import main; sys.exit(main())")
"""What the script `benchbuild` does, by this Python."""


def build(words: Sequence[str], folder: Path, sources: Sequence[Path] = ()) -> dict[str, Any]:
    """Build into `folder`; what it needed, its steps as its log tells them, and whether `sources` were opened."""
    with Opened(sources) as opened:
        needed = run([*PROGRAM, *words, f"run.dir={folder}"], folder.parent)
    if needed.code:
        raise RuntimeError(f"benchbuild {' '.join(words)} ended with {needed.code}:\n{needed.output[-SAYS:]}")
    log = json.loads((folder / "run.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    found = {key: value for key, value in asdict(needed).items() if key not in ("output", "code")}
    stored = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    return {
        **found, "steps": log["steps"], "sources_opened": opened.counts, "stored_mb": stored,
        "sources_mb": sum(file.stat().st_size for file in sources) / 1e6,
    }  # fmt: skip


def fresh(folder: Path) -> Path:
    """An empty place for a build."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """The records of JSON Lines."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def generated(bios: Path, cpubmed: Path, paragraphs: Path) -> tuple[list[str], list[Path]]:
    """The words of a build of generated triples, and the files that it reads.

    The variant asks about every triple on topic. Random triples find no partner to exchange their answers with.
    """
    words = [
        *RECIPE,
        "variant=negated",
        "steps.candidates.from.replaced=[negate_triple]",
        "source=[bios,cpubmed,textbook]",
        f"paths.bios={bios}",
        f"paths.cpubmed={cpubmed}",
    ]
    return [*words, f"paths.textbook={paragraphs}"], [*sorted(bios.iterdir()), cpubmed, paragraphs]


def edges(table: Path) -> list[str]:
    """The words of a recipe that reads a plain table of triples."""
    source = _SHAPE % (table, _ENDS)
    ends = [f"steps.triples_on_topic.groups.{end}=[{end}]" for end in ("head", "tail")]
    return [*RECIPE, "source=[textbook]", f"+sources.edges={source}", *ends]


def real(folder: Path, prepared: Path, words: Path | None) -> list[str]:
    """The words of a build of the real files in `folder`, of what was `prepared` of them, with a word list."""
    kg = folder / "kg"
    tables = {"cmeie": kg / "cmeie_dev_triples.tsv", "kbert": kg / "kbert_medical_triples.tsv"}
    told = [*RECIPE, "source=[medqa,textbook,encyclopaedia]", "steps.paragraphs.filter_bases=[]"]
    told += [f"paths.medqa={folder / 'mcqa' / 'medqa_mainland_test.jsonl'}"]
    told += [f"paths.textbook={prepared / 'paragraphs.jsonl'}", f"paths.encyclopaedia={prepared / 'pages.jsonl'}"]
    told += [f"paths.relations={prepared / 'relations.tsv'}"]
    told += [f"+sources.{name}={_SHAPE % (table, _TYPED_ENDS)}" for name, table in tables.items()]
    return told if words is None else [*told, f"paths.words={words}"]


def prepare_real(folder: Path, prepared: Path) -> Path:
    """Pages of the reading tests, a list of all the entities, and relations with a sentence for those of K-BERT."""
    prepared.mkdir(parents=True, exist_ok=True)
    with (prepared / "pages.jsonl").open("w", encoding="utf-8") as file:
        for title, text in _pages(folder / "corpus"):
            page = {"document": title, "title": title, "text": text}
            file.write(json.dumps(page, ensure_ascii=False) + "\n")
    entities: dict[str, None] = {}
    for table in sorted((folder / "kg").glob("*_triples.tsv")):
        rows = (line.rstrip("\n").split("\t") for line in table.read_text(encoding="utf-8").splitlines()[1:])
        for head, _, _, tail, *_ in rows:
            entities |= dict.fromkeys((head.strip(), tail.strip()))
    listed = [name for name in entities if name and not name.startswith("#")]
    (prepared / "entities.txt").write_text("".join(f"{name}\n" for name in listed), encoding="utf-8")
    table = (CARE_MI / "relations_cmeie.tsv").read_text(encoding="utf-8")
    said = ("{head}属于{tail}。", "{head}不属于{tail}。", "{head}属于{tail}吗？", "{head}属于什么？")
    kind = "\t".join(("类别", *said, "tail", "", ""))
    (prepared / "relations.tsv").write_text(f"{table}{kind}\n", encoding="utf-8")
    return prepared


def _pages(corpus: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(corpus.glob("*.json")):
        data: Sequence[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["data"]
        for number, page in enumerate(data):
            text = "\n".join(" ".join(str(part["context"]).split()) for part in page["paragraphs"])
            yield f"{path.stem}-{number}", text
