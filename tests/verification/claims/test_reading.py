"""The format of claims and works: one error a mistake, with file, claim, key and value."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from decimal import Decimal

import jsonschema
import pytest

from rdpkit import Adjacency, Gaussian
from rdpkit.verification.auditing.cache import AuditCache
from rdpkit.verification.auditing.verdict import audit_one
from rdpkit.verification.claims.claim import Work
from rdpkit.verification.claims.format import KINDS, WORK_KEYS
from rdpkit.verification.claims.reading import UNMODELLED, load_files, loads, shipped_files
from rdpkit.verification.claims.schema import claims_schema
from tests.verification.claim_files import PARAMETERS, SCENARIO, text

ADD = Adjacency.ADD_OR_REMOVE_ONE


def error(content, **options):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        loads(content, **options)
    return str(caught.value)


def test_a_claim_as_it_is_read():
    (claim,) = loads(text(order="4", bound='"gaussian"', conversion='"optimal"', notes='["n"]'))
    assert claim.event == Gaussian(noise_std=5.0, record_norm=1.0)
    assert (claim.id, claim.source) == ("a", "a paper, Table 1")
    assert (claim.adjacency, claim.delta, claim.order) == (ADD, 1e-5, 4.0)
    assert (claim.bound, claim.conversion, claim.notes) == ("gaussian", "optimal", ("n",))
    assert claim.missing == claim.scenarios == ()


@pytest.mark.parametrize("printed", ["1.10", "1", "0.5764", "3535.17", "1.100", "inf", "0", "1e2"])
def test_the_printed_digits_are_kept(printed):
    (claim,) = loads(text(epsilon=printed))
    assert claim.epsilon.as_tuple() == Decimal(printed).as_tuple()


def test_bytes_and_text_and_line_ends_are_the_same():
    assert loads(text()) == loads(text().encode()) == loads(text().replace("\n", "\r\n"))


def test_a_claim_about_one_order_needs_no_delta():
    (claim,) = loads(text(order="4", delta=None))
    assert (claim.order, claim.delta) == (4.0, None)


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        *((key, "'  '", "a non-empty string, got '  '") for key in ("source", "bound")),
        *((key, None, "a non-empty string, got None") for key in ("id", "source", "mechanism")),
        ("mechanism", "'Gaussian'", "'unmodelled', got 'Gaussian'"),
        ("adjacency", None, "one of 'add_or_remove_one', 'replace_one', 'zero_out', got None"),
        ("adjacency", "1979-05-27", "'zero_out', got datetime.date(1979, 5, 27)"),
        *(
            ("epsilon", value, f"a number >= 0, got {shown}")
            for value, shown in (("nan", "NaN"), ("-inf", "-Infinity"), ("true", "True"))
        ),
        *(
            ("epsilon", v, "between 1e-300 and 1e300")
            for v in ("1e400", "1e-400", "1e-99999999", "0e-500", "1." + "0" * 500)
        ),
        *(("delta", v, "in [0, 1)") for v in ("-1e-9", "1.0", "nan", "true", "[1e-5]", "1e400")),
        *(("order", v, "> 1 and finite") for v in ("1", "inf", "nan", "1e400", "true")),
        ("conversion", "['optimal']", "'optimal', got ['optimal']"),
        ("notes", "['x', 1]", "a list of strings, got ['x', 1]"),
        ("scenario", "[1]", "a list of tables, [[claim.scenario]]"),
    ],
)
def test_a_wrong_value_is_named_with_file_claim_key_and_what_is_accepted(key, value, accepted):
    message = error(text(**{key: value}), origin="some/file.toml")
    assert re.match(r"some/file.toml:\d+: claim ", message)
    assert ("claim 'a': " in message) or key == "id"
    assert f"xpected {key} " in message
    assert accepted in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected at least one [[claim]]"),
        ("[claim]\nid = 'a'", "expected at least one [[claim]]"),
        ("claim = [1]", "claim 1: expected a table, [[claim]]"),
        ("title = 'x'\n" + text(), "a claims file holds [work] and [[claim]] only"),
        (text() + "[other]\n", "unknown key 'other'"),
        (text() + text(), "claim 'a': expected id to be unique"),
        (text(epsilom="1"), "claim 'a': unknown key 'epsilom'; accepted are id, source, "),
        (text(epsilom="1"), "notes, release, certificate, code, training. Did you mean 'epsilon'?"),
        (text(conversion='"balle2002"'), "got 'balle2002'. Did you mean 'balle2020'?"),
        (text(id=None), "claim 1: expected id to be a non-empty string"),
        (text(id='"b"') + text(id=None), "claim 2: expected id to be a non-empty string"),
        (text(parameters="1"), "expected parameters to be a table, [claim.parameters]"),
        (text(delta=None), "claim 'a': expected delta in [0, 1), or order > 1"),
        (text(parameters=None), "claim 'a': Mechanism 'gaussian' needs the parameters 'noise_std'"),
        (text(parameters={"noise_std": "1"}), "needs the parameter 'record_norm' (a number)"),
        (text(parameters={**PARAMETERS, "sigma": "1"}), "claim 'a': Unknown parameter 'sigma'"),
        (text(parameters={**PARAMETERS, "noise_std": "1e400"}), "noise_std to be a finite"),
        (text(parameters={**PARAMETERS, "noise_std": "1979-05-27"}), "got datetime.date"),
        (text(after=SCENARIO), "scenarios are for claims that list what is missing"),
        ("claim = " + "[" * 5000, "not a TOML file"),
        (text(epsilon="1" + "0" * 5000), "not a TOML file"),
        (b"\xff\xfe", "not a TOML file: 'utf-8' codec can't decode"),
        (text() + "\0", "not a TOML file"),
    ],
)
def test_a_file_that_does_not_follow_the_format(content, message):
    found = error(content, origin="f.toml")
    assert found.startswith("f.toml:")
    assert message in found
    assert "\n" not in found


def test_what_a_paper_leaves_out_is_listed_and_may_be_completed():
    after = SCENARIO + "delta = 1e-6\n[claim.scenario.parameters]\nrecord_norm = 2.0\n"
    (claim,) = loads(
        text(missing='["the norm"]', parameters={"noise_std": "5.0"}, after=after, epsilon=None)
    )
    assert (claim.missing, claim.epsilon, claim.event) == (("the norm",), None, None)
    (scenario,) = claim.scenarios
    assert scenario.description == "as elsewhere"
    assert scenario.event == Gaussian(noise_std=5.0, record_norm=2.0)
    assert scenario.delta == 1e-6


def test_a_scenario_takes_what_the_claim_says_and_may_overrule_it():
    after = SCENARIO + "[claim.scenario.parameters]\nnoise_std = 7.0\n"
    (claim,) = loads(text(missing='["x"]', after=after))
    (scenario,) = claim.scenarios
    assert scenario.event == Gaussian(noise_std=7.0, record_norm=1.0)
    assert scenario.delta == claim.delta == 1e-5


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("[[claim.scenario]]\n", "expected description to be a non-empty string, got None"),
        (SCENARIO + "epsilon = 1\n", "unknown key 'epsilon'; accepted are description, parameters"),
        (SCENARIO + "delta = 1\n", "expected delta in [0, 1), got 1"),
        (SCENARIO + "parameters = 1\n", "expected parameters to be a table, [claim.scenario"),
        (SCENARIO + "[claim.scenario.parameters]\nsigma = 1\n", "Unknown parameter 'sigma'"),
        (SCENARIO + "[claim.scenario.parameters]\nnoise_std = 0\n", "Expected noise_std to be"),
    ],
)
def test_scenarios_are_as_strict_as_claims(scenario, message):
    found = error(text(missing='["x"]', after=scenario))
    assert re.match(r"<claims>:\d+: claim 'a': ", found)
    assert message in found


def test_a_scenario_must_complete_the_parameters():
    message = error(text(missing='["x"]', parameters={"noise_std": "5.0"}, after=SCENARIO))
    assert "needs the parameter 'record_norm'" in message


def test_what_the_library_does_not_model_is_a_claim_all_the_same():
    (claim,) = loads(text(mechanism=f"'{UNMODELLED}'", parameters=None, missing='["sigma"]'))
    assert (claim.event, claim.missing, claim.epsilon) == (None, ("sigma",), Decimal("1.10"))
    wrong = "lists what is missing, and has neither parameters nor scenarios"
    for changes in ({}, {"missing": "['x']", "after": SCENARIO}):
        assert wrong in error(text(mechanism="'unmodelled'", parameters=None, **changes))
    assert wrong in error(text(mechanism="'unmodelled'", missing="['x']"))


def test_files_are_named_and_ids_are_unique_over_all_of_them(tmp_path):
    one, two = tmp_path / "one.toml", tmp_path / "two \u00e9.toml"
    one.write_text(text())
    two.write_text(text(id='"\u4e2d"'), encoding="utf-8")
    claims = load_files([one, str(two)])
    assert [claim.id for claim in claims] == ["a", "\u4e2d"]
    assert [claim.origin for claim in claims] == [str(one), str(two)]
    two.write_text(text())
    with pytest.raises(ValueError, match="claim 'a': expected id to be unique, but") as caught:
        load_files([one, two])
    assert str(one) in str(caught.value)
    assert str(caught.value).startswith(str(two))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_files([tmp_path / "missing.toml"])
    with pytest.raises(IsADirectoryError):
        load_files([tmp_path])


def test_mistakes_come_in_the_order_of_the_files(tmp_path):
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    with pytest.raises(ValueError, match=r"z\.toml") as caught:
        load_files([tmp_path / "z.toml", empty, tmp_path / "a.toml"])
    for line, name in zip(str(caught.value).splitlines(), ("z", "empty", "a"), strict=True):
        assert f"{name}.toml" in line


@pytest.mark.parametrize("wrong", [{"sigma": "1"}, {"noise_std": "'x'"}, {"noise_std": "-1.0"}])
def test_parameters_beside_a_list_of_what_is_missing_are_checked_too(wrong):
    assert "claim 'a'" in error(text(missing='["the norm"]', parameters=wrong))


def test_a_scenario_without_a_delta_is_refused():
    assert "delta" in error(text(missing='["delta"]', delta=None, after=SCENARIO))


DEEP = "".join(
    f"[claim.parameters{'.event' * depth}]\nmechanism = 'repeated'\ncount = 1\n"
    for depth in range(1, 400)
)
FAR = "9" * 20


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(text(epsilon=f"1e{FAR}"), id="exponent"),
        pytest.param(text(delta=f"1e-{FAR}"), id="negative exponent"),
        pytest.param(
            text(mechanism="'repeated'", parameters={"count": "1"}, after=DEEP), id="deep tables"
        ),
    ],
)
def test_hostile_files_are_one_error_that_names_the_file(content):
    assert error(content, origin="f.toml").startswith("f.toml:")


READS = {"reads": '"one"', "reading": '"as the code does"'}


def two(epsilon, **more):
    one = text(id='"one"', epsilon="1", reading='"as it is printed"')
    return one + text(id='"two"', adjacency='"replace_one"', epsilon=epsilon, **more)


def test_a_claim_may_read_the_number_of_another():
    first, second = loads(two("1", **READS))
    assert (first.reads, second.reads, second.reading) == (None, "one", "as the code does")


@pytest.mark.parametrize(
    ("epsilon", "more", "words"),
    [
        ("2", READS, "to be a claim of the same number"),
        ("1", {**READS, "reads": '"three"'}, "to be the id of a claim of this file"),
        ("1", {**READS, "reads": '"two"'}, "to be a claim that reads no other"),
        ("1", {"reads": '"one"'}, "expected both claims to have a reading"),
    ],
)
def test_what_a_reading_cannot_be_is_named(epsilon, more, words):
    with pytest.raises(ValueError, match=words) as error:
        loads(two(epsilon, **more))
    assert "claim 'two'" in str(error.value)


SEVERAL = """titel = "x"
[[claim]]
id = "a"
source = "s"
mechanism = "gaussian"
adjacency = "add-or-remove-one"
epsilom = 2
delta = 1.5
[claim.parameters]
noise_std = -1
record_norm = 0

