"""The calibration compared with scikit-learn and SciPy, by crates/calibrate/tests/reference."""

import sys

from assets.common import ROOT
from assets.packages import packages, python_environment, run

FOLDER = ROOT / "crates" / "calibrate" / "tests" / "reference"


def test():
    """Run the comparison with the packages that it lists and no others."""
    folder = packages(FOLDER / "requirements.txt", "reference", "50 MB")
    run(
        [sys.executable, "-m", "unittest", "test_reference"],
        "the comparison with scikit-learn failed",
        env=python_environment(folder),
        cwd=FOLDER,
    )
