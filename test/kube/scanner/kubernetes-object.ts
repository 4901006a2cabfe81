/** Arbitrary Kubernetes objects as JSON text, both as an API server might write them and as it never would. */

import fc from "fast-check"
import {
  anyString,
  anyValue,
  deepValue,
  isObject,
  type JsonMembers,
  type JsonText,
  members,
  object,
  plainString,
  quote,
} from "./json-text.ts"

type Entry = readonly [key: string, value: JsonText]

const entry = (key: string, value: fc.Arbitrary<JsonText>): fc.Arbitrary<Entry | undefined> =>
  fc.option(
    value.map((text) => [quote(key), text] as const),
    { nil: undefined, freq: 5 },
  )

const always = (key: string, value: fc.Arbitrary<JsonText>): fc.Arbitrary<Entry | undefined> =>
  value.map((text) => [quote(key), text] as const)

const shuffled = (
  entries: ReadonlyArray<fc.Arbitrary<Entry | undefined>>,
  more: fc.Arbitrary<JsonMembers>,
): fc.Arbitrary<JsonMembers> =>
  fc
    .tuple(fc.tuple(...entries), more)
    .chain(([known, others]) => {
      const own = known.filter((one) => one !== undefined)
      const names = new Set(own.map(([name]) => name))
      const all = [...own, ...others.members.filter(([name]) => !names.has(name))]
      return fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length })
    })
    .map((list) => ({ members: list }))

const plainKey = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9./-]{0,20}$/).map(quote)

/** Names of members next to those of interest, some of them almost equal. */
const otherKey = fc.oneof(
  plainKey,
  fc.constantFrom("__proto__", "Name", "uids", "nam", "", "metadata2", "statuses", "ä😀").map(quote),
)

const annotations = shuffled(
  [
    entry("k8s.io/initial-events-end", fc.constantFrom('"true"', '"false"', '"TRUE"', '""')),
    entry("control-plane.alpha.kubernetes.io/leader", anyString),
    entry("deployment.kubernetes.io/revision", plainString),
  ],
  members(plainKey, anyString, 3),
)

const ownerReferences = fc.array(
  fc.tuple(plainString, plainString).map(([name, uid]) => object([quote("name"), name], [quote("uid"), uid])),
  { maxLength: 2 },
)

const value = fc.oneof({ weight: 20, arbitrary: anyValue }, { weight: 1, arbitrary: deepValue })

const metadata = shuffled(
  [
    entry("name", plainString),
    entry("namespace", plainString),
    entry("uid", plainString),
    entry(
      "resourceVersion",
      fc.nat().map((version) => quote(String(version))),
    ),
    entry("generation", fc.nat().map(String)),
    entry("labels", members(plainKey, anyString, 3)),
    entry("annotations", annotations),
    entry("ownerReferences", ownerReferences),
    entry("managedFields", fc.array(value, { maxLength: 2 })),
  ],
  members(otherKey, anyValue, 2),
)

/** An object that the fast path understands. */
export const kubernetesObject: fc.Arbitrary<JsonMembers> = shuffled(
  [
    entry("apiVersion", plainString),
    entry("kind", plainString),
    always("metadata", metadata),
    entry("spec", fc.oneof({ weight: 4, arbitrary: members(plainKey, value, 4) }, { weight: 1, arbitrary: anyValue })),
    entry("status", value),
  ],
  members(otherKey, value, 2),
)

/** Spells every key of the object and of its metadata with an escape: valid JSON that the fast path rejects. */
export const withEscapedKeys = (text: JsonMembers): JsonMembers => ({
  members: text.members.map(([key, value]) => [
    escaped(key),
    key === '"metadata"' && isObject(value)
      ? { members: value.members.map(([name, member]) => [escaped(name), member] as const) }
      : value,
  ]),
})

/** The key token with its first character, if it is a plain one, as an escape sequence. */
const escaped = (key: string): string =>
  /^"[a-zA-Z]/.test(key) ? `"\\u${key.charCodeAt(1).toString(16).padStart(4, "0")}${key.slice(2)}` : key

/** The value of one member, or `undefined`. */
export const memberOf = (text: JsonText | undefined, name: string): JsonText | undefined =>
  text !== undefined && isObject(text) ? text.members.find(([key]) => JSON.parse(key) === name)?.[1] : undefined
