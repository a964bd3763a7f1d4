"""Optional packages: the error that names the command to install them."""

from titer.errors import MissingPackageError


def missing(purpose: str, extra: str | None = None, *, package: str | None = None) -> MissingPackageError:
    """Return the error for a package that is not installed.

    Args:
        purpose: What needs the package, such as "the service".
        extra: The extra of titer that brings it.
        package: The package itself, if no extra brings it.
    """
    target = package or f"'titer[{extra}]'"
    return MissingPackageError(f"{purpose} needs packages that are not installed; run: pip install {target}")
