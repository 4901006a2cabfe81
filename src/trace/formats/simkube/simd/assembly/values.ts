/**
 * JSON values as MessagePack. A function returns 0 if it finds something unusual; then another pass decides.
 */
import { addMember, closeMap, countOf, openMap } from "./members"
import {
  ANNOTATIONS,
  CONTAINER,
  CONTAINERS,
  COPY,
  DROP,
  isTokenVolume,
  METADATA,
  PLAIN,
  POD_SPEC,
  ROOT,
  ruleOf,
  SPEC,
  VOLUME,
  VOLUME_NAME,
  VOLUMES,
} from "./rules"
import { afterNumber, copyNumber } from "./numbers"
import { afterString, copyString, skipString, textLength } from "./strings"
import { hashValue } from "./hash"

const QUOTE: u32 = 34
const COMMA: u32 = 44
const COLON: u32 = 58
const OPEN_BRACKET: u32 = 91
const CLOSE_BRACKET: u32 = 93
const OPEN_BRACE: u32 = 123
const CLOSE_BRACE: u32 = 125
const NULL: u32 = 0x6c6c756e

/** Deepest nesting of containers; for deeper ones, which only a malicious client sends, another pass decides. */
const DEEPEST: u32 = 64

/** Position in the input after the last value. */
export let after: usize = 0

/** Whether the spec was found and hashed. */
export let isSpecSeen: bool = false
export let isMetadataSeen: bool = false
/** Whether a spec is a Pod's. */
let isPod: bool = false
/** Whether the volume or mount that was copied last is that of a token. */
let isOfToken: bool = false
/** Whether everything in the list that was copied last was dropped, so that the list goes too. */
let isEmptied: bool = false

export function beginObject(isOfPod: bool): void {
  isSpecSeen = false
  isMetadataSeen = false
  isPod = isOfPod
}

/** Copies the value at `from`. Returns the end of the output; {@link after} is the end of the input. */
function copyValue(from: usize, to: usize, depth: u32): usize {
  const first = <u32>load<u8>(from)
  if (first == QUOTE) {
    const end = copyString(from + 1, to)
    after = afterString
    return end
  }
  if (first == OPEN_BRACE) return copyMap(from + 1, to, depth, PLAIN, 0)
  if (first == OPEN_BRACKET) return copyArray(from + 1, to, depth)
  const word = load<u32>(from)
  if (word == NULL) return literal(0xc0, from + 4, to)
  // true, fals
  if (word == 0x65757274) return literal(0xc3, from + 4, to)
  if (word == 0x736c6166 && <u32>load<u8>(from, 4) == 101) return literal(0xc2, from + 5, to)
  const end = copyNumber(from, to)
  after = afterNumber
  return end
}

function literal(code: u8, next: usize, to: usize): usize {
  store<u8>(to, code)
  after = next
  return to + 1
}

function copyArray(from: usize, to: usize, depth: u32): usize {
  if (depth >= DEEPEST) return 0
  let at = from
  let out = to + 1
  let count: usize = 0
  if (<u32>load<u8>(at) == CLOSE_BRACKET) at++
  else {
    while (true) {
      out = copyValue(at, out, depth + 1)
      if (out == 0) return 0
      count++
      at = after
      const next = <u32>load<u8>(at++)
      if (next == CLOSE_BRACKET) break
      if (next != COMMA) return 0
    }
  }
  after = at
  return setHeader(to, out, 0x90, 0xdc, count)
}

/**
 * Copies the map whose brace is before `from`, by the rules of its sort. `extra` bytes at `to + 1` are already written and contain two
 * members of the root.
 */
export function copyMap(from: usize, to: usize, depth: u32, sort: u32, extra: usize): usize {
  if (depth >= DEEPEST) return 0
  const map = openMap()
  let at = from
  let out = to + 1 + extra
  let hasAnnotations = false
  let hasVolumes = false
  if (<u32>load<u8>(at) == CLOSE_BRACE) at++
  else {
    while (true) {
      if (<u32>load<u8>(at) != QUOTE) return 0
      const start = out
      out = copyString(at + 1, start)
      if (out == 0) return 0
      let keyLength = textLength
      const key = out - keyLength
      // A key with an escape sequence might be one that the rules name.
      if (sort != PLAIN && afterString - at - 2 != keyLength) return 0
      at = afterString
      if (<u32>load<u8>(at++) != COLON) return 0
      const rule = sort == PLAIN ? PLAIN : ruleOf(sort, key, keyLength)
      if (rule == DROP) {
        at = skipValue(at)
        if (at == 0) return 0
        out = start
      } else {
        if (rule == PLAIN) out = copyValue(at, out, depth + 1)
        else {
          out = copyNamed(rule, at, out, depth + 1)
          // These come first, whatever their names.
          if (rule == METADATA || rule == ANNOTATIONS) keyLength = 0
          if (rule == ANNOTATIONS) hasAnnotations = true
          // Of two lists the last counts, which may be the one that is dropped.
          if (rule == VOLUMES && hasVolumes) return 0
          if (rule == VOLUMES) hasVolumes = true
        }
        if (rule == VOLUMES && isEmptied) out = out == 0 ? 0 : start
        else if (out != 0 && !addMember(start, out, key, keyLength)) return 0
        if (out == 0) return 0
        at = after
      }
      const next = <u32>load<u8>(at++)
      if (next == CLOSE_BRACE) break
      if (next != COMMA) return 0
    }
  }
  if (sort == METADATA && !hasAnnotations) {
    const start = out
    out = writeNoAnnotations(start)
    if (!addMember(start, out, start, 0)) return 0
  }
  const count = countOf(map)
  // A container of which nothing is left is dropped by the other pass.
  if (sort == CONTAINER && count == 0) return 0
  if (!closeMap(map)) return 0
  after = at
  return setHeader(to, out, 0x80, 0xde, sort == ROOT ? count + 2 : count)
}

