"""Facts that keep coming: a database beside a run, and the history that grows with it.

Nothing else in titer imports this package before it is needed: it needs SQLAlchemy, and the rest does not.
"""

from titer.errors import TiterError

try:
    import sqlalchemy  # noqa: F401
except ImportError:
    raise TiterError("facts that keep coming are kept through SQLAlchemy: pip install 'titer[serve]'") from None
