"""Serialized tf.train.Example, by the wire format: Example { Features { map<string, Feature> } }."""


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(features: dict[str, bytes]) -> bytes:
    entries = (field(1, field(1, name.encode()) + field(2, feature)) for name, feature in features.items())
    return field(1, b"".join(entries))
