"""Who runs the shop, for the pages that customers have a right to: shipping, returns, privacy and contact."""

from dataclasses import dataclass
from functools import cache

from sasweb.environment import Environment

LONGEST = 200
"""Characters of a fact."""


@dataclass(frozen=True, kw_only=True)
class Owner:
    """What the environment says of the shop's owner; a fact that it does not say is empty.

    `return_days` is for how many days after it has arrived a print may be sent back.
    """

    company: str
    address: tuple[str, ...]
    registration: str
    phone: str
    return_days: int

    @property
    def missing(self) -> list[str]:
        """The settings that the pages show a placeholder for."""
        facts = {
            "SHOP_COMPANY": self.company,
            "SHOP_ADDRESS": self.address,
            "SHOP_REGISTRATION": self.registration,
        }
        return [name for name, fact in facts.items() if not fact]


def read_owner(environment: Environment) -> Owner:
    """Reads it from the environment. Raises `ConfigError`. The lines of the address are separated by commas."""
    address = environment.line("SHOP_ADDRESS", most=400)
    return Owner(
        company=environment.line("SHOP_COMPANY", most=LONGEST),
        address=tuple(line.strip() for line in address.split(",") if line.strip()),
        registration=environment.line("SHOP_REGISTRATION", most=LONGEST),
        phone=environment.line("SHOP_PHONE", most=LONGEST),
        return_days=environment.whole("SHOP_RETURN_DAYS", 14, lowest=0, highest=365),
    )


@cache
def present_owner() -> Owner:
    """That of this process."""
    return read_owner(Environment())
