"""Exceptions.

    MetierError                   base class of all others
    ├── UsageError                invalid argument; nothing was done           exit 2
    ├── ConfigError               invalid setting; nothing was done            exit 2
    ├── NotFoundError             what was named does not exist                exit 2
    ├── TrustError                the workspace is not trusted for this        exit 3
    ├── InvalidDocumentError      a strict load found errors in a document     exit 1
    ├── ContractError             unusable DCI contract                        exit 1
    ├── SourceError               a source of cards cannot be read             exit 1
    ├── ModelError                a model did not answer                       exit 1
    └── StoreError                a state file cannot be used                  exit 1
        ├── DamagedError          it is damaged                                exit 1
        ├── RunLostError          another process has claimed the run          exit 1
        └── RunReleasedError      this process stopped before the run ended    exit 1

Problems in *data* are not raised but returned as `Issue` values. Every error has a stable
`code`; `metier explain CODE` prints its page.
"""

REFRESH_HINT = "metier refresh (Python: catalog.refresh())"
RUNS_HINT = "metier runs list (Python: catalog.runs())"


class MetierError(Exception):
    """A one-line `message`, a stable `code`, `where` it is, and what to do next (`hint`).

    Tracebacks show all but the code.
    """

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
        if where and where not in message:
            self.add_note(f"where: {where}")
        if hint:
            self.add_note(f"hint: {hint}")


class UsageError(MetierError):
    """An invalid argument, or a call that is not possible now; nothing was done."""

    exit_code = 2
    default_code = "USAGE"


class ConfigError(MetierError):
    """Also says which `setting` is wrong, or the `line` and `column` of a file that is no TOML."""

    exit_code = 2
    default_code = "CONFIG_INVALID"

    def __init__(
        self,
        message: str,
        *,
        setting: str = "",
        line: int = 0,
        column: int = 0,
        code: str | None = None,
        where: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message, code=code, where=where, hint=hint)
        self.setting = setting
        self.line = line
        self.column = column


class TrustError(MetierError):
    """The user does not trust the workspace enough for what was asked; see `metier trust`."""

    exit_code = 3
    default_code = "WORKSPACE_UNTRUSTED"


class NotFoundError(MetierError):
    """What was named does not exist; the `hint` has the nearest name, or says where names are."""

    exit_code = 2
    default_code = "NOT_FOUND"


class InvalidDocumentError(MetierError):
    """A document has an error, and only a valid one was wanted."""

    default_code = "DOCUMENT_INVALID"


class SourceError(MetierError):
    default_code = "SOURCE_FAILED"


class StoreError(MetierError):
    """A file or a database with metier's state cannot be used, or not in this thread."""

    default_code = "STORE_FAILED"


class RunLostError(StoreError):
    default_code = "RUN_LOST"

    def __init__(self) -> None:
        super().__init__("another process has claimed the run", hint=RUNS_HINT)


class RunReleasedError(StoreError):
    default_code = "RUN_RELEASED"

    def __init__(self) -> None:
        super().__init__("the process stopped before the run ended", hint=RUNS_HINT)


class DamagedError(StoreError):
    default_code = "STORE_CORRUPT"


class ModelError(MetierError):
    """`kind` is timeout, rateLimit, serverError or networkError; do not retry without a kind.

    `retry_after` is how many seconds the provider asked to wait before, if it said.
    """

    default_code = "MODEL_ERROR"

    def __init__(
        self,
        message: str,
        *,
        kind: str = "",
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, code=code)
        self.kind = kind
        self.retry_after = retry_after


class ContractError(MetierError):
    """`position` is the offset of the invalid character."""

    default_code = "CONTRACT_INVALID"

    def __init__(self, message: str, *, position: int, hint: str = "") -> None:
        super().__init__(message, where=f"character {position + 1}", hint=hint)
        self.position = position


def install_hint(extra: str) -> str:
    """The same for every way to install metier: the page has the command of each."""
    return f"install metier with its extra '{extra}' (docs/install.md)"
