import pytest
import torch

from rdpkit.mechanisms.models import MODELS, build_model
from rdpkit.mechanisms.models.classifiers import ConvNet


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("channels", "size"), [(1, 28), (3, 32), (3, (36, 40))])
def test_every_model_maps_images_to_logits_that_depend_on_them(name, channels, size):
    model = build_model(name, channels, size, 7).eval()
    height, width = (size, size) if isinstance(size, int) else size
    with torch.no_grad():
        logits = model(torch.randn(2, channels, height, width))
    assert logits.shape == (2, 7)
    assert not torch.equal(logits[0], logits[1])


# Weights and biases, counted by hand from the layers that the papers list.
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        # 832 + 64, 18496 + 128, 313700, 10100, 1010 (DP-CDA, Table 1)
        ("dpcda-cnn", 344_330),
        # 832, 38448, 76900, 10100, 1010 (thesis, Table 4.1)
        ("thesis-cnn", 127_290),
        # 1280 + 256, 2 (147584 + 256), 20490 (three blocks of 128, 4 x 4 left)
        ("convnet", 317_706),
        ("mlp", 118_282),
        ("lenet", 61_706),
    ],
)
def test_sizes_are_those_of_the_papers(name, parameters):
    model = build_model(name, 1, 28, 10)
    assert sum(p.numel() for p in model.parameters()) == parameters


@pytest.mark.parametrize("name", ["convnet", "alexnet", "vgg11", "resnet18"])
def test_a_record_is_seen_on_its_own(name):
    torch.manual_seed(0)
    model = build_model(name, 1, 28, 10).train()
    images = torch.randn(4, 1, 28, 28)
    with torch.no_grad():
        together, alone = model(images)[:1], model(images[:1])
    # The same sums in another order: float32 rounding over some thousands of terms.
    torch.testing.assert_close(together, alone, rtol=1e-3, atol=1e-3)


def test_convnet_hands_out_its_representation():
    model = ConvNet(channels=1, size=8, classes=3, width=5, depth=2)
    images = torch.randn(2, 1, 8, 8)
    assert model.embed(images).shape == (2, model.embedding_size)
    torch.testing.assert_close(model.classifier(model.embed(images)), model(images))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("vgg", 1, 28, 10), "Expected model to be one of 'dpcda-cnn'"),
        (("vgg11", 1, 27, 10), "Expected size to be at least 28 for 'vgg11', got 27"),
        (("convnet", 1, 7, 10), "Expected size to be at least 8 for 'convnet'"),
        (("resnet18", 3, (8, 32), 10), "Expected size to be at least 9 for 'resnet18'"),
        (("mlp", 0, 28, 10), "Expected channels"),
        (("mlp", 1, 28, 1), "Expected classes"),
        (("mlp", 1, (1, 2, 3), 2), r"Expected size to be one integer or \(height, width\)"),
    ],
)
def test_bad_arguments_are_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        build_model(*arguments)


@pytest.mark.parametrize("name", MODELS)
def test_the_smallest_size_works_and_one_less_does_not(name):
    for channels in (1, 3):
        smallest = next(s for s in range(1, 40) if _builds(name, channels, s))
        model = build_model(name, channels, smallest, 3).eval()
        with torch.no_grad():
            logits = model(torch.randn(2, channels, smallest, smallest))
        assert torch.isfinite(logits).all()
        assert not torch.equal(logits[0], logits[1])


def _builds(name: str, channels: int, size: int) -> bool:
    try:
        build_model(name, channels, size, 3)
    except ValueError:
        return False
    return True
