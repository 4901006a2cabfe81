/** The status that is cut from an object's bytes is the one that parsing all of it gives. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { statusBytes } from "../../../../src/archive/queries/timeline/status-bytes.ts"

const cut = (text: string): unknown => {
  const found = statusBytes(Buffer.from(text))
  if (found === undefined) return undefined
  try {
    return JSON.parse(Buffer.from(found).toString())
  } catch {
    return undefined
  }
}

test("whatever is in the object, what is cut is its own status, or nothing is", () => {
  const text = fc.constantFrom("", "status", ',"status":{', '{"status":{}}', "\\", '"', "}", 'a,"status":{"b":1}}')
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      text,
      fc.constantFrom(null, 1, true),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.oneof(text, fc.constantFrom("a", "spec")), tie("value"), { maxKeys: 3 }),
    ),
  }))
  const object = fc.array(fc.tuple(fc.constantFrom("status", "status", "spec", "metadata", "z"), value), {
    maxLength: 4,
  })
  fc.assert(
    fc.property(object, (members) => {
      // Also members of the same name, of which the last counts.
      const json = `{${members.map(([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item)}`).join(",")}}`
      const found = cut(json)
      if (found !== undefined) expect(found).toEqual(JSON.parse(json).status)
    }),
    { numRuns: 2000 },
  )
})

test("the status of an object as Kubernetes writes it is found", () => {
  const status = { conditions: [{ type: "Ready", status: "True" }], nested: { status: { a: '}"' } } }
  const object = { metadata: { name: ',"status":{' }, spec: { status: {} }, status }
  expect(cut(JSON.stringify(object))).toEqual(status)
})
