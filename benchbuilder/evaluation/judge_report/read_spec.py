"""Reading the YAML files that a report is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from benchbuilder.config import Spec
from benchbuilder.core import DataError

S = TypeVar("S", bound=Spec)


def read_yaml_spec(path: Path, spec_class: type[S], description: str) -> S:
    """The YAML file `path` as `spec_class`; DataError (naming it as `description`) if it is missing, no YAML, or wrong."""
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return spec_class.model_validate(data)
    except FileNotFoundError as error:
        raise DataError(f"the {description} is missing", where=str(path), next="check the path") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(
            f"the {description} is no YAML", where=str(path), why=str(error), next="mend the file"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise DataError(
            f"the {description} says what it may not", where=f"{path}, {key}", why=first["msg"], next="mend the file"
        ) from error
