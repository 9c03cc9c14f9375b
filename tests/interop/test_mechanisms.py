"""Mechanisms of autodp and prv_accountant: what is read, what is refused, and their own numbers.

The libraries themselves are asked where they are installed (autodp 0.2.3.1, prv_accountant 0.2.0).
Everything else is held against stand-ins that have their names and attributes.
"""

import warnings

import pytest

import rdpkit
from rdpkit.interop import UnconvertibleEventError, from_mechanisms
from tests.events import unit

ADD = "add_or_remove_one"
POISSON = unit.poisson(1.1, 0.01)


def fake(library, name, /, **attributes):
    """An object of a class of that name in a module of that library."""
    return type(name, (), {"__module__": f"{library}.zoo"} | attributes)()


def autodp_mechanism(kind, called="", /, **params):
    return fake("autodp", kind, params=params, name=called)


@pytest.mark.parametrize(
    ("mechanism", "expected"),
    [
        (fake("prv_accountant", "PoissonSubsampledGaussianMechanism", sigma=1.1, p=0.01), POISSON),
        (
            autodp_mechanism("Mechanism", "PoissonSample:Gaussian", sigma=1.1, PoissonSample=0.01),
            POISSON,
        ),
        (
            autodp_mechanism(
                "NoisySGD_Mechanism", sigma=1.1, prob=0.01, niter=50, PoissonSampling=True
            ),
            POISSON * 50,
        ),
        (
            autodp_mechanism("SubsampleGaussianMechanism", sigma=1.1, prob=0.01, coeff=50),
            POISSON * 50,
        ),
        (
            autodp_mechanism("ExactGaussianMechanism", sigma=2.0),
            unit.gaussian(2.0, record_diameter=1.0),
        ),
        (
            fake("prv_accountant", "LaplaceMechanism", mu=0.5),
            rdpkit.Laplace(noise_scale=1.0, record_norm=0.5, record_diameter=0.5),
        ),
        (
            autodp_mechanism("RandresponseMechanism", p=0.75),
            rdpkit.RandomizedResponse(noise_parameter=0.5, num_buckets=2),
        ),
        (
            autodp_mechanism("PureDP_Mechanism", eps=0.3),
            rdpkit.EpsilonDelta(epsilon=0.3, delta=0.0, adjacency=ADD),
        ),
        (
            autodp_mechanism("zCDP_Mechanism", rho=0.3, xi=0.1),
            rdpkit.ZeroConcentrated(rho=0.3, xi=0.1, adjacency=ADD),
        ),
    ],
)
def test_what_is_read(mechanism, expected):
    assert from_mechanisms(mechanism, adjacency=ADD) == expected
    both = from_mechanisms([mechanism, mechanism], [1, 3], adjacency=ADD)
    assert both.events == (expected, rdpkit.Repeated(event=expected, count=3))


@pytest.mark.parametrize(
    "mechanism",
    [
        object(),
        fake("mine", "GaussianMechanism", params={"sigma": 1.0}, name="Gaussian"),
        autodp_mechanism("Mechanism", "Compose:{Gaussian: 3}", **{"Gaussian:sigma": 1.0}),
        # Nobody says that the plain mechanism is a Gaussian.
        autodp_mechanism("Mechanism", "Gaussian", sigma=1.0),
        autodp_mechanism("Mechanism", "PoissonSample:mine", sigma=1.0, PoissonSample=0.1),
        autodp_mechanism("Mechanism", "Subsample:Gaussian", sigma=1.0, Subsample=0.1),
        autodp_mechanism(
            "Mechanism", "PoissonSample1:Gaussian", sigma=1.0, PoissonSample=0.1, PoissonSample1=0.1
        ),
        autodp_mechanism("NoisySGD_Mechanism", sigma=1.0, prob=0.1, niter=5, PoissonSampling=False),
        autodp_mechanism("GaussianMechanism", sigma=-1.0),
        fake("prv_accountant", "PoissonSubsampledGaussianMechanism", sigma=1.0, p=1.5),
    ],
)
def test_what_is_refused(mechanism):
    with pytest.raises(UnconvertibleEventError):
        from_mechanisms(mechanism, adjacency=ADD)


def test_counts_are_one_a_mechanism_and_samples_are_not_replaced():
    one = autodp_mechanism("GaussianMechanism", sigma=1.0)
    for counts in ([1, 2], [], 0, 1.5):
        with pytest.raises(ValueError, match="count"):
            from_mechanisms([one], counts, adjacency=ADD)
    sampled = fake("prv_accountant", "PoissonSubsampledGaussianMechanism", sigma=1.1, p=0.01)
    with pytest.raises(UnconvertibleEventError, match="addition and removal"):
        from_mechanisms(sampled, adjacency="replace_one")
    # Their noise is over the sensitivity under the relation that is asked about.
    for adjacency in rdpkit.Adjacency:
        event = from_mechanisms(one, adjacency=adjacency)
        found = rdpkit.epsilon(event, delta=1e-5, adjacency=adjacency).epsilon
        assert found == pytest.approx(4.3776, abs=1e-3)


@pytest.mark.parametrize(("noise", "rate", "count"), [(1.1, 0.01, 1000), (0.8, 0.004, 500)])
def test_numbers_of_prv_accountant(noise, rate, count):
    prv = pytest.importorskip("prv_accountant", reason="prv_accountant is not installed")
    mechanisms = [
        prv.PoissonSubsampledGaussianMechanism(rate, noise),
        prv.GaussianMechanism(20.0),
        prv.LaplaceMechanism(0.02),
    ]
    counts = [count, 3, 5]
    accountant = prv.PRVAccountant(
        mechanisms, eps_error=0.02, delta_error=1e-9, max_self_compositions=counts
    )
    low, _, high = accountant.compute_epsilon(1e-6, counts)
    event = from_mechanisms(mechanisms, counts, adjacency=ADD)
    above = rdpkit.epsilon(event, delta=1e-6, adjacency=ADD).epsilon
    below = rdpkit.lower_bound(event, delta=1e-6, adjacency=ADD)[0].epsilon
    assert low <= above * 1.001
    assert below <= high * 1.001


def test_numbers_of_autodp():
    zoo = pytest.importorskip("autodp.mechanism_zoo", reason="autodp is not installed")
    from autodp import transformer_zoo

    sample = transformer_zoo.AmplificationBySampling(PoissonSampling=True)
    sampled = sample(zoo.ExactGaussianMechanism(sigma=1.1), 0.01, improved_bound_flag=True)
    mechanisms, counts = [sampled, zoo.LaplaceMechanism(b=50.0)], [1000, 3]
    composed = transformer_zoo.Composition()(mechanisms, counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = float(composed.get_approxDP(1e-5))
    event = from_mechanisms(mechanisms, counts, adjacency=ADD)
    # Theirs is a bound by Renyi divergences.
    found = rdpkit.epsilon(event, delta=1e-5, adjacency=ADD).epsilon
    assert 0.7 * theirs < found <= theirs
    with pytest.raises(UnconvertibleEventError, match="forgets its counts"):
        from_mechanisms(composed, adjacency=ADD)
