"""zig and cargo-zigbuild: they link for a system that is not this one, or is older than this one."""

import shutil
import zipfile

from assets.common import new_folder, say
from assets.packages import host_platform, pinned_for, wheel


def install(pins, out):
    """Unpack both into `out`, the programs as `zig` and `cargo-zigbuild` in `out`/bin."""
    tools = pins["zig"]
    host = host_platform()
    advice = "zig: build this addon on Linux"
    pins = {name: pinned_for(tool["wheels"], host, advice) for name, tool in tools.items()}
    text = "".join(f"{pin['file']}\n" for pin in pins.values())
    listed = out / "versions.txt"
    if listed.is_file() and listed.read_text(encoding="utf-8") == text:
        say(f"{out} is up to date")
        return
    archives = {name: wheel(pin, f"{name} (at most 100 MB)") for name, pin in pins.items()}
    shutil.rmtree(out, ignore_errors=True)
    with new_folder(out) as folder:
        for name, archive in archives.items():
            say(f"unpacking {name}")
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(folder)
            (folder / tools[name]["program"]).chmod(0o755)
        (folder / "bin").mkdir()
        shutil.move(folder / tools["cargo-zigbuild"]["program"], folder / "bin")
        # zig finds its own library beside itself, through a link as well.
        (folder / "bin" / "zig").symlink_to(f"../{tools['ziglang']['program']}")
        (folder / listed.name).write_text(text, encoding="utf-8")
