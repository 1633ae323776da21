"""What metier raises.

    MetierError                   catch this one to catch them all
    ├── UsageError                a wrong argument; nothing was done           exit 2
    ├── ConfigError               a setting is wrong; nothing was done         exit 2
    ├── TrustError                the workspace may not do that yet            exit 3
    ├── NotFoundError             no document has that id or name              exit 1
    ├── InvalidDocumentError      a strict load met a document with errors     exit 1
    ├── ContractError             a DCI contract that cannot be used           exit 1
    ├── SourceError               a source of cards cannot be read             exit 1
    ├── ModelError                a model did not answer                       exit 1
    └── StoreError                a file of state cannot be used               exit 1
        ├── DamagedError          it is damaged                                exit 1
        └── RunLostError          another process has taken the run over       exit 1

Problems in *data* are not raised: they travel as `Issue` values. Every error has a stable
`code`; `metier explain CODE` prints its page.
"""


class MetierError(Exception):
    """One line for people (`message`), a stable `code`, and what to do next (`hint`)."""

    exit_code = 1
    default_code = "METIER_ERROR"

    def __init__(
        self, message: str, *, code: str | None = None, where: str = "", hint: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.where = where
        self.hint = hint


class UsageError(MetierError):
    exit_code = 2
    default_code = "USAGE"


class ConfigError(MetierError):
    exit_code = 2
    default_code = "CONFIG_INVALID"


class TrustError(MetierError):
    """Something needs the user's trust in the workspace; nothing was done."""

    exit_code = 3
    default_code = "WORKSPACE_UNTRUSTED"


class NotFoundError(MetierError):
    default_code = "NOT_FOUND"


class InvalidDocumentError(MetierError):
    default_code = "DOCUMENT_INVALID"


class SourceError(MetierError):
    default_code = "SOURCE_FAILED"


class StoreError(MetierError):
    default_code = "STORE_FAILED"


class RunLostError(StoreError):
    """Another process has claimed the run; this one has stopped and writes nothing more."""

    default_code = "RUN_LOST"

    def __init__(self) -> None:
        super().__init__(
            "another process has taken the run over", hint="metier runs list shows how it goes on"
        )


class DamagedError(StoreError):
    """A database is not what metier wrote. A catalogue is then built again."""

    default_code = "STORE_CORRUPT"


class ModelError(MetierError):
    """A model did not answer; `kind` says why: timeout, rateLimit, serverError, networkError.

    Without a kind it is vain to try again.
    """

    default_code = "MODEL_ERROR"

    def __init__(self, message: str, *, kind: str = "", code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.kind = kind


class ContractError(MetierError):
    """A contract that cannot be used; `position` is the offset of the character at fault."""

    default_code = "CONTRACT_INVALID"

    def __init__(self, message: str, *, position: int, hint: str = "") -> None:
        super().__init__(message, where=f"character {position + 1}", hint=hint)
        self.position = position
