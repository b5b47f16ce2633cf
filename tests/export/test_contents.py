"""Exports say what they contain."""

import ast
from dataclasses import replace

import pytest
from exports import POOLS, fitted

from softpolytope.export import ExportContents
from softpolytope.model import Posterior

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("estimate", ["mean", "best"])
@pytest.mark.parametrize("kind", ["binary", "three"])
def test_contents_are_those_of_the_export(kind, estimate, pool):
    """Draws and experts are counted in the source itself; SQL, source and graph state them in the same words."""
    model, _ = fitted(kind, pool=pool)
    contents = ExportContents.from_model(model.set_params(estimate=estimate).model_)
    model.set_params(estimate="best" if estimate == "mean" else "mean")  # the argument has precedence
    source = model.to_python_source(estimate)
    (written,) = (
        ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "REGRESSIONS"
    )
    assert contents.n_regressions == len(written)
    assert {sum(len(side) for side in labelings) for labelings in written} == {contents.n_draws}
    assert contents.n_experts == sum(len(draw) for labelings in written for side in labelings for draw in side)
    assert (contents.estimate, contents.pool) == (estimate, pool)
    assert source.splitlines()[2] == f"# {contents}"
    assert model.to_sql(list("abcd"), model.classes_[1], estimate=estimate).startswith(
        f"/* softpolytope: {contents} */ ("
    )
    pytest.importorskip("onnx")
    assert model.to_onnx(estimate=estimate).doc_string == str(contents)


def test_representatives_state_their_agreement():
    """The share is rounded down, so that only complete agreement is 100 %; draws of chains have none."""
    model, _ = fitted("binary", pool="logarithmic")
    fitted_model = model.model_
    (regression,) = fitted_model.posterior.regressions
    for share, text in ((0.98449, "98.4 %"), (0.9999, "99.9 %"), (0.57, "57.0 %"), (1.0, "100.0 %")):
        posterior = Posterior((replace(regression, agreement=share),))
        contents = ExportContents.from_model(replace(fitted_model, posterior=posterior))
        assert str(contents).endswith(f"It decides {text} of held-out rows as the full model does.")
    several = ExportContents.from_model(fitted("three", pool="logarithmic")[0].model_)
    assert str(several).endswith(
        " % or more of held-out rows as the full model does, for each class against the others."
    )
    chains = ExportContents.from_model(fitted("binary")[0].model_)
    assert chains.agreement is None
    assert str(chains).endswith("Its agreement with the full model has not been measured.")


def test_unknown_estimates():
    """They are refused by every export."""
    model, _ = fitted("binary")
    for export in (model.to_python_source, lambda estimate: model.to_sql(list("abcd"), estimate=estimate)):
        with pytest.raises(ValueError, match="estimate must be one of 'mean', 'best'; got 'median'"):
            export("median")
