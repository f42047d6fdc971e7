"""The checks themselves: each must find what it is for, in a small tree broken on purpose."""
import unittest

import doc_rules
import layers
import text_rules

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

    def test_a_header_that_is_not_there(self):
        self.expect(with_line("bench/perf.cc", "#include <rondo/more.h>"), "no such header")

    def test_an_arrow_that_nothing_uses(self):
        unused = "kernels may include schedule, and does not"
        self.assertIn(unused, layers.unused_arrows(TREE))
        through = with_line("kernels/reduce.cc", '#include "schedule/schedule.h"')
        self.assertNotIn(unused, layers.unused_arrows(through))


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

    def test_a_path_of_one_machine(self):
        self.expect("README.md", "see " + "/home" + "/jo/rondo\n", "one machine")

    def test_a_long_file_is_named(self):
        self.assertEqual(text_rules.long_files({"a.cc": "\n" * 401}), ["a.cc: 401 lines"])
        self.assertEqual(text_rules.long_files({"a.cc": "\n" * 400}), [])


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
        files = {"README.md": "```c\nint x;\n```\n[docs](docs/none.md) [tools](tools/) [web](https://x.org/)\n",
                 "examples/all_reduce.c": "int y;\n", "tools/test": ""}
        found = doc_rules.readme_violations(files)
        self.assertEqual(len(found), 2, found)
        self.assertIn("examples/all_reduce.c", found[0])
        self.assertIn("docs/none.md", found[1])


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed", flush=True)
    raise SystemExit(1 if failed else 0)
