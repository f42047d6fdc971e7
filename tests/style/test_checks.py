# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks: each must find its violations in a small, deliberately broken tree."""
import os
import tempfile
import unittest

import doc_rules
import error_rules
import layers
import licence_rules
import name_rules
import text_rules
import tool_rules
import version_rules

TREE = {
    "runtime/base/include/base/status.h": "#pragma once\n#include <string>\n",
    "runtime/base/status.cc": '#include "base/status.h"\n',
    "runtime/schedule/include/schedule/schedule.h": '#pragma once\n#include "base/status.h"\n',
    "kernels/include/kernels/reduce.h": '#pragma once\n#include "base/status.h"\n',
    "kernels/targets.h": "#pragma once\n",
    "kernels/reduce.cc": '#include "kernels/reduce.h"\n#include "targets.h"\n',
    "transports/include/transports/transport.h": '#pragma once\n#include "base/status.h"\n',
    "transports/tcp/tcp.cc": '#include "transports/transport.h"\n',
    "runtime/include/rondo/rondo.h": "#ifndef RONDO_RONDO_H\n#define RONDO_RONDO_H\n#endif\n",
    "bench/perf.cc": "#include <rondo/rondo.h>\n#include <fmt/core.h>\n",
}


def with_line(path, line):
    return {**TREE, path: TREE[path] + line + "\n"}


class Includes(unittest.TestCase):
    def expect(self, files, words):
        found = layers.include_violations(files)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_a_sound_tree_passes(self):
        self.assertEqual(layers.include_violations(TREE), [])

    def test_upwards(self):
        self.expect(with_line("runtime/base/status.cc", '#include "schedule/schedule.h"'), "runtime/base may include")

    def test_sideways(self):
        self.expect(with_line("kernels/reduce.cc", '#include "transports/transport.h"'), "kernels may include")

    def test_sideways_in_angle_brackets(self):
        self.expect(with_line("kernels/reduce.cc", "#include <transports/transport.h>"), "kernels may include")

    def test_past_the_c_api(self):
        self.expect(with_line("bench/perf.cc", '#include "schedule/schedule.h"'), "bench may include")

    def test_the_c_api_from_below(self):
        self.expect(with_line("kernels/reduce.cc", '#include "rondo/rondo.h"'), "kernels may include")

    def test_private_header_of_another_folder(self):
        self.expect(with_line("transports/tcp/tcp.cc", '#include "../../kernels/targets.h"'), "not a header of")

    def test_another_projects_header_in_quotes(self):
        self.assertEqual(layers.include_violations(with_line("kernels/reduce.cc", '#include "hwy/highway.h"')), [])

    def test_a_header_that_the_build_makes(self):
        files = with_line("kernels/reduce.cc", '#include "rows.h"')
        self.expect(files, "not a header of")
        self.assertEqual(layers.include_violations({**files, "kernels/meson.build": "x(output: 'rows.h')\n"}), [])

    def test_a_header_that_is_not_there(self):
        self.expect(with_line("bench/perf.cc", "#include <rondo/more.h>"), "no such header")

    def test_an_arrow_that_nothing_uses(self):
        unused = "kernels may include schedule, and does not"
        self.assertIn(unused, layers.unused_arrows(TREE))
        through = with_line("kernels/reduce.cc", '#include "schedule/schedule.h"')
        self.assertNotIn(unused, layers.unused_arrows(through))

    def test_a_public_header_that_no_other_folder_includes(self):
        found = layers.needlessly_public(with_line("transports/tcp/tcp.cc", '#include "kernels/reduce.h"'))
        self.assertEqual(len(found), 2, found)
        self.assertIn("runtime/schedule/include/schedule/schedule.h: only runtime/schedule", found[0])
        self.assertIn("transports/include/transports/transport.h: only transports", found[1])

    def test_a_wrong_count_of_public_headers(self):
        files = {f"runtime/base/include/base/{name}.h": "" for name in "abc"}
        files |= {"runtime/net/a.cc": '#include "base/a.h"\n', "bench/perf/b.cc": '#include "base/b.h"\n',
                  "tests/c.cc": '#include "base/c.h"\n#include "base/b.h"\n'}
        right = "includes directly, of 3 | 1 |\nOf the other 2 headers, 1 serves `bench/` and 1 serve tests.\n"
        self.assertEqual(layers.miscounted_headers({**files, "CONTRIBUTING.md": right}), [])
        found = layers.miscounted_headers({**files, "CONTRIBUTING.md": right.replace("of 3", "of 4")})
        self.assertEqual(found, ["CONTRIBUTING.md: it must say 'includes directly, of 3 | 1 |'"])


