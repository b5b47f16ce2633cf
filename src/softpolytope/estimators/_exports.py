"""A fitted classifier in other forms: files, ONNX, SQL, Python source, a tree for ArviZ."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from softpolytope.estimators._files import save_classifier
from softpolytope.export import InputType, python_source, sql_probability, to_onnx
from softpolytope.inspection import to_datatree
from softpolytope.model import Posterior


class ExportMixin:
    """What a classifier can be turned into."""

    posterior_: Posterior
    classes_: NDArray[Any]
    n_features_in_: int
    estimate: Any  # an Estimate, checked on use

    def _validated_rows(self, X: Any) -> Any:
        raise NotImplementedError

    def _check_has_chains(self, name: str) -> None:
        raise NotImplementedError

    def save(self, path: str | Path, *, state: bool = True, fingerprint: bool = True) -> None:
        """Write the fitted model to a file that `softpolytope.load_model` reads; no pickle inside.

        Parameters
        ----------
        path : str or Path
            The file to write.
        state : bool
            Whether to keep what `warm_start` and `partial_fit` need to go on: a loaded model then gives the same bits
            as one that was never saved, and without it both raise. It about doubles the file; after `partial_fit` the
            file is three times as large, and chains of scan="paper" add some 50 bytes per row, chain and labeling.
            Chains are there only after a fit with `warm_start=True`.
        fingerprint : bool
            Whether to keep hashes of the training rows, by which the report recognizes them: four bytes a row, and at
            most 64 KiB. They do not give the rows away, but who guesses a whole row can tell whether it was
            among them.
        """
        check_is_fitted(self)
        save_classifier(self, path, state=state, fingerprint=fingerprint)

    def to_datatree(self, X: ArrayLike | None = None, y: ArrayLike | None = None) -> Any:
        """Return the posterior as ArviZ takes it; needs `pip install softpolytope[arviz]`.

        That is an `xarray.DataTree`, or `arviz.InferenceData` where ArviZ older than 1.0 is installed. Both have
        `to_netcdf`.

        With the training rows and their labels, the group `log_likelihood` has one variable `y`, from which `az.loo`
        finds the leave-one-out predictive of the model that predicts: the mean of both labelings' (and of more than two
        classes, their odds divided by the sum). docs/leave_one_out.md tells how. Rows are taken to have had weight one
        in the fit.
        """
        check_is_fitted(self)
        self._check_has_chains("to_datatree")
        if (X is None) != (y is None):
            raise ValueError("to_datatree takes rows and labels together, or neither.")
        if X is None:
            return to_datatree(self.posterior_)
        rows, labels = self._validated_rows(X), np.asarray(y)
        codes = np.searchsorted(self.classes_, labels)
        if labels.shape != (rows.shape[0],) or not np.isin(labels, self.classes_).all():
            raise ValueError(f"y must hold one of the classes {self.classes_.tolist()} for each row of X.")
        return to_datatree(self.posterior_, rows, codes)

    def to_onnx(self, path: str | Path | None = None, input_type: InputType = "float64") -> Any:
        """The model as ONNX with standard operators only; needs `pip install softpolytope[onnx]`.

        Returns the `onnx.ModelProto`, and writes it if a path is given. `input_type` is "float32" or "float64".
        """
        check_is_fitted(self)
        model = to_onnx(self.posterior_, self.classes_, self.estimate, self.n_features_in_, input_type)
        if path is not None:
            Path(path).write_bytes(model.SerializeToString())
        return model

    def to_sql(self, columns: Sequence[str] | None = None, target: Any = None, table: str | None = None) -> str:
        """The probability of a class as one SQL expression that SQLite and DuckDB evaluate.

        `columns` are the names of the columns in the table, by default the feature names; `target` is the class, by
        default the second of two. With estimate="mean" the expression holds every draw; "best" gives a short one. Where
        a column is NULL, so is the probability.

        Give the name (or alias) of the `table`, too: with it, a column that the table does not have is an error in
        every database. Without it, SQLite takes a name that it does not know for a text.
        """
        check_is_fitted(self)
        names = list(columns if columns is not None else getattr(self, "feature_names_in_", []))
        if len(names) != self.n_features_in_:
            raise ValueError(f"columns must name the {self.n_features_in_} features; got {len(names)} names.")
        classes = self.classes_.tolist()
        if target is None and len(classes) > 2:
            raise ValueError(f"target must be one of the classes {classes}.")
        if target is not None and target not in classes:
            raise ValueError(f"target must be one of the classes {classes}; got {target!r}.")
        code = 1 if target is None else classes.index(target)
        return sql_probability(self.posterior_, [str(name) for name in names], self.estimate, code, table)

    def to_python_source(self) -> str:
        """A Python module without dependencies, with `predict_proba(x)` and `predict(x)` for one row."""
        check_is_fitted(self)
        return python_source(self.posterior_, self.classes_, self.estimate, self.n_features_in_)
