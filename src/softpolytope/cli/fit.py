"""`softpolytope fit`: from a table to a model file."""

import argparse
import time
from typing import Any

import numpy as np

from softpolytope.cli._arguments.fit import KINDS
from softpolytope.cli._arguments.shared import BALANCED
from softpolytope.cli._errors import FINE, CommandError
from softpolytope.cli._evaluation import (
    OURS,
    ClassWeight,
    Part,
    baseline_scores,
    fit_classifier,
    held_out_rows,
    noted_training_rows,
    score_lines,
    scores,
)
from softpolytope.cli._options import opened
from softpolytope.cli._output import check_output, note, notes, print_json
from softpolytope.cli._unknown import UnknownCategories
from softpolytope.estimators import CLASSIFIERS, MIN_ROWS_FOR_MODES
from softpolytope.tabular import (
    MAX_CATEGORIES,
    CategoryColumn,
    ColumnSelection,
    Schema,
    Scores,
    Table,
    TableClassifier,
    TableEncoder,
    Target,
    default_target,
    infer_schema,
    listed,
    read_labeled,
    read_rows,
)


def run(options: argparse.Namespace) -> int:
    """Read, evaluate, fit, write."""
    start = time.perf_counter()
    check_output(options.output, options.table, options.test)
    _classifier(options, "all")  # what is wrong with the options is told before the table is read
    table = opened(options.table, options)
    choice = ColumnSelection(
        _target(options, table),
        tuple(options.features),
        tuple(options.drop),
        tuple(options.categorical),
        MAX_CATEGORIES if options.max_categories is None else options.max_categories,
    )
    with notes():
        plan = infer_schema(table, choice)
    if options.sweeps is not None and _inference(options, plan.n_rows) == "map":
        note("--sweeps is not used: this fit finds modes, and has no chains. Give --inference gibbs, or leave it out.")
        options.sweeps = None
    say = _silent if options.json else print
    # From here on by the labels of the classes, as the classifiers take them.
    options.class_weight = _class_weight(options.class_weight, plan.target)
    say(_summary(options.table, plan))
    if options.class_weight is not None:
        say(f"Class weights: {_weights_in_words(options.class_weight)}")
    rows, codes = read_rows(table, plan)
    with notes():
        if options.test is not None:
            model, n_tested = _with_test_file(options, plan, Part(rows, codes), say)
        else:
            model, n_tested = _with_held_out_rows(options, plan, Part(rows, codes), say)
    # How it was fitted is no part of the model: the same rows and seed give the same file.
    model.classifier_.set_params(n_jobs=-1, verbose=0)
    model.save(options.output)
    say(f"Written: {options.output} (softpolytope predict, evaluate, explain, export, report)")
    if options.json:
        print_json(_document(options, model, plan, n_tested) | {"seconds": round(time.perf_counter() - start, 1)})
    return FINE


def _class_weight(given: list[tuple[str, float | None]] | None, target: Target) -> ClassWeight:
    """Return the weights as the classifiers take them."""
    if not given:
        return None
    named = [label for label, _ in given]
    if (BALANCED, None) in given:
        if len(given) > 1:
            raise CommandError("--class-weight is either balanced or a list of classes with their weights. Give one.")
        return BALANCED
    classes = {str(label): label for label in target.classes}
    for label in named:
        if label not in classes:
            raise CommandError(f"--class-weight {label}: {target.name!r} has no such class, only {listed(classes)}.")
        if named.count(label) > 1:
            raise CommandError(f"--class-weight {label}: the class has two weights. Give one.")
    return {classes[label]: weight for label, weight in given if weight is not None}


def _weights_in_words(weight: ClassWeight) -> str:
    return ", ".join(f"{label} {item:g}" for label, item in weight.items()) if isinstance(weight, dict) else str(weight)


def _silent(*_: object, **__: object) -> None:
    """Print nothing."""


def _target(options: argparse.Namespace, table: Table) -> str:
    name: str | None = options.target if options.target is not None else default_target(table)
    if name is not None:
        return name
    raise CommandError(f"say which column to predict: --target NAME; {table.name} has {listed(table.columns)}.")


