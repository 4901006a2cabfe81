/** What redaction must do, written down for JSON as a tree of tokens: slow, obvious, and independent of the bytes. */
import { createHmac } from "node:crypto"
import { NamePatterns, type RedactionRules } from "../../../src/kube/redaction/redaction-rules.ts"

import {
  type RedactedTextOf,
  valueOption,
  withoutPasswords,
  withoutValues,
  withoutWord,
} from "../../../src/kube/redaction/secret-text.ts"
import { ValueHash } from "../../../src/kube/redaction/value-hash.ts"
import { isObject, type JsonText } from "../scanner/json-text.ts"

const appliedName = "kubectl.kubernetes.io/last-applied-configuration"

const textOf = (token: string): string => JSON.parse(token) as string
const isText = (value: JsonText): value is string => typeof value === "string" && value.startsWith('"')
const isForm = (text: string): boolean => /^redacted:[0-9a-f]{16}$/.test(text)

/** Each pattern as a regular expression; the last that matches decides. */
const covers = (patterns: ReadonlyArray<string>, name: string): boolean =>
  patterns.reduce((isCovered, written) => {
    const pattern = written.replace(/^!/, "").replace(/^\//, "")
    const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    const compared = /^!?\//.test(written) ? (name.split("/").at(-1) as string) : name
    return new RegExp(`^${parts.join(".*")}$`, "is").test(compared) ? !written.startsWith("!") : isCovered
  }, false)

/** The tree with its values replaced, and whether anything was found in it. */
export const redactText = (
  root: JsonText,
  rules: RedactionRules,
  key: Uint8Array,
): { readonly text: JsonText; readonly isFound: boolean } => {
  let isFound = rules.secret
  /** What one rule has replaced, no other one does. */
  const done = new Set<string>()
  const replacedBy = (token: string): string => {
    done.add(token)
    return token
  }
  const hash = (value: string | Buffer): string =>
    `redacted:${createHmac("sha256", key).update(value).digest("hex").slice(0, 16)}`

  type Form = "text" | "encoded" | "encoded-object"
  const scalar = (token: string, form: Form): string => {
    const text = isText(token) ? textOf(token) : token
    if (token === "null" || text === "" || done.has(token)) return token
    isFound = true
    if (form === "text") return replacedBy(isText(token) && isForm(text) ? token : JSON.stringify(hash(text)))
    const joined = text.replace(/[\r\n]/g, "")
    const decoded = Buffer.from(joined, "base64")
    const isBase64 =
      decoded.toString("base64") === joined || (/^[A-Za-z0-9+/]*={0,2}$/.test(joined) && joined.length % 4 === 0)
    const isObject = form === "encoded-object"
    const content = decoded.toString("latin1")
    if (isBase64 && (isObject ? /^\{"redacted":"[0-9a-f]{16}"\}$/.test(content) : isForm(content)))
      return replacedBy(token)
    const made = hash(isBase64 ? decoded : joined)
    const written = isObject ? `{"redacted":"${made.slice("redacted:".length)}"}` : made
    return replacedBy(JSON.stringify(Buffer.from(written).toString("base64")))
  }
  const replaced = (value: JsonText, form: Form = "text"): JsonText => {
    if (typeof value === "string") return scalar(value, form)
    if (Array.isArray(value)) return value.map((element) => replaced(element, form))
    return { members: value.members.map(([name, member]) => [name, replaced(member, form)]) }
  }
  const at = (value: JsonText, tokens: ReadonlyArray<string>, form: Form): JsonText => {
    const [token, ...rest] = tokens
    if (token === undefined) return replaced(value, form)
    if (Array.isArray(value))
      return value.map((element, index) =>
        token === "*" || token === String(index) ? at(element, rest, form) : element,
      )
    if (!isObject(value)) return value
    return {
      members: value.members.map(([name, member]) =>
        token === "*" || textOf(name) === token ? [name, at(member, rest, form)] : [name, member],
      ),
    }
  }
  const values = new ValueHash(key)
  const names = { values: new NamePatterns(rules.arguments ?? []), headers: new NamePatterns(rules.headers ?? []) }
  /** What these make of a text (secret-text.test.ts) as a token. */
  const made = (token: string, found: RedactedTextOf | undefined): string => {
    if (found === undefined) return token
    isFound = true
    return JSON.stringify(found.text)
  }
  const word = (token: string): string =>
    rules.arguments?.length ? made(token, withoutValues(textOf(token), names, values)) : token
  const commandLine = (words: ReadonlyArray<JsonText>): JsonText =>
    words.map((each, index) => {
      if (!isText(each)) return each
      const before = words[index - 1]
      const option = before !== undefined && isText(before) ? valueOption(textOf(before), names) : undefined
      return option === undefined ? word(each) : made(each, withoutWord(textOf(each), option, values))
    })
  const withoutAddresses = (value: JsonText): JsonText => {
    if (isText(value)) return made(value, withoutPasswords(textOf(value), values))
    if (typeof value === "string") return value
    if (Array.isArray(value)) return value.map(withoutAddresses)
    return { members: value.members.map(([name, member]) => [name, withoutAddresses(member)]) }
  }
  const variable = (value: JsonText, patterns: ReadonlyArray<string>): JsonText => {
    if (!isObject(value)) return value
    const name = value.members.findLast(([member]) => textOf(member) === "name")?.[1]
    if (name === undefined || !isText(name) || !covers(patterns, textOf(name))) return value
    return {
      members: value.members.map(([member, own]) => [member, textOf(member) === "value" ? replaced(own) : own]),
    }
  }
  const annotation = ([own, text]: readonly [string, JsonText]): readonly [string, JsonText] => {
    if (covers([...rules.toolAnnotations, ...rules.annotations], textOf(own))) return [own, replaced(text)]
    const isCause = textOf(own) === "kubernetes.io/change-cause" && isText(text)
    return [own, isCause ? word(text) : text]
  }
  const memberOf = (name: string, value: JsonText): JsonText => {
    if (name === "env" && Array.isArray(value)) return value.map((each) => variable(each, rules.env))
    if (name === "httpHeaders" && Array.isArray(value)) return value.map((each) => variable(each, rules.headers ?? []))
    if (name === "annotations" && isObject(value)) return { members: value.members.map(annotation) }
    if ((name !== "args" && name !== "command") || !rules.arguments?.length) return value
    return Array.isArray(value) ? commandLine(value) : isText(value) ? word(value) : value
  }
  /** What is found by names, wherever it is. */
  const named = (value: JsonText): JsonText => {
    if (typeof value === "string") return value
    if (Array.isArray(value)) return value.map(named)
    return { members: value.members.map(([name, member]) => [name, named(memberOf(textOf(name), member))]) }
  }
  /** Removes members called `unwanted` from the objects that are the value of a member called `parent`. */
  const without = (
    value: JsonText,
    parent: string,
    unwanted: string,
    isDeep: boolean,
    isDropped: (member: JsonText) => boolean = () => true,
  ): JsonText => {
    if (typeof value === "string") return value
    if (Array.isArray(value)) return isDeep ? value.map((element) => without(element, parent, unwanted, isDeep)) : value
    return {
      members: value.members.map(([name, member]) => {
        const inner = isDeep ? without(member, parent, unwanted, isDeep) : member
        if (textOf(name) !== parent || !isObject(inner)) return [name, inner]
        return [name, { members: inner.members.filter(([own, each]) => textOf(own) !== unwanted || !isDropped(each)) }]
      }),
    }
  }
  /** Without annotations in the metadata that consist of the manifest alone. */
  const withoutEmptied = (value: JsonText): JsonText =>
    !isObject(value)
      ? value
      : {
          members: value.members.map(([name, member]) =>
            textOf(name) !== "metadata" || !isObject(member)
              ? [name, member]
              : [
                  name,
                  {
                    members: member.members.filter(
                      ([own, inner]) =>
                        textOf(own) !== "annotations" ||
                        !isObject(inner) ||
                        inner.members.length === 0 ||
                        inner.members.some(([annotation]) => textOf(annotation) !== appliedName),
                    ),
                  },
                ],
          ),
        }
  const manifests = (value: JsonText): ReadonlyArray<JsonText> => {
    if (typeof value === "string") return []
    if (Array.isArray(value)) return value.flatMap(manifests)
    return value.members.flatMap(([name, member]) => [
      ...manifests(member),
      ...(textOf(name) === "annotations" && isObject(member)
        ? member.members.filter(([own]) => textOf(own) === appliedName).map(([, manifest]) => manifest)
        : []),
    ])
  }

  let text = root
  if (rules.secret) {
    text = at(text, ["data", ".dockerconfigjson"], "encoded-object")
    text = at(text, ["data"], "encoded")
    text = at(text, ["stringData"], "text")
  }
  for (const pointer of rules.pointers) text = at(text, pointer.slice(1).split("/"), "text")
  text = named(text)
  if (rules.addresses === true) text = withoutAddresses(text)
  if (!isFound)
    isFound = manifests(root).some((manifest) => {
      if (!isText(manifest)) return false
      const trimmed = textOf(manifest).trim()
      if (trimmed === "") return false
      const parsed = treeOf(trimmed)
      const isSuspicious = /"(?:env|ann|com|arg|htt)/.test(trimmed) || rules.pointers.length > 0
      return parsed === undefined ? isSuspicious : redactText(parsed, rules, key).isFound
    })
  if (!isFound) return { text: root, isFound }
  const withoutManifests = without(withoutEmptied(text), "annotations", appliedName, true)
  const isDropped = (entries: JsonText): boolean => mayHoldValues(entries, rules)
  return { text: without(withoutManifests, "metadata", "managedFields", false, isDropped), isFound }
}

/** Whether a name or a text in managedFields could be, or hide, a value that the rules replace. */
const isSuspect = (token: string, rules: RedactionRules): boolean =>
  token.includes("\\u") || token.includes('\\"value\\"') || (rules.addresses === true && token.includes("://"))

/** Whether names of fields may hold values that the rules replace. */
const mayHoldValues = (entries: JsonText, rules: RedactionRules, isFinalizers = false): boolean => {
  if (typeof entries === "string") return isText(entries) && isSuspect(JSON.stringify(textOf(entries)), rules)
  if (Array.isArray(entries)) return entries.some((entry) => mayHoldValues(entry, rules, isFinalizers))
  return entries.members.some(([name, inner]) => {
    const key = textOf(name)
    if (isSuspect(JSON.stringify(key), rules)) return true
    if (key.startsWith("v:") && !isFinalizers) return true
    if (key.startsWith("k:") && rules.pointers.length > 0) return true
    return mayHoldValues(inner, rules, isFinalizers || (key === "f:finalizers" && rules.pointers.length === 0))
  })
}

/** The tree of a JSON object; `undefined` for any other text. */
const treeOf = (text: string): JsonText | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? tree(value) : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

const tree = (value: unknown): JsonText => {
  if (Array.isArray(value)) return value.map(tree)
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  return { members: Object.entries(value).map(([name, member]) => [JSON.stringify(name), tree(member)]) }
}
