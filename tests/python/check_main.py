# SPDX-License-Identifier: Apache-2.0
"""python -m rondo info, bench and explain, as users run them."""
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import rondo
from users import environment


def cpu_time_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Main(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def rondo(self, *arguments, **variables):
        done = subprocess.run([sys.executable, "-m", "rondo", *arguments], cwd=self.folder, text=True, timeout=60,
                              env=environment(**variables), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def test_info(self):
        code, text = self.rondo("info")
        facts = dict(re.split(r"  +", line, maxsplit=1) for line in text.splitlines())
        self.assertEqual((code, facts["version"]), (0, rondo.__version__))
        self.assertEqual(facts["package"], os.path.dirname(rondo.__file__))
        self.assertTrue(os.path.samefile(facts["library"], rondo._library.path()), facts["library"])
        self.assertIn("shm", facts["transports"].split(", "))
        self.assertNotIn("[", facts["transports"])
        self.assertRegex(facts["gpu"], r"^(cuda:\d+|none: .+)$")
        for name in ("rondo-run", "rondo-perf", "rondo-explain", "rondo-flight", "rondo-ps", "rondo-trace"):
            self.assertTrue(os.access(facts[name], os.X_OK), facts[name])

    def test_explain(self):
        code, text = self.rondo("explain", "R0203")
        self.assertEqual((code, text[:7]), (0, "R0203: "), text)
        code, text = self.rondo("explain", "--list")
        self.assertEqual((code, text[:7]), (0, "R0001  "), text)

    def test_output_that_cannot_be_written(self):
        for target, words in (("/dev/full", "No space left on device"), ("&-", ""), ("| :", "")):
            redirection = target if target.startswith("|") else f">{target}"
            done = subprocess.run(["bash", "-c", f'"$0" -m rondo info {redirection}', sys.executable], text=True,
                                  timeout=60, env=environment(), stderr=subprocess.PIPE)
            self.assertNotIn("Traceback", done.stderr)
            self.assertIn(words, done.stderr)

    def test_bench(self):
        # Without its limit: where other programs have the CPUs, it takes longer.
        program = "import sys; from rondo import __main__, _bench; _bench.LIMIT_S = 100; sys.exit(__main__.main())"
        before_s = cpu_time_of_children()
        done = subprocess.run([sys.executable, "-c", program, "bench", "--ranks", "2,3"], cwd=self.folder, text=True,
                              timeout=110, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = done.stdout
        self.assertEqual(done.returncode, 0, text)
        self.assertLess(cpu_time_of_children() - before_s, 20)  # within its limit, even with one CPU of its own
        last_rows = re.findall(r"^ +8388608 .* 0$", text, re.M)  # with no wrong element
        self.assertEqual(len(last_rows), 2, text)
        picture = self.folder / "rondo-bench.svg"
        self.assertIn(f"Picture: {picture.resolve()}\n", text)
        root = xml.etree.ElementTree.parse(picture).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")

    def test_bench_of_another_collective(self):
        code, text = self.rondo("bench", "broadcast", "--ranks", "2", "--picture", "b.svg")
        self.assertEqual(code, 0, text)
        self.assertIn("# broadcast, 2 ranks", text)
        self.assertTrue((self.folder / "b.svg").is_file())

    def test_bench_that_takes_too_long(self):
        text = "from rondo import _bench; _bench.LIMIT_S = 0.1; print('code', _bench.run('all_reduce', '2', 'x.svg'))"
        done = subprocess.run([sys.executable, "-c", text], cwd=self.folder, text=True, timeout=60, env=environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # to its end: no rank holds the pipe
        self.assertIn("did not end within 0.1 s, and was stopped", done.stdout)
        self.assertIn("code 124\n", done.stdout)

    def test_mistakes(self):
        for words, arguments in (("the following arguments are required: command", []),
                                 ("invalid choice: 'bnech'", ["bnech"]),
                                 ("argument --ranks: '0': it must be a number of ranks", ["bench", "--ranks", "0"]),
                                 ("argument --ranks: '2,': it must be", ["bench", "--ranks", "2,"]),
                                 ("unrecognized arguments: --rank", ["info", "--rank"]),
                                 ("all_reduec", ["bench", "all_reduec"]),
                                 ("no/such/x.svg", ["bench", "--ranks", "2", "--picture", "no/such/x.svg"])):
            code, text = self.rondo(*arguments)
            self.assertNotEqual(code, 0, arguments)
            self.assertIn(words, text)
            self.assertNotIn("Traceback", text)

    def test_without_programs(self):
        copy = self.folder / "alone" / "rondo"
        copy.mkdir(parents=True)
        for file in pathlib.Path(rondo.__file__).parent.glob("*.py"):
            (copy / file.name).write_bytes(file.read_bytes())
        code, text = self.rondo("bench", PYTHONPATH=str(copy.parent), PATH=str(self.folder))
        self.assertEqual(code, 1)
        self.assertIn("rondo-perf is neither in the package nor in PATH", text)
        self.assertNotIn("Traceback", text)
