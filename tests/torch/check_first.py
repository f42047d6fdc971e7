# SPDX-License-Identifier: Apache-2.0
"""The program in README.md is examples/torch/first.py, and its loss decreases."""
import pathlib
import re
import unittest

from example_cases import FOLDER, run, torchrun

README = pathlib.Path(__file__).parents[2] / "README.md"


class First(unittest.TestCase):
    def test_readme_shows_it(self):
        blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
        program = (pathlib.Path(FOLDER) / "first.py").read_text(encoding="utf-8")
        self.assertEqual(blocks, [re.sub(r"^# SPDX-.*\n", "", program)])

    def test_its_loss_goes_down(self):
        text = run(torchrun(2, "first.py"))
        losses = [float(loss) for loss in re.findall(r"^step \d+: loss (\S+)$", text, re.M)]
        self.assertEqual(len(losses), 10, text)
        self.assertLess(losses[-1], losses[0] / 4, text)


if __name__ == "__main__":
    unittest.main()
