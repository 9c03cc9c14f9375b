"""Trade-off curves and mu of gdpnum, from coarse grids to fine ones.

Run it in an environment of its own with gdpnum: ``python tests/oracles/tradeoff_peers.py``.

For grids of dp-accounting's loss distributions it prints the false negative rate at three false
positive rates, mu and regret by gdpnum 0.1.2, and what the masses of the addition add up to. The
numbers on the page "Trade-off curves" were made with dp-accounting 0.6.0; gdpnum's mu is the
largest over false positive and negative rates above 1e-10. riskcal 1.5.1 prints the same rates.
"""

import numpy as np

RATES = np.array([1e-5, 0.01, 0.5])
SETTINGS = [(0.01, 1.0, 100), (0.01, 1.0, 1000), (0.04, 1.5, 2249), (256 / 60000, 1.0, 10_000)]
GRIDS = (1e-3, 1e-4, 1e-5)


if __name__ == "__main__":
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
    from gdpnum import PLDConverter

    for q, z, steps in SETTINGS:
        for grid in GRIDS:
            losses = from_gaussian_mechanism(
                standard_deviation=z, sampling_prob=q, value_discretization_interval=grid
            ).self_compose(steps)
            found = PLDConverter(losses)
            mu, regret = found.get_mu_and_regret()
            total = losses._pmf_add.to_dense_pmf()._probs.sum()
            print(
                f"{q} {z} {steps} {grid} {found.get_beta(RATES)}",
                f"mu {mu:.6f} regret {regret:.6f} sum {total:.6f}",
            )
