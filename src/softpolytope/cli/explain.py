"""`softpolytope explain`: the half-spaces of a model in words, and the predictions of rows."""

import argparse
from typing import TYPE_CHECKING, Any

from softpolytope.cli._errors import NEGATIVE, SUCCESS, CommandError
from softpolytope.cli._options import (
    MODEL_HELP,
    TABLE_HELP,
    Commands,
    add_columns_option,
    add_format_options,
    add_json_option,
    examples,
    load_table_model,
    open_input,
    parsed,
    print_unknown,
)
from softpolytope.cli._output import to_json, warnings_as_notes

if TYPE_CHECKING:
    from softpolytope.tabular import Chunk, NearestChange, TableClassifier

MAX_EXPERTS = 3


def add_parser(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "explain",
        help="explain a model and its predictions in words",
        description="Print the half-spaces of a model; for rows of a table, which experts vote yes and which criterion "
        "each vote depends on; and the smallest change of the row's columns that changes its prediction. In such a "
        "change numbers stay within the range of the training rows, integers stay integers, and at most one category "
        "becomes another. The exit code is 1 if no such change was found.",
        **examples(
            "softpolytope explain model.softpolytope",
            "softpolytope explain model.softpolytope data.csv --rows 0,5 --counterfactual",
            "softpolytope explain model.softpolytope data.csv --counterfactual --fixed age,sex",
        ),
    )
    parser.set_defaults(run=run, rooms=("tabular",))
    parser.add_argument("model", help=MODEL_HELP)
    parser.add_argument("table", nargs="?", help=TABLE_HELP)
    numbers = parsed(_integers, lambda found: min(found) >= 0, "row numbers from 0, separated by commas")
    rows_help = "rows to explain, from 0; by default the first"
    parser.add_argument("--rows", type=numbers, action="extend", metavar="0,5", help=rows_help)
    parser.add_argument("--counterfactual", action="store_true", help="find the smallest change of the prediction")
    add_columns_option(parser, "--fixed", "with --counterfactual: columns that must not change")
    add_format_options(parser)
    add_json_option(parser)


def _integers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def run(options: argparse.Namespace) -> int:
    """Explain the model and the rows."""
    from softpolytope.tabular import UnknownCategories, named_polytopes, nearest_change, rows_at

    model = load_table_model(options.model)
    if options.table is None and (options.rows is not None or options.counterfactual):
        raise CommandError("--rows and --counterfactual refer to rows of a table. Name its file after the model.")
    if options.fixed and not options.counterfactual:
        raise CommandError("--fixed restricts the change that --counterfactual finds. Add --counterfactual.")
    numbers = [] if options.table is None else (options.rows or [0])
    rows = rows_at(open_input(options.table, options), numbers) if numbers else []
    unknown = UnknownCategories(model.encoder_)
    for row in dict(zip(numbers, rows, strict=True)).values():
        unknown.add(row, model.encode(row))
    print_unknown(unknown)
    with warnings_as_notes():
        changes = [nearest_change(model, row, options.fixed) if options.counterfactual else None for row in rows]
        if options.json:
            print(to_json(_to_document(model, numbers, rows, changes)))
        else:
            print(named_polytopes(model))
            for number, row, change in zip(numbers, rows, changes, strict=True):
                print("", *_lines(model, number, row, change), sep="\n")
    is_missing = any(change is not None and not change.is_found for change in changes)
    return NEGATIVE if is_missing else SUCCESS


def _lines(model: "TableClassifier", number: int, row: "Chunk", change: "NearestChange | None") -> list[str]:
    """Return the explanation of one row."""
    from softpolytope.tabular import explain_rows

    encoded = model.encode(row)
    probabilities = zip(model.classes_.tolist(), model.classifier_.predict_proba(encoded)[0], strict=True)
    listed = ", ".join(f"P({label}) = {probability:.3g}" for label, probability in probabilities)
    lines = [f"Row {number} ({row.locate(0)}): {listed}"]
    explanation = explain_rows(model, encoded)
    for index in range(len(explanation.rows["row"])):
        target, labeling = explanation.rows["target"][index], explanation.rows["labeling"][index]
        votes, *experts = explanation.votes_in_words(index, MAX_EXPERTS)
        lines.append(f"  class {target!r}, labeling {labeling}: {votes}")
        lines += [f"    {line}" for line in experts]
    return lines if change is None else [*lines, f"  {change.in_words()}"]


def _to_document(
    model: "TableClassifier", numbers: list[int], rows: "list[Chunk]", changes: "list[NearestChange | None]"
) -> dict[str, Any]:
    """Return the explanations for JSON."""
    from softpolytope.tabular import named_polytopes

    polytopes = [
        {
            "class": item.target,
            "labeling": item.labeling,
            "threshold": item.threshold,
            "experts": [
                {
                    "expert": region.expert,
                    "weight": region.weight,
                    "coefficients": region.coefficients,
                    "in_words": region.in_words(),
                }
                for region in item.regions
            ],
        }
        for item in named_polytopes(model)
    ]
    return {
        "columns": model.feature_names_,
        "notes": named_polytopes(model).notes,
        "classes": model.classes_,
        "polytopes": polytopes,
        "rows": [_row_document(model, *item) for item in zip(numbers, rows, changes, strict=True)],
    }


def _row_document(
    model: "TableClassifier", number: int, row: "Chunk", change: "NearestChange | None"
) -> dict[str, Any]:
    from softpolytope.tabular import explain_rows

    encoded = model.encode(row)
    probabilities = model.classifier_.predict_proba(encoded)[0].tolist()
    votes = explain_rows(model, encoded).experts
    columns = [name for name in votes if name != "row"]
    document: dict[str, Any] = {
        "row": number,
        "prediction": model.classifier_.predict(encoded)[0],
        "probabilities": dict(zip(map(str, model.classes_.tolist()), probabilities, strict=True)),
        "votes": [
            dict(zip(columns, cells, strict=True)) for cells in zip(*(votes[name] for name in columns), strict=True)
        ],
    }
    if change is not None:
        document["counterfactual"] = {
            "found": change.is_found,
            "fixed": change.fixed,
            "prediction": change.counterfactual_class,
            "distance": change.distance,
            "changes": [{"column": item.column, "from": item.before, "to": item.after} for item in change.changes],
        }
    return document
