"""Reads the YAML files of an evaluation: verdict tables, probes, published figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from benchbuilder.core import DataError, parse_plain_yaml, read_given_text

M = TypeVar("M", bound=BaseModel)


def read_yaml(path: Path, model_class: type[M], description: str) -> M:
    """Read the YAML file `path` as `model_class`; `description` names such a file in messages.

    Raises:
        DataError: The file is missing, is not YAML, or does not fit `model_class`; the message lists all problems.
    """
    where = str(path)
    try:
        data: Any = parse_plain_yaml(read_given_text(path, "utf-8-sig"))
        return model_class.model_validate(data)
    except FileNotFoundError as error:
        raise DataError(f"the {description} is missing", where=where, next="check the path in the recipe") from error
    except ValidationError as error:
        problems = "; ".join(
            ": ".join(filter(None, (".".join(map(str, fault["loc"])), fault["msg"].removeprefix("Value error, "))))
            for fault in error.errors()
        )
        raise DataError(f"the {description} is invalid", where=where, why=problems, next="correct the file") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(
            f"the {description} cannot be read", where=where, why=str(error), next="save it as YAML in UTF-8"
        ) from error
