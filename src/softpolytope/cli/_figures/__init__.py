"""The parts of `softpolytope figures`: what to fit, how to draw it, where to keep it."""
