import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { compileDetectRules, defaultIgnore } from "../../../../src/kube/scanner/object/detect-rules.ts"
import { ObjectScanner } from "../../../../src/kube/scanner/object/object-scanner.ts"
import { scanObjectSlowly, UnreadableError } from "../../../../src/kube/scanner/slow-path.ts"
import { rounds } from "../../../harness/effort.ts"
import { expectFields, fieldsOf, type Json } from "../expected-fields.ts"
import { spacing, write } from "../json-text.ts"
import { kubernetesObject, withEscapedKeys } from "../kubernetes-object.ts"
import { mutated } from "../mutation.ts"

const gvk = { group: "apps", version: "v1", kind: "Deployment" }
const rulesOf = (detect: "all" | "content" | "spec") =>
  compileDetectRules({ detect, ignore: defaultIgnore(gvk, detect), gvk })
const scanner = new ObjectScanner(rulesOf("content"))
const slowScanner = new ObjectScanner(rulesOf("content"))

const fingerprint = (of: ObjectScanner): string => `${of.fingerprintLow}:${of.fingerprintHigh}`

const parse = (text: string): { readonly value: Json } | undefined => {
  try {
    return { value: JSON.parse(text) as Json }
  } catch {
    return undefined
  }
}

describe("the fast path", () => {
  test("finds in every object what JSON.parse finds, whatever the white space", () => {
    fc.assert(
      fc.property(kubernetesObject, spacing, (object, space) => {
        const text = `${space()}${write(object, space)}${space()}`
        const bytes = Buffer.from(text)
        expect(scanner.scan(bytes, 0, bytes.length)).toBe(true)
        expectFields(bytes, 0, bytes.length, scanner, JSON.parse(text) as Json)
      }),
      { numRuns: rounds(500) },
    )
  })

  test("accepts nothing that JSON.parse rejects, and finds the same in what both accept", () => {
    let refusedByBoth = 0
    let acceptedByBoth = 0
    fc.assert(
      fc.property(kubernetesObject, spacing, mutated, (object, space, mutate) => {
        const bytes = mutate(Buffer.from(write(object, space)))
        const parsed = parse(bytes.toString())
        if (scanner.scan(bytes, 0, bytes.length)) {
          acceptedByBoth++
          expect(parsed).toBeDefined()
          expectFields(bytes, 0, bytes.length, scanner, parsed?.value ?? null)
        } else if (parsed === undefined) refusedByBoth++
      }),
      { numRuns: rounds(3000) },
    )
    // Otherwise the mutations would be too mild or too wild to show anything.
    expect(refusedByBoth).toBeGreaterThan(rounds(100))
    expect(acceptedByBoth).toBeGreaterThan(rounds(100))
  })

  test("depends on no byte outside the given span", () => {
    const around = fc.uint8Array({ maxLength: 12 })
    fc.assert(
      fc.property(kubernetesObject, mutated, around, around, (object, mutate, before, after) => {
        const bytes = mutate(Buffer.from(write(object)))
        // A memory block of exactly this size: a read past it would throw.
        const alone = Buffer.from(new Uint8Array(bytes).buffer)
        const embedded = Buffer.concat([before, bytes, after])
        const start = before.length
        const end = start + bytes.length
        const understood = scanner.scan(alone, 0, alone.length)
        const fields = understood ? fieldsOf(alone, 0, alone.length, scanner) : undefined
        const print = understood ? fingerprint(scanner) : undefined
        expect(scanner.scan(embedded, start, end)).toBe(understood)
        if (!understood) return
        expect(fieldsOf(embedded, start, end, scanner)).toEqual(fields)
        expect(fingerprint(scanner)).toBe(print)
      }),
      { numRuns: rounds(1500) },
    )
  })

  test("rejects every incomplete object", () => {
    const text = Buffer.from(
      '{"apiVersion":"v1","metadata":{"name":"a\\u00e4","labels":{"b":"\\"c"},"n":[-1.5e+7,true,null]},"data":{"x":{}}}',
    )
    for (const base of [text, Buffer.concat([text.subarray(0, -1), Buffer.from("  }")])]) {
      for (let length = 0; length < base.length; length++) {
        const part = Buffer.from(new Uint8Array(base.subarray(0, length)).buffer)
        expect(scanner.scan(part, 0, part.length)).toBe(false)
        expect(scanner.scan(base, 0, length)).toBe(false)
      }
    }
    expect(scanner.scan(text, 1, text.length)).toBe(false)
    expect(scanner.scan(text, 0, text.length + 1)).toBe(false)
    expect(scanner.scan(text, -1, text.length)).toBe(false)
    expect(scanner.scan(text, text.length, 0)).toBe(false)
  })

  test.each([
    ["a duplicate name", '{"metadata":{"name":"a","name":"b"}}'],
    ["a duplicate metadata", '{"metadata":{"name":"a"},"metadata":{}}'],
    ["a duplicate member that does not count", '{"metadata":{},"status":1,"status":2}'],
    ["an escape in a key of interest", '{"metadata":{"n\\u0061me":"a"}}'],
    ["an escape in a reported string", '{"metadata":{"name":"\\u0061"}}'],
    ["a uid that is not a string", '{"metadata":{"uid":1}}'],
    ["a namespace that is null", '{"metadata":{"namespace":null}}'],
    ["owner references that are not an array", '{"metadata":{"ownerReferences":{}}}'],
    ["metadata that is not an object", '{"metadata":[]}'],
    ["no metadata", '{"kind":"Status"}'],
    ["a text that is not an object", '[{"metadata":{}}]'],
    ["two objects", '{"metadata":{}}{"metadata":{}}'],
    ["nothing", ""],
  ])("leaves %s to the slow path", (_, text) => {
    const bytes = Buffer.from(text)
    expect(scanner.scan(bytes, 0, bytes.length)).toBe(false)
  })

  test("is not misled by an array that looks like a true annotation", () => {
    const bytes = Buffer.from('{"metadata":{"annotations":{"k8s.io/initial-events-end":[true]}}}')
    expect(scanner.scan(bytes, 0, bytes.length)).toBe(true)
    expect(scanner.initialEventsEnd).toBe(false)
  })

  test("keeps nothing of an object when it scans the next", () => {
    const full = Buffer.from(
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n","namespace":"s","uid":"u","resourceVersion":"1","ownerReferences":[],"managedFields":[],"annotations":{"k8s.io/initial-events-end":"true"}}}',
    )
    const bare = Buffer.from('{"metadata":{}}')
    expect(scanner.scan(full, 0, full.length)).toBe(true)
    expect(scanner.scan(bare, 0, bare.length)).toBe(true)
    expectFields(bare, 0, bare.length, scanner, { metadata: {} })
  })
})

