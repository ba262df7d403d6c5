"""The page of the Python API, from its signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import benchbuilder

_HEAD = """# Python API

`import benchbuilder as bb` does in Python what the main commands do. Results are frozen objects, and errors are
exceptions with a message in plain words. Nothing is printed, and the process is left as it was.

```python
import benchbuilder as bb

result = bb.build("care_mi", ["retriever.top_k=2"])
built = bb.open(result.folder)
items = built.items.pandas()
dropped = built.ledger().pandas()
```

Scripts that build with several workers need the usual guard, `if __name__ == "__main__":`."""
_SECTIONS = {
    "Functions": (
        "build", "check", "open", "evaluate", "audit", "analyse", "scorecard", "errata", "due", "clean", "new",
    ),
    "Results": (
        "RunResult", "BuildResult", "CheckedRecipe", "OpenedBenchmark", "ColumnTable", "RowTable", "EvaluationResult",
        "AuditReport", "AnalysisReport", "ScorecardReport", "ErrataLog", "DueItems", "CleanedStores", "NewRecipe",
        "ProgressEvent", "BenchbuilderError",
    ),
}  # fmt: skip
_LABEL = re.compile(r"(Args|Raises|Returns|Attributes|Yields):\Z")


def python_api() -> str:
    """The page: each function and class with its signature, its text and its public parts."""
    parts = [_HEAD]
    for section, names in _SECTIONS.items():
        parts.append(f"## {section}")
        for name in names:
            parts += _entry(name, getattr(benchbuilder, name), "###")
    return "\n\n".join(parts)


def _entry(name: str, thing: object, level: str) -> Iterator[str]:
    yield f"{level} `{name}`"
    if inspect.isfunction(thing):
        yield f"```text\n{name}{_signature(thing)}\n```"
    yield _text(inspect.getdoc(thing) or "")
    if not inspect.isclass(thing):
        return
    fields = [field for kind in reversed(thing.__mro__) if kind.__module__.startswith("benchbuilder")
              for field in vars(kind).get("__annotations__", {}) if not field.startswith("_")]  # fmt: skip
    if fields:
        yield "Fields: " + ", ".join(f"`{field}`" for field in dict.fromkeys(fields)) + "."
    for part, member in vars(thing).items():
        if part.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        call = _signature(member, without_self=True) if inspect.isfunction(member) else ""
        yield f"- `{part}{call}`: {_text(inspect.getdoc(member) or '').partition(chr(10) * 2)[0]}"


def _signature(function: object, *, without_self: bool = False) -> str:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    kept = [value for name, value in signature.parameters.items() if not (without_self and name == "self")]
    return re.sub(r"'([^']*)'", r"\1", str(signature.replace(parameters=kept))) if kept else "()"


def _text(doc: str) -> str:
    """A docstring as Markdown: what is indented below a label is a list."""
    lines: list[str] = []
    for line in doc.replace("``", "`").splitlines():
        if _LABEL.match(line):
            lines += [f"{line[:-1]}:", ""]
        elif line.startswith("        "):
            lines[-1] = f"{lines[-1]} {line.strip()}"
        elif line.startswith("    "):
            lines.append(f"- {line.strip()}")
        else:
            lines.append(line)
    return "\n".join(lines).strip()