[[claim]]
source = "s"
notes = ['''
[[claim]]
delta = 3
''']
mechanism = "gausian"
adjacency = "add-or-remove-one"
epsilon = 2
delta = 1e-5

[[claim]]
id = "a"
source = "s"
mechanism = "gaussian"
adjacency = "add-or-remove-one"
epsilon = 2
delta = 1e-5
parameters = {noise_std = 1, record_norm = 1}
"""


def test_all_mistakes_are_said_at_once_with_their_lines():
    found = error(SEVERAL, origin="f.toml").splitlines()
    begins = [
        "f.toml: unknown key 'titel'",
        "f.toml:7: claim 'a': unknown key 'epsilom'",
        "f.toml:8: claim 'a': expected delta in [0, 1)",
        "f.toml:10: claim 'a': Expected noise_std to be",
        "f.toml:11: claim 'a': Expected record_norm to be",
        "f.toml:13: claim 2: expected id to be a non-empty string",
        "f.toml:19: claim 2: expected mechanism to be one of",
        "f.toml:25: claim 'a': expected id to be unique",
    ]
    assert [line[: len(begin)] for line, begin in zip(found, begins, strict=True)] == begins


WORK = '[work]\ntitle = "A paper"\nyear = 2016\nkind = "training"\nread = "its abstract"\n'


def test_every_claim_of_the_file_has_its_work():
    first, second = loads(WORK + text() + text(id="'b'", kind="'library'"))
    assert first.work == second.work
    assert first.work == Work(
        title="A paper", year=2016, kind="training", read="its abstract", authors=None, url=None
    )
    assert (first.kind, second.kind) == ("training", "library")


def test_without_a_work_there_is_none_and_a_kind_stands_alone():
    (claim,) = loads(text(kind="'local'"))
    assert (claim.work, claim.kind, claim.unread) == (None, "local", None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("work = 1\n" + text(), "expected work to be a table, [work]"),
        ("[work]\n" + text(), "expected title to be a non-empty string, got None"),
        (WORK + "yaer = 1\n" + text(), "unknown key 'yaer'; accepted are title, authors, year"),
        (WORK.replace("2016", "'2016'") + text(), "expected year to be an integer in [1900, 2200]"),
        (WORK.replace("training", "trainings") + text(), "Did you mean 'training'?"),
        (text(kind="'x'"), "claim 'a': expected kind to be one of 'training', 'library'"),
        (text(unread="''"), "claim 'a': expected unread to be a non-empty string"),
    ],
)
def test_mistakes_are_one_line(content, message):
    with pytest.raises(ValueError, match=r"^f\.toml:") as caught:
        loads(content, origin="f.toml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_claim_that_was_not_read_is_marked_in_what_is_found():
    (claim,) = loads(text(unread="'behind a wall'", notes="['n']"))
    found = audit_one(claim)
    assert found.notes[:2] == ("the source was not read: behind a wall", "n")
    assert found.as_dict()["unread"] == "behind a wall"


def test_plain_values_of_a_finding_say_where_it_was_printed():
    (claim,) = loads(WORK + text())
    keys = ("work", "kind", "year", "url", "authors", "unread")
    found = audit_one(claim).as_dict()
    assert [found[key] for key in keys] == ["A paper", "training", 2016, None, None, None]
    (bare,) = loads(text())
    assert [audit_one(bare).as_dict()[key] for key in keys] == [None] * 6


def test_a_finding_is_kept_without_its_work(tmp_path):
    cache = AuditCache(tmp_path / "cache")
    (with_work,) = loads(WORK + text())
    (without,) = loads(text())
    cache.put(audit_one(without), bounds="all")
    found = cache.get(with_work, bounds="all")
    assert found is not None
    assert found.claim.work is not None


def test_the_schema_knows_the_table():
    schema = claims_schema()
    assert set(schema["properties"]["work"]["properties"]) == set(WORK_KEYS)
    validator = jsonschema.Draft7Validator(schema)
    assert validator.is_valid(tomllib.loads(WORK + text(kind="'model'", unread="'x'")))
    assert not validator.is_valid(tomllib.loads("[work]\n" + text()))
    assert not validator.is_valid(tomllib.loads(text(kind="'x'")))


@pytest.mark.parametrize("quantity", ["rho", "mu", "advantage"])
def test_other_quantities_may_lack_something_too(quantity):
    keys = {quantity: "0.5", "epsilon": None, "delta": None, "missing": "['x']"}
    (claim,) = loads(text(mechanism="'unmodelled'", parameters=None, **keys))
    assert (claim.quantity, claim.missing) == (quantity, ("x",))
    assert audit_one(claim).reproduction.value == "underspecified"


def test_the_papers_claims_name_their_works():
    for path in shipped_files():
        works = {claim.work for claim in loads(path.read_bytes())}
        assert len(works) == 1
        (work,) = works
        assert work is not None
        given = {f.name: getattr(work, f.name) for f in dataclasses.fields(work)}
        assert all(given[name] for name in ("title", "authors", "year", "kind", "read"))
        assert work.kind in KINDS
