"""`softpolytope fit`, as a new user meets it: a table with text, dates and holes, and every way to get it wrong."""

import json

import numpy as np
import pytest
from tables import HEADER, customers, write_csv

from softpolytope import SumSoftplusClassifier, load_model
from softpolytope.cli import main

# Small models: what is tested is the command.
QUICK = ["--classifier", "sum", "--max-experts", "2", "--quiet", "--jobs", "1"]


@pytest.fixture
def table(tmp_path):
    """Customers as a CSV file."""
    return write_csv(tmp_path / "train.csv", customers())


def fit(table, *more):
    """Run the command; returns its exit code and the path of the model."""
    path = table.parent / "model.softpolytope"
    return main(["fit", str(table), "--target", "buys", "-o", str(path), *QUICK, *more]), path


def error_of(capsys):
    """What was told on standard error: one or two lines, no traceback."""
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert told.startswith("softpolytope: ")
    assert told.count("\n") <= 2
    return told


def test_sweeps_of_modes_are_not_ignored_in_silence(table, capsys):
    """One note names the option; the model is that without it. Of chains nothing is said."""
    paths = []
    for more in (["--sweeps", "20"], [], ["--sweeps", "20", "--inference", "gibbs"]):
        assert fit(table, "--drop", "id,when", *more)[0] == 0
        paths.append((table.parent / "model.softpolytope").read_bytes())
        told = capsys.readouterr().err
        assert told.count("--sweeps has no effect") == (more == ["--sweeps", "20"])
        assert "n_sweeps is" not in told
    assert paths[0] == paths[1] != paths[2]


def test_a_new_user_is_led_to_a_model(table, capsys):
    """The messages name what to drop; then there is a comparison and a model that takes raw rows."""
    code, path = fit(table)
    assert code == 2
    assert "Drop it. Option: --drop=id" in error_of(capsys)
    assert fit(table, "--drop", "id")[0] == 2
    assert "Option: --drop=when" in error_of(capsys)
    assert list(table.parent.iterdir()) == [table]
    assert fit(table, "--drop", "id,when")[0] == 0
    printed = capsys.readouterr().out
    assert "120 rows; age, income, color (3 categories), children -> buys: no, yes" in printed
    assert "Fitted to 90 rows, tested on the 30 others" in printed
    assert "Fitted again, to all 120 rows" in printed
    for name in ("majority vote", "logistic regression", "softpolytope"):
        assert any(line.startswith(name) and "%" in line for line in printed.splitlines())
    model = load_model(path)
    assert set(model.held_out_) == {"majority vote", "logistic regression", "softpolytope"}
    assert model.predict({"age": [30.0], "income": [80.0], "color": ["red"], "children": [3]}).tolist() == ["yes"]
    assert np.mean(model.predict(table) == [row[-1] for row in customers()]) > 0.8


def test_test_file_and_json(table, capsys):
    """A test file is never learned from; JSON has the scores; --features takes some columns only."""
    test = write_csv(table.parent / "test.csv", customers(150)[120:])
    code, path = fit(table, "--features", "age,income", "--test", str(test), "--json")
    assert code == 0
    document = json.loads(capsys.readouterr().out)
    assert document["columns"] == ["age", "income"]
    assert document["tested_rows"] == 30
    assert document["rows"] == 120
    model = load_model(path)
    error = np.mean(model.predict(test) != [row[-1] for row in customers(150)[120:]])
    assert document["held_out"]["softpolytope"]["error"] == pytest.approx(error)
    shares = np.mean([row[-1] == "no" for row in customers(150)[120:]])
    assert document["held_out"]["majority vote"]["error"] == pytest.approx(min(shares, 1 - shares))


