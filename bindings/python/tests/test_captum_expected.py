"""What Captum's own tests assert, through ascribe.captum: the deterministic rows of the copy beside the tests."""
import os
import unittest
import warnings

import captum_expected
import support
from captum_literal import Unreadable, arguments, split, tensor, value


class Expected(unittest.TestCase):

    def test_deterministic_rows(self):
        path = os.path.join(support.DATA, "goldens", "captum_expected.tsv")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            passed, total, _, complaints, _ = captum_expected.run(path, quick=True)
        self.assertEqual(complaints, [])
        self.assertGreater(total, 10)


class Literals(unittest.TestCase):

    def test_values(self):
        self.assertEqual(value("arange(0,step=2).view([2, 2])").tolist(), [[0, 2], [4, 6]])
        self.assertEqual(value("full([2],3)").tolist(), [3, 3])
        self.assertEqual(value("([1, 2], [[3]])"), ([1, 2], [[3]]))
        self.assertEqual(value("slice(0, 2, 1)"), slice(0, 2, 1))
        self.assertEqual(value("callable:f"), "callable:f")
        self.assertEqual(tensor(value("([[1]], empty[0])"))[1].size, 0)
        self.assertEqual(split("a=(1, 2), b='x,y', c"), ["a=(1, 2)", "b='x,y'", "c"])
        self.assertEqual(arguments("n=1, w=((2,),); ctor{k=5}"), ({"n": "1", "w": "((2,),)"}, {"k": "5"}))
        for bad in ("tensor[3, 1](sum=1,abs=2,head=[1])", "f(x)", "arange(0,step=1)"):
            with self.assertRaises(Unreadable):
                value(bad)


if __name__ == "__main__":
    unittest.main()
