import numpy as np
import pytest

from rdpkit.mechanisms.data.celeba import load_celeba

Image = pytest.importorskip("PIL.Image", reason="Pillow decodes CelebA's images")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "img_align_celeba").mkdir()
    lines, parts = ["6", "Bald Male"], []
    for i in range(6):
        name = f"{i + 1:06d}.png"
        pixels = np.full((20, 16, 3), 40 * i, np.uint8)
        Image.fromarray(pixels).save(tmp_path / "img_align_celeba" / name)
        lines.append(f"{name}  -1  {1 if i % 2 else -1}")
        parts.append(f"{name} {(0, 0, 0, 1, 2, 2)[i]}")
    (tmp_path / "list_attr_celeba.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "list_eval_partition.txt").write_text("\n".join(parts) + "\n")
    return tmp_path


def test_parts_labels_and_pixels(folder):
    seen = []
    data = load_celeba(folder, side=4, progress=lambda done, total: seen.append((done, total)))
    assert data.train_features.shape == (3, 48)
    np.testing.assert_array_equal(data.train_features[:, 0], [0, 40, 80])
    np.testing.assert_array_equal(data.train_labels, [0, 1, 0])
    np.testing.assert_array_equal(data.test_labels, [0, 1])
    assert data.classes == ("not Male", "Male")
    assert seen[-1] == (5, 5)


def test_errors_name_file_and_line(folder):
    with pytest.raises(ValueError, match="Expected attribute to be one of 'Bald', 'Male'"):
        load_celeba(folder, attribute="Female")
    attributes = folder / "list_attr_celeba.txt"
    text = attributes.read_text()
    attributes.write_text("\n".join(text.splitlines()[:-1]))
    with pytest.raises(ValueError, match="truncated: expected 6 images, got 5"):
        load_celeba(folder)
    attributes.write_text(text.replace("000002.png  -1  1", "000002.png  -1"))
    with pytest.raises(ValueError, match="line 4: expected a file name and 2 values"):
        load_celeba(folder)


def test_a_truncated_image_is_an_error(folder):
    path = folder / "img_align_celeba" / "000002.png"
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(ValueError, match=r"000002\.png: the image is truncated or corrupted"):
        load_celeba(folder)


def test_names_do_not_lead_out_of_the_folder(folder):
    for name in ("list_attr_celeba.txt", "list_eval_partition.txt"):
        path = folder / name
        path.write_text(path.read_text().replace("000001.png", "../secret.png"))
    with pytest.raises(ValueError, match="expected the name of a file in img_align_celeba"):
        load_celeba(folder)
