"""Which figures there are, what each of them needs, and how it is made of that."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from softpolytope.cli._figures import polya_gamma
from softpolytope.cli._figures.best_draw import draw_best
from softpolytope.cli._figures.fits import Fit, Protocol, kept_model
from softpolytope.cli._figures.mean_and_spread import draw_posterior
from softpolytope.cli._figures.panels import how_fitted
from softpolytope.cli._figures.weights import draw_weights

Kind = Literal["best", "posterior", "weights", "polya_gamma"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the paper."""

    number: int  # in the paper
    name: str
    kind: Kind
    fits: tuple[Fit, ...]
    title: str

    @property
    def file_name(self) -> str:
        """Of the picture."""
        return f"figure{self.number:02d}_{self.name}.png"

    @property
    def needs_files(self) -> bool:
        """Whether its rows come from files that the package does not bring."""
        return any(fit.is_benchmark for fit in self.fits)

    @property
    def needs(self) -> set[str]:
        """Names of what must be there before it can be drawn."""
        return {"polya_gamma"} if self.kind == "polya_gamma" else {fit.name for fit in self.fits}

    def drawn(self, protocol: Protocol, folder: Path) -> Any:
        """The matplotlib figure, from what was kept."""
        title = f"Figure {self.number}: {self.title}"
        if self.kind == "polya_gamma":
            return polya_gamma.draw_polya_gamma(title, protocol.seed, protocol.n_polya_gamma, folder)
        models = {fit.data: kept_model(fit, protocol, folder) for fit in self.fits}
        if self.kind == "weights":
            return draw_weights(title, models)
        draw = draw_best if self.kind == "best" else draw_posterior
        fit = self.fits[0]
        model = models[fit.data]
        return draw(f"{title} ({how_fitted(model)})", fit, model, fit.rows(protocol))


# Seconds are those of one core of the machine that docs/figures.md was made on: they decide the order of the fits and
# how long is said to be left, nothing else.
_TWO_DIMENSIONAL = (
    (1, "circle_sum", Fit("circle", "sum", 1, 4.0), "sum-softplus regression, circle"),
    (3, "circle_stack", Fit("circle", "stack", 20, 14.0), "stack-softplus regression, circle"),
    (5, "circle_sum_stack", Fit("circle", "sum_stack", 20, 45.0), "sum-stack-softplus regression, circle"),
    (7, "banana", Fit("banana", "sum_stack", 20, 60.0), "sum-stack-softplus regression, banana"),
    (12, "xor", Fit("xor", "sum_stack", 20, 30.0), "sum-stack-softplus regression, XOR"),
    (14, "double_moon", Fit("double_moon", "sum_stack", 20, 95.0), "sum-stack-softplus regression, double moon"),
)
# Seconds of a sum, and of a sum of stacks.
_SETS = {
    "banana": (5.0, 22.0),
    "breast_cancer": (3.0, 10.0),
    "titanic": (2.0, 5.0),
    "waveform": (7.0, 23.0),
    "german": (11.0, 35.0),
    "image": (21.0, 90.0),
    "ijcnn1": (45.0, 85.0),
    "a9a": (45.0, 95.0),
}


def all_figures() -> list[Figure]:
    """The figures of the paper, in its order."""
    figures = [
        Figure(11, "polya_gamma", "polya_gamma", (), "draws of PG(0.9, 2) by sums of gammas"),
        Figure(9, "weights_sum", "weights", tuple(Fit(name, "sum", 1, cost[0]) for name, cost in _SETS.items()),
               "weights of the experts, sum-softplus regression"),
        Figure(10, "weights_sum_stack", "weights",
               tuple(Fit(name, "sum_stack", 5, cost[1]) for name, cost in _SETS.items()),
               "weights of the experts, sum-stack-softplus regression, T = 5"),
    ]  # fmt: skip
    for number, name, fit, title in _TWO_DIMENSIONAL:
        figures.append(Figure(number, name, "best", (fit,), f"{title}, best draw"))
        figures.append(Figure(number + 1, f"{name}_posterior", "posterior", (fit,), f"{title}, posterior"))
    return sorted(figures, key=lambda figure: figure.number)


def chosen_figures(names: list[str] | None) -> list[Figure]:
    """Those whose number is named, or whose name begins with one of the names; raises if a name fits none."""
    figures = all_figures()
    if names is None:
        return figures
    wanted = []
    for name in names:
        found = [item for item in figures if name == str(item.number) or (name and item.name.startswith(name))]
        if not found:
            known = ", ".join(f"{item.number} {item.name}" for item in figures)
            raise ValueError(f"there is no figure {name!r}; there are {known}.")
        wanted += found
    return [figure for figure in figures if figure in wanted]
