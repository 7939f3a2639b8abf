"""Sessions that several threads create at one time with the same options.

The folder in which onnxruntime looks for weights is an entry of the options: the root while a session is
created whose weights are left in its file (weights_in_place.py), and the user's for one that reads a file as
always. The two can't be created at one time. So whoever could leave its weights reads them instead where
others are at work, and others wait for those that have left theirs. The entry goes with the last of these.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FOLDER = "session.model_external_initializers_file_folder_path"
_ERROR = 3  # onnxruntime's level above warnings


@dataclass
class _Use:
    """How many sessions are being created with some options, and whether the entry is ours."""

    rooted: int = 0
    others: int = 0
    is_ours: bool = False


_changed = threading.Condition()
_uses: weakref.WeakKeyDictionary[Any, _Use] = weakref.WeakKeyDictionary()
_creating: weakref.WeakKeyDictionary[Any, tuple[Any, bool]] = weakref.WeakKeyDictionary()


def enter_rooted(session: Any, options: Any, root: str) -> bool:
    """Makes `root` the folder of weights until `leave`; False, and nothing, where others need another."""
    with _changed:
        use = _uses.setdefault(options, _Use())
        present = _folder(options)
        if use.others or (present and present != root):
            return False
        if not present:
            _write(options, root)
            use.is_ours = True
        use.rooted += 1
        _creating[session] = options, True
    return True


def enter(session: Any, options: Any) -> None:
    """Waits until the folder of weights is the user's, and keeps it so until `leave`."""
    with _changed:
        use = _uses.setdefault(options, _Use())
        _changed.wait_for(lambda: not use.is_ours)
        use.others += 1
        _creating[session] = options, False


def leave(session: Any) -> None:
    """A session is there, or won't be. For one that hasn't entered: nothing."""
    with _changed:
        options, is_rooted = _creating.pop(session, (None, False))
        if options is None:
            return
        use = _uses[options]
        if not is_rooted:
            use.others -= 1
            return
        use.rooted -= 1
        if use.is_ours and not use.rooted:
            _write(options, "")
            use.is_ours = False
            _changed.notify_all()


def follow_severity(module: Any) -> None:
    """Knows from now on how much onnxruntime's default logger says, which it doesn't tell. Idempotent."""
    original = module.set_default_logger_severity
    if hasattr(original, "_ascend_ep_wrapped"):
        return

    @functools.wraps(original)
    def set_default_logger_severity(severity: int) -> None:
        original(severity)
        _logger.severity = severity

    set_default_logger_severity.__dict__["_ascend_ep_wrapped"] = True
    module.set_default_logger_severity = set_default_logger_severity
    _logger.set_severity = original


@dataclass
class _Logger:
    """onnxruntime's default logger: how much it says, and how that is set."""

    severity: int = 2
    set_severity: Callable[[int], None] | None = None


_logger = _Logger()


def _write(options: Any, folder: str) -> None:
    """Sets the entry. onnxruntime warns of an entry that is there already, which is no news here."""
    if _logger.set_severity is not None:
        _logger.set_severity(max(_logger.severity, _ERROR))
    try:
        options.add_session_config_entry(FOLDER, folder)
    finally:
        if _logger.set_severity is not None:
            _logger.set_severity(_logger.severity)


def _folder(options: Any) -> str:
    try:
        return str(options.get_session_config_entry(FOLDER))
    except RuntimeError:
        return ""
