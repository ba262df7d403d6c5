"""Runs trials in a process of their own, which is ended when a row takes too long: no pattern stops the server."""

from __future__ import annotations

import gc
import itertools
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.config import trusting
from benchbuilder.core import BenchbuilderError, DataError, WorkerContext, begin_worker_process
from benchbuilder.explorer.workbench.trial_bench import TrialBench, TrialStoppedError
from benchbuilder.explorer.workbench.trials import FIRST_ROWS, RuleTrial, TrialRequest, TrialResult

LONGEST_S = 3.0
"""A row may take so many seconds; all rows together may take so many, and `_ROW_S` for each."""
_ROW_S = 0.01
_LATER_S = 60.0
"""So many seconds may pass while no row of the step is at work: later steps have their own rows."""
_OPENING_S = 120.0
_BETWEEN_S = 0.05
_NAMED = 3


@dataclass(frozen=True)
class BenchSettings:
    """What a process needs to open the rows of a step: see `TrialBench`. With another `stamp`, it opens them anew.

    `file` is the name of the file of rules, without its suffix; empty: that with most rules of the step.
    """

    overrides: tuple[str, ...]
    recipes: tuple[str, ...]
    folder: Path
    step: str
    file: str = ""
    stamp: str = ""
    trust: tuple[str, ...] = ()


@dataclass(frozen=True)
class DraftRead:
    """The process has read a draft, with these new texts, and begins with the rows."""

    texts: tuple[str, ...]


class TrialProcess:
    """The trials of one step: a worker process that is started when it is needed, and again after it was ended.

    Trials run one after the other; a newer one stops the one at work.
    """

    def __init__(self, settings: BenchSettings, *, longest_s: float = LONGEST_S) -> None:
        self.settings, self._longest_s = settings, longest_s
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._process: Any = None
        self._pipe: Any = None
        self._rows = 0
        self._new_texts: tuple[str, ...] = ()
        context = WorkerContext()
        self._context = context
        self._newest, self._row = context.Value("q", 0), context.Value("q", -1)

    def try_draft(self, text: str, *, whole: bool) -> TrialResult | None:
        """The result of a draft; None if a newer trial began meanwhile.

        Raises:
            RecipeError: The draft is wrong.
            DataError: The rows are not built, or a pattern takes too long.
        """
        number = next(self._numbers)
        self._newest.value = max(self._newest.value, number)
        rows = self._rows if whole else min(self._rows, 2 * FIRST_ROWS)
        answer = self._ask("run", TrialRequest(number, text, whole), self._longest_s + _ROW_S * rows)
        return answer if isinstance(answer, TrialResult) else None

    def judgement_data(self, row: str) -> tuple[str, str, str] | None:
        """What a judgement holds of a row; None if it is not among the rows."""
        return self._ask("judgement_data", row, _OPENING_S)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _ask(self, what: str, value: Any, most_s: float) -> Any:
        while not self._lock.acquire(timeout=_BETWEEN_S):
            if what == "run" and value.number < self._newest.value:
                return None
        try:
            if what == "run" and value.number < self._newest.value:
                return None
            pipe = self._opened()
            pipe.send((what, value))
            answer = self._answer(pipe, most_s, value)
        finally:
            self._lock.release()
        if isinstance(answer, BenchbuilderError):
            raise answer
        return answer

    def _opened(self) -> Any:
        """The pipe to the process; BenchbuilderError if the rows cannot be opened."""
        if self._pipe is not None and self._process.is_alive():
            return self._pipe
        self._end()
        self._row.value = -1
        self._pipe, theirs = self._context.Pipe()
        self._process = self._context.Process(
            target=serve_trials, args=(theirs, self.settings, self._newest, self._row), daemon=True
        )
        self._process.start()
        theirs.close()
        opened = self._answer(self._pipe, _OPENING_S, None)
        if isinstance(opened, BenchbuilderError):
            self._end()
            raise opened
        self._rows = opened
        return self._pipe

    def _answer(self, pipe: Any, most_s: float, request: Any) -> Any:
        """The next answer of the process, which is ended if no row ends in time."""
        waited, on_row, last = 0.0, 0.0, self._row.value
        while not pipe.poll(_BETWEEN_S):
            same = self._row.value == last
            last = self._row.value
            on_row = on_row + _BETWEEN_S if same else 0.0
            waited += _BETWEEN_S if last >= 0 else 0.0
            stuck = on_row >= (self._longest_s if last >= 0 else _LATER_S)
            alive = self._process.is_alive()
            if stuck or waited >= most_s or not alive:
                self._end()
                return self._stopped(last, alive=alive, request=request)
        with suppress(EOFError):
            answer = pipe.recv()
            if not isinstance(answer, DraftRead):
                return answer
            self._new_texts = answer.texts
            return self._answer(pipe, most_s - waited, request)
        self._end()
        return self._stopped(last, alive=False, request=request)

    def _stopped(self, row: int, *, alive: bool, request: Any) -> BenchbuilderError:
        if not alive:
            return DataError("the process that tries rules ended", next="try again; if it ends again, look at memory")
        tried = isinstance(request, TrialRequest)
        what = f"the rules take longer than {self._longest_s:g} s" if tried else "the rows take long to open"
        return DataError(what, where=f"row {row + 1} of {self.settings.step}" if row >= 0 else self.settings.step,
                         why="a pattern with nested repetition can need exponential time",
                         next=f"look at what is new: {'; '.join(self._new_texts[:_NAMED])}")  # fmt: skip

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


def serve_trials(pipe: Any, settings: BenchSettings, newest: Any, row: Any) -> None:
    """The work of the process: open the rows, then answer requests until the pipe is closed."""
    begin_worker_process()
    at_work = [0]

    def before_row(position: int) -> None:
        row.value = position
        if at_work[0] and newest.value != at_work[0]:
            raise TrialStoppedError

    with trusting(settings.trust):
        try:
            bench = TrialBench(settings.overrides, settings.recipes, settings.folder, settings.step)
            trial = RuleTrial(bench, before_row, settings.file)
        except BenchbuilderError as error:
            pipe.send(error)
            return
        row.value = -1
        gc.freeze()  # garbage collection goes through no row again
        pipe.send(len(bench.rows))
        with suppress(EOFError):
            while True:
                what, value = pipe.recv()
                at_work[0] = value.number if what == "run" else 0
                pipe.send(_answered(trial, what, value, pipe))
                row.value = -1


def _answered(trial: RuleTrial, what: str, value: Any, pipe: Any) -> Any:
    try:
        if what == "run":
            return trial.run(value, lambda draft: pipe.send(DraftRead(draft.texts)))
        return trial.judgement_data(value)
    except BenchbuilderError as error:
        return error
    except (TrialStoppedError, KeyError):
        return None


class TrialProcesses:
    """The processes of an explorer, by what they try; the one that was used least lately is ended for another."""

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._open: dict[BenchSettings, TrialProcess] = {}

    def of(self, settings: BenchSettings) -> TrialProcess:
        """The process of a step."""
        with self._lock:
            process = self._open.pop(settings, None) or TrialProcess(settings)
            self._open[settings] = process
            gone = [self._open.pop(next(iter(self._open))) for _ in range(len(self._open) - self._most)]
        for each in gone:
            each.close()
        return process

    def forget(self, settings: BenchSettings) -> None:
        """End the process of a step, whose rules were saved: the next one reads them."""
        with self._lock:
            process = self._open.pop(settings, None)
        if process is not None:
            process.close()

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            processes = list(self._open.values())
            self._open.clear()
        for process in processes:
            process.close()
