"""Errors, messages, the cache folder, digests, and writes that are all or nothing."""

import hashlib
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE_NAME = "knowledgepulse-scoring"


class AssetError(Exception):
    """Something is missing or wrong; the message is one line for the user."""


@contextmanager
def program(name):
    """End the program with one line where the block fails."""
    try:
        yield
    except AssetError as error:
        sys.exit(f"{name}: error: {error}")
    except OSError as error:
        sys.exit(f"{name}: error: {error.filename or ''}: {error.strerror or error}")
    except KeyboardInterrupt:
        sys.exit(f"{name}: interrupted")


def say(message):
    """Print one step, at once, so that it precedes what pip prints."""
    print(f"assets: {message}", flush=True)


def cache_folder():
    """Where downloads and built models are kept between clones."""
    chosen = os.environ.get("KNOWLEDGEPULSE_CACHE")
    if chosen:
        return Path(chosen).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / CACHE_NAME
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / CACHE_NAME
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"]) / CACHE_NAME / "Cache"
    return Path.home() / ".cache" / CACHE_NAME


def digest_of(path):
    """The sha256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_sources(paths):
    """One sha256 over names and contents of text files, with any line ends."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


@contextmanager
def scratch_folder(parent):
    """A folder inside `parent` that is gone afterwards."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".partial-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def new_folder(target):
    """A scratch folder that becomes `target` if the block succeeds; the first of two wins."""
    with scratch_folder(target.parent) as folder:
        content = folder / target.name
        content.mkdir()
        yield content
        try:
            content.rename(target)
        except OSError:
            if not target.is_dir():
                raise


def put(source, target):
    """Copy a file so that `target` is never seen half written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(target.parent) as folder:
        shutil.copyfile(source, folder / target.name)
        os.replace(folder / target.name, target)
