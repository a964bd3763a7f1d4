"""``python -m titer`` is the command ``titer``."""

from titer.cli.main import main

if __name__ == "__main__":
    main()
