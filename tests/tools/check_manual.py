# SPDX-License-Identifier: Apache-2.0
"""check_manual.py SOURCE FOLDER PROGRAM...: man pages and completions in FOLDER are as programs and headers say."""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

SOURCE, FOLDER, *PROGRAMS = (os.path.abspath(path) for path in sys.argv[1:])
sys.path.insert(0, os.path.join(SOURCE, "tools", "manual"))
import header_pages  # noqa: E402
import header_text  # noqa: E402
import help_text  # noqa: E402

OPTIONS = re.compile(r"^  (-\S+)", re.M)
COMPLETE = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_${1//-/_}"; printf "%s\\n" "${COMPREPLY[@]}"'

# Prints what a completion tells _arguments, as if the line began with these subcommands.
ZSH_COMPLETE = """
_arguments() { print -rl -- "$@"; state=command; line=($words) }
words=("${@}") file=$0
source $file
"""


def output_of(*command):
    return subprocess.run(command, text=True, capture_output=True, check=True, timeout=60).stdout


def options_of(*command):
    """The options that --help shows, by another way than the generator's."""
    shown = OPTIONS.findall(output_of(*command, "--help"))
    return {re.sub(r"\{.*", "", name) for names in shown for name in names.split(",")}


def completions(*words):
    return set(output_of("bash", "-c", COMPLETE, os.path.join(FOLDER, words[0]), *words).split())


def page(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read().replace("\\-", "-")


class Manual(unittest.TestCase):
    def each(self):
        for program in PROGRAMS:
            with self.subTest(program):
                yield program, os.path.basename(program)

    def test_every_option_is_completed_and_no_other(self):
        for program, name in self.each():
            self.assertEqual(completions(name, "-"), options_of(program))
            self.assertIn("--help", completions(name, "--he"))

    def test_zsh_is_told_of_every_option(self):
        for program, name in self.each():
            with open(os.path.join(FOLDER, "_" + name), encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text.startswith(f"#compdef {name}\n"))
            commands = [[name] for name in help_text.help_of(program).commands]
            for command in [[], *commands]:
                for option in options_of(program, *command):
                    self.assertRegex(text, rf"'(?:\([^)]*\))?{option}\[")
            if shutil.which("zsh") is not None:
                for command in [[], *commands]:
                    told = output_of("zsh", "-c", ZSH_COMPLETE, os.path.join(FOLDER, "_" + name), *command)
                    names = set(re.findall(r"^(?:\([^)]*\))?(-[\w-]+)\[", told, re.M))
                    self.assertEqual(names, options_of(program).union(options_of(program, *command)), command)

    @unittest.skipIf(shutil.which("fish") is None, "fish is not installed")
    def test_fish_completes_what_bash_does(self):
        for program, name in self.each():
            for command in [[], *([each] for each in help_text.help_of(program).commands)]:
                for begun in ("-", "--") if command == [] else ("--",):
                    line = " ".join([name, *command, begun])
                    told = output_of("fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
                                     os.path.join(FOLDER, name + ".fish"), line)
                    names = {each.partition("\t")[0] for each in told.splitlines()}
                    expected = {option for option in options_of(program, *command) if option.startswith(begun)}
                    self.assertLessEqual(expected, names, line)

    def test_subcommands_are_completed_with_options_of_their_own(self):
        plan = next(program for program in PROGRAMS if program.endswith("rondo-plan"))
        commands = help_text.help_of(plan).commands
        self.assertIn("verify", commands)
        self.assertEqual(completions("rondo-plan", ""), set(commands))
        for command in commands:
            self.assertEqual(completions("rondo-plan", command, "-"), options_of(plan, command), command)
            self.assertEqual(completions("rondo-plan", command, ""), set(), command)

    def test_collectives_are_completed_and_values_are_not(self):
        self.assertEqual(completions("rondo-perf", "all_r"), {"all_reduce"})
        self.assertEqual(completions("rondo-perf", "--plot", "-"), set())
        self.assertEqual(completions("rondo-run", "-n", ""), set())

    def test_options_of_a_started_program_are_its_own(self):
        self.assertEqual(completions("rondo-run", "--heap", "-n", "2", "--g"), {"--grace"})
        self.assertEqual(completions("rondo-run", "-n", "2", "./program", "--g"), set())
        self.assertEqual(completions("rondo-run", "--", "./program", "-"), set())

    def test_every_option_is_in_the_man_page(self):
        for program, name in self.each():
            text = page(name + ".1")
            for option in options_of(program):
                self.assertIn(f"\\fB{option}\\fR", text)
        self.assertIn("rondo-run [OPTIONS] PROGRAM [ARGUMENT...]", page("rondo-run.1"))

    def test_every_call_has_a_page_with_its_comment(self):
        for path in glob.glob(os.path.join(SOURCE, "runtime/include/rondo/*.h")):
            with open(path, encoding="utf-8") as file:
                declared = set(re.findall(r"^RONDO_API .*?\b(rondo_\w+)\(", file.read(), re.M))
            header = header_text.read(path)
            self.assertEqual({name for section in header.sections for name in section.functions}, declared)
            for section in header.sections:
                text = page(section.page + ".3")
                for name in section.functions:
                    self.assertIn(f".SS {name}()", text)
                    if name != section.page:
                        self.assertEqual(page(name + ".3"), f".so man3/{section.page}.3\n")
        self.assertIn("\\fIcount\\fR\nelements per rank", page("rondo_collectives.3"))

    @unittest.skipIf(shutil.which("groff") is None, "groff is not installed")
    def test_troff_finds_nothing_wrong(self):
        for path in glob.glob(os.path.join(FOLDER, "*.[13]")):
            if not page(path).startswith(".so "):
                run = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", path], text=True, capture_output=True)
                self.assertEqual(run.stderr, "", path)

    def test_text_that_troff_would_take_for_its_own_is_escaped(self):
        lines = header_pages.comment_lines("A \\ and\n.TH and 'x\n@param[in] name a-b\n@return ::RONDO_OK")
        self.assertEqual(lines, [".PP", "A \\e and\n\\&.TH and 'x", ".TP", "\\fIname\\fR", "a\\-b", ".TP",
                                 "\\fBReturns\\fR", "RONDO_OK"])

    def test_help_that_is_not_understood_ends_the_build(self):
        head = "What.\nUsage: x [OPTIONS]\n\nOptions:\n"
        parsed = help_text.parsed(head + "  -n,--ranks INT REQUIRED\n" + " " * 30 + "number\n\nNote.\n")
        entry = parsed.options()[0]
        self.assertEqual((entry.names, entry.value, entry.text, entry.required, parsed.notes),
                         (["-n", "--ranks"], "INT", "number", True, "Note."))
        with self.assertRaises(help_text.BadHelp):
            help_text.parsed(head + "  --ran=ks INT            number\n")


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    wrong, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    print(f"{result.testsRun - wrong - skipped} passed, {wrong} failed" + (f", {skipped} skipped" if skipped else ""),
          flush=True)
    sys.exit(1 if wrong else 0)
