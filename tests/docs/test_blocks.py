# SPDX-License-Identifier: Apache-2.0
"""The blocks that blocks.py finds in small documents, and the documents that it refuses."""
import unittest

from blocks import BadDocument, blocks_of, program_name


def kinds(text):
    return [(block.line, block.kind, block.text, block.mark) for block in blocks_of(text)]


class Blocks(unittest.TestCase):
    def test_an_indented_block_is_shell(self):
        self.assertEqual(kinds("Text\n\n    one\n\n    two \\\n      more\n\nText\n"),
                         [(3, "sh", "one\n\ntwo \\\n  more\n", "")])

    def test_text_that_goes_on_is_no_block(self):
        self.assertEqual(kinds("Text that\n    goes on\n"), [])

    def test_a_block_in_a_list_is_indented_by_two_more(self):
        self.assertEqual(kinds("- item\n  of a list\n\n      run\n\nText\n\n    more\n"),
                         [(4, "sh", "run\n", ""), (8, "sh", "more\n", "")])

    def test_fences_have_their_language(self):
        self.assertEqual(kinds("```c\nint x;\n```\n\n```\nout\n```\n"),
                         [(2, "c", "int x;\n", ""), (6, "", "out\n", "")])

    def test_a_mark_is_for_the_block_after_it_alone(self):
        text = "<!-- not run: no GPU -->\n\n    one\n\n<!-- other -->\n\n    two\n"
        self.assertEqual([block.mark for block in blocks_of(text)], ["no GPU", ""])

    def test_output_follows_its_block(self):
        self.assertEqual([block.follows for block in blocks_of("    run\n\n```\nout\n```\n")], [False, True])
        self.assertEqual([block.follows for block in blocks_of("    run\n\nText\n\n```\nout\n```\n")], [False, False])

    def test_a_block_knows_its_section(self):
        self.assertEqual([block.section for block in blocks_of("# A\n\n    one\n\n## B c\n\nText\n\n    two\n")],
                         ["A", "B c"])

    def test_refused(self):
        for text, words in (("<!-- not run: x -->\n\nText\n", "marks no block"), ("```c\nint x;\n", "no end"),
                            ("<!-- not run: x -->\n", "marks no block"), ("    # found: 1\n", "nothing to run")):
            with self.assertRaisesRegex(BadDocument, words):
                blocks_of(text)

    def test_a_program_has_the_name_that_the_next_block_compiles(self):
        program, shell = blocks_of("```c\nint x;\n```\n\n    cc -I x/include a.c -o a\n")
        self.assertEqual(program_name(program, [shell]), "a.c")
        program_in_cpp, shell = blocks_of("```cpp\nint x;\n```\n\n    c++ other.c b.cc -o b\n")
        self.assertEqual(program_name(program_in_cpp, [shell]), "b.cc")
        for later in ([], blocks_of("    ./a\n"), blocks_of("<!-- not run: x -->\n\n    cc a.c\n"),
                      blocks_of("    c++ a.cc\n")):
            with self.assertRaisesRegex(BadDocument, "compiles"):
                program_name(program, later)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed", flush=True)
    raise SystemExit(1 if failed else 0)
