"""Captum's shared configurations through ascribe.captum: the deterministic pairs of the copy beside the tests."""
import os
import unittest
import warnings

import captum_config
import support


class Configurations(unittest.TestCase):

    def test_deterministic_pairs(self):
        path = os.path.join(support.DATA, "goldens", "captum_config_golden.jsonl")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            passed, total, _, complaints = captum_config.run(path, quick=True)
        self.assertEqual(complaints, [])
        self.assertEqual(passed, total)
        self.assertGreater(total, 30)


if __name__ == "__main__":
    unittest.main()
