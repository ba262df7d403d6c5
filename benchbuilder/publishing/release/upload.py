"""Uploads a release to the Hugging Face Hub, each version once and with a tag."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from benchbuilder.config import REPOSITORY_PATTERN, display_path
from benchbuilder.core import (
    DataError,
    Problem,
    RecipeError,
    ServiceError,
    imports_of,
    open_given_file,
    read_given_file,
)
from benchbuilder.publishing.release.make import CHECKSUMS, check_release, listed_checksums
from benchbuilder.publishing.release.record import ReleaseRecord, parse_version, read_record

RepositoryKind = Literal["dataset", "model"]


@dataclass(frozen=True)
class UploadedFile:
    """A file of an upload: its name in the repository, its bytes, and its SHA-256."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Upload:
    """What goes, or went, to the Hub; `tag` is the version, or that of a judge, which has no `record`.

    `address` is empty until it is there.

    `was_there` says that this very release was published before, and nothing was sent.
    """

    repository: str
    tag: str
    files: tuple[UploadedFile, ...]
    record: ReleaseRecord | None
    address: str = ""
    was_there: bool = False


def plan_upload(folder: Path, repository: str | None = None) -> Upload:
    """What `publish_release` would send, without asking anybody.

    Raises:
        DataError: It is no release, a file was changed or is missing, or there is a file that the release did not make.
        RecipeError: No repository is named, here or in the recipe.
    """
    record = read_record(folder)
    if changed := check_release(folder):
        raise DataError(
            f"{display_path(folder)} is not as it was released", where=", ".join(changed),
            why="these files are missing or were changed", next="release a new version from the recipe",
        )  # fmt: skip
    listed = listed_checksums(folder).keys() | {CHECKSUMS}
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if strange := sorted(found - listed):
        raise DataError(
            f"{display_path(folder)} holds files that no release wrote", where=", ".join(strange),
            why="they would be published too", next="move them away",
        )  # fmt: skip
    return Upload(repository_of(repository or record.repository), record.version, planned_files(folder), record)


def repository_of(named: str | None) -> str:
    """The repository that is named; RecipeError if none is, or it has no owner."""
    if not named:
        raise RecipeError([Problem("no repository is named", where="command line: publish",
                                   hint="give --repository OWNER/NAME, or set release.repository")])  # fmt: skip
    if not re.match(REPOSITORY_PATTERN, named):
        raise RecipeError([Problem(
            "a repository has an owner and a name", where="command line: --repository", actual=named,
            allowed="OWNER/NAME", hint="for instance my-group/my-benchmark",
        )])  # fmt: skip
    return named


