"""What can go wrong, as exceptions: one class for each status code of the library.

Every error says what happened (`message`), what to do about it (`remedy`, "" if nothing is known) and which code it
has (`code`). Where Python has a word of its own (ValueError, MemoryError, ...), the class is one of these too.
"""
from __future__ import annotations


class Error(Exception):
    """Any error of the library."""

    code = "UNKNOWN"

    def __init__(self, message: str = "", remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} ({self.remedy})" if self.remedy else self.message


class UnknownError(Error):
    """An error without a better name."""


class Cancelled(Error):
    """The work was told to stop. The model stays usable."""

    code = "CANCELLED"


class InvalidArgument(Error, ValueError):
    """Something that was given makes no sense; the message names it."""

    code = "INVALID_ARGUMENT"


class DeadlineExceeded(Error, TimeoutError):
    """The time was up."""

    code = "DEADLINE_EXCEEDED"


class NotFound(Error, LookupError):
    """No such file, site, class or method."""

    code = "NOT_FOUND"


class AlreadyExists(Error):
    """The name is taken."""

    code = "ALREADY_EXISTS"


class PermissionDenied(Error):
    """The system does not let us."""

    code = "PERMISSION_DENIED"


class ResourceExhausted(Error, MemoryError):
    """Out of memory, or over a limit that the message names."""

    code = "RESOURCE_EXHAUSTED"


class FailedPrecondition(Error, RuntimeError):
    """Not possible now: a closed model, a forked process, a file that changed."""

    code = "FAILED_PRECONDITION"


class Aborted(Error):
    """Given up half-way."""

    code = "ABORTED"


class OutOfRange(Error, ValueError):
    """A number beyond its bounds."""

    code = "OUT_OF_RANGE"


class Unimplemented(Error, NotImplementedError):
    """The library does not do this."""

    code = "UNIMPLEMENTED"


class Internal(Error):
    """A fault of the library; please report it."""

    code = "INTERNAL"


class Unavailable(Error):
    """Not now; try again later."""

    code = "UNAVAILABLE"


class DataLoss(Error):
    """A damaged file, or numbers that are not finite."""

    code = "DATA_LOSS"


#: Class of each status code, by its name; the extension raises these.
BY_CODE: dict[str, type[Error]] = {
    cls.code: cls
    for cls in (UnknownError, Cancelled, InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists, PermissionDenied,
                ResourceExhausted, FailedPrecondition, Aborted, OutOfRange, Unimplemented, Internal, Unavailable,
                DataLoss)
}
