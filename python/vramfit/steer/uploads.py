"""Uploads to the Hugging Face hub are left out where a job has no network, and said to have been.

The hub's own offline mode raises instead, in the middle of a training that would push its model at the end.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import Future
from types import ModuleType
from typing import Any

from vramfit.base import importing, notes, process
from vramfit.contract import notes as said

_NO_COMMIT = "0" * 40
_COMMITS = ("create_commit", "upload_file", "upload_folder")
_SILENT = ("upload_large_folder", "create_branch", "create_tag")


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.said = False


_state = process.own(_State)


def _is_off() -> bool:
    return os.environ.get("VRAMFIT_NETWORK") == "off"


def _say(name: str) -> None:
    if not _state.said:
        _state.said = True
        text = f"uploads to the hub ({name} ...) were left out: the job has no network (--network)"
        notes.note(said.Cut(what="uploads", text=text))


def _left_out(original: Callable[..., Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_off():
            return original(self, *args, **kwargs)
        _say(original.__name__)
        value = answer(*args, **kwargs)
        if not kwargs.get("run_as_future"):
            return value
        done: Future[Any] = Future()
        done.set_result(value)
        return done

    return call


def _hub(module: ModuleType) -> None:
    api = module.HfApi

    def address(repo_id: str) -> str:
        return f"{module.constants.ENDPOINT}/{repo_id if '/' in repo_id else 'user/' + repo_id}"

    def repository(repo_id: str, *_: Any, **__: Any) -> Any:
        return module.RepoUrl(address(repo_id))

    def commit(*_: Any, **kwargs: Any) -> Any:
        url = f"{address(str(kwargs.get('repo_id') or 'none'))}/commit/{_NO_COMMIT}"
        words = {"commit_message": str(kwargs.get("commit_message") or ""), "commit_description": ""}
        return module.CommitInfo(commit_url=url, oid=_NO_COMMIT, **words)

    answers = {"create_repo": repository, **dict.fromkeys(_COMMITS, commit)}
    answers.update(dict.fromkeys(_SILENT, lambda *_, **__: None))
    for name, answer in answers.items():
        original = getattr(api, name, None)
        if original is None:
            continue
        setattr(api, name, _left_out(original, answer))
        if hasattr(module, name):  # the functions of the package are methods of one object, bound already
            setattr(module, name, getattr(module.api, name))


def install() -> None:
    importing.after_import("huggingface_hub.hf_api", _hub)
