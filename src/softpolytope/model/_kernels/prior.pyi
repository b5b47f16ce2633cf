from softpolytope._typing import FloatArray

def add_prior(
    coefficients: FloatArray,
    log_weights: FloatArray,
    precision_rates: FloatArray,
    precision_shape: float,
    weight_shape: float,
    concentration: float,
    slopes: FloatArray,
    weight_slopes: FloatArray,
) -> float: ...
