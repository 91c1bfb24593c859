"""Whether Captum's numbers are given where they differ from the library's own (docs/captum.md)."""

compat: bool = True
