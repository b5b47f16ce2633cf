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


def format_count(number: int, noun: str) -> str:
    """Format a number and its noun.

    Examples
    --------
    >>> format_count(1, "row"), format_count(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def format_deviations(distance: float) -> str:
    """Format a distance in standard deviations with two digits; the noun agrees with the rounded number.

    Examples
    --------
    >>> format_deviations(0.9981), format_deviations(1.1)
    ('1 standard deviation', '1.1 standard deviations')
    """
    text = f"{distance:.2g}"
    return f"{text} standard deviation" + ("" if text == "1" else "s")
