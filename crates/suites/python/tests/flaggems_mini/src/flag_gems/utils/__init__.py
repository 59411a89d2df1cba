from .libentry import libentry, libtuner  # the function hides the module of its name

__all__ = ["libentry", "libtuner"]
