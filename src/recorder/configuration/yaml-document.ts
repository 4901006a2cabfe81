/**
 * A YAML file as nodes with positions. Strings stay strings: only the `failsafe` schema is applied, because SimKube reads every plain
 * scalar as text where it expects text, and so must we.
 *
 * Guarantees: never throws for any bytes; at most 256 KiB are parsed; following aliases cannot multiply work, since targets are found once
 * for the whole document and the reader of settings never descends deeper than its own shape.
 */
import * as Result from "effect/Result"
import {
  type Alias,
  isAlias,
  isCollection,
  isNode,
  isScalar,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLParseError,
} from "yaml"
import { visible } from "../../text/index.ts"
import type { ConfigurationProblem } from "./problem.ts"

/**
 * 256 KiB hold some 4,000 kinds; a few hundred are already many. The parser needs up to 1.8 s for the worst 256 KiB (braces alone) and four
 * times as long for 1 MiB, so the limit also bounds the wait.
 */
export const largestConfiguration = 256 * 1024

/** Counted from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** A parsed document. */
export interface YamlDocument {
  /** `undefined` for an empty file. */
  readonly root: Node | undefined
  /** Where a node begins; the top of the file for a node without a place. */
  readonly positionOf: (node: unknown) => Position
  /** The node itself, or the target of an alias; `undefined` for an alias without an anchor before it. */
  readonly follow: (node: unknown) => Node | undefined
}

type Refusal = readonly ConfigurationProblem[]

const top: Position = { line: 1, column: 1 }

/** Reads a document, or returns why it is invalid. */
export const readYaml = (bytes: Uint8Array): Result.Result<YamlDocument, Refusal> => {
  if (bytes.length > largestConfiguration)
    return Result.fail([{ _tag: "TooLarge", ...top, limitBytes: largestConfiguration }])
  return Result.flatMap(readText(bytes), parse)
}

/**
 * Characters YAML does not allow in a file (1.2, production c-printable). They reveal binary files, and rejecting them keeps them out of
 * messages and so off the terminal.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
const unprintable = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\ufffe\uffff]/

const readText = (bytes: Uint8Array): Result.Result<string, Refusal> => {
  const notText = (place: Position, detail: string): Result.Result<string, Refusal> =>
    Result.fail([{ _tag: "NotText", ...place, detail }])
  const text = decode(bytes)
  if (text === undefined) return notText(top, "it is neither UTF-8 nor UTF-16")
  const control = unprintable.exec(text)
  if (control === null) return Result.succeed(text)
  const before = text.slice(0, control.index).split("\n")
  const code = control[0].charCodeAt(0).toString(16).padStart(2, "0")
  return notText(
    { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 },
    `it contains the control character 0x${code}`,
  )
}

/** The encodings YAML names, distinguished by their byte order mark (PowerShell writes UTF-16). The mark itself is dropped. */
const decode = (bytes: Uint8Array): string | undefined => {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8"
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const parse = (text: string): Result.Result<YamlDocument, Refusal> => {
  const lineCounter = new LineCounter()
  const positionAt = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  try {
    const document = parseDocument(text, {
      schema: "failsafe",
      lineCounter,
      prettyErrors: false,
      // Repeated keys are found by the reader of settings, which knows which of them SimKube accepts; the parser's own
      // check compares every key with every other.
      uniqueKeys: false,
      logLevel: "error",
    })
    // Later errors are mostly consequences of the first.
    const [error] = document.errors
    if (error !== undefined)
      return Result.fail([{ _tag: "Syntax", ...positionAt(error.pos[0]), detail: syntaxAdvice(error) }])
    const targets = findAliasTargets(document.contents)
    return Result.succeed({
      root: document.contents ?? undefined,
      positionOf: (node) => (isNode(node) && node.range ? positionAt(node.range[0]) : top),
      follow: (node) => (isAlias(node) ? targets.get(node) : isNode(node) ? node : undefined),
    })
  } catch (cause) {
    // Only stack exhaustion is known to throw here.
    const detail = cause instanceof RangeError ? nestedTooDeeply : `the parser failed (${String(cause)})`
    return Result.fail([{ _tag: "Syntax", ...top, detail }])
  }
}

const nestedTooDeeply = "it is nested too deeply; a configuration has four levels"

const syntaxAdvice = (error: YAMLParseError): string => {
  switch (error.code) {
    case "TAB_AS_INDENT":
      return "the line is indented with a tab; YAML allows only spaces"
    case "MULTIPLE_DOCS":
      return "the file holds a second document (after ---); a configuration is one document"
    case "RESOURCE_EXHAUSTION":
      return nestedTooDeeply
    default:
      return visible(error.message.slice(0, 100))
  }
}

/** An alias refers to the last node before it that has its anchor. One pass for all aliases, not one pass each. */
const findAliasTargets = (root: Node | null): ReadonlyMap<Alias, Node> => {
  const targets = new Map<Alias, Node>()
  const anchors = new Map<string, Node>()
  visit(root, (_, node) => {
    if (isAlias(node)) {
      const target = anchors.get(node.source)
      if (target !== undefined) targets.set(node, target)
    } else if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined) anchors.set(node.anchor, node)
  })
  return targets
}
