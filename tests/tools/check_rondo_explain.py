# SPDX-License-Identifier: Apache-2.0
"""check_rondo_explain.py RONDO-EXPLAIN: ids, messages and logs, and what is no error of Rondo's."""
import os
import subprocess
import sys
import unittest

EXPLAIN = sys.argv[1]
LOG = b"""epoch 3 \xff\xfe Permission denied
[rank0] RuntimeError: rank 0: rondo_recv: communicator 'world': ... they wait for one another [R0203]
[rank1] RuntimeError: rank 1: rondo_recv: communicator 'world': ... they wait for one another [R0203]
part number R0204 of another program
[rank 3] data of other ranks must be the same: Permission denied
rondo: 1 of 4 ranks did not join within 60 s: 3
[05:37:24.162 18099 rondo warning] rejected a connection: a process that claims to be rank 1 has a different secret
rondo: InfiniBand verbs cannot be used: mlx5_7:1 is down; mlx5_2:1 has no GID: its network interface has no address \
[R1004]
"""


def explain(*texts, given=b"", **variables):
    done = subprocess.run([sys.executable, EXPLAIN, *texts], input=given, capture_output=True, timeout=60, check=False,
                          env={**os.environ, **variables})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Explain(unittest.TestCase):
    def titles(self, text):
        return [block.split(":")[0] for block in text.split("\n\n") if not block.startswith(" ")]

    def test_an_id_has_its_cause_its_cure_and_a_picture(self):
        code, text, _ = explain("R0203")
        self.assertEqual((code, self.titles(text)), (0, ["R0203"]))
        self.assertEqual(explain("r0203")[1], text)
        for words in ("cause: ", "what to do: ", "rank 1: recv(from 0)", "more: ", "#a-call-does-not-end"):
            self.assertIn(words, text)

    def test_every_id_of_the_list_is_explained(self):
        code, text, _ = explain("--list")
        ids = [line[:5] for line in text.splitlines()]
        self.assertEqual((code, sorted(set(ids))), (0, ids))
        code, text, _ = explain(*ids)
        self.assertEqual((code, [title for title in self.titles(text) if title in ids]), (0, ids))

    def test_a_message_and_a_status(self):
        self.assertEqual(self.titles(explain("rank 3 did not join: ranks did not join within 5 s")[1]), ["R0101"])
        self.assertEqual(self.titles(explain("RONDO_TIMEOUT")[1]), ["R0006"])
        self.assertEqual(self.titles(explain("a [R0203]", "b [R0301]", "c [R0203]")[1]), ["R0203", "R0301"])

    def test_a_log_has_each_error_once_and_other_programs_lines_are_left_alone(self):
        code, text, _ = explain(given=LOG)
        self.assertEqual((code, self.titles(text)[:4]), (0, ["R0203", "R0101", "R0105", "R1004"]))
        self.assertIn('"mlx5_0:1 is down"', text)
        self.assertIn("give the RoCE port's interface an IP address", text)
        self.assertNotIn("R0506", text)
        self.assertNotIn("R0302", text)
        self.assertNotIn("R0204", text)

    def test_letters_that_the_terminal_lacks_and_texts_in_any_language(self):
        code, text, words = explain("R0101", PYTHONIOENCODING="ascii")
        self.assertEqual((code, words), (0, ""))
        self.assertIn("rank 1 ?? joined", text)
        self.assertEqual(self.titles(explain("错误R0203是什么")[1]), ["R0203"])

    def test_what_is_no_error(self):
        for texts, given in (((), b""), (("all is well",), b""), ((), b"x" * 200_000)):
            code, text, words = explain(*texts, given=given)
            self.assertEqual((code, text), (1, ""))
            self.assertIn("no id, such as R0203", words)
        code, text, _ = explain("R9999")
        self.assertEqual((code, text), (1, "R9999: no such id: a later version of Rondo has it, or it is misspelt\n"))
        self.assertIn("of a file: rondo-explain < " + __file__, explain(__file__)[2])
        done = subprocess.run(["bash", "-c", '"$0" "$1" <&-', sys.executable, EXPLAIN], timeout=60, check=False,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "rondo-explain: cannot read standard input: Bad file descriptor\n"))
        for words in ("--list", "R0203", "--help"):
            done = subprocess.run(["bash", "-c", '"$0" "$@" >/dev/full', sys.executable, EXPLAIN, words], timeout=60,
                                  check=False, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr),
                             (1, "rondo-explain: cannot write standard output: No space left on device\n"))
        code, _, words = explain("--all")
        self.assertEqual(code, 2)
        self.assertIn("unknown option --all", words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
