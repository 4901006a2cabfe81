/**
 * Patterns of schemas in the syntax of RE2, which is what the real server takes: no look-around, no backreferences, counted
 * repetition up to 1,000. What it refuses is refused here with its words (Go 1.24, regexp/syntax).
 *
 * A pattern is read in time linear in its length, by recursion as deep as its groups nest, at most 1,000.
 */

import {
  anyButLineFeed,
  anyCharacter,
  bracketClass,
  type Cursor,
  classEscape,
  escapedPoint,
  literal,
} from "./characters.ts"
import { type Assertion, type PatternNode, refusePart } from "./syntax.ts"

interface Flags {
  readonly ignoresCase: boolean
  readonly multiline: boolean
  readonly dotTakesLineFeeds: boolean
}

interface Reader extends Cursor {
  flags: Flags
  depth: number
}

const maximumDepth = 1000
const maximumRepeat = 1000

/** Throws PatternError. */
export const readPattern = (pattern: string): PatternNode => {
  const flags = { ignoresCase: false, multiline: false, dotTakesLineFeeds: false }
  const reader: Reader = { points: [...pattern], at: 0, flags, depth: 0 }
  const node = readChoice(reader)
  if (reader.at < reader.points.length) return refusePart("unexpected )", pattern)
  return node
}

const readChoice = (reader: Reader): PatternNode => {
  const alternatives = [readSequence(reader)]
  while (reader.points[reader.at] === "|") {
    reader.at++
    alternatives.push(readSequence(reader))
  }
  const [only] = alternatives
  return alternatives.length === 1 && only !== undefined ? only : { type: "choice", nodes: alternatives }
}

const readSequence = (reader: Reader): PatternNode => {
  const { points } = reader
  const nodes: PatternNode[] = []
  /** Where the repetition begins that stands right before. */
  let repeatedAt: number | undefined
  while (reader.at < points.length && points[reader.at] !== "|" && points[reader.at] !== ")") {
    const start = reader.at
    const bounds = readRepetition(reader)
    if (bounds === undefined) {
      repeatedAt = undefined
      nodes.push(...readAtom(reader))
      continue
    }
    if (repeatedAt !== undefined)
      return refusePart("invalid nested repetition operator", points.slice(repeatedAt, reader.at).join(""))
    const operator = points.slice(start, reader.at).join("")
    const node = nodes.pop() ?? refusePart("missing argument to repetition operator", operator)
    const repeat: PatternNode = { type: "repeat", node, ...bounds }
    if (!isLawful(repeat, maximumRepeat)) return refusePart("invalid repeat count", operator)
    nodes.push(repeat)
    repeatedAt = start
  }
  return { type: "sequence", nodes }
}

type Bounds = Pick<Extract<PatternNode, { type: "repeat" }>, "least" | "most">

const simple: Readonly<Record<string, Bounds>> = { "*": { least: 0 }, "+": { least: 1 }, "?": { least: 0, most: 1 } }

/** A repetition at the cursor; braces that are none are characters like any other. */
const readRepetition = (reader: Reader): Bounds | undefined => {
  const { points, at } = reader
  const sign = points[at] ?? ""
  let bounds = Object.hasOwn(simple, sign) ? simple[sign] : undefined
  let length = 1
  if (sign === "{") {
    const [whole, least = "", comma, most = ""] =
      /^\{(\d{1,9})(,(\d{0,9}))?\}/.exec(points.slice(at, at + 24).join("")) ?? []
    if (whole === undefined) return undefined
    length = whole.length
    const low = Number(least)
    const high = comma === undefined ? low : most === "" ? undefined : Number(most)
    if (low > maximumRepeat || (high !== undefined && (high > maximumRepeat || low > high)))
      return refusePart("invalid repeat count", whole)
    bounds = high === undefined ? { least: low } : { least: low, most: high }
  }
  if (bounds === undefined) return undefined
  reader.at = at + length
  // Lazy or greedy: the same texts match.
  if (points[reader.at] === "?") reader.at++
  return bounds
}

/** Counts of repetitions inside each other multiply. */
const isLawful = (node: PatternNode, limit: number): boolean => {
  if (node.type === "sequence" || node.type === "choice") return node.nodes.every((each) => isLawful(each, limit))
  if (node.type !== "repeat") return true
  const isCounted = node.least > 1 || (node.most ?? 0) > 1
  const count = isCounted ? (node.most ?? node.least) : 1
  return count <= limit && isLawful(node.node, count > 0 ? Math.floor(limit / count) : limit)
}

