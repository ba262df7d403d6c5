"""Published figures of judges, which are marked as such and shown only if the split is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import Field, ValidationError

from benchbuilder.config import Spec
from benchbuilder.core import DataError
from benchbuilder.exporters import Language

S = TypeVar("S", bound=Spec)
Coefficient = Annotated[float, Field(ge=-1, le=1)]
Proportion = Annotated[float, Field(ge=0, le=1)]


class PublishedFigures(Spec):
    """Figures of one judge in one aspect; `note` by language of the report."""

    pearson: Coefficient | None = None
    accuracy: Proportion | None = None
    note: dict[Language, str] = {}


class PublishedJudges(Spec):
    """Figures from one publication (`work`): the split of its judges, majority baselines and judges by aspect."""

    work: str
    split: Literal["by_model", "by_question", "both"]
    majority: dict[str, Proportion] = {}
    judges: dict[str, dict[str, PublishedFigures]]

    def figures_for(self, aspect: str, split: str) -> dict[str, PublishedFigures]:
        """The published judges of an aspect; empty if the publication used another split."""
        if split != self.split:
            return {}
        return {name: figures[aspect] for name, figures in self.judges.items() if aspect in figures}


def load_published_judges(path: Path) -> PublishedJudges:
    """Read published figures from the YAML file `path`.

    Raises:
        DataError: The file is missing, is not YAML, or is invalid.
    """
    return read_yaml_spec(path, PublishedJudges, "file of published figures")


def read_yaml_spec(path: Path, spec_class: type[S], description: str) -> S:
    """Read the YAML file `path` as `spec_class`.

    Args:
        path: The file.
        spec_class: What the file must contain.
        description: The name of such a file in messages.

    Raises:
        DataError: The file is missing, is not YAML, or does not fit `spec_class`.
    """
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return spec_class.model_validate(data)
    except FileNotFoundError as error:
        raise DataError(f"the {description} is missing", where=str(path), next="check the path") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(
            f"the {description} is not YAML", where=str(path), why=str(error), next="correct the file"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise DataError(
            f"the {description} is invalid", where=f"{path}, {key}", why=first["msg"], next="correct the file"
        ) from error
