"""Whether a training does what its accountant was told: the step, the sampler, the run."""
