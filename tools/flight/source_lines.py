# SPDX-License-Identifier: Apache-2.0
"""Places in sources, by addr2line, if the module is here as it was in the process."""
import shutil
import subprocess
from functools import lru_cache

from build_id import build_id_of

TOOL = shutil.which("addr2line")
build_id_here = lru_cache(maxsize=None)(build_id_of)
known = {}  # by module and offset


def source_lines(frames):
    """A list with "train.c:214", or None, for each frame."""
    modules = {}
    for frame in frames if TOOL else ():
        if place_of(frame) not in known and has_module(frame):
            modules.setdefault(frame["module"], []).append(frame["offset"])
    for module, offsets in modules.items():
        known.update(zip(((module, offset) for offset in offsets), asked(module, offsets)))
    return [known.get(place_of(frame)) for frame in frames]


def place_of(frame):
    return frame["module"], frame["offset"]


def has_module(frame):
    return bool(frame["module"]) and frame["build_id"] is not None and (
        build_id_here(frame["module"]) == frame["build_id"])


def asked(module, offsets):
    try:
        done = subprocess.run([TOOL, "-e", module, *map(hex, offsets)], capture_output=True, text=True, timeout=60,
                              check=True)
    except (OSError, subprocess.SubprocessError):
        return [None] * len(offsets)
    lines = [line.split(" (discriminator")[0] for line in done.stdout.splitlines()]
    return [None if line.startswith("??") or line.endswith((":?", ":0")) else line for line in lines]