const assertion = (name: Assertion): ReadonlyArray<PatternNode> => [{ type: "assertion", assertion: name }]
const escapedAssertions: Readonly<Record<string, Assertion>> = {
  A: "textStart",
  z: "textEnd",
  b: "wordEdge",
  B: "noWordEdge",
}

/** What can be repeated; nothing for flags that only change what follows. */
const readAtom = (reader: Reader): ReadonlyArray<PatternNode> => {
  const { points, flags } = reader
  const character = points[reader.at] ?? ""
  const one = (source: string): ReadonlyArray<PatternNode> => [{ type: "one", source, ignoresCase: flags.ignoresCase }]
  switch (character) {
    case "(":
      return readGroup(reader)
    case "[":
      return one(bracketClass(reader))
    case "\\":
      return readEscape(reader, one)
  }
  reader.at++
  if (character === ".") return one(flags.dotTakesLineFeeds ? anyCharacter : anyButLineFeed)
  if (character === "^") return assertion(flags.multiline ? "lineStart" : "textStart")
  if (character === "$") return assertion(flags.multiline ? "lineEnd" : "textEnd")
  return one(`[${literal(character)}]`)
}

const readEscape = (
  reader: Reader,
  one: (source: string) => ReadonlyArray<PatternNode>,
): ReadonlyArray<PatternNode> => {
  const { points, at } = reader
  const letter = points[at + 1] ?? ""
  const known = Object.hasOwn(escapedAssertions, letter) ? escapedAssertions[letter] : undefined
  if (known !== undefined) {
    reader.at += 2
    return assertion(known)
  }
  if (letter === "Q") {
    const end = points.findIndex((point, index) => index > at && point === "\\" && points[index + 1] === "E")
    const stop = end < 0 ? points.length : end
    reader.at = end < 0 ? stop : stop + 2
    return points.slice(at + 2, stop).flatMap((character) => one(`[${literal(character)}]`))
  }
  const members = classEscape(reader)
  if (members !== undefined) return one(`[${members}]`)
  return one(`[${literal(String.fromCodePoint(escapedPoint(reader)))}]`)
}

const readGroup = (reader: Reader): ReadonlyArray<PatternNode> => {
  const { points, flags } = reader
  const isOpened = readOpening(reader)
  if (!isOpened) return []
  if (++reader.depth > maximumDepth) return refusePart("expression nests too deeply", points.join(""))
  const node = readChoice(reader)
  if (points[reader.at] !== ")") return refusePart("missing closing )", points.join(""))
  reader.at++
  reader.depth--
  reader.flags = flags
  return [node]
}

/** What stands between a bracket and what is in it; whether there is anything in it, or only flags for what follows. */
const readOpening = (reader: Reader): boolean => {
  const { points, at } = reader
  if (points[at + 1] !== "?") {
    reader.at++
    return true
  }
  if (points[at + 2] === "<" || (points[at + 2] === "P" && points[at + 3] === "<")) return readName(reader)
  const set = { i: reader.flags.ignoresCase, m: reader.flags.multiline, s: reader.flags.dotTakesLineFeeds, U: false }
  let value = true
  let isUseful = true
  for (let place = at + 2; place < points.length; place++) {
    const sign = points[place] ?? ""
    if (Object.hasOwn(set, sign)) {
      set[sign as keyof typeof set] = value
      isUseful = true
    } else if (sign === "-" && value) {
      value = false
      isUseful = false
    } else if ((sign === ":" || sign === ")") && isUseful) {
      reader.at = place + 1
      reader.flags = { ignoresCase: set.i, multiline: set.m, dotTakesLineFeeds: set.s }
      return sign === ":"
    } else return refusePart("invalid or unsupported Perl syntax", points.slice(at, place + 1).join(""))
  }
  return refusePart("missing closing )", points.join(""))
}

const readName = (reader: Reader): true => {
  const { points, at } = reader
  const end = points.indexOf(">", at)
  const name = points.slice(points.indexOf("<", at) + 1, end).join("")
  if (end < 0) return refusePart("invalid named capture", points.slice(at).join(""))
  if (!/^\w+$/.test(name)) return refusePart("invalid named capture", points.slice(at, end + 1).join(""))
  reader.at = end + 1
  return true
}
