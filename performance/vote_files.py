"""Memory and time of votes that are imported from a file and exported to one, by the number of tasks.

    python performance/vote_files.py [--quick] [--tasks 2000 20000] [--only import csv] [--folder DIR]

Every task is a candidate with four paragraphs, and two people answered all that is asked. Tasks are made first. Each
line is measured in a process of its own; its peak is that of the resident memory, with Python and its libraries.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from review_pages import PROJECT, project, task

from benchbuilder.annotation import VOTE_FORMATS, AnnotationStore, ExportInput, Rater, Spool, build_export_input
from benchbuilder.annotation.database.models import ImportedVote
from benchbuilder.annotation.tasks import judgement_requests

TASKS, QUICK = (2_000, 20_000), (200,)
PEOPLE = ("Zhuang Wu", "Li Wei")
FILES = {"csv": "votes.csv", "xlsx": "votes.xlsx", "label_studio": "tasks.json", "argilla": "records.json",
         "adjudication": "adjudication.jsonl", "history": "history.jsonl"}  # fmt: skip
"""The file of each format that is read back, but for XLSX: one of 20,000 tasks unpacks to more than is read."""


def lay_out(url: str, size: int) -> None:
    """A database with so many tasks, and two people."""
    with AnnotationStore.open(url) as store:
        for name in PEOPLE:
            store.invite(name, "annotator")
        store.sync_project(project(), [task(number) for number in range(size)])


def votes(store: AnnotationStore) -> Iterator[ImportedVote]:
    """A vote of each person on all that is asked."""
    asked, tasks = project(), (one for _, one in store.each_task(PROJECT))
    for number, one in enumerate(tasks):
        for subject in judgement_requests([one], asked.spec):
            for person in PEOPLE:
                yield ImportedVote(person, subject, number % 2, where=f"votes:{number}")


def material(store: AnnotationStore) -> ExportInput:
    """What an export is made of, as `benchbuild votes` gathers it."""
    people = [Rater(person.name, person.code, person.role) for person in store.people()]
    tasks, found = Spool(one for _, one in store.each_task(PROJECT)), store.project(PROJECT)
    assert found is not None
    return build_export_input(found, tasks, people, store.vote_events(PROJECT), store.events(PROJECT),
                              wordings=store.wordings(PROJECT))  # fmt: skip


def work(name: str, folder: Path) -> int:
    """Do one thing; how many votes there are."""
    with AnnotationStore.open(f"sqlite:///{folder / 'votes.db'}") as store:
        if name == "import":
            return store.import_votes(PROJECT, votes(store), "csv").new
        sort, _, way = name.partition(" ")
        given, form = material(store), VOTE_FORMATS[sort]
        if way == "read":
            file = folder / sort / FILES[sort]
            with file.open("rb") as stream:
                return len(form.reader(file.name, stream, given, None).votes_or_raise())
        assert form.writer is not None
        form.writer(given, None, folder / sort)
        return len(given.votes)


def measured(name: str, folder: Path) -> str:
    """What one thing needs, as the cells of a line."""
    command = [sys.executable, str(Path(__file__).absolute()), "--one", name, str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    count, seconds, megabytes = json.loads(ended.stdout)
    return f"`{name}` | {count:,} | {megabytes:,.0f} MB | {seconds:.1f} s |"


def names(chosen: Sequence[str]) -> list[str]:
    """What is measured, in the order in which it can be."""
    return [name for name in ("import", *(f"{sort}{way}" for sort in FILES for way in ("", " read")))
            if name != "xlsx read" and (not chosen or name.partition(" ")[0] in chosen)]  # fmt: skip


def main() -> int:
    """Print a line for each number of tasks and each thing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few tasks: shows that it runs")
    parser.add_argument("--tasks", type=int, nargs="+", metavar="N", help="numbers of tasks")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="import, formats")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where to keep the databases; else a temporary one")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        count = work(given.one[0], Path(given.one[1]))
        usage = resource.getrusage(resource.RUSAGE_SELF)
        most = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
        print(json.dumps([count, usage.ru_utime + usage.ru_stime, most]))
        return 0
    print("| tasks | what | votes | peak memory | processor time |\n| ---: | --- | ---: | ---: | ---: |")
    for size in given.tasks or (QUICK if given.quick else TASKS):
        with tempfile.TemporaryDirectory() as temporary:
            folder = (Path(temporary) if given.folder is None else given.folder.absolute()) / str(size)
            if not folder.exists():
                folder.mkdir(parents=True)
                lay_out(f"sqlite:///{folder / 'votes.db'}", size)
            for name in names(given.only):
                print(f"| {size:,} | {measured(name, folder)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
