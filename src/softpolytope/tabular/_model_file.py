"""Fitted tables' models to and from the header and arrays of a model file."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from numpy.typing import NDArray

from softpolytope.estimators import CLASSIFIERS, SoftplusBase, classifier_record, make_classifier
from softpolytope.exceptions import ModelFileError
from softpolytope.export import pack_classes, pack_model, unpack_classes, unpack_model
from softpolytope.tabular._encoder import TableEncoder
from softpolytope.tabular._evaluation import Scores
from softpolytope.tabular._target import Target

KIND = "TableClassifier"
Arrays: TypeAlias = dict[str, NDArray[Any]]


def pack_parts(
    encoder: TableEncoder, target: Target, classifier: SoftplusBase, held_out: Scores, *, state: bool, fingerprint: bool
) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a model; `state` and `fingerprint` are those of `save`."""
    header, arrays = pack_model(classifier_record(classifier), state=state, fingerprint=fingerprint)
    document = {
        "class": KIND,
        "columns": encoder.to_plain(),
        "target": target.name,
        "classes": pack_classes(target.labels),
        "held_out": held_out,
        "classifier": header,
    }
    return document, arrays


def unpack_parts(header: dict[str, Any], arrays: Arrays) -> tuple[TableEncoder, Target, SoftplusBase, Scores]:
    """Return encoder, target, classifier and held-out scores of a file, all of them checked."""
    classifier = make_classifier(unpack_model(header["classifier"], arrays), CLASSIFIERS)
    name = header["target"]
    if type(name) is not str:
        raise ModelFileError("the target has no name.")
    # Files of earlier versions have the labels of the classifier only.
    labels = unpack_classes(header["classes"]) if "classes" in header else classifier.classes_
    target = Target(name, tuple(labels.tolist()))
    return TableEncoder.from_plain(header["columns"]), target, classifier, _check_scores(header["held_out"])


def _check_scores(plain: object) -> Scores:
    if not isinstance(plain, Mapping) or len(plain) > 100:
        raise ModelFileError("the scores are not readable.")
    for name, scores in plain.items():
        is_complete = isinstance(scores, Mapping) and set(scores) == {"error", "log_loss"} and len(name) < 200
        if not is_complete or not all(type(value) is float and math.isfinite(value) for value in scores.values()):
            raise ModelFileError("the scores are not readable.")
    return {name: dict(scores) for name, scores in plain.items()}
