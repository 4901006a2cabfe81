/**
 * Reads values out of a YAML file and collects all mistakes, each with its position.
 *
 * Guaranteed: never throws, whatever the bytes. Scalars stay text (the failsafe schema), as for `env` in Kubernetes' own manifests. Aliases
 * are mistakes: a module's file is short, and without them work is bounded by its size.
 */
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml"
import { type ModuleFileProblem, quoted } from "./module-problem.ts"

/** A file of 64 KiB has some 1,000 variables; the parser's worst case for it takes 0.1 s. */
export const largestModuleFile = 64 * 1024

interface Position {
  readonly line: number
  readonly column: number
}

/** A key of a mapping with its value; `undefined` for `key:`. */
export interface Entry {
  readonly key: string
  readonly position: Position
  readonly value: Node | undefined
}

const top: Position = { line: 1, column: 1 }

export class ModuleYaml {
  readonly problems: ModuleFileProblem[] = []
  readonly root: Node | undefined
  readonly #lines = new LineCounter()

  constructor(bytes: Uint8Array) {
    this.root = this.#parse(bytes)
  }

  positionOf(node: Node | undefined): Position {
    return node?.range ? this.#positionAt(node.range[0]) : top
  }

  /**
   * The entries of a mapping whose keys are all in `allowed`, once each; others are mistakes and left out. `undefined`, noted as a mistake,
   * if it is no mapping.
   */
  mapping<Key extends string>(
    node: Node | undefined,
    where: string,
    allowed: ReadonlyArray<Key>,
  ): ReadonlyMap<Key, Entry> | undefined {
    if (!isMap(node)) return this.wrongType(node, where, `a mapping with the keys ${allowed.join(", ")}`)
    const entries = new Map<Key, Entry>()
    for (const pair of node.items) {
      const keyNode = isNode(pair.key) ? pair.key : undefined
      const position = this.positionOf(keyNode)
      const key = isScalar(keyNode) ? String(keyNode.value ?? "") : ""
      const known = allowed.find((one) => one === key)
      const first = known && entries.get(known)
      if (known === undefined) this.problems.push({ _tag: "UnknownKey", ...position, key, where, allowed })
      else if (first !== undefined)
        this.problems.push({ _tag: "DuplicateKey", ...position, key: `the key ${key}`, firstLine: first.position.line })
      else entries.set(known, { key, position, value: isNode(pair.value) ? pair.value : undefined })
    }
    return entries
  }

  list(node: Node | undefined, where: string, allowed: string): ReadonlyArray<Node> | undefined {
    if (!isSeq(node)) return this.wrongType(node, where, allowed)
    return node.items.filter(isNode)
  }

  /** A text that `check` accepts; `undefined`, noted as a mistake, for anything else. */
  text<Value>(
    node: Node | undefined,
    where: string,
    allowed: string,
    check: (text: string) => Value | undefined,
  ): Value | undefined {
    if (!isScalar(node)) return this.wrongType(node, where, allowed)
    const found = String(node.value ?? "")
    const value = check(found)
    if (value === undefined)
      this.problems.push({ _tag: "InvalidValue", ...this.positionOf(node), where, found, allowed })
    return value
  }

  missing(key: string, advice: string, near: Node | undefined = this.root): undefined {
    this.problems.push({ _tag: "MissingKey", ...this.positionOf(near), key, advice })
    return undefined
  }

  wrongType(node: Node | undefined, where: string, allowed: string): undefined {
    this.problems.push({ _tag: "WrongType", ...this.positionOf(node), where, found: nameOf(node), allowed })
    return undefined
  }

  #positionAt(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }

  #parse(bytes: Uint8Array): Node | undefined {
    if (bytes.length > largestModuleFile) {
      this.problems.push({ _tag: "TooLarge", ...top, limitBytes: largestModuleFile })
      return undefined
    }
    const text = decode(bytes)
    if (text === undefined) return this.#syntax(top, "this is not a text file in UTF-8")
    try {
      const document = parseDocument(text, {
        schema: "failsafe",
        lineCounter: this.#lines,
        prettyErrors: false,
        // Found by `mapping`, with the line of the first; the parser's own check compares every key with every other.
        uniqueKeys: false,
        logLevel: "error",
      })
      // Later errors are mostly consequences of the first.
      const [error] = document.errors
      if (error !== undefined) return this.#syntax(this.#positionAt(error.pos[0]), adviceFor(error))
      return document.contents ?? undefined
    } catch (cause) {
      // Only stack exhaustion is known to throw here.
      const detail = cause instanceof RangeError ? "it is nested too deeply" : quoted(String(cause))
      return this.#syntax(top, `not valid YAML: ${detail}`)
    }
  }

  #syntax(position: Position, detail: string): undefined {
    this.problems.push({ _tag: "Syntax", ...position, detail })
    return undefined
  }
}

const adviceFor = (error: { readonly code: string; readonly message: string }): string => {
  if (error.code === "TAB_AS_INDENT") return "the line is indented with a tab; YAML allows only spaces"
  if (error.code === "MULTIPLE_DOCS")
    return "the file holds a second document (after ---); write one file for each module"
  return `not valid YAML: ${quoted(error.message).slice(1, -1)}`
}

const decode = (bytes: Uint8Array): string | undefined => {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    // Binary files are recognised by the bytes that YAML does not allow.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
    return /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text) ? undefined : text
  } catch {
    // Only TypeError is thrown: the bytes are not UTF-8.
    return undefined
  }
}

const nameOf = (node: Node | undefined): string => {
  if (isAlias(node)) return "an alias (*), which is not supported here"
  if (isMap(node)) return "a mapping"
  if (isSeq(node)) return "a list"
  const text = isScalar(node) ? String(node.value ?? "") : ""
  return text === "" ? "empty" : quoted(text)
}