describe("the slow path", () => {
  test("agrees with the fast path on every field and the fingerprint of what both understand", () => {
    fc.assert(
      fc.property(kubernetesObject, spacing, mutated, fc.boolean(), (object, space, mutate, intact) => {
        const original = Buffer.from(write(object, space))
        const bytes = intact ? original : mutate(original)
        if (!scanner.scan(bytes, 0, bytes.length)) return
        const slow = scanObjectSlowly(slowScanner, bytes, 0, bytes.length)
        expect(slow).not.toBeInstanceOf(UnreadableError)
        if (slow instanceof UnreadableError) return
        expect(fieldsOf(slow.bytes, slow.start, slow.end, slowScanner)).toEqual(
          fieldsOf(bytes, 0, bytes.length, scanner),
        )
        expect(fingerprint(slowScanner)).toBe(fingerprint(scanner))
      }),
      { numRuns: rounds(1500) },
    )
  })

  test("reads objects with escapes in their keys, which the fast path rejects, and gives them the same fingerprint", () => {
    fc.assert(
      fc.property(kubernetesObject, spacing, (object, space) => {
        const plain = Buffer.from(write(object))
        const text = write(withEscapedKeys(object), space)
        const bytes = Buffer.from(`  ${text}\n`)
        expect(scanner.scan(plain, 0, plain.length)).toBe(true)
        const print = fingerprint(scanner)
        const slow = scanObjectSlowly(slowScanner, bytes, 0, bytes.length)
        if (slow instanceof UnreadableError) throw slow
        expect(slow.bytes.toString("utf8", slow.start, slow.end)).toBe(text)
        expectFields(slow.bytes, slow.start, slow.end, slowScanner, JSON.parse(text) as Json)
        expect(fingerprint(slowScanner)).toBe(print)
        expect(scanner.scan(bytes, 0, bytes.length)).toBe(false)
      }),
      { numRuns: rounds(300) },
    )
  })

  test("finds what JSON.parse finds in mutated objects, or reports what is wrong with them", () => {
    fc.assert(
      fc.property(kubernetesObject, spacing, mutated, (object, space, mutate) => {
        const bytes = mutate(Buffer.from(write(object, space)))
        const parsed = parse(bytes.toString())
        const slow = scanObjectSlowly(slowScanner, bytes, 0, bytes.length)
        if (slow instanceof UnreadableError) {
          if (parsed === undefined) expect(slow.reason).toMatch(/^not JSON: /)
          else expect(slow.reason).toMatch(/not a|without metadata/)
          return
        }
        expect(parsed).toBeDefined()
        const { value } = parsed ?? { value: null }
        expectFields(slow.bytes, slow.start, slow.end, slowScanner, value)
      }),
      { numRuns: rounds(1500) },
    )
  })

  const slowly = (text: string) => {
    const bytes = Buffer.from(text)
    const slow = scanObjectSlowly(slowScanner, bytes, 0, bytes.length)
    if (slow instanceof UnreadableError) return slow.reason
    return fieldsOf(slow.bytes, slow.start, slow.end, slowScanner)
  }

  test("returns strings that JSON cannot write without escapes as their text", () => {
    expect(
      slowly('{"kind":"\\"","metadata":{"name":"a\\"b\\n","uid":"\\u00e4","namespace":"\\ud83d\\ude00"}}'),
    ).toMatchObject({ kind: '"', name: 'a"b\n', uid: "ä", namespace: "😀" })
  })

  test("uses the last of duplicate members", () => {
    expect(slowly('{"metadata":{"name":"a","uid":"1","n\\u0061me":"b"},"metadata":{"name":"c"}}')).toMatchObject({
      name: "c",
      uid: undefined,
    })
  })

  test("treats null as absent, as Go clients do", () => {
    expect(slowly('{"kind":null,"metadata":{"name":null,"ownerReferences":null,"uid":"1"}}')).toMatchObject({
      kind: undefined,
      name: undefined,
      ownerReferences: undefined,
      uid: "1",
    })
  })

  test.each([
    ['{"metadata":{"uid":1}}', "metadata.uid is not a string"],
    ['{"kind":"Status"}', "an object without metadata"],
    ['{"metadata":null}', "an object without metadata"],
    ['{"kind":{},"metadata":{}}', "apiVersion or kind is not a string"],
    ['{"metadata":{"ownerReferences":{}}}', "metadata.ownerReferences is not an array"],
    ["[]", "not a JSON object"],
    ["7", "not a JSON object"],
  ])("reports why %s is not a Kubernetes object", (text, reason) => {
    expect(slowly(text)).toBe(reason)
  })
})
