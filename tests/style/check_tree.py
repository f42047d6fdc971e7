# SPDX-License-Identifier: Apache-2.0
"""check_tree.py CHECK ROOT: runs one check of the tree and prints every violation. Exit code 77: skipped."""
import os
import shutil
import subprocess
import sys
import tempfile

import doc_rules
import error_rules
import layers
import licence_rules
import name_rules
import text_rules
import tool_rules
import version_rules

LEFT_OUT = {".cuda", ".cuda-tools", ".git", ".venv", "__pycache__"}


def read_tree(root):
    """path -> text of every text file outside build folders; and the paths of all other files there."""
    files, others = {}, set()
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in LEFT_OUT and not name.startswith("build")
                      and not os.path.exists(os.path.join(folder, name, "meson-private"))]
        for name in sorted(set(names) - LEFT_OUT):  # .git is a file in a worktree
            path = os.path.join(folder, name)
            try:
                with open(path, encoding="utf-8", newline="") as file:
                    files[os.path.relpath(path, root)] = file.read()
            except UnicodeDecodeError:
                others.add(os.path.relpath(path, root))  # such as a picture
    return files, others


def doxygen_violations(root):
    if shutil.which("doxygen") is None:
        raise tool_rules.Missing("doxygen is not installed")
    with open(os.path.join(root, "docs/Doxyfile"), encoding="utf-8") as file:
        settings = file.read()
    with tempfile.TemporaryDirectory() as out:
        settings += f"\nOUTPUT_DIRECTORY = {out}\nGENERATE_HTML = NO\nGENERATE_XML = YES\nQUIET = YES\n"
        run = subprocess.run(["doxygen", "-"], input=settings, cwd=root, text=True, capture_output=True)
        if not os.path.exists(os.path.join(out, "xml", "rondo_8h.xml")):
            return ["doxygen did not read rondo.h", *run.stderr.splitlines()]
    return run.stderr.splitlines()


def main():
    check, root = sys.argv[1:]
    files, others = read_tree(root)
    if check == "text":
        for name in text_rules.long_files(files):
            print(f"long: {name}")
    try:
        found = {"includes": lambda tree: [*layers.include_violations(tree), *layers.unused_arrows(tree),
                                           *layers.needlessly_public(tree), *layers.miscounted_headers(tree)],
                 "names": name_rules.name_violations, "text": text_rules.text_violations,
                 "environment": doc_rules.environment_violations, "options": doc_rules.option_violations,
                 "readme": lambda tree: doc_rules.readme_violations(tree, others) + doc_rules.message_violations(tree),
                 "errors": error_rules.error_violations,
                 "version": version_rules.version_violations,
                 "licence": licence_rules.licence_violations,
                 "doxygen": lambda tree: doxygen_violations(root),
                 "shell": lambda tree: tool_rules.shell_violations(root, tree),
                 "format": lambda tree: tool_rules.format_violations(root, tree)}[check](files)
    except tool_rules.Missing as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
