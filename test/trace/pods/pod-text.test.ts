/** Status and spec are either found in the bytes or not; what is found is never a different one. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { findPodStatus, readPodSpec, readPodStatus } from "../../../src/trace/pods/pod-text.ts"
import { rounds } from "../../harness/effort.ts"

const look = (text: string, before = "", after = "") => {
  const bytes = Buffer.from(before + text + after)
  const start = Buffer.byteLength(before)
  const end = start + Buffer.byteLength(text)
  const at = findPodStatus(bytes, start, end)
  if (at < 0) return { found: false } as const
  const status = readPodStatus(bytes, at, end)
  return status === undefined
    ? ({ found: false } as const)
    : { found: true, status, spec: readPodSpec(bytes, start, at) }
}

const statuses = { initContainerStatuses: [{ state: { running: {} } }], containerStatuses: [{ image: '"}]\\' }] }
const spec = { containers: [{ name: "a" }], volumes: [{ ephemeral: { volumeClaimTemplate: { spec: { x: 1 } } } }] }

describe("a pod as the server writes it", () => {
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": '{"spec":{"a":1},"status":{}}' }
  const status = { phase: "Running", conditions: [{ status: "True" }], ...statuses, qosClass: "Burstable" }
  const pod = JSON.stringify({
    metadata: { annotations, managedFields: [{ fieldsV1: { "f:spec": {}, "f:status": {} } }] },
    spec,
    status,
  })

  test("is found whatever is around it", () => {
    for (const [before, after] of [
      ["", ""],
      ['{"type":"ADDED","object":', "}\n"],
      ['{"spec":{},"status":{"phase":"Failed"}}', ',{"status":{}}'],
    ] as const) {
      expect(look(pod, before, after)).toEqual({ found: true, status, spec })
    }
  })

  test("without containers still has a status", () => {
    expect(look('{"spec":{},"status":{"phase":"Pending"}}')).toEqual({
      found: true,
      status: { phase: "Pending" },
      spec: {},
    })
  })
})

test.each([
  '{"status":{"phase":"Running"},"spec":{}}',
  '{"status" : {"phase":"Running"}}',
  '{"status":{"phase":"Running"}}\n',
  '{"status":null}',
  // Nested more deeply.
  '{"spec":{"status":{"phase":"Running"}}}',
  // Half of a key's text.
  '{"a\\"status":{"phase":"Running"}}',
])("%s is left to the parser of the whole object", (text) => {
  expect(look(text, '{"status":{}}').found).toBe(false)
})

test.each([
  ['{"spec":{"a":1},"x":1,"status":{}}', undefined],
  ['{"x":{"spec":{"a":1}},"status":{}}', undefined],
  ['{"a\\"spec":{"a":1},"status":{}}', undefined],
  ['{"spec": {"a":1},"status":{}}', undefined],
])("the spec of %s is left to the parser of the whole object", (text, expected) => {
  expect(look(text)).toMatchObject({ found: true, spec: expected })
})

test("what is found equals the part of the whole object", () => {
  const names = ["status", "spec", "containerStatuses", "initContainerStatuses", '"status":{', "{", "\\", "other"]
  const key = fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 5 }))
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(
        fc.string(),
        fc.constantFrom('"status":{', "}}", '{"spec":{},"status":{}}', '"containerStatuses":['),
        fc.integer(),
        fc.constant(null),
      ),
      fc.dictionary(key, tie("value"), { maxKeys: 4 }),
      fc.array(tie("value"), { maxLength: 3 }),
    ),
  })).value
  const object = fc.oneof(
    fc.dictionary(key, value, { maxKeys: 5 }),
    fc
      .tuple(fc.dictionary(key, value, { maxKeys: 2 }), value, fc.dictionary(key, value, { maxKeys: 4 }))
      .map(([{ spec: _spec, status: _status, ...rest }, podSpec, status]) => ({ ...rest, spec: podSpec, status })),
  )
  let whole = 0
  fc.assert(
    fc.property(object, (pod) => {
      const answer = look(JSON.stringify(pod), ',"spec":{},"status":{', "}}")
      if (!answer.found) return
      const plain = JSON.parse(JSON.stringify(pod)) as Record<string, Record<string, unknown>>
      expect(answer.status).toEqual(plain.status)
      if (answer.spec !== undefined) {
        expect(answer.spec).toEqual(plain.spec)
        whole++
      }
    }),
    { numRuns: rounds(3000) },
  )
  expect(whole).toBeGreaterThan(rounds(50))
})
