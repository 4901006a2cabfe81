import { expect, test } from "vitest"
import { withJsonBody } from "../../../src/sandbox/writes/request/protobuf-body.ts"
import { protobufCreation } from "./protobuf-request.ts"
import { normalised, recordedObjects } from "./recorded-objects.ts"

const objects = recordedObjects()

test("protobuf of a real server becomes the JSON that it sends for the same object, including the order of its fields", () => {
  const differing = objects.flatMap(({ name, protobuf, json }) => {
    const { body } = withJsonBody(protobufCreation(Buffer.from(protobuf, "base64")))
    const ours = normalised(body.toString())
    return ours === normalised(json) ? [] : [{ name, ours, real: normalised(json) }]
  })
  expect(differing).toEqual([])
})

test("the recording has objects of every kind that a cluster keeps", () => {
  const kinds = new Set(objects.map(({ json }) => (JSON.parse(json) as { kind: string }).kind))
  expect(objects.length).toBeGreaterThan(120)
  expect(kinds.size).toBeGreaterThan(30)
})
