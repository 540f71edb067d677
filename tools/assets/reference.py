"""The calibration compared with scikit-learn and SciPy, by crates/calibrate/tests/reference."""

import os
import sys

from assets.common import ROOT
from assets.packages import packages, run

FOLDER = ROOT / "crates" / "calibrate" / "tests" / "reference"


def test():
    """Run the comparison with the packages that it lists and no others."""
    folder = packages(FOLDER / "requirements.txt", "reference", "70 MB")
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONNOUSERSITE": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    run(
        [sys.executable, "-m", "unittest", "test_reference"],
        "the comparison with scikit-learn failed",
        env=environment,
        cwd=FOLDER,
    )