class Text(unittest.TestCase):
    def expect(self, path, text, words):
        found = text_rules.text_violations({path: text})
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_sound_files_pass(self):
        self.assertEqual(text_rules.text_violations(TREE), [])

    def test_header_without_guard(self):
        self.expect("a.h", "int x;\n", "#pragma once")

    def test_tab(self):
        self.expect("a.cc", "\tint x;\n", "tab")

    def test_wide_line(self):
        self.expect("a.cc", "x" * 121 + "\n", "121 columns")

    def test_white_space_at_the_end(self):
        self.expect("README.md", "x \n", "white space")

    def test_no_end_of_the_last_line(self):
        self.expect("a.cc", "int x;", "no end")

    def test_a_private_word(self):
        self.expect("runtime/more.cc", "// the how-" + "manieth call\n", "say the number of")
        self.expect("runtime/more.h", "#pragma once\nconstexpr int kM" + "ostRanks = 8;\n", "say kMax")
        self.expect("docs/more.md", "Who " + "waits sleeps.\n", "say which rank")
        for word in ("no" + "body", "Who" + "ever", "every" + "body", "some" + "body"):
            self.expect("docs/more.md", f"{word} waits.\n", "say no rank, any rank")
        for words in ("so " + "many calls", "launch it that " + "often"):
            self.expect("runtime/more.cc", f"// {words}\n", "say the number, or N times")
        self.expect("runtime/more.cc", '"another was ' + 'asked for"\n', "say requested")
        self.expect("runtime/more.cc", "// comes to its " + "end\n", "say ends")
        self.expect("docs/more.md", "of the " + "least predicted time\n", "say the lowest time")
        self.assertEqual(text_rules.text_violations({"docs/more.md": "A line names who waits for whom.\n"}), [])

    def test_a_path_of_one_machine(self):
        self.expect("README.md", "see " + "/home" + "/jo/rondo\n", "one machine")

    def test_a_long_file_is_named(self):
        self.assertEqual(text_rules.long_files({"a.cc": "\n" * 401}), ["a.cc: 401 lines"])
        self.assertEqual(text_rules.long_files({"a.cc": "\n" * 400}), [])


class Names(unittest.TestCase):
    def test_one_name_for_two_types(self):
        files = {"runtime/a/a.h": "struct Meeting {\n};\n", "transports/b.cc": "enum class Meeting { One };\n"}
        self.assertEqual(name_rules.name_violations(files),
                         ["transports/b.cc:1: Meeting is another type in runtime/a/a.h:1"])

    def test_what_is_no_second_type(self):
        files = {"runtime/a/a.h": "class Meeting;\nstruct Meeting {\n};\nstruct Outer::Meeting {\n};\n",
                 "tests/a.cc": "struct Meeting {\n};\n", "kernels/cuda/twin/a.h": "struct Meeting {\n};\n"}
        self.assertEqual(name_rules.name_violations(files), [])


