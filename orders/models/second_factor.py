"""The second factor of an operator, with its secret encrypted."""

from binascii import unhexlify

from django_otp.plugins.otp_totp.models import TOTPDevice

from sasweb.sealing import MARK, seal, unseal

PURPOSE = "second factor"


class TotpFactor(TOTPDevice):  # type: ignore[misc]  # django-otp has no types
    """django-otp's device, whose key is stored sealed: whoever reads the database cannot make codes."""

    class Meta:
        proxy = True

    @property
    def bin_key(self) -> bytes:
        """The secret. Raises `BrokenSealError`."""
        if self.key.startswith(MARK):
            return unseal(self.key, purpose=PURPOSE)
        return unhexlify(self.key)  # a new device before it is saved

    def save(self, *args: object, **kwargs: object) -> None:
        """Seals the key, with the newest `SECRET_KEY`, whenever the device is written as a whole."""
        if not kwargs.get("update_fields"):
            self.key = seal(self.bin_key, purpose=PURPOSE)
        super().save(*args, **kwargs)
