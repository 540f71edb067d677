"""What tests need of Python: small models with random weights, and scikit-learn to compare with."""

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


def install_models(out):
    """Put the folders of the models into `out`."""
    shutil.copytree(built(), out, dirs_exist_ok=True)


def compare_calibration(program):
    """Compare what the example `calibrate` prints with scikit-learn and SciPy, by crates/calibrate/tests/reference."""
    reference = ROOT / "crates" / "calibrate" / "tests" / "reference"
    folder = packages(reference / "requirements.txt", "reference", "50 MB")
    run(
        [sys.executable, "-m", "unittest", "test_reference"],
        "the comparison with scikit-learn failed",
        env={**python_environment(folder), "KP_CALIBRATE": str(program.resolve())},
        cwd=reference,
    )
