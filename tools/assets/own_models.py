"""Small models with random weights for the tests, by __test__/models/build.py."""

import shutil
import sys

from assets.common import ROOT, cache_folder, digest_of_sources, new_folder, say
from assets.packages import packages, python_environment, run

FOLDER = ROOT / "__test__" / "models"
REQUIREMENTS = FOLDER / "requirements.txt"


def built():
    """The folder in the cache that holds the models; built if it is not there."""
    sources = [FOLDER / "build.py", FOLDER / "sentences.json", REQUIREMENTS]
    target = cache_folder() / f"own-models-{digest_of_sources(sources)[:12]}"
    if not target.is_dir():
        folder = packages(REQUIREMENTS, "own-models", "4 MB")
        say("building small models")
        with new_folder(target) as out:
            command = [sys.executable, FOLDER / "build.py", "--out", out]
            run(command, "__test__/models/build.py failed", env=python_environment(folder))
    return target


def install(out):
    """Put the folders of the models into `out`."""
    shutil.copytree(built(), out, dirs_exist_ok=True)
