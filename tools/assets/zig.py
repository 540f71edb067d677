"""zig and cargo-zigbuild: they link for a system that is not this one, or is older than this one."""

import shutil
import zipfile

from assets.common import new_folder, say
from assets.packages import host_platform, pinned_for, wheel


def install(pins, out):
    """Unpack both into `out`, the programs as `zig` and `cargo-zigbuild` in `out`/bin."""
    tools = pins["zig"]
    text = "".join(f"{pin['requirement']}\n" for pin in tools.values())
    listed = out / "versions.txt"
    if listed.is_file() and listed.read_text(encoding="utf-8") == text:
        say(f"{out} is up to date")
        return
    host = host_platform()
    archives = [(pin, wheel_of(pin, name, host)) for name, pin in tools.items()]
    shutil.rmtree(out, ignore_errors=True)
    with new_folder(out) as folder:
        for pin, archive in archives:
            say(f"unpacking {pin['requirement']}")
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(folder)
            (folder / pin["program"]).chmod(0o755)
        (folder / "bin").mkdir()
        shutil.move(folder / tools["cargo-zigbuild"]["program"], folder / "bin")
        # zig finds its own library beside itself, through a link as well.
        (folder / "bin" / "zig").symlink_to(f"../{tools['ziglang']['program']}")
        (folder / listed.name).write_text(text, encoding="utf-8")


def wheel_of(pin, name, host):
    """The wheel of one of the two for this machine."""
    found = pinned_for(pin["wheels"], host, f"{name}: build this addon on Linux")
    return wheel(pin["requirement"], found, f"{name} (100 MB)" if name == "ziglang" else name)
