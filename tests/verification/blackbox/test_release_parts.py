"""What a release may be made of, and how it is taken apart."""

import collections
import dataclasses
import datetime
import enum
import typing
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from rdpkit.verification.blackbox.release_parts import MechanismError, digest, take_apart
from tests.processes import loaded, printed


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Named(typing.NamedTuple):
    mean: float
    label: str


@dataclasses.dataclass
class Fitted:
    weights: np.ndarray
    step: int


def found(release, points=None):
    return {
        part.path: part.values.tolist() for part in take_apart(release, points) if not part.is_order
    }


def kinds(release):
    return [part.is_number for part in take_apart(release)]


@pytest.mark.parametrize("value", ["flu", "", b"flu", None, Colour.RED, datetime.date(2020, 1, 1)])
def test_categories(value):
    (part,) = take_apart(value)
    assert not part.is_number
    assert 0 <= part.values < 2**53
    assert part.values == int(part.values)
    assert take_apart(value)[0].values == part.values


def test_categories_differ():
    values = ["flu", "Flu", "", b"flu", None, "None", Colour.RED, Colour.BLUE, "\ud800"]
    assert len({float(take_apart(value)[0].values) for value in values}) == len(values)


def test_codes_are_the_same_in_every_process():
    code = (
        "from rdpkit.verification.blackbox.release_parts import take_apart\n"
        "print(int(take_apart('flu')[0].values))"
    )
    seen = {printed(code, PYTHONHASHSEED=seed) for seed in ("1", "2")}
    assert seen == {f"{int(take_apart('flu')[0].values)}\n"}


@pytest.mark.parametrize("value", [3, 2.5, True, Fraction(1, 2), Decimal("1.5"), np.float32(0.5)])
def test_single_numbers(value):
    assert found(value) == {"": float(value)}
    assert kinds(value) == [True]


def test_containers():
    release = {"b": (1.0, [2, 3]), "a": Named(mean=4.0, label="x"), 3: Fitted(np.ones(2), 5)}
    assert list(found(release)) == [
        "[3].weights",
        "[3].step",
        "['a'].mean",
        "['a'].label",
        "['b'][0]",
        "['b'][1]",
    ]
    assert found(Fitted(np.ones(2), 5)) == {"weights": [1.0, 1.0], "step": 5.0}
    assert found({"x": [[1.0], [1.0, 2.0]]}) == {"['x'][0]": [1.0], "['x'][1]": [1.0, 2.0]}


def test_keys_are_sorted_by_their_text():
    one, two = {"b": 1.0, "a": 2.0}, {"a": 2.0, "b": 1.0}
    assert found(one) == found(two)
    assert list(found(collections.Counter([10, 9, 9]))) == ["[10]", "[9]"]
    # A key of another type is another key, even if it is shown alike.
    assert list(found({1: 1.0, "1": 2.0})) == ["[1]", "['1']"]


def test_the_order_of_keys_is_an_output():
    one, two = {"b": 1.0, "a": 2.0}, {"a": 2.0, "b": 1.0}
    assert digest(take_apart(one)) != digest(take_apart(two))
    assert [part.is_order for part in take_apart(one)] == [False, False, True]
    assert sum(part.values.size for part in take_apart(one)) == 2


@pytest.mark.parametrize(
    ("release", "values", "kinds_of_numbers"),
    [
        (np.array([1.0, np.nan]), [1.0, 0.0], [0.0, 1.0]),
        (np.array([np.inf]), [0.0], [2.0]),
        (float("nan"), 0.0, 1.0),
        ([1.0, -np.inf], [1.0, 0.0], [0.0, 3.0]),
    ],
)
def test_what_is_no_number_is_a_category(release, values, kinds_of_numbers):
    numbers, which = take_apart(release)
    assert (numbers.values.tolist(), which.values.tolist()) == (values, kinds_of_numbers)
    assert (numbers.is_number, which.is_number) == (True, False)
    assert which.exceptional


def test_a_set_says_what_is_in_it():
    assert found({"flu", "cold"}) == {"['cold']": 1.0, "['flu']": 1.0}


def test_lists_and_arrays_of_strings():
    listed, array = (take_apart(one)[0] for one in (["a", None, "b"], np.array(["a", "b"])))
    assert (listed.is_number, array.is_number) == (False, False)
    assert array.values.tolist() == listed.values[[0, 2]].tolist()
    assert np.array_equal(take_apart(np.array(["a", "b"], dtype=object))[0].values, array.values)
    assert kinds(["a", 1.5]) == [False, True]
    assert found(np.array([1, 2.5], dtype=object)) == {"": [1.0, 2.5]}
    assert kinds(np.array(["2020-01-01"], dtype="datetime64[D]")) == [False]


@pytest.mark.parametrize(
    ("release", "message"),
    [
        (np.array([1j]), "returned complex128"),
        (3j, "returned complex"),
        (object(), "returned object; a release is made of .* an attribute summary"),
        ({"x": object()}, r"returned object at \['x'\]"),
        (np.array([object()]), "returned an array of objects"),
        (dict, "returned type"),
        ((value for value in (1, 2)), "returned generator"),
    ],
)
def test_what_is_no_release(release, message):
    with pytest.raises(MechanismError, match=message):
        take_apart(release)


def test_digests_see_every_bit():
    ones = [0.1, 0.1 + 2**-56, "0.1", [0.1], (0.1,), {"": 0.1}, 0.0, -0.0, None]
    assert len({digest(take_apart(one)) for one in ones}) == len(ones)


def test_sparse_matrices():
    sparse = pytest.importorskip("scipy.sparse")
    assert found(sparse.csr_array(np.eye(2))) == {"": [[1.0, 0.0], [0.0, 1.0]]}
    assert found({"x": sparse.coo_matrix(np.eye(1))}) == {"['x']": [[1.0]]}


