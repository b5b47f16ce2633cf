"""`softpolytope export`: a model as ONNX, SQL or Python source."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from softpolytope.cli._errors import SUCCESS, CommandError
from softpolytope.cli._options import MODEL_HELP, Commands, add_json_option, examples, load_table_model
from softpolytope.cli._output import binary_output, print_note, text_output, to_json

if TYPE_CHECKING:
    from softpolytope.export import ExportContents
    from softpolytope.tabular import TableClassifier


def add_parser(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "export",
        help="write a model as ONNX, SQL or Python source",
        description="SQL and Python take the raw columns, with NULL or None for missing values. ONNX takes the encoded "
        "columns, in the order that a note lists. SQL is one expression for SQLite or DuckDB, or a query with --table. "
        "A note states the size and, with --estimate best, how often it predicts as the full model does.",
        **examples(
            "softpolytope export model.softpolytope --to python -o model.py",
            "softpolytope export model.softpolytope --to sql --table customers",
            "softpolytope export model.softpolytope --to sql --class yes --estimate best",
            "softpolytope export model.softpolytope --to onnx -o model.onnx",
        ),
    )
    parser.set_defaults(run=run, rooms=("tabular",))
    parser.add_argument("model", help=MODEL_HELP)
    parser.add_argument("--to", choices=("onnx", "sql", "python"), required=True, help="format to write")
    parser.add_argument(
        "-o", "--output", type=Path, help="file to write (required by onnx and --json); by default standard output"
    )
    parser.add_argument(
        "--estimate",
        choices=("mean", "best"),
        help="what to export: all draws (mean), or one per labeling (best), which is short; by default as the model "
        "predicts",
    )
    parser.add_argument("--table", metavar="NAME", help="SQL: a query that adds the probabilities to this table")
    parser.add_argument(
        "--class", dest="label", metavar="LABEL", help="SQL: class whose probability is computed (of two, the second)"
    )
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Write the model in the format asked for."""
    from softpolytope.export import ExportContents
    from softpolytope.tabular import table_python_source

    if options.to != "sql" and (options.table is not None or options.label is not None):
        raise CommandError("--table and --class are about SQL. Leave them out, or use --to sql.")
    if options.output is None and (options.json or options.to == "onnx"):
        raise CommandError(
            f"no output file given. Name one: -o model.{'py' if options.to == 'python' else options.to}."
        )
    model = load_table_model(options.model)
    if options.estimate is not None:
        model.classifier_.set_params(estimate=options.estimate)
    try:
        if options.to == "onnx":
            with binary_output(options.output, options.model) as path:
                n_bytes = len(model.classifier_.to_onnx(path).SerializeToString())
            if not model.encoder_.is_plain:
                print_note(f"the inputs are the encoded columns, in this order: {', '.join(model.feature_names_)}.")
        else:
            text = table_python_source(model) if options.to == "python" else _make_sql(model, options)
            text = text if text.endswith("\n") else text + "\n"
            n_bytes = len(text.encode())
            with text_output(options.output, options.model) as file:
                file.write(text)
                # A reader who has left ends the command here, without the note.
                file.flush()
    except ValueError as error:
        raise CommandError(str(error)) from error
    contents = ExportContents.from_model(model.classifier_.model_)
    if options.json:
        print(to_json(_to_document(model, options, contents, n_bytes)))
    else:
        print_note(f"{n_bytes / 1000.0:,.1f} kB. {contents}")
    return SUCCESS


def _to_document(
    model: "TableClassifier", options: argparse.Namespace, contents: "ExportContents", n_bytes: int
) -> dict[str, object]:
    return {
        "written": options.output,
        "to": options.to,
        "inputs": model.feature_names_ if options.to == "onnx" else model.encoder_.names,
        "classes": model.classes_,
        "estimate": contents.estimate,
        "n_bytes": n_bytes,
        "n_draws": contents.n_draws,
        "n_experts": contents.n_experts,
        "agreement": contents.agreement,
    }


def _make_sql(model: "TableClassifier", options: argparse.Namespace) -> str:
    from softpolytope.tabular import sql_query, table_sql_probability

    if options.table is not None:
        if options.label is not None:
            raise CommandError("--table gives the probabilities of all classes. Leave out --class.")
        return sql_query(model, options.table) + ";"
    classes = {str(label): label for label in model.classes_.tolist()}
    if options.label is None and len(classes) > 2:
        raise CommandError(
            f"the model has {len(classes)} classes. Use --class, one of {', '.join(classes)}; or --table."
        )
    label = options.label if options.label is not None else list(classes)[1]
    if label not in classes:
        raise CommandError(f"--class {label} is not one of the classes {', '.join(classes)}.")
    return table_sql_probability(model, classes[label])