@pytest.mark.slow
def test_parquet_and_svmlight(table, capsys):
    """The same table as Parquet gives the same model; svmlight needs no target."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    drop = ("--drop", "id,when", "--test-size", "0")
    assert fit(table, *drop)[0] == 0
    expected = (table.parent / "model.softpolytope").read_bytes()
    columns = dict(zip(HEADER, zip(*customers(), strict=True), strict=True))
    cells = {name: [None if cell in ("", "NA") else cell for cell in column] for name, column in columns.items()}
    numbers = {name: [cell and float(cell) for cell in cells[name]] for name in ("age", "income", "children")}
    parquet.write_table(pa.table(cells | numbers), table.parent / "train.parquet")
    assert fit(table.parent / "train.parquet", *drop)[0] == 0
    assert (table.parent / "model.softpolytope").read_bytes() == expected
    svm = table.parent / "a.svm"
    svm.write_text("".join(f"{(-1) ** n} 1:{n % 2 + n / 99:.3f} 4:{n % 7}\n" for n in range(60)))
    capsys.readouterr()
    assert main(["fit", str(svm), "-o", str(table.parent / "s"), *QUICK, "--json", "--test-size", "0"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["columns"], document["classes"]) == (["1", "2", "3", "4"], [-1, 1])


def test_three_classes(tmp_path, capsys):
    """Fitted, predicted, explained and exported; SQL then asks which class is meant."""
    table = tmp_path / "t.csv"
    rows = [f"{n % 3 + n / 300:.3f},{'p' if n % 2 else 'q'},{'abc'[n % 3]}" for n in range(90)]
    table.write_text("x,c,buys\n" + "\n".join(rows) + "\n")
    code, path = fit(table, "--json")
    assert code == 0
    assert json.loads(capsys.readouterr().out)["classes"] == ["a", "b", "c"]
    assert main(["predict", str(path), str(table), "--proba"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "prediction,P(a),P(b),P(c)"
    assert main(["explain", str(path), str(table), "--rows", "1", "--counterfactual"]) == 0
    assert "class 'not b', labeling 1" in capsys.readouterr().out
    assert main(["export", str(path), "--to", "sql"]) == 2
    assert "--class, one of a, b, c" in error_of(capsys)


def test_a_seed_gives_the_same_file(table):
    """Whatever the number of threads; another seed gives another."""
    drop = ("--drop", "id,when", "--test-size", "0", "--max-experts", "2")
    files = {}
    for name, more in {"a": ("--seed", "1"), "b": ("--seed", "1", "--jobs", "2"), "c": ("--seed", "2")}.items():
        assert fit(table, *drop, *more)[0] == 0
        files[name] = (table.parent / "model.softpolytope").read_bytes()
    assert files["a"] == files["b"] != files["c"]


@pytest.mark.parametrize(
    ("edit", "more", "message"),
    [
        (None, ["--target", "bys"], "has no column 'bys'; it has id, age"),
        (None, ["--drop", "what"], "has no column 'what'"),
        ((5, 2, "a lot"), [], r"'income' holds both numbers ('27.81' at "),
        ((5, 6, ""), [], "line 7, column 'buys' has no value"),
        (None, ["--classifier", "softplus", "--layers", "2"], "--classifier softplus has no --max-experts"),
        (None, ["-o", "."], "is a folder"),
        (None, ["-o", "no/such/folder/m"], "there is no folder no/such/folder"),
        (None, ["-o", "/dev/null"], "is not a regular file"),
        (None, ["--format", "parquet"], "damaged or not a Parquet file"),
        (None, ["--format", "svmlight", "--target", "label"], "is not of the form index:number"),
    ],
)
def test_what_goes_wrong_is_told(tmp_path, capsys, edit, more, message):
    """In one or two lines, with exit code 2, and nothing is left behind."""
    rows = [list(row) for row in customers()]
    if edit is not None:
        rows[edit[0]][edit[1]] = edit[2]
    table = write_csv(tmp_path / "train.csv", rows)
    assert fit(table, "--drop", "id,when", *more)[0] == 2
    assert message.replace("'27.81'", repr(rows[0][2])) in error_of(capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"x,buys\n", "has no rows below its header"),
        (b"x,buys\n1,a\n2,a\n3,a\n", "only one class, 'a'"),
        (b"x,x,buys\n1,1,a\n", "has two columns 'x'"),
        (b"x,buys\n\xff,a\n", "not UTF-8: line 2"),
        (b",x,buys\n0,1,a\n1,1,b\n", "column 'Unnamed: 0' has no name; such columns often hold row numbers"),
        (b"x,buys\n1,a\n2\n", "line 3: 1 cells"),
    ],
)
def test_files_of_no_use(tmp_path, capsys, content, message):
    """Each kind is told, and no model is written."""
    table = tmp_path / "t.csv"
    table.write_bytes(content)
    assert fit(table)[0] == 2
    assert message in error_of(capsys)
    assert list(tmp_path.iterdir()) == [table]


def test_files_that_are_none(tmp_path, capsys):
    """Nothing there, a folder, no target named."""
    assert fit(tmp_path / "none.csv")[0] == 2
    assert "none.csv cannot be read: No such file" in error_of(capsys)
    (tmp_path / "folder.csv").mkdir()
    assert fit(tmp_path / "folder.csv")[0] == 2
    assert "is a folder" in error_of(capsys)
    table = write_csv(tmp_path / "train.csv", customers())
    assert main(["fit", str(table), "-o", str(tmp_path / "m")]) == 2
    assert "--target NAME" in error_of(capsys)


def test_too_few_rows_to_test(tmp_path, capsys):
    """A class of one row: no evaluation, said so, and a model all the same."""
    table = tmp_path / "t.csv"
    table.write_text("x,buys\n" + "".join(f"{n},{'yes' if n == 9 else 'no'}\n" for n in range(10)))
    assert fit(table, "--inference", "map")[0] == 0
    printed = capsys.readouterr()
    assert "some class has too few rows" in printed.err
    assert "Fitted to all 10 rows" in printed.out


def test_a_class_without_a_row_to_learn_from(tmp_path, capsys):
    """Two rows, both of them kept apart by a large share: the model is not tested."""
    table = tmp_path / "t.csv"
    labels = ["a"] * 20 + ["b"] * 20 + ["c"] * 2
    table.write_text("x,buys\n" + "".join(f"{n},{label}\n" for n, label in enumerate(labels)))
    assert fit(table, "--inference", "map", "--test-size", "0.8")[0] == 0
    printed = capsys.readouterr()
    assert "some class has too few rows" in printed.err
    assert "Fitted to all 42 rows" in printed.out


def test_numbers_beyond_all_others(tmp_path, capsys):
    """Too large to learn from, they are refused; in test rows they are taken."""
    table, test = tmp_path / "t.csv", tmp_path / "test.csv"
    table.write_text("x,buys\n" + "".join(f"{(-1) ** n * 1.7e308},{n % 2}\n" for n in range(60)))
    assert fit(table)[0] == 2
    assert "column 'x' holds numbers as large as 1.7e+308" in error_of(capsys)
    test.write_text(table.read_text())
    table.write_text("x,buys\n" + "".join(f"{0.1 * (n % 2) + n / 1e4},{n % 2}\n" for n in range(60)))
    code, path = fit(table, "--test", str(test), "--json")
    assert code == 0
    assert json.loads(capsys.readouterr().out)["held_out"]["logistic regression"]["error"] in (0.0, 1.0)
    assert load_model(path).classes_.tolist() == [0, 1]


@pytest.mark.parametrize(("given", "inference"), [((), "bootstrap"), (("--inference", "map"), "map")])
def test_what_is_tested_is_what_is_written(tmp_path, monkeypatch, given, inference):
    """The fit to the rows that are left to learn from and that to all rows are of one kind."""
    fitted = []
    true_fit = SumSoftplusClassifier.fit

    def watched(classifier, *arguments):
        true_fit(classifier, *arguments)
        fitted.append(classifier.inference_)
        return classifier

    monkeypatch.setattr(SumSoftplusClassifier, "fit", watched)
    table = tmp_path / "t.csv"
    table.write_text("x,buys\n" + "".join(f"{n % 2 + n / 99},{n % 2}\n" for n in range(48)))
    assert fit(table, *given)[0] == 0
    assert fitted == [inference, inference]


def test_no_input_is_overwritten(table, capsys):
    """Neither the table nor the test file; a model that was there is."""
    test = write_csv(table.parent / "test.csv", customers(150)[120:])
    before = table.read_bytes(), test.read_bytes()
    for out in (table, test):
        assert fit(table, "--drop", "id,when", "--test", str(test), "-o", str(out))[0] == 2
        assert "is a file that is read, and would be overwritten. Name another file (-o)" in error_of(capsys)
    assert (table.read_bytes(), test.read_bytes()) == before


def test_names_that_a_file_may_just_have(table):
    """255 bytes, and letters of three; a link stays, and what it leads to is written."""
    more = ("--features", "age", "--test-size", "0")
    for name in ("m" * 255, "\u6a21" * 85):
        assert fit(table, *more, "-o", str(table.parent / name))[0] == 0
        assert load_model(table.parent / name).feature_names_ == ("age",)
    (table.parent / "link").symlink_to("behind")
    assert fit(table, *more, "-o", str(table.parent / "link"))[0] == 0
    assert (table.parent / "link").is_symlink()
    assert load_model(table.parent / "behind").feature_names_ == ("age",)
    names = {"train.csv", "m" * 255, "\u6a21" * 85, "link", "behind"}
    assert {path.name for path in table.parent.iterdir()} == names


def test_columns_may_be_named_one_by_one(table, capsys):
    """An option given again adds to what it had; quotes hold a name with a comma together."""
    assert fit(table, "--drop", "id", "--drop", "when", "--test-size", "0", "--json")[0] == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["age", "income", "color", "children"]
    assert fit(table, "--features", "age", "--features", "children", "--test-size", "0", "--json")[0] == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["age", "children"]
    strange = table.parent / "strange.csv"
    strange.write_text('"Name, full",-z,x,buys\n' + "".join(f"n{n},z{n},{n},{n % 2}\n" for n in range(60)))
    assert fit(strange)[0] == 2
    assert "--drop='\"Name, full\"'" in error_of(capsys)
    assert fit(strange, '--drop="Name, full"')[0] == 2
    assert "--drop=-z" in error_of(capsys)
    assert fit(strange, '--drop="Name, full"', "--drop=-z", "--test-size", "0", "--json")[0] == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["x"]
    with pytest.raises(SystemExit) as stop:
        fit(strange, '--drop="Name, full')
    assert stop.value.code == 2
    assert "A name with a comma in it needs double quotes" in capsys.readouterr().err


def test_unknown_categories_of_test_rows_are_noted(table, capsys):
    """As `predict` does."""
    rows = [list(row) for row in customers(150)[120:]]
    rows[3][3] = "pink"
    test = write_csv(table.parent / "test.csv", rows)
    assert fit(table, "--drop", "id,when", "--test", str(test))[0] == 0
    assert "note: 1 row has a value of 'color' that training did not have ('pink' at " in capsys.readouterr().err


def test_help_has_examples(capsys):
    """Every command shows how it is used."""
    for command in ("fit", "predict", "evaluate", "explain", "export", "report", "datasets", "figures", "demo"):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        assert f"softpolytope {command} " in capsys.readouterr().out.split("example")[1]


def test_numbers_in_several_forms_are_noted(tmp_path, capsys):
    """Before it fits."""
    (tmp_path / "a.csv").write_text("x,y\n" + "1,0\n2,1\n3,1.0\n" * 10)
    command = ["fit", str(tmp_path / "a.csv"), "--target", "y", "-o", str(tmp_path / "m"), "--classifier", "softplus"]
    assert main([*command, "--inference", "map", "--test-size", "0", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert "note: column 'y' holds the same number in several forms, '1', '1.0'; each of them is a class" in printed.err
    assert "y: 0, 1, 1.0" in printed.out
