"""A checkout of a peer, as small as can be: its tests are run with our accountants."""

import pytest

from benchmarks.peer_suites import answers
from benchmarks.peer_suites.__main__ import counted, on_page, run

TESTS = """
import unittest
import dp_accounting
from dp_accounting.rdp import rdp_privacy_accountant


class Accountants(unittest.TestCase):
    def _epsilon(self):
        accountant = rdp_privacy_accountant.RdpAccountant()
        step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
        return accountant.compose(step, 100).get_epsilon(1e-5)

    def test_ours_is_asked(self):
        self.assertLess(self._epsilon(), 1.0)

    def test_ours_is_smaller(self):
        self.assertAlmostEqual(self._epsilon(), 1.2)

    def test_ours_is_not_below_what_is_attained(self):
        self.assertAlmostEqual(self._epsilon(), 0.1)

    def test_another_failure(self):
        self._epsilon()
        self.assertEqual(1, 2)

    def test_no_accountant(self):
        self.assertEqual(2, 2)

    @unittest.skip("not here")
    def test_nothing_to_see(self):
        pass
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    place = folder / "python/dp_accounting/dp_accounting/rdp"
    place.mkdir(parents=True)
    (place / "rdp_privacy_accountant_test.py").write_text(TESTS)
    # The package itself is the installed one.
    found = run("dp-accounting", folder)
    return {row["test"].rpartition("::test_")[2]: row for row in found}


@pytest.mark.thorough
def test_every_test_is_counted_with_its_reason(rows):
    outcomes = {name: row["outcome"] for name, row in rows.items()}
    assert outcomes == {
        "ours_is_asked": "passed",
        "ours_is_smaller": "accepted with a note",
        "ours_is_not_below_what_is_attained": "accepted with a note",
        "nothing_to_see": "skipped",
        "another_failure": "failed",
        "no_accountant": "passed",
    }
    assert "certified, and smaller than theirs, 1.2" in rows["ours_is_smaller"]["reason"]
    assert "0.1, is too small" in rows["ours_is_not_below_what_is_attained"]["reason"]
    assert rows["another_failure"]["reason"] == "AssertionError: 1 != 2"
    assert [name for name, row in rows.items() if not row["asked"]] == [
        "no_accountant",
        "nothing_to_see",
    ]
    assert counted(list(rows.values())) == [2, 2, 1, 1]


def test_a_folder_without_their_tests(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a checkout with"):
        run("opacus", tmp_path)


def test_a_number_that_is_larger_than_theirs_proves_nothing():
    answers.begin()
    answers.CURRENT.answers.append(answers.Answer("epsilon", 2.0, lambda: 1.0))
    assert answers.note("2.0 != 1.5 within 7 places") is None
    assert "smaller than theirs" in answers.note("2.0 != 2.5 within 7 places")
    assert answers.note("3.0 != 2.5 within 7 places") is None
    answers.begin()
    assert answers.note("2.0 != 2.5 within 7 places") is None


def test_a_lower_bound_of_nothing_is_no_evidence():
    for lower in (0.0, None):
        answers.begin()
        answers.CURRENT.answers.append(answers.Answer("epsilon", 2.0, lambda lower=lower: lower))
        assert answers.note("2.0 != 2.5 within 7 places") is None


def test_the_page_is_made_by_the_command():
    page = "a\n\n| suite | passed | accepted with a note | failed | skipped |\n| --- |\n\nb\n"
    rows = [{"outcome": "passed"}, {"outcome": "failed"}, {"outcome": "passed"}]
    once = on_page(page, "peer 1", rows)
    assert "| --- |\n| peer 1 | 2 | 0 | 1 | 0 |\n\nb" in once
    twice = on_page(on_page(once, "peer 0", []), "peer 1", rows[:1])
    assert "| peer 0 | 0 | 0 | 0 | 0 |\n| peer 1 | 1 | 0 | 0 | 0 |\n\nb" in twice
    with pytest.raises(ValueError, match="Expected a page with a table"):
        on_page("nothing", "peer 1", rows)
