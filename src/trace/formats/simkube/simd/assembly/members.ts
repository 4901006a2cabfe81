/**
 * The members of a map, which must be in the order of their keys' UTF-8 bytes.
 *
 * Each has 24 bytes: the first eight bytes of its key as a big-endian number, so that comparing two keys is nearly always one comparison;
 * the start and end of its encoded key and value; the start and length of its key's text.
 */
import { members, membersEnd, scratch } from "./layout"

const PREFIX: usize = 0
const START: usize = 8
const END: usize = 12
const KEY: usize = 16
const KEY_LENGTH: usize = 20
const SIZE: usize = 24

/** Position of the next member: the members of nested maps are stored one map after the other. */
let top: usize = members

/** Larger maps that are out of order are not sorted: insertion takes quadratic time, and servers sort such maps. */
const MOST_OUT_OF_ORDER: usize = 64

export function forgetMembers(): void {
  top = members
}

/** Opens a map; returns the argument for {@link closeMap}. */
export function openMap(): usize {
  return top
}

/** Adds a member with its key; false if there is no room. An empty key sorts first. */
export function addMember(start: usize, end: usize, key: usize, keyLength: usize): bool {
  if (top + SIZE > membersEnd) return false
  let word: u64 = 0
  if (keyLength >= 8) word = bswap<u64>(load<u64>(key))
  else if (keyLength > 0) word = bswap<u64>(load<u64>(key) & ((<u64>1 << (<u64>keyLength << 3)) - 1))
  store<u64>(top, word, PREFIX)
  store<u32>(top, <u32>start, START)
  store<u32>(top, <u32>end, END)
  store<u32>(top, <u32>key, KEY)
  store<u32>(top, <u32>keyLength, KEY_LENGTH)
  top += SIZE
  return true
}

export function countOf(map: usize): usize {
  return (top - map) / SIZE
}

/**
 * Sorts the members of the map, which are adjacent in the output. False if two have the same key, or too many are out of order; the caller
 * then aborts, whatever the state of the map.
 */
export function closeMap(map: usize): bool {
  const end = top
  top = map
  let isInOrder = true
  for (let member = map + SIZE; member < end; member += SIZE) {
    const order = compare(member - SIZE, member)
    if (order == 0) return false
    if (order > 0) {
      isInOrder = false
      break
    }
  }
  return isInOrder || (end - map <= MOST_OUT_OF_ORDER * SIZE && sort(map, end))
}

function sort(map: usize, end: usize): bool {
  const start = <usize>load<u32>(map, START)
  for (let member = map + SIZE; member < end; member += SIZE) {
    let hole = member
    while (hole > map) {
      const order = compare(hole - SIZE, member)
      if (order == 0) return false
      if (order < 0) break
      hole -= SIZE
    }
    if (hole == member) continue
    const a = load<u64>(member)
    const b = load<u64>(member, 8)
    const c = load<u64>(member, 16)
    memory.copy(hole + SIZE, hole, member - hole)
    store<u64>(hole, a)
    store<u64>(hole, b, 8)
    store<u64>(hole, c, 16)
  }
  let to = scratch
  for (let member = map; member < end; member += SIZE) {
    const from = <usize>load<u32>(member, START)
    const length = <usize>load<u32>(member, END) - from
    memory.copy(to, from, length)
    to += length
  }
  memory.copy(start, scratch, to - scratch)
  return true
}

/** Negative, zero or positive if the key of one member sorts below, equal to or above that of the other. */
function compare(left: usize, right: usize): i32 {
  const a = load<u64>(left, PREFIX)
  const b = load<u64>(right, PREFIX)
  if (a != b) return a < b ? -1 : 1
  const leftLength = load<u32>(left, KEY_LENGTH)
  const rightLength = load<u32>(right, KEY_LENGTH)
  const shared = <usize>min<u32>(leftLength, rightLength)
  const leftKey = <usize>load<u32>(left, KEY)
  const rightKey = <usize>load<u32>(right, KEY)
  for (let index: usize = 8; index < shared; index++) {
    const difference = <i32>load<u8>(leftKey + index) - <i32>load<u8>(rightKey + index)
    if (difference != 0) return difference
  }
  return <i32>leftLength - <i32>rightLength
}
