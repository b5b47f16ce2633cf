"""Models behind the figures: their samplers, and which fits are stored."""

import pytest

from softpolytope import SumSoftplusClassifier
from softpolytope.paper.figures._models import FigureModel, FigureProtocol, fit_and_save, load_fitted

MODEL = FigureModel("circle", "sum", 1, 1.0)


def test_two_samplers():
    """The paper's prior and scan by default, the library's own on demand."""
    papers, ours = (MODEL.classifiers(FigureProtocol(sampler=name))[0] for name in ("paper", "library"))
    assert papers.scan == "paper"
    assert papers.prior.precision_rate == "learned"
    assert (ours.scan, ours.prior) == ("auto", None)
    for model in (papers, ours):
        assert (model.n_sweeps, model.n_burn_in, model.n_draws, model.standardize) == (2000, 1000, 20, False)


def test_large_sets_have_short_chains_from_a_mode():
    """They have one classifier, of the library's sampler."""
    (classifier,) = FigureModel("a9a", "sum_stack", 5, 1.0).classifiers(FigureProtocol())
    assert (classifier.scan, classifier.start, classifier.n_sweeps, classifier.n_draws) == ("auto", "map", 40, 20)


def test_a_chain_that_breaks_down_is_run_by_the_other_sampler(tmp_path, monkeypatch):
    """Where a chain under the paper's prior breaks down, the library's own is used, stored, and remarked on."""
    protocol = FigureProtocol(n_sweeps=10)
    real = SumSoftplusClassifier.fit

    def fit_or_fail(model, X, y):
        if model.scan == "paper":
            raise FloatingPointError("no Cholesky factor.")
        return real(model, X, y)

    monkeypatch.setattr(SumSoftplusClassifier, "fit", fit_or_fail)
    MODEL.path(tmp_path).write_bytes(b"of another version")
    assert load_fitted(MODEL, protocol, tmp_path) is None
    remark = fit_and_save(MODEL, protocol, tmp_path)
    assert remark == "circle_sum: no Cholesky factor. The library's own sampler and prior were used instead."
    assert load_fitted(MODEL, protocol, tmp_path).scan == "auto"


class Stopped:
    """A classifier whose fit is stopped by Ctrl-C."""

    def fit(self, X, y):
        """Stop."""
        assert len(X) == len(y)
        raise KeyboardInterrupt


def test_a_stopped_fit_is_not_stored(tmp_path, monkeypatch):
    """Ctrl-C during a fit ends the run and leaves no model."""
    monkeypatch.setattr(FigureModel, "classifiers", lambda *_: [Stopped()])
    with pytest.raises(KeyboardInterrupt):
        fit_and_save(MODEL, FigureProtocol(), tmp_path)
    assert list(tmp_path.iterdir()) == []
