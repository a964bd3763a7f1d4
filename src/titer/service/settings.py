"""Settings of the service, from the command line or the environment."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from titer.service.logs import LogFormat
from titer.service.schemas import MAX_FACTS, MAX_QUESTIONS

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Host names of the loopback interface."""


class Settings(BaseSettings):
    """Settings of the service; each can also be given as an environment variable, such as ``TITER_TOKEN``."""

    model_config = SettingsConfigDict(env_prefix="TITER_", frozen=True, extra="ignore")

    token: SecretStr | None = Field(
        # An empty token, as from an unset variable, would match every client.
        default=None,
        min_length=1,
        description="Token required on every request. Without one the service is read-only.",
    )
    local_only: bool = Field(
        default=False,
        description="Whether a service without a token accepts only requests for localhost.",
    )
    max_questions: int = Field(
        default=256, ge=1, le=MAX_QUESTIONS, description="Maximum number of questions per request."
    )
    max_answers: int = Field(default=100, ge=1, description="Maximum number of answers to a question.")
    max_evidence: int = Field(default=50, ge=0, description="Maximum number of reasons for an answer.")
    max_explained: int = Field(default=1000, ge=1, description="Maximum number of answers with evidence in a request.")
    max_facts: int = Field(default=10_000, ge=1, le=MAX_FACTS, description="Maximum number of facts in a request.")
    max_bytes: int = Field(default=4 << 20, ge=1024, description="Maximum size of a request body in bytes.")
    max_body_bytes: int = Field(
        default=64 << 20, ge=1024, description="Maximum size of all request bodies that are being received, in bytes."
    )
    header_seconds: float = Field(default=10.0, gt=0, description="Time for the header of a request to arrive.")
    body_seconds: float = Field(default=10.0, gt=0, description="Time for the body of a request to arrive.")
    requests_per_minute: int = Field(
        default=0, ge=0, description="Maximum number of requests of a client address per minute; 0 for no limit."
    )
    origins: tuple[str, ...] = Field(
        default=(),
        description="Origins of other sites whose pages may send requests and read responses, such as https://example.org.",
    )
    request_seconds: float = Field(default=30.0, gt=0, description="Maximum duration of a request in seconds.")
    max_requests: int = Field(default=500, ge=1, description="Maximum number of requests at once; more are rejected.")
    batch_size: int = Field(default=64, ge=1, description="Maximum number of questions in a batch.")
    max_waiting: int = Field(default=4096, ge=1, description="Maximum number of queued questions; more are rejected.")
    log_format: LogFormat = Field(default="text", description="Whether log lines are text or JSON.")
