/**
 * The scan of object-scanner.ts and watch-line.ts for the usual case, in WebAssembly with SIMD.
 *
 * Built by scripts/simd.ts into ../simd-module.ts, which names the sources it was built from.
 *
 * Returns 0 wherever it finds anything unusual, and then the pass in TypeScript decides: white space, a member in another place than API
 * servers write it, an escape sequence in a key or reported string near the root, a duplicate member, anything malformed. So it must accept
 * nothing that it does not read correctly.
 */
import { input, positions, results, rules } from "./layout"
import { indexQuotes, isPlain } from "./quotes"
import { beginAt, skipValue, takeString } from "./values"
import { add, addIfNone, enter, finish, forget, leave } from "./kept"

export { findCandidates } from "./candidates"

const QUOTE: u32 = 34
const COMMA: u32 = 44
const COLON: u32 = 58
const OPEN_BRACKET: u32 = 91
const OPEN_BRACE: u32 = 123
const CLOSE_BRACE: u32 = 125

// Captures, as in member-trie.ts.
const LAST_STRING: u32 = 6
const METADATA: u32 = 7
const OWNER_REFERENCES: u32 = 8
const MANAGED_FIELDS: u32 = 9
const INITIAL_EVENTS_END: u32 = 10

// Words of the results: the spans of the captures 1 to 9 at twice their numbers, and these.
const TYPE: usize = 0
const FLAG: usize = 4
const OBJECT: usize = 80
const FINGERPRINT: usize = 88

// Positions in the rules (object-scanner.ts).
const HAS_FINGERPRINT: usize = 0
const ABSENT_SPEC_LENGTH: usize = 4
const ABSENT_SPEC: usize = 8
const ROOT: usize = 32
// The fields of a node.
const CAPTURE: usize = 0
const KEEP: usize = 1
const INNER: usize = 2
const SEEN: usize = 4
const KEY: usize = 8
const KEY_LENGTH: usize = 12
const SIBLING: usize = 16
const CHILDREN: usize = 20

let scanNumber: u32 = 0
/** Position in the caller's bytes minus position here. */
let shift: usize = 0

/** Scans the watch line that fills the `length` bytes; `offset` is its start in the caller's bytes. */
export function scanLine(length: usize, offset: usize): u32 {
  const end = input + length
  const quotes = indexQuotes(input, end)
  // `{"type":"…","object":{`: three strings and the first key of the object.
  if (quotes < positions + 32) return 0
  if (load<u64>(input) != 0x3a2265707974227b || <u32>load<u8>(input, 8) != QUOTE) return 0
  const typeEnd = <usize>load<u32>(positions, 12)
  const type = typeOf(input + 9, typeEnd - (input + 9))
  if (type == 0) return 0
  // `,"object` and `":{`.
  if (load<u64>(typeEnd, 1) != 0x7463656a626f222c) return 0
  if (load<u32>(typeEnd, 8) != 0x7b3a2274) return 0
  beginAt(positions + 24)
  const behind = scanRoot(typeEnd + 11, offset)
  store<u32>(results + TYPE, type)
  return behind != 0 && <u32>load<u8>(behind) == CLOSE_BRACE && behind + 1 == end ? 1 : 0
}

/** The codes of watch-line.ts; 0 for any other type. */
function typeOf(start: usize, length: usize): u32 {
  const word = load<u64>(start)
  if (length == 8) {
    if (word == 0x4445494649444f4d) return 2
    return word == 0x4b52414d4b4f4f42 ? 4 : 0
  }
  if (length == 5) return (word & 0xffffffffff) == 0x4445444441 ? 1 : 0
  if (length == 7) return (word & 0xffffffffffffff) == 0x444554454c4544 ? 3 : 0
  return 0
}

/** Scans the object that fills the `length` bytes. */
export function scanObject(length: usize, offset: usize): u32 {
  const end = input + length
  if (indexQuotes(input, end) == 0 || <u32>load<u8>(input) != OPEN_BRACE) return 0
  beginAt(positions)
  return scanRoot(input, offset) == end ? 1 : 0
}

/** From the brace at `position` to after the closing one, or 0. */
function scanRoot(position: usize, offset: usize): usize {
  scanNumber++
  shift = offset - input
  forget()
  const nothing = i32x4.splat(0)
  for (let offset: usize = 0; offset < 96; offset += 16) v128.store(results + offset, nothing)
  const end = walkObject(rules + ROOT, position + 1)
  if (end == 0 || load<u32>(results + METADATA * 8) == 0) return 0
  store<u32>(results + OBJECT, <u32>(position + shift))
  store<u32>(results + OBJECT, <u32>(end + shift), 4)
  if (load<u32>(rules + HAS_FINGERPRINT) != 0) {
    const absent = <usize>load<u32>(rules + ABSENT_SPEC_LENGTH)
    if (absent != 0) addIfNone(rules + ABSENT_SPEC, rules + ABSENT_SPEC + absent)
    finish(results + FINGERPRINT)
  }
  return end
}

