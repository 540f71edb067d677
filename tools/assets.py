"""Put the model into a platform package's folder.

    python3 tools/assets.py --platform linux-x64-gnu

Everything is pinned in tools/pins.json and verified. Downloads and the built model are kept in
$KNOWLEDGEPULSE_CACHE (by default the user's cache folder), so only the first run needs a network.
"""

import argparse
import json
from functools import partial
from pathlib import Path

from assets import models, tests
from assets.common import ROOT, digest_of_sources, program, put, say, scratch_folder

PINS_FILE = ROOT / "tools" / "pins.json"
STAMP = ".stamp-assets.json"


def state(folder, names):
    """Size and time of each file that is there."""
    there = [name for name in names if (folder / name).is_file()]
    status = {str(name): (folder / name).stat() for name in there}
    return {name: [found.st_size, found.st_mtime_ns] for name, found in status.items()}


def once(folder, digest, names, make):
    """Run `make` unless the stamp in `folder` says that just this was made there."""
    stamp = folder / STAMP
    try:
        done = json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        done = None
    if done == {"digest": digest, "files": state(folder, names)}:
        say(f"{folder} is up to date")
        return
    folder.mkdir(parents=True, exist_ok=True)
    make()
    text = json.dumps({"digest": digest, "files": state(folder, names)}, indent=2)
    with scratch_folder(folder) as scratch:
        (scratch / STAMP).write_text(text + "\n", encoding="utf-8")
        put(scratch / STAMP, stamp)
    say(f"{folder} is ready")


def digest_of_inputs(target):
    """Changes with the pins, the builder, these scripts or the platform."""
    scripts = [Path(__file__).resolve(), *(ROOT / "tools" / "assets").glob("*.py")]
    return f"{models.digest_of_builder(PINS_FILE)}-{digest_of_sources(scripts)}-{target}"


def install(options):
    """Fill the folders that the options name."""
    source = options.model_source
    if options.platform:
        out = ROOT / "npm" / options.platform
        names = [Path("model") / name for name in models.FILES]
        make_model = partial(models.install, PINS_FILE, source, out / "model")
        once(out, digest_of_inputs(options.platform), names, make_model)
    if options.plain:
        names = [models.PLAIN_NAME / name for name in models.PLAIN_FILES]
        make_plain = partial(models.install_plain, source, options.plain)
        once(options.plain, digest_of_inputs("plain"), names, make_plain)
    if options.own_models:
        tests.install_models(options.own_models)
    if options.test:
        models.test_builder(source)
    if options.reference:
        tests.compare_calibration(options.reference)


def main():
    parser = argparse.ArgumentParser(description="Put the model into place.")
    platforms = sorted(path.parent.name for path in ROOT.glob("npm/*/package.json"))
    parser.add_argument("--platform", choices=platforms, help="fill this folder of npm/")
    parser.add_argument("--plain", type=Path, help="folder for a plain float32 export")
    parser.add_argument("--own-models", type=Path, help="folder for small models to test with")
    parser.add_argument("--model-source", type=Path, help="folder with the published files")
    parser.add_argument("--test", action="store_true", help="run the tests of the model builder")
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="PROGRAM",
        help="compare the calibration of the built example with scikit-learn",
    )
    options = parser.parse_args()
    done = {**vars(options), "model_source": None}
    if not any(done.values()):
        parser.error(
            "nothing to do: give --platform, --plain, --own-models, --test, or --reference"
        )
    with program("assets"):
        install(options)


if __name__ == "__main__":
    main()
