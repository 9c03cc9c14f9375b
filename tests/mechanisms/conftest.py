import pytest
import torch

DIGITS = """
title = "Small"
seeds = [0, 1]
[dataset]
name = "digits"
[mechanism]
name = "dpcda"
samples_per_class = 30
order_of_mixture = 16
clip_norm = 1.0
[privacy]
adjacency = "replace_one"
delta = 1e-5
noise = "seeded"
[model]
name = "mlp"
inputs = "standardised"
[training]
epochs = 5
batch_size = 32
[vary]
"privacy.target_epsilon" = [5.0, 50.0]
"""

LONG = """
title = "Long"
seeds = [0]
[dataset]
name = "digits"
[mechanism]
name = "ndpdc"
samples_per_class = 2
group_size = 20.0
iterations = 6
noise_std = 1.0
clip_norm = 1.0
extractor_width = 4
extractor_depth = 2
[privacy]
adjacency = "add_or_remove_one"
delta = 1e-5
noise = "seeded"
[model]
name = "mlp"
[training]
epochs = 1
batch_size = 32
"""


# Without calibration, which takes most of the time, and with little training.
NOISELESS = (
    ("epochs = 5", "epochs = 1"),
    ('name = "dpcda"', 'name = "noiseless-mixing"'),
    ('"privacy.target_epsilon" = [5.0, 50.0]', '"mechanism.order_of_mixture" = [1, 16]'),
    ("order_of_mixture = 16", "order_of_mixture = 8"),
)


def one_target(epsilon, more=""):
    """Changes of the small experiment that leave it one setting."""
    return (
        ('[vary]\n"privacy.target_epsilon" = [5.0, 50.0]', ""),
        ("delta = 1e-5", f"delta = 1e-5\ntarget_epsilon = {epsilon}{more}"),
    )


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def digits(tmp_path):
    """Writes the small experiment, with changes, and returns its path."""

    def write(*changes, name="small.toml"):
        text = DIGITS
        for before, after in changes:
            assert before in text, before
            text = text.replace(before, after)
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@pytest.fixture
def long(tmp_path):
    """The path of an experiment whose mechanism keeps checkpoints."""
    path = tmp_path / "long.toml"
    path.write_text(LONG)
    return path
