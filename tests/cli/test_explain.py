"""`softpolytope explain`: words and JSON about models and rows."""

import json

import pytest
from tables import FEATURES, customers, fitted, raw_row, write_csv

from softpolytope import SoftplusClassifier, TableClassifier
from softpolytope.cli import main


@pytest.fixture
def files(tmp_path):
    """A model and a table."""
    fitted().save(tmp_path / "m")
    return str(tmp_path / "m"), str(write_csv(tmp_path / "data.csv", customers()))


def test_a_model_in_words(files, capsys):
    """Without rows, its half-spaces, in the names of the columns."""
    assert main(["explain", files[0]]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Class 'yes', labeling 0.")
    assert "income" in printed
    assert "Row" not in printed


def test_rows_in_words(files, capsys):
    """Probabilities, votes, and what would change the decision, with the line of the file."""
    assert main(["explain", *files, "--rows", "0,5", "--counterfactual"]) == 0
    printed = capsys.readouterr().out
    assert "data.csv, line 2): P(no) = " in printed
    assert "data.csv, line 7): P(no) = " in printed
    assert printed.count("It would be ") == 2
    assert "expert" in printed
    assert "limit reached if" in printed


def test_rows_as_json(files, capsys):
    """The same for machines; a changed row is decided as it says."""
    assert main(["explain", *files, "--rows", "3", "--counterfactual", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["columns"] == list(fitted().feature_names_)
    (row,) = document["rows"]
    assert row["row"] == 3
    assert sum(row["probabilities"].values()) == pytest.approx(1.0)
    assert row["counterfactual"]["found"]
    assert row["counterfactual"]["prediction"] != row["prediction"]
    assert {"expert", "share", "votes_yes", "feature"} <= set(row["votes"][0])
    assert document["polytopes"][0]["experts"][0]["in_words"].startswith("Expert")


def test_no_change_is_a_negative_answer(tmp_path, capsys):
    """Exit code 1 where no change of prediction was found."""
    table = {"c": ["p", "q"] * 30, "y": ["a"] * 57 + ["b"] * 3}
    TableClassifier(SoftplusClassifier(random_state=0)).fit(table, "y").save(tmp_path / "m")
    (tmp_path / "d.csv").write_text("c\np\n")
    assert main(["explain", str(tmp_path / "m"), str(tmp_path / "d.csv"), "--counterfactual"]) == 1
    assert "no change of prediction was found" in capsys.readouterr().out


def test_wrong_use(files, capsys):
    """Rows that are not there, rows without a table, no numbers."""
    assert main(["explain", *files, "--rows", "500"]) == 2
    assert "has no row 500: it has the rows 0 to 119" in capsys.readouterr().err
    assert main(["explain", files[0], "--rows", "1"]) == 2
    assert "Name its file after the model" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["explain", *files, "--rows", "-1,x"])
    assert stop.value.code == 2


def test_unknown_categories_are_noted(files, tmp_path, capsys):
    """Once a row, however often it is asked for; rows may be named one by one."""
    rows = [list(row) for row in customers()]
    rows[1][3], rows[2][3] = "pink", "violet"
    table = str(write_csv(tmp_path / "new.csv", rows))
    assert main(["explain", files[0], table, "--rows", "1,0", "--rows", "1", "--json"]) == 0
    printed = capsys.readouterr()
    assert [row["row"] for row in json.loads(printed.out)["rows"]] == [1, 0, 1]
    assert printed.err.count("note: 1 row has a value of 'color' that training did not have ('pink' at ") == 1


def test_the_table_may_come_after_options(files, capsys):
    """As in `explain model --counterfactual data.csv`."""
    assert main(["explain", files[0], "--rows", "1", "--json", files[1]]) == 0
    assert [row["row"] for row in json.loads(capsys.readouterr().out)["rows"]] == [1]


@pytest.mark.parametrize("fixed", [["income"], ["age", "income", "children"]])
def test_fixed_columns_stay(files, capsys, fixed):
    """Numbers, named one by one or together; categories change where no number may. Changed rows are decided so."""
    options = ["--rows", "0,1,2,3", "--counterfactual", "--json"]
    main(["explain", *files, *options])
    free = [row["counterfactual"] for row in json.loads(capsys.readouterr().out)["rows"]]
    assert any(change["column"] in fixed for row in free for change in row["changes"])  # else this tests nothing
    main(["explain", *files, *options, "--fixed", ",".join(fixed[:2]), *(f"--fixed={name}" for name in fixed[2:])])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert any(row["counterfactual"]["found"] for row in rows)
    for number, row in enumerate(rows):
        found = row["counterfactual"]
        assert found["fixed"] == fixed
        changed = {change["column"]: change["to"] for change in found["changes"]}
        assert set(fixed).isdisjoint(changed)
        if found["found"]:
            assert found["distance"] >= free[number]["distance"] * (1.0 - 1e-9)
            cells = raw_row(customers()[number]) | changed
            assert fitted().predict({name: [cell] for name, cell in cells.items()}).tolist() == [found["prediction"]]


def test_all_columns_may_be_fixed(files, capsys):
    """Then there is no other decision, which is a negative answer; the category stays too."""
    options = ["--rows", "0,1,2,3,4,5,6,7,8,9", "--counterfactual", "--fixed", ",".join(FEATURES)]
    assert main(["explain", *files, *options]) == 1
    printed = capsys.readouterr().out
    assert printed.count("of the training rows with age, income, color, children unchanged.") == 10


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--counterfactual", "--fixed", "ages"],
            "column 'ages' cannot be fixed: the model has no such column",
        ),
        (["--fixed", "age"], "--fixed restricts the change that --counterfactual finds. Add --counterfactual"),
    ],
)
def test_wrong_use_of_fixed(files, capsys, more, message):
    """A name that the model does not have, or nothing to fix it for."""
    assert main(["explain", *files, *more]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
