"""Numbers with what they count, for messages."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with a noun in singular or plural, such as "1 fact" and "1,200 facts".

    Args:
        number: The number.
        noun: The noun in singular.
        plural: The noun in plural, if that is not the singular with an s.
    """
    return f"{number:,} {noun if abs(number) == 1 else plural or f'{noun}s'}"