/** Copies a member that the rules name. */
function copyNamed(rule: u32, from: usize, to: usize, depth: u32): usize {
  if (rule == COPY) return load<u32>(from) == NULL ? 0 : copyValue(from, to, depth)
  if (rule == CONTAINERS || rule == VOLUMES) return copyList(from, to, depth, rule == VOLUMES ? VOLUME : CONTAINER)
  if (rule == VOLUME_NAME) {
    const end = copyValue(from, to, depth)
    isOfToken = isTokenVolume(to)
    return end
  }
  if (rule == METADATA) isMetadataSeen = true
  if (rule != SPEC) return <u32>load<u8>(from) == OPEN_BRACE ? copyMap(from + 1, to, depth, rule, 0) : 0
  isSpecSeen = true
  const isMap = isPod && <u32>load<u8>(from) == OPEN_BRACE
  const end = isMap ? copyMap(from + 1, to, depth, POD_SPEC, 0) : copyValue(from, to, depth)
  return end != 0 && hashValue(to, end) ? end : 0
}

/** Copies a list of maps of that sort, without the volumes of tokens. Anything but a list of maps is left to another pass. */
function copyList(from: usize, to: usize, depth: u32, sort: u32): usize {
  isEmptied = false
  if (<u32>load<u8>(from) != OPEN_BRACKET || depth >= DEEPEST) return 0
  let at = from + 1
  let out = to + 1
  let count: usize = 0
  let hasDropped = false
  if (<u32>load<u8>(at) == CLOSE_BRACKET) at++
  else {
    while (true) {
      if (<u32>load<u8>(at) != OPEN_BRACE) return 0
      isOfToken = false
      const end = copyMap(at + 1, out, depth + 1, sort, 0)
      if (end == 0) return 0
      if (sort == VOLUME && isOfToken) hasDropped = true
      else {
        out = end
        count++
      }
      at = after
      const next = <u32>load<u8>(at++)
      if (next == CLOSE_BRACKET) break
      if (next != COMMA) return 0
    }
  }
  after = at
  isEmptied = hasDropped && count == 0
  return setHeader(to, out, 0x90, 0xdc, count)
}

/** `"annotations": {}`, which SimKube writes into every object. */
function writeNoAnnotations(to: usize): usize {
  store<u8>(to, 0xab)
  store<u64>(to, 0x697461746f6e6e61, 1)
  store<u32>(to, 0x80736e6f, 9)
  return to + 13
}

/** Puts the header of a container before its contents, which are one byte after `to`; returns their end. */
function setHeader(to: usize, end: usize, short: u8, long: u8, count: usize): usize {
  if (count < 16) {
    store<u8>(to, short | <u8>count)
    return end
  }
  if (count >= 0x10000) return 0
  memory.copy(to + 3, to + 1, end - to - 1)
  store<u8>(to, long)
  store<u16>(to, bswap<u16>(<u16>count), 1)
  return end + 2
}

/** The position after the value at `from`, of which only strings and brackets are read; 0 if it does not end. */
function skipValue(from: usize): usize {
  const first = <u32>load<u8>(from)
  if (first == QUOTE) return skipString(from + 1)
  let at = from
  if (first != OPEN_BRACE && first != OPEN_BRACKET) {
    while (true) {
      const byte = <u32>load<u8>(at)
      if (byte == 0) return 0
      if (byte == COMMA || byte == CLOSE_BRACE || byte == CLOSE_BRACKET) return at
      at++
    }
  }
  let depth: u32 = 0
  while (true) {
    const byte = <u32>load<u8>(at++)
    if (byte == QUOTE) {
      at = skipString(at)
      if (at == 0) return 0
    } else if (byte == OPEN_BRACE || byte == OPEN_BRACKET) depth++
    else if (byte == CLOSE_BRACE || byte == CLOSE_BRACKET) {
      if (--depth == 0) return at
    } else if (byte == 0) return 0
  }
}
