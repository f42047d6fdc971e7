# SPDX-License-Identifier: Apache-2.0
"""The build id of a module, in its ELF file."""
import os
import struct

PT_NOTE = 4
NT_GNU_BUILD_ID = 3


def build_id_of(path):
    """As in a process's file; None: it has none, or cannot be read."""
    if not os.path.isfile(path):  # whose reading could wait
        return None
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:5] != b"\x7fELF\2":
                return None
            table, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
            for i in range(count):
                file.seek(table + i * size)
                kind, _, at, _, _, length = struct.unpack("<IIQQQQ", file.read(40))
                if kind == PT_NOTE:
                    file.seek(at)
                    found = build_id_in(file.read(min(length, 1 << 16)))
                    if found:
                        return found
    except (OSError, struct.error):
        pass
    return None


def build_id_in(notes):
    at = 0
    while at + 12 <= len(notes):
        name, length, kind = struct.unpack_from("<III", notes, at)
        text_at = at + 12 + (name + 3) // 4 * 4
        if kind == NT_GNU_BUILD_ID and notes[at + 12:at + 16] == b"GNU\0":
            return notes[text_at:text_at + length].hex()
        at = text_at + (length + 3) // 4 * 4
    return None
