# The service on a CPU. A run directory is mounted at /run/titer:
#   docker run --publish 127.0.0.1:8000:8000 --volume ./runs/events:/run/titer --env TITER_TOKEN titer
FROM python:3.12-slim

# PyTorch's index of CPU wheels, if one is given; the ordinary wheel brings several gigabytes of CUDA.
ARG PIP_EXTRA_INDEX_URL=""

RUN useradd --create-home --uid 10001 titer
WORKDIR /app
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m pip install --no-cache-dir ".[serve,postgres]"

USER titer
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["titer"]
CMD ["serve", "/run/titer", "--host", "0.0.0.0", "--port", "8000"]