/** Walks over the members, from after the opening brace to after the closing one. */
function walkObject(node: usize, position: usize): usize {
  const keep = load<u8>(node + KEEP)
  let at = position
  let byte: u32 = load<u8>(at)
  if (byte == CLOSE_BRACE) return at + 1
  while (true) {
    if (byte != QUOTE) return 0
    const from = at
    const keyEnd = takeString()
    if (<u32>load<u8>(keyEnd, 1) != COLON || !isPlain(from + 1, keyEnd)) return 0
    at = keyEnd + 2
    const child = childOf(node, from + 1, keyEnd - from - 1)
    if (child != 0) at = take(child, from, keyEnd + 1, at)
    else {
      at = skipValue(at)
      if (keep && at != 0) add(from, at)
    }
    if (at == 0) return 0
    byte = load<u8>(at++)
    if (byte == CLOSE_BRACE) return at
    if (byte != COMMA) return 0
    byte = load<u8>(at)
  }
}

/** The child with that key, or 0. */
function childOf(node: usize, key: usize, length: usize): usize {
  if (length > 255) return 0
  let child = <usize>load<u16>(<usize>load<u32>(node + CHILDREN) + (length << 1))
  while (child != 0) {
    if (isSame(<usize>load<u32>(child + KEY), key, length)) return child
    child = <usize>load<u32>(child + SIBLING)
  }
  return 0
}

/** Eight readable bytes follow the known key. */
function isSame(known: usize, key: usize, length: usize): bool {
  let index: usize = 0
  for (; index + 8 <= length; index += 8) {
    if (load<u64>(known + index) != load<u64>(key + index)) return false
  }
  const rest = length - index
  return rest == 0 || (load<u64>(known + index) ^ load<u64>(key + index)) << (64 - (<u64>rest << 3)) == 0
}

/** Handles the value at `position` of a known member; its key is at [from, keyEnd), quotes included. */
function take(node: usize, from: usize, keyEnd: usize, position: usize): usize {
  if (load<u32>(node + SEEN) == scanNumber) return 0
  store<u32>(node + SEEN, scanNumber)
  const capture = <u32>load<u8>(node + CAPTURE)
  const first = <u32>load<u8>(position)
  const keep = load<u8>(node + KEEP)
  const isText = capture != 0 && (capture <= LAST_STRING || (capture == INITIAL_EVENTS_END && first == QUOTE))
  let at: usize
  if (isText) {
    if (first != QUOTE) return 0
    at = takeString()
    if (!isPlain(position + 1, at)) return 0
    at++
  } else if (load<u8>(node + INNER) && first == OPEN_BRACE) {
    enter(from, keyEnd)
    at = walkObject(node, position + 1)
    if (at == 0) return 0
    if (!leave() && keep && at == position + 2) add(from, at)
    return capture == 0 || report(capture, first, from, position, at) ? at : 0
  } else {
    // An array that a rule reaches into.
    if (load<u8>(node + INNER) && first == OPEN_BRACKET) return 0
    at = skipValue(position)
    if (at == 0) return 0
  }
  if (keep) add(from, at)
  return capture == 0 || report(capture, first, from, position, at) ? at : 0
}

/** Records the position of a reported member, as object-report.ts does. False if its type is wrong. */
function report(capture: u32, first: u32, from: usize, start: usize, end: usize): bool {
  if (capture <= LAST_STRING) {
    noteSpan(capture, start + 1, end - 1)
    return true
  }
  if (capture == METADATA) {
    store<u32>(results + METADATA * 8, 1)
    return first == OPEN_BRACE
  }
  if (capture == OWNER_REFERENCES) {
    noteSpan(capture, start, end)
    return first == OPEN_BRACKET
  }
  if (capture == MANAGED_FIELDS) {
    // With one neighbouring comma: the one after it, or else the one before it.
    if (<u32>load<u8>(end) == COMMA) noteSpan(capture, from, end + 1)
    else noteSpan(capture, <u32>load<u8>(from - 1) == COMMA ? from - 1 : from, end)
    return true
  }
  store<u32>(results + FLAG, first == QUOTE && end - start == 6 && load<u32>(start, 1) == 0x65757274 ? 1 : 0)
  return true
}

// @ts-expect-error: a decorator of AssemblyScript
@inline
function noteSpan(capture: u32, start: usize, end: usize): void {
  store<u32>(results + (<usize>capture << 3), <u32>(start + shift))
  store<u32>(results + (<usize>capture << 3), <u32>(end + shift), 4)
}
