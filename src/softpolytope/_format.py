"""Numbers as text for people."""


def format_duration(seconds: float) -> str:
    """Format seconds as 40 s, 2:05 min or 1:02:05 h.

    Examples
    --------
    >>> format_duration(59.4), format_duration(125.0), format_duration(3725.0)
    ('59 s', '2:05 min', '1:02:05 h')
    """
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    hours, rest = divmod(rounded, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{rest:02d} h" if hours else f"{minutes}:{rest:02d} min"
