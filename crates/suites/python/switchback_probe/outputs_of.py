"""The tensors in a result or among inputs, and their size."""


def tensors_in(value):
    """All tensors in a result, in order."""
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        return [value]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_in(item)]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def size_bytes(tensors):
    """Bytes of tensors' elements."""
    return sum(int(tensor.numel()) * int(tensor.element_size()) for tensor in tensors)
