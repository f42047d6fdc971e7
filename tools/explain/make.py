# SPDX-License-Identifier: Apache-2.0
"""make.py ROOT PROGRAM: writes PROGRAM, which is rondo-explain.py with what the documents below ROOT say."""
import json
import os
import sys

import pages

MARK = "ROWS = []\n"


def main():
    root, program = sys.argv[1:]

    def read(path):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read()
    try:
        rows = pages.all_rows(read)
    except pages.BadPage as bad:
        sys.exit(f"rondo-explain: {bad}")
    table = json.dumps(rows, ensure_ascii=False, indent=1)
    source = read("tools/explain/rondo-explain.py")
    if source.count(MARK) != 1:
        sys.exit(f"rondo-explain.py: expected the line {MARK!r} once")
    with open(program, "w", encoding="utf-8") as file:
        file.write(source.replace(MARK, f"ROWS = {table}\n"))
    os.chmod(program, 0o755)


if __name__ == "__main__":
    main()
