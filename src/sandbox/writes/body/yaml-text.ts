/**
 * YAML as the real server reads it (sigs.k8s.io/yaml, which is YAML 1.1 in the main): the first document of several, `yes` and
 * `on` are booleans, there is no base 60 and there are no timestamps, and the last value of a duplicate key counts.
 *
 * Aliases are followed 100 times at most, whatever their nesting.
 */

import { type Document, isAlias, isMap, isScalar, LineCounter, parseAllDocuments, visit } from "yaml"

export interface YamlText {
  readonly value: unknown
  /** The YAML converted to JSON. */
  readonly json: string
  /** `line 8: key "a" already set in map`, one for each duplicate, in their order. */
  readonly repeated: ReadonlyArray<string>
}

const maximumAliases = 100
/** Tags of YAML 1.1 that Go's parser does not resolve. */
const unknownTags: ReadonlySet<string> = new Set(["tag:yaml.org,2002:timestamp"])

/** @throws the parser's error for text that is not YAML, and an Error for keys that JSON cannot have */
export const readYaml = (text: string): YamlText => {
  const lines = new LineCounter()
  const [document] = parseAllDocuments(text, {
    version: "1.1",
    uniqueKeys: false,
    lineCounter: lines,
    customTags: (tags) =>
      tags.filter((tag) => typeof tag === "string" || !(unknownTags.has(tag.tag) || tag.format === "TIME")),
  })
  if (document === undefined) return { value: null, json: "null", repeated: [] }
  const [problem] = (document as Document).errors
  if (problem !== undefined) throw problem
  refuseOtherKeys(document as Document)
  const json = jsonOf((document as Document).toJS({ maxAliasCount: maximumAliases }))
  return { value: JSON.parse(json) as unknown, json, repeated: repeatedKeys(document as Document, lines) }
}

/** Go's reader converts keys that are text, numbers or booleans, and refuses null, lists and maps. */
const refuseOtherKeys = (document: Document): void => {
  visit(document, {
    Pair: (_, { key }) => {
      if (!isScalar(key) ? !isAlias(key) : key.value === null) throw new Error("a key that is null, a list or a map")
    },
  })
}

/** An anchor inside its own value makes a cycle, which Go's parser refuses and JSON cannot express. */
const jsonOf = (value: unknown): string => {
  try {
    return JSON.stringify(value ?? null)
  } catch (cause) {
    throw new Error("anchor value contains itself", { cause })
  }
}

const repeatedKeys = (document: Document, lines: LineCounter): ReadonlyArray<string> => {
  const repeated: string[] = []
  visit(document, {
    Map: (_, map) => {
      if (!isMap(map)) return
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        if (!isScalar(key) || key.value === "<<") continue
        if (seen.has(key.value)) {
          const { line } = lines.linePos(key.range?.[0] ?? 0)
          repeated.push(`line ${line}: key ${JSON.stringify(key.value)} already set in map`)
        }
        seen.add(key.value)
      }
    },
  })
  return repeated
}
