# SPDX-License-Identifier: Apache-2.0
"""counted.py SCRIPT ARGUMENT...: runs the unittest cases of a script in this folder (the classes named by the
arguments, or all) and ends with a line 'N passed, N failed, N skipped', which tools/test adds up."""
import importlib
import os
import sys
import unittest


def main():
    script = os.path.abspath(sys.argv[1])
    sys.path.insert(0, os.path.dirname(script))
    module = importlib.import_module(os.path.basename(script).removesuffix(".py"))
    result = unittest.main(module, argv=[script, *sys.argv[2:]], exit=False, verbosity=2).result
    failed, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    passed = max(0, result.testsRun - failed - skipped)
    sys.stderr.flush()
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    sys.exit(1 if failed or not passed + skipped else 0)


if __name__ == "__main__":
    main()
