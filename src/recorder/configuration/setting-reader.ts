/**
 * Reads single values from YAML nodes and checks their types; mistakes are collected while reading continues, so that one run shows
 * all of them.
 *
 * Guarantee: at most 100,000 values are read from one document, however often aliases repeat them, and at most 100
 * problems are kept.
 */
import { isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from "yaml"
import { quoted } from "../../text/index.ts"
import type { ConfigurationProblem, ConfigurationWarning } from "./problem.ts"
import type { Position, YamlDocument } from "./yaml-document.ts"

/** 4,000 kinds with 25 values each, which is about what fits into the largest file without aliases. */
const mostValues = 100_000
const mostNotes = 100

/** One key of a mapping with its value, which may be absent (`key:`). */
export interface Entry {
  readonly key: string
  readonly keyPosition: Position
  readonly value: Node | undefined
}

/** One text of a list. `where` describes it in messages. */
export interface PlacedText {
  readonly text: string
  readonly position: Position
  readonly where: string
}

/** Thrown and caught only in this folder: aliases expand the document beyond the limit. */
class BudgetSpent extends Error {}

/** The state of reading one document. */
export class SettingReader {
  readonly problems: ConfigurationProblem[] = []
  readonly warnings: ConfigurationWarning[] = []
  readonly document: YamlDocument
  #valuesRead = 0
  readonly #noted = new Set<string>()

  constructor(document: YamlDocument) {
    this.document = document
  }

  /** Records a mistake, unless the same one was recorded at the same position (seen through another alias). */
  problem(problem: ConfigurationProblem): void {
    if (this.problems.length < mostNotes && this.#isNew(problem)) this.problems.push(problem)
  }

  warning(warning: ConfigurationWarning): void {
    if (this.warnings.length < mostNotes && this.#isNew(warning)) this.warnings.push(warning)
  }

  /** Runs `read`; if the document exceeds its budget, records that as a problem and returns `undefined`. */
  withinBudget<T>(read: () => T): T | undefined {
    try {
      return read()
    } catch (cause) {
      if (!(cause instanceof BudgetSpent)) throw cause
      this.problem({ _tag: "TooManyValues", line: 1, column: 1, limit: mostValues })
      return undefined
    }
  }

  /** The entries of a mapping in order. If the node is not a mapping, records a problem and returns `undefined`; keys that are not text are problems too. */
  entries(node: Node | undefined, where: string, allowed = "a mapping of keys to values"): Entry[] | undefined {
    const map = this.follow(node, where)
    if (map === undefined) return undefined
    if (!isMap(map)) return this.#wrongType(map, where, allowed)
    return (map as YAMLMap).items.flatMap((pair): Entry[] => {
      const key = this.follow(pair.key as Node | undefined, `a key of ${where}`)
      if (key === undefined) return []
      if (!isScalar(key)) return this.#wrongType(key, `a key of ${where}`, "text") ?? []
      const keyPosition = this.document.positionOf(pair.key)
      return [{ key: textOf(key), keyPosition, value: (pair.value ?? undefined) as Node | undefined }]
    })
  }

  /** Any scalar is text, quoted or not, as in SimKube: `[404]` equals `["404"]`. */
  text(node: Node | undefined, where: string): string | undefined {
    const scalar = this.follow(node, where)
    if (scalar === undefined) return undefined
    return isScalar(scalar) ? textOf(scalar) : this.#wrongType(scalar, where, "text")
  }

  /** `true` or `false` as YAML 1.2 spells them; `yes`, `on` and quoted words are rejected, as in SimKube. */
  boolean(node: Node | undefined, where: string, allowed = "true or false"): boolean | undefined {
    const scalar = this.follow(node, where)
    if (scalar === undefined) return undefined
    return booleanOf(scalar) ?? this.#wrongType(scalar, where, allowed)
  }

  /** A list of texts with their positions. `where(2)` describes the third item, `where("")` the list. */
  texts(node: Node | undefined, where: (index: number | "") => string): PlacedText[] | undefined {
    const list = this.follow(node, where(""))
    if (list === undefined) return undefined
    if (!isSeq(list)) return this.#wrongType(list, where(""), "a list of strings")
    return list.items.flatMap((item, index) => {
      const text = this.text(item as Node, where(index))
      return text === undefined ? [] : [{ text, position: this.document.positionOf(item), where: where(index) }]
    })
  }

  /** `key:`, `key: ~` and `key: null`, but not `key: ""`, nor an alias of an empty value. */
  isEmpty(node: Node | undefined): boolean {
    return node === undefined || isNull(this.document.follow(node))
  }

  /** The node itself, or the target of an alias; an alias without an anchor is recorded as a mistake. Counts as one value read. */
  follow(node: Node | undefined, where: string): Node | undefined {
    if (++this.#valuesRead > mostValues) throw new BudgetSpent()
    const target = this.document.follow(node)
    if (target === undefined && node !== undefined)
      this.problem({
        _tag: "WrongType",
        ...this.document.positionOf(node),
        where,
        found: "an alias (*) with no anchor (&) before it",
        allowed: "a value, or an alias of an anchor above",
      })
    return target
  }

  #wrongType(node: Node, where: string, allowed: string): undefined {
    this.problem({
      _tag: "WrongType",
      ...this.document.positionOf(node),
      where,
      found: nameOf(node),
      allowed,
    })
    return undefined
  }

  #isNew(note: ConfigurationProblem | ConfigurationWarning): boolean {
    const identity = `${note.line}:${note.column}:${note._tag}`
    if (this.#noted.has(identity)) return false
    this.#noted.add(identity)
    return true
  }
}

const textOf = (scalar: Scalar): string => String(scalar.value ?? "")

const isPlain = (scalar: Scalar): boolean =>
  scalar.type === "PLAIN" ? scalar.tag === undefined || scalar.tag === booleanTag : scalar.tag === booleanTag
const booleanTag = "tag:yaml.org,2002:bool"

const booleanOf = (node: Node): boolean | undefined => {
  if (!isScalar(node) || !isPlain(node)) return undefined
  const text = textOf(node)
  return /^(?:true|True|TRUE)$/.test(text) ? true : /^(?:false|False|FALSE)$/.test(text) ? false : undefined
}

const isNull = (node: Node | undefined): boolean =>
  isScalar(node) && node.type === "PLAIN" && node.tag === undefined && /^(?:|~|null|Null|NULL)$/.test(textOf(node))

const nameOf = (node: Node): string => {
  if (isMap(node)) return "a mapping"
  if (isSeq(node)) return "a list"
  if (isNull(node)) return "empty"
  return isScalar(node) && !isPlain(node)
    ? `the quoted text ${quoted(textOf(node))}`
    : quoted(isScalar(node) ? textOf(node) : "")
}