class Docs(unittest.TestCase):
    settings = '  X(Log, "RONDO_LOG", "level") \\\n  X(Pin, "RONDO_PIN", "1: bind")\n'

    def files(self, doc, more=""):
        return {doc_rules.SETTINGS: self.settings, doc_rules.ENVIRONMENT: doc, "bench/perf.cc": more}

    def test_all_listed(self):
        self.assertEqual(doc_rules.environment_violations(self.files("| `RONDO_LOG` | x |\n| `RONDO_PIN` | x |\n")), [])

    def test_one_missing_one_too_many_one_twice(self):
        doc = "| `RONDO_LOG` | x |\n| `RONDO_LOG` | x |\n| `RONDO_OLD` | x |\n"
        found = doc_rules.environment_violations(self.files(doc))
        self.assertEqual([line.split(": ")[1] for line in found],
                         ["RONDO_LOG is listed 2 times", "RONDO_PIN is read by the code and not listed",
                          "RONDO_OLD is listed and nothing reads it"])

    def test_a_variable_read_past_the_table(self):
        doc = "| `RONDO_LOG` | x |\n| `RONDO_PIN` | x |\n"
        found = doc_rules.environment_violations(self.files(doc, 'getenv("SECRET_SWITCH")'))
        self.assertEqual(len(found), 1)
        self.assertIn("SECRET_SWITCH", found[0])

    def test_a_variable_of_the_python_package_that_is_not_listed_nor_known(self):
        files = self.files("| `RONDO_LOG` | x |\n| `RONDO_PIN` | x |\n")
        files[doc_rules.PACKAGE + "a.py"] = 'os.environ.get("RONDO_NEW", "")\n'
        found = doc_rules.environment_violations(files)
        self.assertEqual(len(found), 2)
        self.assertIn("RONDO_NEW is read by the code and not listed", found[0])
        self.assertIn("reads RONDO_NEW, which the library takes for a slip", found[1])

    def test_variables_of_scripts_whose_beginning_is_known(self):
        files = self.files("| `RONDO_LOG` | x |\n| `RONDO_PIN` | x |\n")
        files |= {doc_rules.KNOWN: '{"RONDO_TEST_"}', "tools/a": 'echo "$RONDO_TEST_UNTIL $RONDO_TESTS"\n'}
        found = doc_rules.environment_violations(files)
        self.assertEqual(len(found), 1)
        self.assertIn("reads RONDO_TESTS, which the library takes for a slip", found[0])

    def test_a_variable_of_a_script_that_the_library_does_not_know(self):
        files = self.files("| `RONDO_LOG` | x |\n| `RONDO_PIN` | x |\n")
        files |= {doc_rules.KNOWN: '"RONDO_JOBS"', "tools/test": 'x=${RONDO_JOBS:-} y=$RONDO_LOG z=${RONDO_NEW-}\n',
                  "bench/a.py": 'os.environ["RONDO_OTHER"]\n'}
        found = doc_rules.environment_violations(files)
        self.assertEqual([line.split(",")[0] for line in found],
                         ["bench/a.py: reads RONDO_OTHER", "tools/test: reads RONDO_NEW"])

    def test_an_option_that_nothing_reads(self):
        files = {doc_rules.OPTIONS: "option('cuda')\noption('verbs')\n", "meson.build": "get_option('cuda')\n"}
        self.assertEqual(doc_rules.option_violations(files), ["meson.options: nothing reads the option verbs"])

    def test_readme_with_another_program_and_a_dead_link(self):
        links = "[docs](docs/none.md) [tools](tools/) [web](https://x.org/) ![p](p.png)"
        files = {"README.md": f"```c\nint x;\n```\n{links}\n",
                 "examples/all_reduce.c": "int y;\n", "tools/test": ""}
        found = doc_rules.readme_violations(files, {"p.png"})
        self.assertEqual(len(found), 2, found)
        self.assertIn("examples/all_reduce.c", found[0])
        self.assertIn("docs/none.md", found[1])

    def test_a_part_of_a_message_that_no_code_prints(self):
        table = ("| id | part of the message | cause |\n|---|---|---|\n| R1 | `left early` | x |\n"
                 "| | `was late`, `is slow`, `Permission denied` | `y` |\n")
        files = {"docs/a.md": table, "runtime/a.cc": 'error("rank {} left "\n      "early, or was late");\n'}
        self.assertEqual(doc_rules.message_violations(files), ["docs/a.md: no code has the message 'is slow'"])

    def test_ids_of_errors_without_a_row_and_rows_without_an_error(self):
        kinds = ("  X(Left, 101, Timeout)", "  X(Late, 102, Timeout)", "  X(Slow, 102, Timeout)")
        files = {error_rules.KINDS: "".join(f"{kind} \\\n" for kind in kinds),
                 error_rules.STATUS: "enum class Code {\n  Ok = 0,\n  Timeout = 6,\n  InProgress = 9,\n};\n",
                 "runtime/a.cc": "error(ErrorKind::Left, \"\"); error(ErrorKind::Slow, \"\");\n",
                 **dict.fromkeys(error_rules.pages.PAGES, "")}
        files[error_rules.pages.PAGES[0]] = ("| id | part of the message | cause |\n|---|---|---|\n"
                                             "| R0101 | `a` | x |\n| R0101 | `b` | y |\n"
                                             "| R0103 | `c` | z |\n| | `d` | z |\n")
        self.assertEqual(error_rules.error_violations(files), [
            f"{error_rules.KINDS}: R0102 is there twice", f"{error_rules.KINDS}: no code uses Late",
            "R0101 has several rows in the documents", "no document has a row of R0006",
            "no document has a row of R0102", "the documents have a row of R0103, which no error has",
            "docs/troubleshooting.md: R0103 is no error's id"])

    def test_a_text_that_names_a_call_of_no_header(self):
        files = {"docs/a.md": "`rondo_send()` after `rondo_sendv(x)` or `rondo_sendv()`\n", "examples/all_reduce.c": "",
                 "README.md": "```c\n```\n", f"{doc_rules.HEADERS}rondo.h": "rondo_status_t rondo_send(int a);\n"}
        self.assertEqual(doc_rules.readme_violations(files),
                         ["docs/a.md: names rondo_sendv(), which no header declares"])

    def test_readme_shows_the_program_without_its_licence(self):
        files = {"README.md": "```c\nint y;\n```\n",
                 "examples/all_reduce.c": f"// {licence_rules.IDENTIFIER}\nint y;\n"}
        self.assertEqual(doc_rules.readme_violations(files), [])


