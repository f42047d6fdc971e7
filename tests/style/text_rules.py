"""How files look, and what they must not say."""
import re

MAX_COLUMNS = 120  # clang-format breaks code at 110; tables and messages may need a little more
LONG_FILE_LINES = 400  # longer ones are named, but pass
CODE = (".h", ".c", ".cc", ".cu", ".cuh", ".py", ".sh", "meson.build")
HEADERS = (".h", ".cuh")
REREAD = "-inl.h"  # Highway reads these once for each target: their guard is of another kind

# Paths of the machine that something was written on have no business in a tree that others clone.
MACHINE_PATH = re.compile(r"(?<![\w./\-}$])/(?:work|root|home/[a-z]\w*|Users/\w+)(?:/|\b)")

# Words that only this project would use, and what others say.
PRIVATE_WORDS = {
    re.compile(r"\bhow[-]manieth\b"): "the number of",
    re.compile(r"\bcould not be [h]ad\b"): "out of memory, or not available",
}


def guarded(text):
    return "#pragma once" in text or re.search(r"^#ifndef (\w+)\n#define \1$", text, re.M)


def text_violations(files):
    """files: path -> text."""
    found = []
    for path, text in sorted(files.items()):
        if path.endswith(HEADERS) and not path.endswith(REREAD) and not guarded(text):
            found.append(f"{path}:1: a header opens with #pragma once or an include guard")
        if text and not text.endswith("\n"):
            found.append(f"{path}: the last line has no end")
        for number, line in enumerate(text.split("\n"), 1):
            where = f"{path}:{number}"
            if line.endswith((" ", "\r")):
                found.append(f"{where}: white space at the end of the line")
            if MACHINE_PATH.search(line):
                found.append(f"{where}: a path of one machine: {line.strip()}")
            found += [f"{where}: '{word.search(line)[0]}': say {better}" for word, better in PRIVATE_WORDS.items()
                      if word.search(line)]
            if not path.endswith(CODE):
                continue
            if "\t" in line:
                found.append(f"{where}: a tab")
            if len(line) > MAX_COLUMNS:
                found.append(f"{where}: {len(line)} columns, of at most {MAX_COLUMNS}")
    return found


def long_files(files):
    """Names of files that deserve to be split."""
    return [f"{path}: {text.count(chr(10))} lines" for path, text in sorted(files.items())
            if path.endswith(CODE) and text.count("\n") > LONG_FILE_LINES]
