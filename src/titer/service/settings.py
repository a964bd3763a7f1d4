"""What can be set about a service, by the command line or by the environment."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from titer.service.schemas import MOST_FACTS, MOST_QUESTIONS

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
    most_questions: int = Field(default=256, ge=1, le=MOST_QUESTIONS, description="Questions in one request.")
    most_answers: int = Field(default=100, ge=1, description="Answers to one question.")
    most_evidence: int = Field(default=50, ge=0, description="Pieces of evidence for one answer.")
    most_explained: int = Field(default=1000, ge=1, description="Answers with evidence in one request.")
    most_facts: int = Field(default=10_000, ge=1, le=MOST_FACTS, description="Facts in one request.")
    most_bytes: int = Field(default=4 << 20, ge=1024, description="Size of a request's body.")
    request_seconds: float = Field(default=30.0, gt=0, description="How long a request may take.")
    most_requests: int = Field(default=500, ge=1, description="Requests at once; more are turned away.")
    batch_size: int = Field(default=64, ge=1, description="Questions that are answered together.")
    most_waiting: int = Field(default=4096, ge=1, description="Questions that may wait; more are turned away.")
