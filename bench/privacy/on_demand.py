"""Import of a package's modules one by one, without everything that its __init__ imports."""

import importlib.util
import sys
import threading

_lock = threading.RLock()


def package_on_demand(name: str) -> None:
    """Provide a package whose __init__ runs only when a name is requested that is no module in it.

    Modules of the package then import what they need themselves, as `import dp_accounting.dp_event` does. Other
    importers of the package notice no difference. Does nothing if the package has been imported already.

    Raises:
        ModuleNotFoundError: if there is no such package.
    """
    if name in sys.modules:
        return
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module, loader = importlib.util.module_from_spec(spec), spec.loader

    def find(attribute: str):
        """Find a name that the package does not have yet."""
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        if importlib.util.find_spec(f"{name}.{attribute}"):
            return importlib.import_module(f"{name}.{attribute}")
        with _lock:
            if vars(module).pop("__getattr__", None):
                loader.exec_module(module)
        return getattr(module, attribute)

    vars(module)["__getattr__"] = find
    sys.modules[name] = module
