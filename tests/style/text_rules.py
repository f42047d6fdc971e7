# SPDX-License-Identifier: Apache-2.0
"""The format of files, and words that they must not contain."""
import re

MAX_COLUMNS = 120  # clang-format breaks code at 110; tables and messages may need a little more
LONG_FILE_LINES = 400  # longer ones are reported, but pass
CODE = (".h", ".hpp", ".c", ".cc", ".cu", ".cuh", ".py", ".sh", "meson.build")
HEADERS = (".h", ".hpp", ".cuh")
REREAD = "-inl.h"  # Highway includes these once per target: their guards differ

# Paths of the author's machine do not belong in a tree that others clone.
MACHINE_PATH = re.compile(r"(?<![\w./\-}$])/(?:work|root|home/[a-z]\w*|Users/\w+)(?:/|\b)")

# Words that only this project would use, and the field's terms.
PRIVATE_WORDS = {
    re.compile(r"\bhow[-]manieth\b"): "the number of",
    re.compile(r"\bcould not be [h]ad\b"): "out of memory, or not available",
    re.compile(r"\bk(Most|Least)[A-Z]\w*"): "kMax or kMin",
    re.compile(r"\b(MOST|LEAST)_[A-Z]\w*"): "MAX or MIN",
    re.compile(r"(?:^|[:;.,] |[*/]+ )(?:and )?[Ww]ho (?:waits|comes|has|finds|departed)\b(?!.*\?)"):
        "which rank, thread or end does it",
    re.compile(r"(?i)\bof several the first\b"): "the first of several",
    re.compile(r"(?i)\b(?:n[o]body|who[e]ver|ever[y]body|some[b]ody)\b"): "no rank, any rank, or the noun you mean",
    re.compile(r"(?i)\b(?:so man[y]|that oft[e]n)\b"): "the number, or N times",
    re.compile(r"\b(?:is|are|was|were|be|been) aske[d] for\b"): "requested",
    re.compile(r"\b(?:come|comes|came) to (?:an|its|their) en[d]\b"): "ends, completes or returns",
    re.compile(r"\bthe leas[t] (?:predicted )?time\b"): "the lowest time",
    re.compile(r"\b(d[o]zes?|crowd[e]d|nearn[e]ss|neighbourh[o]od)\b"):
        "sleep, oversubscribed, locality or peers, as the field does",
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
    """The files that ought to be split."""
    return [f"{path}: {text.count(chr(10))} lines" for path, text in sorted(files.items())
            if path.endswith(CODE) and text.count("\n") > LONG_FILE_LINES]