def _summary(path: str, plan: Schema) -> str:
    said = [
        f"{column.name} ({_counted(len(column.categories), 'category', 'categories')})"
        if isinstance(column, CategoryColumn)
        else column.name
        for column in plan.encoder.columns
    ]
    return f"{path}: {plan.n_rows} rows; {listed(said)} -> {plan.target.name}: {listed(plan.target.classes)}"


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _with_test_file(options: argparse.Namespace, plan: Schema, part: Part, say: Any) -> tuple[TableClassifier, int]:
    """Fit once, and test on the rows of another file."""
    encoder = _filled(plan.encoder, part)
    labels = plan.target.labels
    unknown = UnknownCategories(encoder)
    tested = Part(*read_labeled(opened(options.test, options), encoder, plan.target, unknown.add))
    unknown.tell()
    found = baseline_scores(part, tested, labels, options.class_weight)
    classifier = fit_classifier(_classifier(options, "all"), part, labels)
    found[OURS] = scores(classifier.predict_proba(tested.rows), tested.codes)
    noted_training_rows(classifier, tested.rows, f"{options.test}: ")
    say(f"\nTested on the {len(tested.codes)} rows of {options.test}:", *score_lines(found), sep="\n")
    n_experts = _counted(classifier.n_experts_, "expert", "experts")
    say(f"\nFitted to all {plan.n_rows} rows of {options.table}: {n_experts}.")
    return TableClassifier.from_parts(encoder, plan.target, classifier, found), len(tested.codes)


def _with_held_out_rows(options: argparse.Namespace, plan: Schema, part: Part, say: Any) -> tuple[TableClassifier, int]:
    """Fit to some rows and test on the others, then fit to all."""
    labels = plan.target.labels
    found: Scores = {}
    split = held_out_rows(part.codes, options.test_size, options.seed) if options.test_size else None
    if split is None and options.test_size:
        note("too few rows of some class to keep any apart; the model is not tested.")
    if split is not None:
        train, test = (Part(part.rows[chosen], part.codes[chosen]) for chosen in split)
        encoder = _filled(plan.encoder, train)
        encoder.fill(test.rows)
        found = baseline_scores(train, test, labels, options.class_weight)
        # "auto" goes by the number of rows: what is tested must be what is written, and not what suits fewer rows.
        held_out = _classifier(options, "held-out").set_params(inference=_inference(options, plan.n_rows))
        classifier = fit_classifier(held_out, train, labels)
        found[OURS] = scores(classifier.predict_proba(test.rows), test.codes)
        say(
            f"\nLearned from {len(train.codes)} rows, tested on the {len(test.codes)} others:",
            *score_lines(found),
            sep="\n",
        )
        # Gone before the next fit, which has rows of its own.
        del train, test, classifier
    encoder = _filled(plan.encoder, part)
    classifier = fit_classifier(_classifier(options, "all"), part, labels)
    again = "again, " if found else ""
    say(f"\nFitted {again}to all {plan.n_rows} rows: {_counted(classifier.n_experts_, 'expert', 'experts')}.")
    n_tested = 0 if split is None else len(split[1])
    return TableClassifier.from_parts(encoder, plan.target, classifier, found), n_tested


def _inference(options: argparse.Namespace, n_rows: int) -> str:
    """Return the inference of the model that is written; "auto" depends on the number of rows only."""
    if options.inference != "auto":
        return str(options.inference)
    return "map" if n_rows >= MIN_ROWS_FOR_MODES else "gibbs"


def _filled(encoder: TableEncoder, part: Part) -> TableEncoder:
    """The encoder with the medians of these rows, in which they replace what is missing."""
    fitted = encoder.fitted(part.rows)
    fitted.fill(part.rows)
    return fitted


def _classifier(options: argparse.Namespace, stage: str) -> Any:
    """A classifier as the options say; its chains have a folder for each stage."""
    parameters: dict[str, Any] = {
        "inference": options.inference,
        "random_state": options.seed,
        "n_jobs": options.jobs or None,
        "verbose": 0 if options.quiet else 1,
        "class_weight": options.class_weight,
        "max_experts": options.max_experts,
        "n_layers": options.layers,
        "n_sweeps": options.sweeps,
        "checkpoint": None if options.checkpoint is None else options.checkpoint / stage,
    }
    classifier = CLASSIFIERS[KINDS[options.classifier]]()
    given = {name: value for name, value in parameters.items() if value is not None}
    unknown = set(given) - set(classifier.get_params())
    if unknown:
        option = {"max_experts": "--max-experts", "n_layers": "--layers"}[min(unknown)]
        raise CommandError(f"--classifier {options.classifier} has no {option}. Leave it out.")
    return classifier.set_params(**given)


def _document(options: argparse.Namespace, model: TableClassifier, plan: Schema, n_tested: int) -> dict[str, Any]:
    return {
        "model": options.output,
        "rows": plan.n_rows,
        "columns": plan.encoder.names,
        "encoded_columns": plan.encoder.n_encoded,
        "missing": [column.name for column in plan.encoder.columns if column.has_missing],
        "target": plan.target.name,
        "classes": np.asarray(plan.target.classes),
        "classifier": type(model.classifier_).__name__,
        "inference": model.classifier_.inference_,
        "class_weight": options.class_weight,
        "experts": model.classifier_.n_experts_,
        "tested_rows": n_tested,
        "held_out": model.held_out_,
    }
