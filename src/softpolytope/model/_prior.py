"""The hyperparameters of the model."""

import math
import numbers
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Literal, Self


@dataclass(frozen=True, slots=True)
class Prior:
    """Hyperparameters; every Gamma law is given by its shape and rate.

    The defaults are the paper's except for the coefficients: with its precision shape of 1e-6 their density is nearly
    flat, and on separable rows they are not kept finite. Shape and rate of 1 give a Student t law with two degrees of
    freedom. `Prior.of_the_paper()` is the paper's prior with the rate learned, as in its author's later code; as
    printed it is `Prior(precision_shape=1e-6, precision_rate=1e-6)`.

    Integers, NumPy scalars, `Fraction` and `Decimal` are accepted and converted to float; a bool is rejected.

    The model is r_k ~ Gamma(mass / K, concentration) for the weights of the experts, and beta ~ N(0, 1 / precision),
    precision ~ Gamma(precision_shape, precision_rate) for each coefficient.

    Parameters
    ----------
    mass_shape, mass_rate : float
        Shape and rate of the mass gamma_0 of the gamma process (a_0, b_0 in the paper).
    concentration_shape, concentration_rate : float
        Shape and rate of the concentration c_0 of the gamma process (e_0, f_0).
    precision_shape : float
        Shape of the precision of each coefficient (a_t).
    precision_rate : float or "learned"
        Rate of the precision of each coefficient (b_t). With "learned", chains draw a rate for each expert and layer,
        with prior Gamma(1, 1); searches for modes select one of six rates for all experts and layers on held-out rows
        (with fewer than 150 rows, one for each restart), and members of a bootstrap one each.

    Examples
    --------
    >>> from softpolytope.model import Prior
    >>> Prior().precision_rate, Prior.of_the_paper().precision_rate
    (1.0, 'learned')
    """

    mass_shape: float = 0.01
    mass_rate: float = 0.01
    concentration_shape: float = 1.0
    concentration_rate: float = 1.0
    precision_shape: float = 1.0
    precision_rate: float | Literal["learned"] = 1.0

    @classmethod
    def of_the_paper(cls) -> Self:
        """Return the paper's hyperparameters, with the precision rate learned as in its author's later code."""
        return cls(precision_shape=1e-6, precision_rate="learned")

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            may_be_learned = field.name == "precision_rate"
            if may_be_learned and isinstance(value, str) and value == "learned":
                continue
            number = _as_float(value)
            if number is None or not math.isfinite(number) or number <= 0.0:
                choice = ' or "learned"' if may_be_learned else ""
                raise ValueError(f"{field.name} must be finite and > 0{choice}; got {value!r}.")
            # The kernels take doubles only, and the same prior must have the same digest however it was written.
            object.__setattr__(self, field.name, number)


def _as_float(value: object) -> float | None:
    """Return a number of any type as a float, or None if it is not a number; a bool is not."""
    # NumPy's bool is not a Real but Python's is; Decimal is not one but converts like one.
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):  # 10**400, a signaling NaN
        return None
