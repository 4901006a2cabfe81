import { expect, test } from "vitest"
import { RedactedObjects } from "../../../src/actors/watcher/objects/redacted-objects.ts"
import { areRedactedAlike, selectionOf } from "../../../src/actors/watcher/selection.ts"
import {
  compileDetectRules,
  defaultRedaction,
  ListItem,
  ObjectScanner,
  ObservedObject,
  type RedactionRules,
  redactionOf,
  scanObjectSlowly,
  UnreadableError,
} from "../../../src/kube/index.ts"

const gvk = { group: "apps", version: "v1", kind: "Deployment" }
const detect = compileDetectRules({ gvk, detect: "content", ignore: [] })
const rules = redactionOf(gvk, defaultRedaction) as RedactionRules
const key = Buffer.from("0123456789abcdef")

const deployment = (password: string, variables = "env") => `{"metadata":{"name":"web","namespace":"shop","uid":"u-1",\
"resourceVersion":"7","ownerReferences":[{"uid":"u-0"}],"managedFields":[{"manager":"kubectl"}]},\
"spec":{"containers":[{"${variables}":[{"name":"DB_PASSWORD","value":"${password}"}]}]}}`

/** What a watcher records of the bytes: text, identity and fingerprint. */
const recorded = (text: string, isItem = false) => {
  const scanner = new ObjectScanner(detect)
  const bytes = Buffer.from(text)
  const observed = new ObservedObject(scanner)
  Object.assign(observed, { bytes, start: 0, end: bytes.length, version: 7 })
  if (!scanner.scan(bytes, 0, bytes.length)) {
    const slow = scanObjectSlowly(scanner, bytes, 0, bytes.length)
    if (slow instanceof UnreadableError) throw slow
    Object.assign(observed, slow)
  } else if (isItem) {
    const item = new ListItem(gvk)
    item.complete(bytes, 0, bytes.length, scanner)
    Object.assign(observed, { bytes: item.bytes, start: item.start, end: item.end })
  }
  const result = new RedactedObjects(detect, { rules, key }).of(observed)
  const { scanned } = result
  return {
    text: result.bytes.toString("utf8", result.start, result.end),
    uid: result.bytes.toString("utf8", scanned.uidStart, scanned.uidEnd),
    owners: result.bytes.toString("utf8", scanned.ownerReferencesStart, scanned.ownerReferencesEnd),
    version: result.version,
    fingerprint: [scanned.fingerprintLow, scanned.fingerprintHigh],
  }
}

test("identity and version stay, and the fingerprint is one of what is recorded", () => {
  const one = recorded(deployment("hunter2"))
  expect(one).toMatchObject({ uid: "u-1", owners: '[{"uid":"u-0"}]', version: 7 })
  expect(one.text).not.toContain("hunter2")
  const again = new ObjectScanner(detect)
  const bytes = Buffer.from(one.text)
  expect(again.scan(bytes, 0, bytes.length)).toBe(true)
  expect(one.fingerprint).toEqual([again.fingerprintLow, again.fingerprintHigh])
})

test("an object looks the same in a list and in a watch, and different with another value", () => {
  const watched = recorded(deployment("hunter2"))
  const item = recorded(deployment("hunter2"), true)
  expect(item.text).toMatch(/^\{"kind":"Deployment","apiVersion":"apps\/v1",/)
  expect(item.fingerprint).toEqual(watched.fingerprint)
  expect(item.text).not.toContain("hunter2")
  expect(recorded(deployment("hunter3")).fingerprint).not.toEqual(watched.fingerprint)
})

test("what only the slow path reads is redacted too", () => {
  const spelled = recorded(deployment("hunter2", "\\u0065nv").replace('"uid"', '"\\u0075id"'))
  const twice = recorded(
    deployment("hunter2").replace(
      '"spec"',
      '"metadata":{"uid":"u-1","resourceVersion":"7","managedFields":["x"]},"spec"',
    ),
  )
  for (const { uid, text } of [spelled, twice]) {
    expect(uid).toBe("u-1")
    expect(text).not.toContain("hunter2")
  }
})

test("rules and key are part of the selection, and say nothing about the key", () => {
  const selection = { namespaces: undefined, labelSelector: undefined, fieldSelector: undefined, skipOwned: false }
  const plain = selectionOf(selection)
  const one = selectionOf({ ...selection, redaction: { rules, key } })
  const otherKey = selectionOf({ ...selection, redaction: { rules, key: Buffer.from("fedcba9876543210") } })
  const otherRules = selectionOf({ ...selection, redaction: { rules: { ...rules, pointers: ["/spec/a"] }, key } })
  expect(plain).toBe("all namespaces")
  expect(one).toMatch(/^all namespaces; values redacted \(rules [0-9a-f]{8}, key [0-9a-f]{8}\)$/)
  expect(new Set([plain, one, otherKey, otherRules]).size).toBe(4)
  expect([areRedactedAlike(one, one), areRedactedAlike("", plain)]).toEqual([true, true])
  for (const other of ["", plain, otherKey, otherRules]) expect(areRedactedAlike(one, other)).toBe(false)
})
