import fc from "fast-check"
import { expect, test } from "vitest"
import { ObjectRedactor } from "../../../src/kube/redaction/object-redactor.ts"
import { valueKinds } from "../../../src/kube/redaction/redacted-values.ts"
import { defaultRedaction, type RedactionRules, redactionOf } from "../../../src/kube/redaction/redaction-rules.ts"
import { copyWithoutWhiteSpace } from "../../../src/kube/scanner/json/json-bytes.ts"
import { compileDetectRules } from "../../../src/kube/scanner/object/detect-rules.ts"
import { ObjectScanner } from "../../../src/kube/scanner/object/object-scanner.ts"
import { rounds } from "../../harness/effort.ts"
import { anyString, type JsonText, object, quote, spacing, write } from "../scanner/json-text.ts"
import { redactText } from "./redacted-text.ts"

const key = Buffer.from("0123456789abcdef0123456789abcdef")
const applied = "kubectl.kubernetes.io/last-applied-configuration"
const gvk = { group: "", version: "v1", kind: "Pod" }
const pod = redactionOf(gvk, defaultRedaction) as RedactionRules
const secret = redactionOf({ group: "", version: "v1", kind: "Secret" }, defaultRedaction) as RedactionRules

const redacted = (text: string | Buffer, rules: RedactionRules, before = ""): Buffer => {
  const bytes = Buffer.concat([
    Buffer.from(before),
    Buffer.from(text),
    Buffer.from('"env":[{"name":"PASSWORD","value":"x"}]'),
  ])
  const start = Buffer.byteLength(before)
  const end = start + Buffer.byteLength(text)
  const result = new ObjectRedactor(rules, key).redacted(bytes, start, end)
  return Buffer.from(result ?? bytes.subarray(start, end))
}
const parsed = (object: unknown, rules: RedactionRules): unknown =>
  JSON.parse(redacted(JSON.stringify(object), rules).toString())

