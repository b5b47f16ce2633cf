"""The error of a reproduction that was asked for wrongly."""


class ReproductionError(ValueError):
    """A reproduction that cannot be run as requested; the message says why and what to change."""
