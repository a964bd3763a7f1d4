"""The service: forecasts, evidence, what-ifs and new facts over HTTP, and a web page.

Nothing else in titer imports this package, since it needs the packages of the extra ``serve``.
"""

from importlib import import_module

from titer.extras import missing

try:
    for name in ("fastapi", "uvicorn", "pydantic_settings", "sqlalchemy", "prometheus_client"):
        import_module(name)
except ImportError:
    raise missing("the service", "serve") from None
