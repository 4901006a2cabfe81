/**
 * The same fingerprint as that of fingerprint.ts and member-trie.ts: the value is stored, and an object must have the same one whichever
 * pass reads it.
 */
import { entered } from "./layout"

const STATE_LOW: u32 = 0x9e3779b1
const STATE_HIGH: u32 = 0x85ebca77
const INPUT_LOW: u32 = 0xcc9e2d51
const INPUT_HIGH: u32 = 0x1b873593
const FINISH: u32 = 0xc2b2ae35

/** Tags, as in member-trie.ts. An entered object has its brace as tag. */
const WHOLE: u32 = 1
const CLOSE: u32 = 2
const OPEN_BRACE: u32 = 123

let low: u32 = 0
let high: u32 = 0
let spans: u32 = 0
/** Entered objects, and how many of them are in the fingerprint. */
let depth: usize = 0
let opened: usize = 0

export function forget(): void {
  low = 0
  high = 0
  spans = 0
  depth = 0
  opened = 0
}

/** Enters an object whose key is at [start, end), quotes included. */
export function enter(start: usize, end: usize): void {
  store<u32>(entered + (depth << 3), <u32>start)
  store<u32>(entered + (depth << 3), <u32>end, 4)
  depth++
}

/** Leaves the object that was entered last. False if nothing in it was kept. */
export function leave(): bool {
  depth--
  if (opened <= depth) return false
  opened = depth
  mark(CLOSE)
  return true
}

/** Adds a member at [start, end). */
export function add(start: usize, end: usize): void {
  while (opened < depth) {
    const key = entered + (opened << 3)
    opened++
    absorb(load<u32>(key), load<u32>(key, 4), OPEN_BRACE)
  }
  absorb(start, end, WHOLE)
}

/** Adds the text at [start, end) if nothing was kept. */
export function addIfNone(start: usize, end: usize): void {
  if (spans == 0) absorb(start, end, WHOLE)
}

function absorb(start: usize, end: usize, tag: u32): void {
  const length = <u32>(end - start)
  const blocks = end - <usize>(length & 7)
  let stateLow = low ^ (length * STATE_HIGH)
  let stateHigh = high ^ (tag * STATE_LOW)
  let at = start
  while (at < blocks) {
    stateLow = (stateLow ^ rotl<u32>(load<u32>(at) * INPUT_LOW, 15)) * STATE_LOW
    stateHigh = (stateHigh ^ rotl<u32>(load<u32>(at, 4) * INPUT_HIGH, 15)) * STATE_HIGH
    stateLow = rotl<u32>(stateLow, 13) + stateHigh
    stateHigh = rotl<u32>(stateHigh, 17) ^ stateLow
    at += 8
  }
  const rest = <u32>(end - at)
  if (rest != 0) {
    const first: u32 = rest >= 4 ? load<u32>(at) : 0
    const second: u32 = (rest & 3) == 0 ? 0 : load<u32>(end - 4) >> ((4 - (rest & 3)) << 3)
    stateLow = (stateLow ^ rotl<u32>(first * INPUT_LOW, 15)) * STATE_LOW
    stateHigh = (stateHigh ^ rotl<u32>(second * INPUT_HIGH, 15)) * STATE_HIGH
    stateLow = rotl<u32>(stateLow, 13) + stateHigh
    stateHigh = rotl<u32>(stateHigh, 17) ^ stateLow
  }
  low = stateLow
  high = stateHigh
  spans++
}

function mark(tag: u32): void {
  const stateLow = (low ^ (tag * INPUT_LOW)) * STATE_LOW
  const stateHigh = high * STATE_HIGH
  low = rotl<u32>(stateLow, 13) + stateHigh
  high = rotl<u32>(stateHigh, 17) ^ low
}

/** Writes the finished fingerprint to `target`, low half first. */
export function finish(target: usize): void {
  let endLow = low
  let endHigh = high ^ spans
  for (let round = 0; round < 2; round++) {
    endLow = (endLow ^ (endLow >> 15)) * STATE_HIGH
    endHigh += endLow
    endHigh = (endHigh ^ (endHigh >> 13)) * FINISH
    endLow += rotl<u32>(endHigh, 15)
  }
  store<u32>(target, endLow ^ (endLow >> 16))
  store<u32>(target, endHigh ^ (endHigh >> 16), 4)
}
