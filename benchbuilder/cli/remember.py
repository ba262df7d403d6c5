"""Keeps what a build said that made nothing, for `benchbuilder.cli.repeat`, with stamps of all that it looked at."""

from __future__ import annotations

import sys
from pathlib import Path

import benchbuilder
from benchbuilder.api import BuildResult
from benchbuilder.cli.repeat import GivenCommand
from benchbuilder.cli.session import Session
from benchbuilder.config import keep_cached
from benchbuilder.core import stamp_files
from benchbuilder.pipeline import RUN_LOG, inputs_of_build, kept_checksums

_SLACK_NS = 2_000_000_000
"""What changed so shortly before a command began may change once more and keep its time: some file systems count in
twos of seconds."""


def remember_build(command: GivenCommand, session: Session, result: BuildResult, text: str) -> None:
    """Keep the `text` that a build printed, if the same command would print it again.

    Nothing is kept if the build made or removed anything, if nobody can tell from files whether anything changed, or
    if a file is so new that it may have changed meanwhile.
    """
    report = result.report
    if report.built_steps or report.waiting or report.removed_files or "\t" in text:  # which was printed as blanks
        return
    inputs = inputs_of_build(session.loaded, session.plan, session.store)
    if inputs is None:
        return
    package = Path(benchbuilder.__file__).parent
    files = [*map(str, inputs.files), *_code(package), *command.words]
    trees = {str(top): list(left_out) for top, left_out in {**inputs.trees, package: ()}.items()}
    stamps = stamp_files(files, trees)
    if stamps is None or stamps.newest > command.began - _SLACK_NS:
        return
    folder = session.store.folder.absolute()
    checksums = {str(path.absolute()): checksum for path, checksum in kept_checksums(report, session.store).items()}
    keep_cached(command.file, {
        "text": text, "log": str(folder / RUN_LOG), "lock": str(folder / "store" / "lock"), "run": report.logged,
        "files": files, "trees": trees, "stamps": stamps.digest, "checksums": checksums,
    })  # fmt: skip


def _code(package: Path) -> list[str]:
    """The files of all modules that were imported, where Python looks for others, and what plugins are there."""
    modules = {str(file) for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))}
    others = sorted(file for file in modules if not Path(file).is_relative_to(package))
    plugins = [str(found / "entry_points.txt") for folder in sys.path for pattern in ("*.dist-info", "*.egg-info")
               for found in sorted(Path(folder).glob(pattern))]  # fmt: skip
    return [*others, *sys.path, *plugins]
