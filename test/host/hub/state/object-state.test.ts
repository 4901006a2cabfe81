/** Objects are cut and read as bytes with the result that parsing them would have. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { keptBytes, ObjectState } from "../../../../src/host/hub/state/object-state.ts"
import {
  compileDetectRules,
  ObjectScanner,
  ObservedObject,
  scanObjectSlowly,
  UnreadableError,
} from "../../../../src/kube/index.ts"

const gvk = { group: "", version: "v1", kind: "Pod" }

/** An object as a reader passes it on: in the middle of a buffer, through the scanner or its slow path. */
const observe = (text: string): ObservedObject => {
  const scanner = new ObjectScanner(compileDetectRules({ gvk, detect: "all", ignore: [] }))
  const observed = new ObservedObject(scanner)
  const before = '{"type":"ADDED","object":'
  observed.bytes = Buffer.from(`${before}${text}}\n{"type"`)
  observed.start = Buffer.byteLength(before)
  observed.end = observed.start + Buffer.byteLength(text)
  if (!scanner.scan(observed.bytes, observed.start, observed.end)) {
    const slow = scanObjectSlowly(scanner, observed.bytes, observed.start, observed.end)
    if (slow instanceof UnreadableError) throw slow
    Object.assign(observed, slow)
  }
  return observed
}

const stateOf = (text: string): ObjectState =>
  new ObjectState({ uid: "u", namespace: "default", name: "a" }, 7, keptBytes(observe(text), false))

const shuffled = <T>(members: ReadonlyArray<T>) => fc.shuffledSubarray([...members], { minLength: members.length })

/** JSON of an object whose members have any order and any white space. */
const objectText = fc
  .record({
    labels: fc.option(fc.dictionary(fc.string(), fc.string()), { nil: undefined }),
    managedFields: fc.option(fc.array(fc.jsonValue()), { nil: undefined }),
    spec: fc.jsonValue(),
    status: fc.jsonValue(),
    indent: fc.constantFrom(undefined, 1, "\t"),
  })
  .chain(({ labels, managedFields, spec, status, indent }) => {
    const named = { name: "a", namespace: "default", uid: "u", resourceVersion: "7" }
    const metadata = Object.entries({ ...named, labels, managedFields }).filter(([, value]) => value !== undefined)
    const type = { apiVersion: "v1", kind: "Pod" }
    return fc
      .tuple(shuffled(metadata), shuffled(Object.entries({ ...type, spec, status, metadata: {} })))
      .map(([inner, outer]) =>
        JSON.stringify({ ...Object.fromEntries(outer), metadata: Object.fromEntries(inner) }, undefined, indent),
      )
  })

const parse = (bytes: Buffer) => JSON.parse(bytes.toString()) as Record<string, unknown> & { metadata: object }

describe("The bytes of an object", () => {
  test("are the object without managedFields, or with them", () => {
    fc.assert(
      fc.property(objectText, (text) => {
        const { metadata, ...rest } = parse(Buffer.from(text)) as { metadata: { managedFields?: unknown } }
        const { managedFields: _dropped, ...kept } = metadata
        expect(parse(keptBytes(observe(text), false))).toEqual({ ...rest, metadata: kept })
        expect(parse(keptBytes(observe(text), true))).toEqual({ ...rest, metadata })
      }),
    )
  })

  test("have their own buffer, which keeps nothing else alive", () => {
    const text = JSON.stringify({ metadata: { name: "a", uid: "u", resourceVersion: "7", managedFields: [1] } })
    const bytes = keptBytes(observe(text), false)
    expect(bytes.buffer.byteLength).toBe(bytes.length)
  })

  test("yield labels and another version as parsing would", () => {
    fc.assert(
      fc.property(objectText, (text) => {
        const state = stateOf(text)
        const { metadata } = parse(state.bytes) as { metadata: { labels?: Record<string, string> } }
        expect({ ...state.labels }).toEqual(metadata.labels ?? {})
        const later = state.withVersion(12)
        expect(parse(later.bytes)).toEqual({
          ...parse(state.bytes),
          metadata: { ...metadata, resourceVersion: "12" },
        })
        expect([later.version, later.uid, later.key]).toEqual([12, "u", "default/a"])
      }),
    )
  })

  test("have no labels if there are none, or if they are null", () => {
    const withLabels = (labels: string) =>
      stateOf(`{"metadata":{"name":"a","uid":"u","resourceVersion":"7"${labels}}}`).labels
    expect([withLabels(""), withLabels(',"labels":null'), withLabels(',"labels":{"a":null}')]).toEqual([{}, {}, {}])
  })
})