def test_tensors():
    torch = pytest.importorskip("torch")
    with_gradient = torch.tensor([1.5, 2.0], requires_grad=True) * 2
    assert found(with_gradient) == {"": [3.0, 4.0]}
    assert found(torch.tensor([1.5], dtype=torch.bfloat16)) == {"": [1.5]}
    assert found(torch.tensor([[1, 2]], dtype=torch.int32)) == {"": [[1.0, 2.0]]}
    assert found(torch.eye(2).to_sparse()) == {"": [[1.0, 0.0], [0.0, 1.0]]}
    assert found([torch.zeros(1), torch.ones(1)]) == {"[0]": [0.0], "[1]": [1.0]}
    assert found(torch.tensor([float("nan")])) == {"": [0.0], " (not finite)": [1.0]}
    with pytest.raises(MechanismError, match="returned complex64"):
        take_apart(torch.zeros(1, dtype=torch.complex64))


def test_state_dicts_and_modules():
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.BatchNorm1d(1))
    state = found(model.state_dict())
    assert state["['0.weight']"] == model[0].weight.tolist()
    assert not any(part.loose for part in take_apart(model.state_dict()))
    points = np.array([[1.0, 2.0], [0.0, 1.0]])
    parts = found(model, points)
    assert parts["parameters['0.bias']"] == model[0].bias.tolist()
    model.train()
    again = found(model, points)
    # It is asked as it would be used, so that one record does not change another's answer.
    assert again["outputs"] == parts["outputs"]
    assert model.training
    model.eval()
    expected = model(torch.tensor(points, dtype=torch.float32)).tolist()
    assert again["outputs"] == expected


def test_a_module_that_cannot_be_asked_has_its_parameters():
    torch = pytest.importorskip("torch")
    parts = found(torch.nn.Conv2d(1, 1, 3), np.zeros((2, 5)))
    assert list(parts) == ["parameters['bias']", "parameters['weight']"]


def test_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    tree = pytest.importorskip("sklearn.tree")
    x, y = np.array([[0.0], [1.0], [2.0]]), np.array(["a", "b", "b"])
    model = linear_model.LogisticRegression().fit(x, y)
    parts = found(model, x)
    assert parts["coef_"] == model.coef_.tolist()
    assert parts["outputs"] == model.decision_function(x).tolist()
    other = tree.DecisionTreeClassifier(random_state=1).fit(x, y)
    assert found(other, x)["outputs"] == other.predict_proba(x).tolist()
    regression = linear_model.LinearRegression().fit(x, [1.0, 2.0, 3.0])
    assert found(regression, x)["outputs"] == pytest.approx([1.0, 2.0, 3.0])


def test_models_of_other_libraries():
    class Own:
        def predict(self, points):
            return points.sum(axis=1)

    class Keras:
        def get_weights(self):
            return [np.ones(2), np.zeros(1)]

        def __call__(self, points):
            return points @ np.ones(2)

    points = np.array([[1.0, 2.0]])
    assert found(Own(), points) == {"outputs": [3.0]}
    assert found(Keras(), points) == {
        "parameters[0]": [1.0, 1.0],
        "parameters[1]": [0.0],
        "outputs": [3.0],
    }
    assert found(lambda points: points[:, 0], points) == {"outputs": [1.0]}

    class Broken:
        def predict(self, points):
            raise ValueError("no such shape")

    with pytest.raises(MechanismError, match=r"Broken, which raised ValueError .*no such shape"):
        take_apart(Broken(), points)


class Column:
    """As much of a pandas column as is used."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.dtype = self.values.dtype

    def to_numpy(self):
        return self.values


class Frame:
    """As much of a polars data frame as is used."""

    def __init__(self, **columns):
        self.made = columns
        self.columns = list(columns)
        self.dtypes = [None] * len(columns)
        self.shape = (2, len(columns))

    def to_series(self, place):
        return Column(self.made[self.columns[place]])


def test_data_frames_by_what_they_can_do():
    parts = take_apart(Frame(age=[30, 40], name=["x", "y"]))
    assert [(part.path, part.is_number) for part in parts] == [
        ("['age']", True),
        ("['name']", False),
    ]
    assert parts[0].values.tolist() == [30.0, 40.0]


def test_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [30, 40], "name": ["x", None]})
    frame["kind"] = pandas.Categorical(["a", "b"])
    frame["count"] = pandas.array([1, 2], dtype="Int64")
    assert [(part.path, part.is_number) for part in take_apart(frame)] == [
        ("['age']", True),
        ("['name']", False),
        ("['kind']", False),
        ("['count']", True),
    ]
    assert found(frame)["['count']"] == [1.0, 2.0]
    frame["count"] = pandas.array([1, None], dtype="Int64")
    assert found(frame)["['count'] (not finite)"] == [0.0, 1.0]
    assert found(pandas.Series(["a", "a", "b"]).value_counts()) == {"['a']": 2.0, "['b']": 1.0}
    assert found(pandas.Series([1.0, 2.0])) == {"": [1.0, 2.0]}
    twice = pandas.DataFrame([[1.0, 2.0]], columns=["x", "x"], index=["row"])
    assert [part.path for part in take_apart(twice)] == ["index", "['x']", "['x']"]


def test_nothing_is_imported_for_releases_of_plain_kinds():
    found = loaded(
        "from rdpkit.verification.blackbox.encoding import layout_of\n"
        "from rdpkit.verification.blackbox.release_parts import take_apart\n"
        "take_apart({'x': [1.0, 'a', None]})"
    )
    assert not found & {"torch", "pandas", "sklearn"}
