#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How bench/compare treats changes of the state of the machine.

Usage: check_compare_states.py SOURCE_ROOT
"""
import unittest

import fake_contestants


class States(fake_contestants.FakeCase):
    def in_states(self, states, *arguments, **more):
        fake_contestants.set_states(self.path("log"), states)
        return self.compare("--collectives", "all_reduce", "--peers", "openmpi", *arguments, **more)

    def test_a_turn_is_repeated_until_all_had_one_in_the_same_state(self):
        # Rondo's first turn begins near and ends far, Open MPI's begins far and ends near.
        result = self.in_states("30.0 300.0 290.0 31.0 30.0", "--rounds", "1")
        self.assertEqual(self.lines("log"), ["Open MPI"] + ["rondo"] * 2 + ["Open MPI", "rondo", "Open MPI"])
        self.assertIn("30 to 30 ns (near in 3 rows); discarded because the state changed: 3 turns and 0 rounds",
                      result.stdout)
        self.assertEqual([row["handoff_ns"] for row in self.rows()], [[30.0]] * 3)
        self.assertEqual([(turn["contestant"], turn["state"], turn["counts"]) for turn in self.results()["turns"]],
                         [("rondo", "changed", False), ("rondo", "far", False), ("openmpi", "changed", False),
                          ("rondo", "near", True), ("openmpi", "near", True)])

    def test_rounds_of_one_state_count(self):
        result = self.in_states("300.0 " * 3 + "40.0", "--rounds", "3")
        self.assertIn("0 turns and 1 rounds", result.stdout)
        self.assertEqual([row["handoff_ns"] for row in self.rows()], [[40.0] * 2] * 3)
        self.assertEqual({len(one["rounds_us"]) for row in self.rows() for one in row["contestants"].values()}, {2})

    def test_nothing_is_compared_where_the_state_never_holds(self):
        result = self.in_states("30.0 300.0 " * 500, "--rounds", "1", "--state-seconds", "0.3", code=1)
        self.assertIn("the state of the machine changed", result.stderr)
        self.assertIn("nothing could be compared", result.stdout)

    def test_a_probe_that_fails_throws_a_turn_away(self):
        result = self.in_states("30.0 30.0 fails 30.0", "--rounds", "1")
        self.assertIn("discarded because the state changed: 2 turns and 0 rounds", result.stdout)

    def test_without_a_first_probe_nothing_is_measured(self):
        result = self.in_states("fails", "--rounds", "1", code=1)
        self.assertIn("the probe is broken here", result.stderr)
        self.assertNotIn("rondo", self.lines("log"))

    def test_one_cpu_has_no_state(self):
        result = self.in_states("none", "--rounds", "1")
        self.assertIn("there is no state of the machine to probe", result.stdout)


if __name__ == "__main__":
    unittest.main()
