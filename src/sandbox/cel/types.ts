/**
 * The types of CEL expressions, and how signatures of functions are written here: `list(A)::indexOf(A) -> int` is a method of lists,
 * `sets.contains(list(A), list(A)) -> bool` a function. Names that are no built-in type and no single capital letter are opaque types.
 */

export type CelType =
  | { readonly kind: SimpleKind }
  | { readonly kind: "list"; readonly item: CelType }
  | { readonly kind: "map"; readonly key: CelType; readonly value: CelType }
  | { readonly kind: "optional"; readonly item: CelType }
  /** An object of a schema; two are the same type if they have the same name. */
  | { readonly kind: "object"; readonly name: string; readonly fields: ReadonlyMap<string, CelType> }
  /** A type with methods only, such as `kubernetes.Quantity`. */
  | { readonly kind: "opaque"; readonly name: string }
  /** A parameter of a signature, or a variable of the type checker. */
  | { readonly kind: "parameter"; readonly name: string }

const simpleKinds = [
  "dyn",
  "int",
  "uint",
  "double",
  "string",
  "bool",
  "bytes",
  "null_type",
  "timestamp",
  "duration",
  "type",
] as const
type SimpleKind = (typeof simpleKinds)[number]

export const simple = (kind: SimpleKind): CelType => ({ kind })
export const dyn = simple("dyn")
export const int = simple("int")
export const string = simple("string")
export const bool = simple("bool")
export const listOf = (item: CelType): CelType => ({ kind: "list", item })
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: "map", key, value })
export const optionalOf = (item: CelType): CelType => ({ kind: "optional", item })

/** As messages of the compiler show it: `map(string, list(int))`. */
export const formatType = (type: CelType): string => {
  switch (type.kind) {
    case "list":
      return `list(${formatType(type.item)})`
    case "map":
      return `map(${formatType(type.key)}, ${formatType(type.value)})`
    case "optional":
      return `optional_type(${formatType(type.item)})`
    case "object":
    case "opaque":
    case "parameter":
      return type.name
    case "timestamp":
      return "google.protobuf.Timestamp"
    case "duration":
      return "google.protobuf.Duration"
    case "null_type":
      return "null"
    default:
      return type.kind
  }
}

export interface Signature {
  readonly name: string
  /** Whether the first of `parameters` is the receiver of a method. */
  readonly isMethod: boolean
  readonly parameters: ReadonlyArray<CelType>
  readonly result: CelType
}

/** Reads a signature of this project's own tables; throws an Error for a malformed one. */
export const parseSignature = (text: string): Signature => {
  const [head = "", result = ""] = text.split(" -> ")
  const open = callStart(head)
  const [receiver, method] = head.slice(0, open).split("::")
  const parameters = splitTypes(head.slice(open + 1, -1)).map(parseType)
  const name = method ?? receiver ?? ""
  if (name === "" || result === "") throw new Error(`malformed signature: ${text}`)
  return {
    name,
    isMethod: method !== undefined,
    parameters: method === undefined ? parameters : [parseType(receiver ?? ""), ...parameters],
    result: parseType(result),
  }
}

/** The parenthesis of the parameters, behind a receiver that may have some of its own. */
const callStart = (head: string): number => head.indexOf("(", Math.max(head.indexOf("::"), 0))

const parseType = (text: string): CelType => {
  const match = /^(list|map|optional)\((.*)\)$/.exec(text)
  if (match === null) {
    if (/^[A-Z]$/.test(text)) return { kind: "parameter", name: text }
    const kind = simpleKinds.find((one) => one === text)
    return kind === undefined ? { kind: "opaque", name: text } : simple(kind)
  }
  const [, outer, inner = ""] = match
  const [first = dyn, second = dyn] = splitTypes(inner).map(parseType)
  return outer === "map" ? mapOf(first, second) : outer === "list" ? listOf(first) : optionalOf(first)
}

const splitTypes = (text: string): ReadonlyArray<string> => {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === "(") depth++
    if (text[at] === ")") depth--
    if (at < text.length && (text[at] !== "," || depth > 0)) continue
    const part = text.slice(start, at).trim()
    if (part !== "") parts.push(part)
    start = at + 1
  }
  return parts
}
