import fc from "fast-check"
import { expect, test } from "vitest"
import { parseOwnerReferences } from "../../src/trace/index.ts"
import {
  decodeOwnerAnswers,
  decodeOwnerQuestions,
  encodeOwnerAnswers,
  encodeOwnerQuestions,
} from "../../src/wire/owner-messages.ts"

const question = fc.record({ uid: fc.string(), gvk: fc.string(), namespace: fc.string(), name: fc.string() })

test("questions arrive as they were sent", () => {
  fc.assert(
    fc.property(fc.array(question), fc.boolean(), (questions, rescan) => {
      expect(decodeOwnerQuestions(encodeOwnerQuestions({ questions, rescan }))).toEqual({ questions, rescan })
    }),
  )
})

test("answers arrive as they were sent", () => {
  const answer = fc.tuple(question, fc.uint8Array({ maxLength: 300 }), fc.boolean(), fc.boolean())
  fc.assert(
    fc.property(fc.array(answer), (given) => {
      const answers = given.map(([asked, ownerReferences, found, recorded]) => ({
        ...asked,
        ownerReferences,
        found,
        recorded,
      }))
      const read = decodeOwnerAnswers(encodeOwnerAnswers(answers))
      expect(read.map((one) => ({ ...one, ownerReferences: Uint8Array.from(one.ownerReferences) }))).toEqual(answers)
    }),
  )
})

test("owner references are read from any text without an exception, and only complete ones count", () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void parseOwnerReferences(text)))
  const whole = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "u", controller: true }
  expect(parseOwnerReferences(JSON.stringify([whole, { kind: "X" }, null, 3]))).toEqual([
    { apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "u", controller: true },
  ])
})
