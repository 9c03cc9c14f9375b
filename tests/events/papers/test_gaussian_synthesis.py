import pytest

from rdpkit import GaussianSynthesis

EXAMPLE = {"records": 1000, "outputs": 10, "dimension": 6, "min_eigenvalue": 0.01}


@pytest.mark.parametrize("value", [0.0, -0.1, 1.0000001, 5])
def test_the_smallest_eigenvalue_is_one_that_such_data_can_have(value):
    with pytest.raises(ValueError, match=r"Expected min_eigenvalue (in \(0, 1\]|to be a finite)"):
        GaussianSynthesis(**{**EXAMPLE, "min_eigenvalue": value})
    GaussianSynthesis(**{**EXAMPLE, "min_eigenvalue": 1.0})


@pytest.mark.parametrize("records", [0, 1])
def test_a_covariance_needs_two_records(records):
    with pytest.raises(ValueError, match="Expected records to be an integer >= 2"):
        GaussianSynthesis(**{**EXAMPLE, "records": records})


def test_the_condition_on_the_data_is_stated_with_its_number():
    (text,) = GaussianSynthesis(**EXAMPLE).assumptions()
    assert "0.01" in text
    assert "neighbours" in text
