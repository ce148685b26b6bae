"""The Node packages that drive a browser in tests, kept outside the repository and fetched on first use."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from .python_environments import REQUIREMENTS, cache, making


def folder() -> Path:
    """A folder whose node_modules holds what tests/requirements/browser.json names."""
    requirements = REQUIREMENTS / "browser.json"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    place = cache() / "tests" / "browser"
    stamp = place / "requirements.sha256"
    with making("browser"):
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            shutil.copy(requirements, place / "package.json")
            install = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]
            done = subprocess.run(install, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"npm could not install {requirements.name}:\n{done.stderr[-2000:]}")
            stamp.write_text(wanted)
    return place
