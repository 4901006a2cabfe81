/** Integers of JSON in MessagePack's smallest form. Floats and integers of more than 18 digits are left to another pass. */

/** Position in the input after the last number. */
export let afterNumber: usize = 0

/** Reads the number at `from` and writes it at `to`. Returns the end of the output, or 0. */
export function copyNumber(from: usize, to: usize): usize {
  const isNegative = load<u8>(from) == 45
  const first = from + <usize>isNegative
  let at = first
  let value: u64 = 0
  while (true) {
    const digit = <u32>load<u8>(at) - 48
    if (digit > 9) break
    value = value * 10 + <u64>digit
    at++
  }
  const digits = at - first
  if (digits == 0 || digits > 18) return 0
  // No leading zeros; and -0 is a float.
  if (load<u8>(first) == 48 && (digits > 1 || isNegative)) return 0
  const next = <u32>load<u8>(at)
  if (next != 44 && next != 125 && next != 93) return 0
  afterNumber = at
  return isNegative ? writeNegative(-(<i64>value), to) : writeUnsigned(value, to)
}

function writeUnsigned(value: u64, to: usize): usize {
  if (value < 0x80) {
    store<u8>(to, <u8>value)
    return to + 1
  }
  if (value < 0x100) return write8(0xcc, <u8>value, to)
  if (value < 0x10000) return write16(0xcd, <u16>value, to)
  if (value < 0x100000000) return write32(0xce, <u32>value, to)
  return write64(0xcf, value, to)
}

function writeNegative(value: i64, to: usize): usize {
  if (value >= -0x20) {
    store<u8>(to, <u8>value)
    return to + 1
  }
  if (value >= -0x80) return write8(0xd0, <u8>value, to)
  if (value >= -0x8000) return write16(0xd1, <u16>value, to)
  if (value >= -0x80000000) return write32(0xd2, <u32>value, to)
  return write64(0xd3, <u64>value, to)
}

function write8(type: u8, value: u8, to: usize): usize {
  store<u8>(to, type)
  store<u8>(to, value, 1)
  return to + 2
}

function write16(type: u8, value: u16, to: usize): usize {
  store<u8>(to, type)
  store<u16>(to, bswap<u16>(value), 1)
  return to + 3
}

function write32(type: u8, value: u32, to: usize): usize {
  store<u8>(to, type)
  store<u32>(to, bswap<u32>(value), 1)
  return to + 5
}

function write64(type: u8, value: u64, to: usize): usize {
  store<u8>(to, type)
  store<u64>(to, bswap<u64>(value), 1)
  return to + 9
}