def planned_files(folder: Path) -> tuple[UploadedFile, ...]:
    """All files of a folder, by name."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    return tuple(_uploaded_file(folder, name) for name in names)


def _uploaded_file(folder: Path, name: str) -> UploadedFile:
    with open_given_file(folder / name, most_bytes=None) as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return UploadedFile(name, stream.tell(), digest)


def publish_release(
    folder: Path, repository: str | None = None, *, hidden: bool = False, endpoint: str | None = None
) -> Upload:
    """Upload a release in one commit and tag it with its version. The token is that of ``hf auth login``.

    Files of an earlier version that this one does not have are removed from the branch; their tag keeps them. Without
    its tag, a version is not published: a run that was stopped goes on. If the tag has the same files, none is sent.

    Args:
        folder: The folder of a release.
        repository: ``owner/name``; without it, the one that the recipe names.
        hidden: Whether a repository that is made now can be seen by its owner only.
        endpoint: The address of the Hub; without it, ``HF_ENDPOINT`` or the public one.

    Raises:
        DataError: See `plan_upload`.
        RecipeError: The version is there with other files, or is not above the last one there.
        ServiceError: The Hub refuses or does not answer.
        InstallationError: The extra ``publish`` is not installed.
    """
    return publish_files(plan_upload(folder, repository), folder, "dataset", hidden=hidden, endpoint=endpoint)


def publish_files(plan: Upload, folder: Path, kind: RepositoryKind, *, hidden: bool, endpoint: str | None) -> Upload:
    """Send the planned files of a folder; errors are those of `publish_release`."""
    with imports_of("publish", "publishing"):
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError, OfflineModeIsEnabled
    api = HfApi(endpoint=endpoint)
    failures = (HfHubHTTPError, *_web_errors(HfHubHTTPError), LocalTokenNotFoundError, OfflineModeIsEnabled, OSError)
    try:
        if not api.repo_exists(plan.repository, repo_type=kind):
            api.create_repo(plan.repository, repo_type=kind, private=hidden or None)
        tags = [ref.name for ref in api.list_repo_refs(plan.repository, repo_type=kind).tags]
        if plan.tag in tags and _is_there(api, plan, folder, kind):
            return replace(plan, address=_address(api, plan, kind), was_there=True)
        if kind == "dataset":
            _check_tags(plan, tags)
        commit: Any = api.upload_folder(
            repo_id=plan.repository, repo_type=kind, folder_path=folder, delete_patterns="*",
            allow_patterns=[file.name for file in plan.files], commit_message=f"Release {plan.tag}",
        )  # fmt: skip
        api.create_tag(plan.repository, tag=plan.tag, repo_type=kind, revision=commit.oid)
    except failures as error:
        raise ServiceError(
            f"{plan.repository} could not be published", where=api.endpoint, why=str(error).strip(),
            next=_remedy(getattr(getattr(error, "response", None), "status_code", None), plan.repository),
        ) from error  # fmt: skip
    return replace(plan, address=_address(api, plan, kind))


def _address(api: Any, plan: Upload, kind: RepositoryKind) -> str:
    return f"{api.endpoint}/{'datasets/' if kind == 'dataset' else ''}{plan.repository}/tree/{plan.tag}"


def _is_there(api: Any, plan: Upload, folder: Path, kind: RepositoryKind) -> bool:
    """Whether the tag has these very files: its list of checksums is the same, by its hash in git.

    The tag of a judge is that of its digest.
    """
    if kind == "model":
        return True
    found = api.get_paths_info(plan.repository, [CHECKSUMS], revision=plan.tag, repo_type=kind)
    data = read_given_file(folder / CHECKSUMS)
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    return any(getattr(file, "blob_id", None) == blob for file in found)


def _remedy(status: int | None, repository: str) -> str:
    """What helps against an error of the Hub."""
    owner = repository.partition("/")[0]
    remedies = {
        401: "log in with `hf auth login`, with a token that may write, and give the same command again",
        403: f"ask {owner} to let you write, or use a token that may, and give the same command again",
        404: f"check that {owner} exists and that your token may see it, and give the same command again",
        409: "somebody else changed the repository: look at it, and give the same command again",
        412: "somebody else changed the repository: look at it, and give the same command again",
    }
    again = "give the same command again when the Hub can be reached: it goes on where it stopped"
    return remedies.get(status or 0, again)


def _web_errors(hub_error: type[Exception]) -> tuple[type[Exception], ...]:
    """The errors of connections: those of the library, whichever it is, that the errors of the Hub are made of."""
    return tuple(cls for cls in hub_error.__mro__ if cls.__name__ == "HTTPError" and issubclass(cls, Exception))


def _check_tags(plan: Upload, tags: Sequence[str]) -> None:
    """RecipeError if the version, or a later one, is on the Hub."""
    versions = [version for tag in tags if (version := _version_of(tag)) is not None]
    later = [version for version in versions if version >= parse_version(plan.tag)]
    if later:
        raise RecipeError([Problem(
            f"{plan.repository} has version {max(later)}: nothing is published twice under one version",
            where="command line: publish", actual=plan.tag, hint="release a higher version",
        )])  # fmt: skip


def _version_of(tag: str) -> Any:
    try:
        return parse_version(tag.removeprefix("v"))
    except RecipeError:
        return None
