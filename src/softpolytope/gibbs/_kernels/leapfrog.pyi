from softpolytope._typing import FloatArray

def kick_and_drift(
    position: FloatArray,
    momentum: FloatArray,
    slope: FloatArray,
    scale: FloatArray,
    kick: float,
    step: float,
    n_weights: int,
    lower: float,
    upper: float,
) -> None: ...
