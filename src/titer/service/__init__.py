"""The service: forecasts, evidence, what-ifs and new facts over HTTP, and a page that shows time.

Nothing else in titer imports this package before it is needed: it needs FastAPI, and the rest does not.
"""

from titer.errors import TiterError

try:
    import fastapi  # noqa: F401
except ImportError:
    raise TiterError("the service needs FastAPI: pip install 'titer[serve]'") from None
