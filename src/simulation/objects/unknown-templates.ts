/**
 * Custom kinds with something that looks like a pod template, of which the trace says nothing: their pods are not placed on virtual
 * nodes, which people should know. Only the first objects of each kind are searched.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../../trace/json/exact-json.ts"
import { isBuiltInKind } from "../../trace/sanitising/built-in-kinds.ts"

const mostSearched = 20
/** Nesting that is searched; templates of operators are at depths of 2 to 5. */
const deepest = 8

/** Collects such kinds for one replay; at most 20 objects of a kind are searched. */
export class UnknownTemplates {
  readonly #searched = new Map<string, number>()
  /** By kind: the place of the template that was found first. */
  readonly #found = new Map<string, string>()

  /** An object of a kind of which no template path is known. */
  search(gvk: string, object: JsonObject): void {
    const searched = this.#searched.get(gvk) ?? 0
    if (searched === mostSearched || this.#found.has(gvk) || isBuiltInKind(gvk)) return
    this.#searched.set(gvk, searched + 1)
    const path = templateBelow(object, "", 0)
    if (path !== undefined) this.#found.set(gvk, path)
  }

  /** For people, one sentence for each kind. */
  get warnings(): ReadonlyArray<string> {
    return [...this.#found].map(
      ([gvk, path]) =>
        `${gvk} seems to have a pod template at "${path}", of which the trace says nothing: its pods are not placed on virtual nodes`,
    )
  }
}

const templateBelow = (value: JsonValue, path: string, depth: number): string | undefined => {
  if (depth > deepest) return undefined
  if (Array.isArray(value)) {
    for (const element of value as ReadonlyArray<JsonValue>) {
      const found = templateBelow(element, `${path}/*`, depth + 1)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  if (isTemplate(value)) return path
  for (const key of Object.keys(value)) {
    if (depth === 0 && (key === "status" || key === "metadata")) continue
    const token = key.replaceAll("~", "~0").replaceAll("/", "~1")
    const found = templateBelow(value[key] as JsonValue, `${path}/${token}`, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

const isTemplate = ({ spec }: JsonObject): boolean => {
  const [container] = isJsonObject(spec) && Array.isArray(spec.containers) ? (spec.containers as JsonValue[]) : []
  return isJsonObject(container) && typeof container.name === "string" && typeof container.image === "string"
}
