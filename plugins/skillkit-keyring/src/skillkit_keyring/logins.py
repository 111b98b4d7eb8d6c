"""What the configuration says of logins. Pydantic is imported only where it says something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from skillkit_core.errors import UsageError

if TYPE_CHECKING:
    from skillkit_oauth import OAuthProvider

__all__ = ["Logins", "OAuthSettings"]


class OAuthSettings(BaseModel):
    """The logins of one provider; see :class:`~skillkit_oauth.OAuthProvider`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    client_id: str = Field(description="id under which the application is registered at the provider")
    token_endpoint: str = Field(description="where codes and refresh tokens become tokens")
    authorization_endpoint: str | None = Field(None, description="where a person logs in with a browser")
    device_authorization_endpoint: str | None = Field(None, description="where a code for another device comes from")
    revocation_endpoint: str | None = Field(None, description="where a logout ends the tokens")
    scopes: tuple[str, ...] = Field((), description="what the token is asked for")
    secret: str | None = Field(None, description="variable that would hold the token; default: the provider's first")
    client_secret_env: str | None = Field(None, description="variable of the application's secret")
    redirect_port: int = Field(0, ge=0, le=65535, description="port on 127.0.0.1 for the browser's return; 0: any")
    redirect_path: str = Field("/callback", description="path for the browser's return")
    parameters: dict[str, str] = Field(default_factory=dict, description="of the authorization request")

    def provider(self, name: str) -> OAuthProvider:
        """Return the logins of the provider ``name``.

        Raises:
            UsageError: they cannot be used.
        """
        from skillkit_oauth import OAuthProvider

        given: dict[str, Any] = self.model_dump()
        return OAuthProvider(name=name, **given)


def _usable(given: dict[str, OAuthSettings]) -> dict[str, OAuthSettings]:
    for name, login in given.items():
        try:
            login.provider(name)
        except UsageError as error:
            raise ValueError(str(error)) from None
    return given


Logins: TypeAlias = Annotated[dict[str, OAuthSettings], AfterValidator(_usable)]
