/** The key `redact` of a configuration: what is replaced in addition to the default rules, and which of those do not apply. */
import type { Node } from "yaml"
import { formatGvk, parseGvk } from "../../kube/gvk.ts"
import { pointerFault } from "../../kube/json-pointer.ts"
import { defaultRedaction, defaultRules, type RedactionSettings } from "../../kube/redaction/redaction-rules.ts"
import { nearest } from "../../text/index.ts"
import { suggestKind } from "./known-kinds.ts"
import type { SettingReader } from "./setting-reader.ts"

/** The keys of `redact`, in the order in which messages list them. */
export const redactionKeys = ["env", "annotations", "pointers", "without"] as const

/** Reads the value of the key. Mistakes are recorded, and what is right of the rest is returned. */
export const readRedaction = (reader: SettingReader, node: Node | undefined): RedactionSettings => {
  if (reader.isEmpty(node)) return defaultRedaction
  const entries = reader.entries(node, "redact", `a mapping with the keys ${redactionKeys.join(", ")}`) ?? []
  const values = new Map<string, Node | undefined>()
  const lines = new Map<string, number>()
  for (const { key, keyPosition, value } of entries) {
    const firstLine = lines.get(key)
    if (!redactionKeys.some((known) => known === key)) {
      const suggestion = nearest(key, redactionKeys)
      const hint = suggestion === undefined ? {} : { suggestion }
      reader.problem({ _tag: "UnknownKey", ...keyPosition, key, where: "redact", allowed: [...redactionKeys], ...hint })
    } else if (firstLine !== undefined)
      reader.problem({ _tag: "DuplicateKey", ...keyPosition, key, where: "redact", firstLine })
    else {
      values.set(key, value)
      lines.set(key, keyPosition.line)
    }
  }
  return {
    env: readNames(reader, values.get("env"), "env"),
    annotations: readNames(reader, values.get("annotations"), "annotations"),
    pointers: readPointers(reader, values.get("pointers")),
    without: readWithout(reader, values.get("without")),
  }
}

const listOf =
  (where: string) =>
  (index: number | ""): string =>
    `${index === "" ? where : `${where}[${index}]`} of redact`

const readNames = (reader: SettingReader, node: Node | undefined, key: string): ReadonlyArray<string> => {
  if (reader.isEmpty(node)) return []
  return (reader.texts(node, listOf(key)) ?? []).map(({ text, position, where }) => {
    const reason = "it names nothing; write a name such as *_DSN, in which * is any text"
    if (text === "") reader.problem({ _tag: "InvalidValue", ...position, where, found: text, reason })
    return text
  })
}

const readPointers = (reader: SettingReader, node: Node | undefined): RedactionSettings["pointers"] => {
  const pointers = new Map<string, ReadonlyArray<string>>()
  if (reader.isEmpty(node)) return pointers
  const allowed = "a mapping of kinds to lists of JSON pointers, such as v1.ConfigMap: [/data/*]"
  for (const { key, keyPosition, value } of reader.entries(node, "pointers of redact", allowed) ?? []) {
    const gvk = parseGvk(key)
    if (gvk === undefined && key !== "*") {
      const suggestion = suggestKind(key)
      const hint = suggestion === undefined ? {} : { suggestion }
      const reason = "write a kind as group/version.Kind, as version.Kind for the core group, or * for every kind"
      reader.problem({ _tag: "InvalidKind", ...keyPosition, found: key, reason, ...hint })
    }
    const texts = reader.texts(value, listOf(`pointers.${key}`)) ?? []
    for (const { text, position, where } of texts) {
      const fault = pointerFault(text) ?? placeFault(text)
      const reason = `it ${fault}; it must be a JSON pointer such as /data/password or /spec/users/*/token`
      if (fault !== undefined) reader.problem({ _tag: "InvalidValue", ...position, where, found: text, reason })
    }
    const name = gvk === undefined ? key : formatGvk(gvk)
    pointers.set(name, [...(pointers.get(name) ?? []), ...texts.map(({ text }) => text)])
  }
  return pointers
}

/** A recorder cannot do without an object's identity, its owners and its version. */
const placeFault = (pointer: string): string | undefined => {
  const [first, second] = pointer.slice(1).split("/")
  if (pointer === "" || first === "*") return "names the object as a whole"
  if (first === "apiVersion" || first === "kind") return "names what kind of object it is"
  if (first === "metadata" && second !== "annotations")
    return "names metadata other than annotations, without which the object cannot be told from others"
  return undefined
}

const readWithout = (reader: SettingReader, node: Node | undefined): ReadonlyArray<string> => {
  if (reader.isEmpty(node)) return []
  const names = [...defaultRules.keys()]
  return (reader.texts(node, listOf("without")) ?? []).map(({ text, position, where }) => {
    if (!defaultRules.has(text)) {
      const suggestion = nearest(text, names)
      const hint = suggestion === undefined ? {} : { suggestion }
      const reason = `it is not a default rule; they are ${names.join(", ")}`
      reader.problem({ _tag: "InvalidValue", ...position, where, found: text, reason, ...hint })
    }
    return text
  })
}
