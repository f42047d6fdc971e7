# SPDX-License-Identifier: Apache-2.0
"""Every source says under which licence it is, in a form that programs read: https://spdx.dev/ids."""
IDENTIFIER = "SPDX-License-Identifier: Apache-2.0"
SLASHES = (".h", ".hpp", ".c", ".cc", ".cu", ".cuh")
HASHES = (".py", ".py.in", ".sh", "meson.build", "meson.options")


def licence_line(path, text):
    """The line that a file must have; None where it needs none."""
    if path.endswith(SLASHES):
        return f"// {IDENTIFIER}"
    return f"# {IDENTIFIER}" if path.endswith(HASHES) or text.startswith("#!") else None


def has_licence(path, text):
    """As its first line, or as its second after '#!'."""
    line = licence_line(path, text)
    allowed = {line, f"/* {IDENTIFIER} */"} if line and line.startswith("//") else {line}
    lines = text.split("\n", 2)
    return line is None or lines[1 if text.startswith("#!") else 0] in allowed


def with_licence(path, text):
    """The file's text with that line."""
    if has_licence(path, text):
        return text
    first, rest = text.split("\n", 1) if text.startswith("#!") else (None, text)
    return (first + "\n" if first is not None else "") + licence_line(path, text) + "\n" + rest


def licence_violations(files):
    """files: path -> text."""
    return [f"{path}:1: must open with '{licence_line(path, text)}'" for path, text in sorted(files.items())
            if not has_licence(path, text)]


def without_licence(text):
    """As a document shows it."""
    first, _, rest = text.partition("\n")
    return rest if IDENTIFIER in first else text
