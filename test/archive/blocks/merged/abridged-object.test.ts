import fc from "fast-check"
import { expect, test } from "vitest"
import {
  abridged,
  isAbridged,
  type KnownTexts,
  literal,
  unabridged,
} from "../../../../src/archive/blocks/object-bytes.ts"

const text = fc.oneof(fc.constantFrom("", "a", "12", '"', "web-1", "ä"), fc.string({ maxLength: 8 }), fc.uuid())

const anyTexts: fc.Arbitrary<KnownTexts> = fc.record({ uid: text, name: text, version: text })

/** Pieces of JSON and of anything else, with the texts among them. */
const anyObject = (texts: KnownTexts): fc.Arbitrary<Uint8Array> =>
  fc
    .array(
      fc.oneof(
        fc.constantFrom(...Object.values(texts).flatMap((each) => [each, `"${each}"`])),
        fc.constantFrom('{"uid":', ",", '"', "\u0000", "\u0001", "\u0002", "\u0003", "\u0004", "}"),
        fc.string(),
      ),
      { maxLength: 12 },
    )
    .map((parts) => Buffer.from(parts.join("")))

const anyCase = anyTexts.chain((texts) => fc.record({ texts: fc.constant(texts), object: anyObject(texts) }))

test("what is read is what was stored, whatever it is", () => {
  fc.assert(
    fc.property(anyCase, ({ texts, object }) => {
      const stored = abridged(literal(object), texts)
      expect(Buffer.from(unabridged(stored, texts))).toEqual(Buffer.from(object))
      // A merged block may be merged again, by which time less may be known.
      expect(abridged(stored, texts)).toEqual(stored)
      expect(abridged(stored, { uid: "", name: "", version: "" })).toEqual(stored)
    }),
    { numRuns: 1000 },
  )
})

test("leaves out the UID, the name and the version, each wherever it is a whole string", () => {
  const texts = { uid: "9f0c7f0e-8f5a-4b44-9d2f-0f9a51d53b0c", name: "web", version: "104" }
  const object = {
    metadata: { name: "web", uid: texts.uid, resourceVersion: "104", labels: { app: "web", tier: "web-1" } },
  }
  const bytes = Buffer.from(JSON.stringify(object))
  const stored = abridged(literal(bytes), texts)
  expect(isAbridged(stored)).toBe(true)
  expect(Buffer.from(stored).toString()).toBe(
    '\u0000{"metadata":{"name":"\u0002","uid":"\u0001","resourceVersion":"\u0003","labels":{"app":"\u0002","tier":"web-1"}}}',
  )
  expect(Buffer.from(unabridged(stored, texts)).toString()).toBe(bytes.toString())
})
