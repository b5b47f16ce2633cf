"""`softpolytope explain`: the half-spaces of a model in words, why rows are decided so, and what would change it."""

import argparse
from typing import Any

from softpolytope.cli._errors import FINE, NEGATIVE, CommandError
from softpolytope.cli._options import loaded, opened
from softpolytope.cli._output import notes, print_json
from softpolytope.cli._unknown import UnknownCategories
from softpolytope.tabular import (
    Chunk,
    NearestChange,
    TableClassifier,
    explained,
    named_polytopes,
    nearest_change,
    rows_at,
)

MAX_EXPERTS = 3


def run(options: argparse.Namespace) -> int:
    """Say it all."""
    model = loaded(options.model)
    if options.table is None and (options.rows is not None or options.counterfactual):
        raise CommandError("--rows and --counterfactual are about rows of a table. Name its file after the model.")
    if options.fixed and not options.counterfactual:
        raise CommandError("--fixed is about what would change the decision. Add --counterfactual.")
    numbers = [] if options.table is None else (options.rows or [0])
    rows = rows_at(opened(options.table, options), numbers) if numbers else []
    unknown = UnknownCategories(model.encoder_)
    for row in dict(zip(numbers, rows, strict=True)).values():
        unknown.add(row, model.encode(row))
    unknown.tell()
    with notes():
        changes = [nearest_change(model, row, options.fixed) if options.counterfactual else None for row in rows]
        if options.json:
            print_json(_document(model, numbers, rows, changes))
        else:
            print(named_polytopes(model))
            for number, row, change in zip(numbers, rows, changes, strict=True):
                print("", *_lines(model, number, row, change), sep="\n")
    is_missing = any(change is not None and not change.is_found for change in changes)
    return NEGATIVE if is_missing else FINE


def _lines(model: TableClassifier, number: int, row: Chunk, change: NearestChange | None) -> list[str]:
    """About one row."""
    encoded = model.encode(row)
    probabilities = model.classifier_.predict_proba(encoded)[0]
    said = ", ".join(
        f"P({label}) = {chance:.3g}" for label, chance in zip(model.classes_.tolist(), probabilities, strict=True)
    )
    lines = [f"Row {number} ({row.place(0)}): {said}"]
    explanation = explained(model, encoded)
    for place in range(len(explanation.rows["row"])):
        target, labeling = explanation.rows["target"][place], explanation.rows["labeling"][place]
        votes, *experts = explanation.votes_in_words(place, MAX_EXPERTS)
        lines.append(f"  class {target!r}, labeling {labeling}: {votes}")
        lines += [f"    {line}" for line in experts]
    return lines if change is None else [*lines, f"  {change.in_words()}"]


def _document(
    model: TableClassifier, numbers: list[int], rows: list[Chunk], changes: list[NearestChange | None]
) -> dict[str, Any]:
    return {
        "columns": model.feature_names_,
        "classes": model.classes_,
        "polytopes": [_polytopes(item) for item in named_polytopes(model)],
        "rows": [_row(model, *item) for item in zip(numbers, rows, changes, strict=True)],
    }


def _polytopes(item: Any) -> dict[str, Any]:
    experts = [
        {
            "expert": region.expert,
            "weight": region.weight,
            "coefficients": region.coefficients,
            "in_words": region.in_words(),
        }
        for region in item.regions
    ]
    return {"class": item.target, "labeling": item.labeling, "threshold": item.threshold, "experts": experts}


def _row(model: TableClassifier, number: int, row: Chunk, change: NearestChange | None) -> dict[str, Any]:
    encoded = model.encode(row)
    probabilities = model.classifier_.predict_proba(encoded)[0].tolist()
    votes = explained(model, encoded).experts
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
            "prediction": change.otherwise,
            "distance": change.distance,
            "changes": [{"column": item.column, "from": item.before, "to": item.after} for item in change.changes],
        }
    return document
