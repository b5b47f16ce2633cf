"""Old names of keywords and attributes that keep working for one release."""

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def accept_old_keyword(
    old: str, new: str, new_values: Mapping[object, object] | None = None
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Return a decorator that accepts a keyword under its old name too, with a FutureWarning.

    `new_values` maps values of the old keyword to those of the new one; all others stay as they are.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(function)
        def accepting(*given: Parameters.args, **named: Parameters.kwargs) -> Result:
            if old in named:
                if new in named:
                    raise TypeError(f"{old!r} is the old name of {new!r}, and both were given. Give {new!r} only.")
                message = f"the keyword {old!r} is now {new!r}; the old name will be removed in the next release."
                warnings.warn(message, FutureWarning, stacklevel=2)
                value = named.pop(old)
                named[new] = new_values.get(value, value) if new_values else value
            return function(*given, **named)

        return accepting

    return decorate


def renamed_attribute(old: str, new: str) -> property:
    """Return a property that reads an attribute by its old name, with a FutureWarning."""

    def read(owner: object) -> object:
        message = f"the attribute {old!r} is now {new!r}; the old name will be removed in the next release."
        warnings.warn(message, FutureWarning, stacklevel=2)
        return getattr(owner, new)

    return property(read)