class Licence(unittest.TestCase):
    line = licence_rules.IDENTIFIER
    bare = {"a.cc": "int x;\n", "b.cuh": "#pragma once\n", "c.c": "/* text */\n", "d.py": '"""Text."""\n', "e.py": "",
            "f.py": "#!/usr/bin/env python3\nimport os\n", "g/meson.build": "x = 1\n", "h.sh": "# text\n",
            "tools/i": "#!/bin/sh\necho\n"}

    def test_every_source_without_it_is_named(self):
        found = licence_rules.licence_violations({**self.bare, "a.md": "text\n", "LICENSE": "text\n", "a.json": "{}\n"})
        self.assertEqual([one.split(":")[0] for one in found], sorted(self.bare))

    def test_it_is_the_first_line_or_follows_the_interpreters(self):
        files = {path: licence_rules.with_licence(path, text) for path, text in self.bare.items()}
        self.assertEqual(licence_rules.licence_violations(files), [])
        self.assertEqual(files["a.cc"], f"// {self.line}\nint x;\n")
        self.assertEqual(files["e.py"], f"# {self.line}\n")
        self.assertEqual(files["f.py"], f"#!/usr/bin/env python3\n# {self.line}\nimport os\n")
        self.assertEqual(files, {path: licence_rules.with_licence(path, text) for path, text in files.items()})
        for text in (f"int x;\n// {self.line}\n", f"# {self.line}\n", f"// {self.line}-or-later\n"):
            self.assertEqual(len(licence_rules.licence_violations({"a.cc": text})), 1)
        self.assertEqual(licence_rules.licence_violations({"a.h": f"/* {self.line} */\n"}), [])


class Version(unittest.TestCase):
    files = {version_rules.SOURCE: "project('rondo', 'cpp',\n  version: '1.2.3',\n",
             version_rules.HEADER: "#define RONDO_VERSION 10203\n",
             version_rules.PYTHON: '[project]\ndynamic = ["version"]\n',
             version_rules.CHANGES: "# Changelog\n\n## [1.2.3] - unreleased\n\n## [1.2.2] - 2020-01-01\n",
             "docs/nccl.md": "Rondo 1.2.3 as libnccl.so.2 (NCCL 2.29.7 ABI)\n"}

    def test_one_version_everywhere(self):
        self.assertEqual(version_rules.version_violations(self.files), [])

    def test_each_place_that_has_another(self):
        for path, old, new in ((version_rules.HEADER, "10203", "10300"),
                               (version_rules.PYTHON, "dynamic", 'version = "1.2.3"\ndynamic'),
                               (version_rules.PYTHON, '["version"]', "[]"),
                               (version_rules.CHANGES, "[1.2.3]", "[1.3.0]"),
                               ("docs/nccl.md", "Rondo 1.2.3", "Rondo 1.2.2")):
            with self.subTest(path=path, new=new):
                found = version_rules.version_violations({**self.files, path: self.files[path].replace(old, new)})
                self.assertEqual(len(found), 1, found)
                self.assertIn(path, found[0])

    def test_a_version_in_code(self):
        found = version_rules.version_violations({**self.files, "tests/a.cc": '"; Rondo 1.2.3; "\n'})
        self.assertEqual(len(found), 1, found)
        self.assertIn("tests/a.cc:1", found[0])


class Programs(unittest.TestCase):
    """The checks that other programs make."""

    def found(self, check, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            try:
                return check(root, files)
            except tool_rules.Missing as missing:
                self.skipTest(str(missing))

    def test_a_script_is_known_by_its_name_or_first_line(self):
        files = {"a.sh": "", "run": "#!/bin/sh\n", "test": "#!/usr/bin/env bash\n", "b.py": "#!/usr/bin/env python3\n",
                 "c": "#!/bin/bash -e\n", "d.md": "text\n"}
        self.assertEqual(tool_rules.scripts(files), ["a.sh", "c", "run", "test"])

    def test_a_script_with_a_mistake(self):
        found = self.found(tool_rules.shell_violations, {"tools/a": "#!/bin/sh\n. tools/b.sh\nrm $1\n",
                                                         "tools/b.sh": "# shellcheck shell=sh\ncd /; rm $2\n"})
        self.assertEqual(len(found), 2, found)
        self.assertRegex(found[0], r"^tools/a:3:4: .*SC2086")
        self.assertRegex(found[1], r"^tools/b.sh:2:.*SC2086")

    def test_code_that_looks_otherwise(self):
        style = {".clang-format": "BasedOnStyle: Google\n"}
        self.assertEqual(self.found(tool_rules.format_violations, {**style, "runtime/a.cc": "int x;\n"}), [])
        for path in ("runtime/a.cc", "kernels/b.cu", "tests/c.c", "topology/d.h"):
            found = self.found(tool_rules.format_violations, {**style, path: "int  x;\nint y;\n"})
            self.assertEqual(len(found), 1, found)
            self.assertIn(f"{path}:1:4: ", found[0])


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped", flush=True)
    raise SystemExit(1 if failed else 0)
