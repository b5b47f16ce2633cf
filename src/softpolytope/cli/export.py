"""`softpolytope export`: a model as ONNX, SQL or Python source."""

import argparse

from softpolytope.cli._errors import FINE, CommandError
from softpolytope.cli._options import loaded
from softpolytope.cli._output import note, print_json, replaced, text_output
from softpolytope.tabular import TableClassifier, sql_query, table_python_source, table_sql_probability


def run(options: argparse.Namespace) -> int:
    """Write the model in the form wanted."""
    if options.to != "sql" and (options.table is not None or options.label is not None):
        raise CommandError("--table and --class are about SQL. Leave them out, or use --to sql.")
    if options.output is None and (options.json or options.to == "onnx"):
        raise CommandError(f"say which file to write: -o model.{ {'python': 'py'}.get(options.to, options.to) }.")
    model = loaded(options.model)
    try:
        if options.to == "onnx":
            with replaced(options.output, options.model) as path:
                model.classifier_.to_onnx(path)
            if not model.encoder_.is_plain:
                note(f"the inputs are the encoded columns, in this order: {', '.join(model.feature_names_)}.")
        else:
            text = table_python_source(model) if options.to == "python" else _sql(model, options)
            with text_output(options.output, options.model) as file:
                file.write(text if text.endswith("\n") else text + "\n")
    except ValueError as error:
        raise CommandError(str(error)) from error
    if options.json:
        inputs = model.feature_names_ if options.to == "onnx" else model.encoder_.names
        print_json({"written": options.output, "to": options.to, "inputs": inputs, "classes": model.classes_})
    return FINE


def _sql(model: TableClassifier, options: argparse.Namespace) -> str:
    if options.table is not None:
        if options.label is not None:
            raise CommandError("--table gives the probabilities of all classes. Leave out --class.")
        return sql_query(model, options.table) + ";"
    classes = {str(label): label for label in model.classes_.tolist()}
    if options.label is None and len(classes) > 2:
        raise CommandError(f"say whose probability is wanted: --class, one of {', '.join(classes)}; or use --table.")
    label = options.label if options.label is not None else list(classes)[1]
    if label not in classes:
        raise CommandError(f"--class {label} is none of the classes {', '.join(classes)}.")
    return table_sql_probability(model, classes[label])