/** Writes some characters of a string token as escape sequences. */
const respelled = (token: string): fc.Arbitrary<string> =>
  fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }).map((choices) => {
    let next = 0
    return token.replace(/[A-Za-z/]/g, (letter) =>
      choices[next++ % choices.length] === true ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}` : letter,
    )
  })

const spelled = (...texts: ReadonlyArray<string>): fc.Arbitrary<string> =>
  fc
    .constantFrom(...texts)
    .map(quote)
    .chain((token) =>
      fc.oneof({ weight: 6, arbitrary: fc.constant(token) }, { weight: 1, arbitrary: respelled(token) }),
    )

const keys = spelled(
  "env",
  "name",
  "value",
  "annotations",
  "data",
  ".dockerconfigjson",
  "stringData",
  "metadata",
  "managedFields",
  "spec",
  "0",
  "*",
  "environment",
  "example.com/password",
  "openshift.io/token-secret.value",
  applied,
  'od"d\n',
  "__proto__",
  "args",
  "command",
  "httpHeaders",
  "example.com/api-token",
  "checksum/secret",
)
/** What API servers never write, and is spelled anew in an object in which a value is replaced. */
const isOddlySpelled = (text: string): boolean => /\\u00(?:[4-7]|2[2f]|3a)/i.test(text)
/** With all strings as `JSON.stringify` spells them if `original` is odd. */
const respelledLike = (original: string, text: string): string =>
  isOddlySpelled(original)
    ? text.replace(/"(?:[^"\\]|\\.)*"/g, (token) => (token.includes("\\") ? JSON.stringify(JSON.parse(token)) : token))
    : text

const texts = fc.oneof(
  spelled("DB_PASSWORD", "COLOUR", "token", "", "api_key", "redacted:0123456789abcdef", "aHVudGVyMg==", "env"),
  spelled(
    "--password=hunter2",
    "--token",
    "-u",
    "a:b",
    "psql postgres://a:b@c/",
    "PASS='a b' curl -H 'Cookie: x'",
    "X-Auth",
  ),
  anyString,
)
const scalars = fc.oneof(texts, fc.constantFrom("null", "true", "false", "0", "-1.5e3", "12345678901234567890"))
const manifest = fc
  .constantFrom(
    { spec: { env: [{ name: "A_PASSWORD", value: "hunter2" }] } },
    { spec: { env: [{ name: "COLOUR", value: "blue" }] } },
    { data: { a: "x" }, metadata: { annotations: { "example.com/password": "x" } } },
    { metadata: { annotations: { [applied]: JSON.stringify({ env: [{ name: "PASS", value: "x" }] }) } } },
    "not a manifest",
    "",
  )
  .map((value) => quote(typeof value === "string" ? value : JSON.stringify(value)))

const { value: anyJson = fc.constant<JsonText>("null") } = fc.letrec<{ value: JsonText; members: JsonText }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, depthSize: "small" },
    { weight: 4, arbitrary: scalars },
    { weight: 1, arbitrary: manifest },
    { weight: 4, arbitrary: tie("members") },
    { weight: 2, arbitrary: fc.array(tie("value"), { maxLength: 4 }) },
  ),
  members: fc.array(fc.tuple(keys, tie("value")), { maxLength: 5 }).map((members): JsonText => ({ members })),
}))

/** Of fieldsV1. */
const managedKeys = fc.constantFrom(
  ...[
    '"f:env"',
    '"f:finalizers"',
    '"v:\\"a\\""',
    '"k:{\\"name\\":\\"PASS\\"}"',
    '"k:{\\"value\\":\\"a\\"}"',
    '"f:\\u0061"',
  ],
)

/** Environment variables and annotations where they usually are. */
const likely = fc
  .record({
    env: fc.array(fc.tuple(texts, scalars), { maxLength: 4 }),
    annotations: fc.array(fc.tuple(keys, fc.oneof(texts, manifest)), { maxLength: 3 }),
    more: anyJson,
    managed: fc.option(fc.array(fc.tuple(managedKeys, fc.array(managedKeys, { maxLength: 2 })), { maxLength: 3 })),
  })
  .map(({ env, annotations, more, managed }): JsonText => {
    const leaves = (names: ReadonlyArray<string>): JsonText =>
      object(...[...new Set(names)].map((name) => [name, object()] as const))
    const fields = object(...(managed ?? []).map(([name, inside]) => [name, leaves(inside)] as const))
    const managedFields: JsonText = [object(['"manager"', '"kubectl"'], ['"fieldsV1"', fields])]
    const metadata = object(
      ['"name"', '"a"'],
      ['"annotations"', object(...annotations)],
      ...(managed !== null ? [['"managedFields"', managedFields] as const] : []),
    )
    const variables = env.map(([name, value]): JsonText => object(['"name"', name], ['"value"', value]))
    return object(['"metadata"', metadata], ['"data"', more], ['"spec"', object(['"env"', variables], ['"x"', more])])
  })

const objects = fc.oneof(
  likely,
  fc.array(fc.tuple(keys, anyJson), { maxLength: 6 }).map((members): JsonText => ({ members })),
)

const ruleSets: ReadonlyArray<RedactionRules> = [
  pod,
  secret,
  { ...pod, annotations: ["example.com/*"], pointers: ["/data/*", "/spec/*/0/value"] },
  { secret: false, env: [], annotations: [], toolAnnotations: [], pointers: ["/data"] },
  { secret: false, env: [], annotations: ["*pass*"], toolAnnotations: [], pointers: [] },
]

test("does to the bytes what redaction of the parsed object does, and leaves all other bytes as they are", () => {
  let found = 0
  let untouched = 0
  fc.assert(
    fc.property(objects, fc.constantFrom(...ruleSets), fc.constantFrom("", "x", '{"a":\\'), (tree, rules, before) => {
      const expected = redactText(tree, rules, key)
      if (expected.isFound) found++
      else untouched++
      const text = write(tree)
      const result = redacted(text, rules, before).toString()
      expect(respelledLike(text, result)).toBe(respelledLike(text, write(expected.text)))
      if (!expected.isFound) expect(result).toBe(text)
    }),
    { numRuns: rounds(3000) },
  )
  expect([found > rounds(300), untouched > rounds(100)]).toEqual([true, true])
})

test("does the same whatever white space there is between tokens", () => {
  fc.assert(
    fc.property(objects, fc.constantFrom(...ruleSets), spacing, (tree, rules, space) => {
      const text = write(tree)
      const result = redacted(write(tree, space), rules)
      const compact = Buffer.alloc(result.length)
      const end = copyWithoutWhiteSpace(result, 0, result.length, compact, 0)
      const expected = write(redactText(tree, rules, key).text)
      expect(respelledLike(text, compact.toString("utf8", 0, end))).toBe(respelledLike(text, expected))
    }),
    { numRuns: rounds(1500) },
  )
})

test("does the same if the scan of the object has found managedFields", () => {
  const scanner = new ObjectScanner(compileDetectRules({ detect: "content", ignore: [], gvk }))
  let given = 0
  fc.assert(
    fc.property(objects, fc.constantFrom(...ruleSets), fc.constantFrom("", "x"), (tree, rules, before) => {
      const bytes = Buffer.from(before + write(tree))
      if (!scanner.scan(bytes, before.length, bytes.length)) return
      const span = { start: scanner.managedFieldsStart, end: scanner.managedFieldsEnd }
      if (span.end > span.start) given++
      const redactor = new ObjectRedactor(rules, key)
      const isChanged = redactor.redact(bytes, before.length, bytes.length, span)
      const result = isChanged ? redactor.result.bytes.subarray(0, redactor.result.length) : undefined
      expect((result ?? bytes.subarray(before.length)).toString()).toBe(redacted(write(tree), rules).toString())
    }),
    { numRuns: rounds(1000) },
  )
  expect(given).toBeGreaterThan(rounds(50))
})

test("redacts what is redacted already to the same bytes", () => {
  fc.assert(
    fc.property(objects, fc.constantFrom(...ruleSets), (tree, rules) => {
      const once = redacted(write(tree), rules)
      expect(redacted(once, rules).equals(once)).toBe(true)
    }),
    { numRuns: rounds(1000) },
  )
})

test("keeps bytes that are no UTF-8 outside of values, and replaces values that are none", () => {
  const text = Buffer.concat([
    Buffer.from('{"a":"'),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('","env":[{"name":"PASSWORD","value":"'),
    Buffer.from([0xc3, 0x28]),
    Buffer.from('"}]}'),
  ])
  const result = redacted(text, pod)
  expect(result.subarray(0, 40).equals(text.subarray(0, 40))).toBe(true)
  expect(result.includes(Buffer.from([0xc3, 0x28]))).toBe(false)
  expect(result.toString("latin1")).toMatch(/"value":"redacted:[0-9a-f]{16}"\}\]\}$/)
})

test("takes nesting of any depth, values of any length, and objects beyond the memory of the fast search", () => {
  const depth = 200_000
  const deep = `${'{"env":['.repeat(depth)}{"name":"TOKEN","value":"hunter2"}${"]}".repeat(depth)}`
  expect(redacted(deep, pod).toString()).not.toContain("hunter2")
  const huge = `{"env":[{"name":"TOKEN","value":"${"hunter2".repeat(400_000)}"}],"a":"${"b".repeat(100)}"}`
  expect(redacted(huge, pod).toString()).toMatch(
    /^\{"env":\[\{"name":"TOKEN","value":"redacted:[0-9a-f]{16}"\}\],"a":"b{100}"\}$/,
  )
})

test("counts a command line inside too many others as arguments", () => {
  const deep = Buffer.from(
    `{"env":[{"name":"TOKEN","value":"a"}],"b":${'{"args":['.repeat(17)}"word"${"]}".repeat(17)}}`,
  )
  const redactor = new ObjectRedactor(pod, key)
  redactor.redacted(deep, 0, deep.length)
  expect(Array.from(redactor.result.replaced)).toEqual(
    valueKinds.map((kind) => (kind === "env" || kind === "argument" ? 1 : 0)),
  )
})

test("replaces the values of a Secret by hashes that are still base64, and keeps names, type and empty values", () => {
  const encoded = (text: string): string => Buffer.from(text).toString("base64")
  const given = {
    metadata: { name: "a", managedFields: [{ manager: "kubectl" }], annotations: { [applied]: "{}", b: "c" } },
    data: {
      user: encoded("hunter2"),
      password: encoded("hunter2"),
      empty: "",
      ".dockerconfigjson": encoded("hunter2"),
    },
    stringData: { token: "hunter2" },
    type: "kubernetes.io/basic-auth",
  }
  const result = parsed(given, secret) as typeof given
  const hash = result.stringData.token
  expect(hash).toMatch(/^redacted:[0-9a-f]{16}$/)
  expect(result).toEqual({
    metadata: { name: "a", managedFields: [{ manager: "kubectl" }], annotations: { b: "c" } },
    data: {
      user: encoded(hash),
      password: encoded(hash),
      empty: "",
      ".dockerconfigjson": encoded(JSON.stringify({ redacted: hash.slice("redacted:".length) })),
    },
    stringData: { token: hash },
    type: "kubernetes.io/basic-auth",
  })
})

test("finds environment variables by their names in every kind of container and template, and keeps those of other names", () => {
  const env = [
    { name: "DB_PASSWORD", value: "hunter2" },
    { name: "COLOUR", value: "blue" },
    { name: "TOKEN", valueFrom: { secretKeyRef: { name: "a", key: "b" } } },
  ]
  const spec = { containers: [{ env }], initContainers: [{ env }], ephemeralContainers: [{ env }] }
  const cronJob = { spec: { jobTemplate: { spec: { template: { spec } } } } }
  const text = JSON.stringify(parsed(cronJob, pod))
  expect(text.match(/redacted:[0-9a-f]{16}/g)?.length).toBe(3)
  expect(text.match(/"blue"/g)?.length).toBe(3)
  expect(text).not.toContain("hunter2")
})

test("keeps managedFields, which say who wrote what, unless a name in them may hold a value", () => {
  const kept = (fieldsV1: object, rules = pod) => {
    const managedFields = [{ manager: "kubectl", fieldsV1 }]
    const result = parsed({ metadata: { managedFields }, spec: { env: [{ name: "PASS", value: "x" }] } }, rules)
    return (result as { metadata: object }).metadata
  }
  const variable = { "f:spec": { "f:env": { 'k:{"name":"PASS"}': { "f:value": {} } } } }
  const finalizers = { "f:metadata": { "f:finalizers": { ".": {}, 'v:"example.com/a"': {}, 'v:"example.com/b"': {} } } }
  for (const fields of [variable, finalizers, { ...finalizers, ...variable }])
    expect(kept(fields)).toEqual({ managedFields: [{ manager: "kubectl", fieldsV1: fields }] })
  const pointers = { ...pod, pointers: ["/spec/tokens/*"] }
  expect(kept({ "f:spec": { "f:tokens": { 'v:"x"': {} } } })).toEqual({})
  expect(kept({ ...finalizers, "f:spec": { 'k:{"name":"PASS","value":"x"}': {} } })).toEqual({})
  expect(kept({ ...finalizers, "f:spec": { 'v:"x"': {} } })).toEqual({})
  expect([kept(variable, pointers), kept(finalizers, pointers)]).toEqual([{}, {}])
  expect(kept({ "f:spec": { "f:a": {} } }, pointers)).not.toEqual({})
})

test("drops the applied manifest from an object that no longer has the value, and from no other", () => {
  const applying = (value: string) => ({
    metadata: {
      annotations: { [applied]: JSON.stringify({ spec: { env: [{ name: value, value: "hunter2" }] } }), other: "x" },
      managedFields: [{ manager: "kubectl" }],
    },
    spec: { env: [] },
  })
  const managedFields = [{ manager: "kubectl" }]
  expect(parsed(applying("DB_PASSWORD"), pod)).toEqual({
    metadata: { annotations: { other: "x" }, managedFields },
    spec: { env: [] },
  })
  expect(parsed(applying("COLOUR"), pod)).toEqual(applying("COLOUR"))
})

test("of annotations that were the manifest alone nothing is left, so an annotation that is ignored makes no difference", () => {
  const scanner = new ObjectScanner(
    compileDetectRules({ detect: "content", ignore: ["/metadata/annotations/revision"], gvk }),
  )
  const recorded = (more: object) => {
    const annotations = { [applied]: "{}", ...more }
    const managedFields = [{ manager: "kubectl" }]
    const object = {
      metadata: { name: "a", uid: "u", resourceVersion: "1", annotations, managedFields },
      spec: { env: [{ name: "PASS", value: "x" }] },
    }
    const bytes = Buffer.from(JSON.stringify(object))
    expect(scanner.scan(bytes, 0, bytes.length)).toBe(true)
    const span = { start: scanner.managedFieldsStart, end: scanner.managedFieldsEnd }
    const redactor = new ObjectRedactor(pod, key)
    expect(redactor.redact(bytes, 0, bytes.length, span)).toBe(true)
    const { bytes: result, length } = redactor.result
    expect(scanner.scan(result, 0, length)).toBe(true)
    const { metadata }: typeof object = JSON.parse(result.toString("utf8", 0, length))
    return { metadata, fingerprint: [scanner.fingerprintLow, scanner.fingerprintHigh] }
  }
  const first = recorded({})
  const second = recorded({ revision: "1" })
  expect(first.metadata).toEqual({ name: "a", uid: "u", resourceVersion: "1", managedFields: [{ manager: "kubectl" }] })
  expect(second.metadata).toEqual({ ...first.metadata, annotations: { revision: "1" } })
  expect(second.fingerprint).toEqual(first.fingerprint)
})

test("gives the same value another hash under another key", () => {
  const bytes = Buffer.from('{"env":[{"name":"TOKEN","value":"hunter2"}]}')
  const other = new ObjectRedactor(pod, Buffer.from("another key of the same length!!")).redacted(
    bytes,
    0,
    bytes.length,
  )
  expect(other?.equals(redacted(bytes, pod))).toBe(false)
})
