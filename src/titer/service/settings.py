"""What can be set about a service, by the command line or by the environment."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from titer.service.schemas import MAX_FACTS, MAX_QUESTIONS

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Names by which a machine reaches itself alone."""


class Settings(BaseSettings):
    """Settings of the service; each can also be given as an environment variable, such as ``TITER_TOKEN``."""

    model_config = SettingsConfigDict(env_prefix="TITER_", frozen=True, extra="ignore")

    token: SecretStr | None = Field(
        # One that is empty, as a variable that was never filled in, would be everybody's.
        default=None,
        min_length=1,
        description="Who asks must bring this; without it, nobody can add facts.",
    )
    local_only: bool = Field(
        default=False,
        description="Whether, without a token, only requests to this machine by its own name are answered.",
    )
    max_questions: int = Field(default=256, ge=1, le=MAX_QUESTIONS, description="Questions in one request.")
    max_answers: int = Field(default=100, ge=1, description="Answers to one question.")
    max_evidence: int = Field(default=50, ge=0, description="Pieces of evidence for one answer.")
    max_explained: int = Field(default=1000, ge=1, description="Answers with evidence in one request.")
    max_facts: int = Field(default=10_000, ge=1, le=MAX_FACTS, description="Facts in one request.")
    max_bytes: int = Field(default=4 << 20, ge=1024, description="Size of a request's body.")
    request_seconds: float = Field(default=30.0, gt=0, description="How long a request may take.")
    max_requests: int = Field(default=500, ge=1, description="Requests at once; more are turned away.")
    batch_size: int = Field(default=64, ge=1, description="Questions that are answered together.")
    max_waiting: int = Field(default=4096, ge=1, description="Questions that may wait; more are turned away.")
