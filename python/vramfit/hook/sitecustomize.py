"""Python runs this at start-up, because `vramfit run` puts its folder first on PYTHONPATH.

It installs the hooks, which wait for torch to be imported, and then runs the sitecustomize of the user's own, if there
is one. This folder holds nothing else: every module in it would hide one of the same name in the user's job.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys


def _find_package() -> None:
    """Whoever names only this folder on PYTHONPATH has the package too: behind everything of the user's."""
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if importlib.util.find_spec("vramfit") is None:
        sys.path.append(folder)


def _install_hooks() -> None:
    try:
        _find_package()
        from vramfit import install

        install.prepare()
    except Exception as error:
        print(f"vramfit: the Python hooks could not be installed: {error!r}", file=sys.stderr)


def _run_users_own() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    sys.path[:] = others
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_install_hooks()
_run_users_own()
