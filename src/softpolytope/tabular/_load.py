"""Reading of model files, and types to trust in the files of other libraries."""

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from softpolytope.estimators import CLASSIFIERS, TYPES_OF_CLASSIFIERS, SoftplusBase, make_classifier
from softpolytope.export import read_model, unpack_model
from softpolytope.tabular._classifier import TableClassifier, unpack_table_model
from softpolytope.tabular._encoder import CategoryColumn, NumericColumn, TableEncoder
from softpolytope.tabular._model_file import KIND
from softpolytope.tabular._target import Target


def load_model(path: str | Path) -> SoftplusBase | TableClassifier:
    """Read a classifier or a `TableClassifier` written by its `save`.

    Reading runs no code from the file; a damaged file, one of a newer version or one that is not a model raises a
    `ModelFileError`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from softpolytope import SoftplusClassifier, load_model
    >>> X, y = [[0.0], [1.0], [2.0]] * 5, [0, 0, 1] * 5
    >>> model = SoftplusClassifier(inference="map", random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.softpolytope")
    ...     loaded = load_model(Path(folder) / "model.softpolytope")
    >>> bool((loaded.predict_proba([[1.5]]) == model.predict_proba([[1.5]])).all())
    True
    """
    return read_model(path, _unpack)


def _unpack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SoftplusBase | TableClassifier:
    if header["class"] == KIND:
        return unpack_table_model(header, arrays)
    return make_classifier(unpack_model(header, arrays), CLASSIFIERS)


def skops_trusted_types() -> list[str]:
    """Return the types of this library that occur in a skops file of its models, for `skops.io` and MLflow.

    Opening them sets their fields and runs no code chosen by a file. Unlike in `load_model`, their contents are not
    checked.

    Examples
    --------
    >>> from softpolytope import skops_trusted_types
    >>> "softpolytope.model._prior.Prior" in skops_trusted_types()
    True
    """
    own = (TableClassifier, CategoryColumn, NumericColumn, TableEncoder, Target)
    return sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in (*TYPES_OF_CLASSIFIERS, *own))
