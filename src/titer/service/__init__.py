"""The service: forecasts, evidence, what-ifs and new facts over HTTP, and a web page.

Nothing else in titer imports this package, since it needs FastAPI.
"""

from importlib import import_module

from titer.extras import missing

try:
    import_module("fastapi")
except ImportError:
    raise missing("The service", "serve") from None
