import fc from "fast-check"
import { expect, test } from "vitest"
import type { JsonValue } from "../../../src/trace/json/exact-json.ts"
import { isFieldPath, parseFieldPath, valuesAt } from "../../../src/trace/json/field-path.ts"

const object: JsonValue = {
  metadata: { labels: { "app.kubernetes.io/name": "web", plain: "x" } },
  spec: {
    replicas: 3,
    containers: [
      { name: "a", image: "a:1" },
      { name: "b", image: "b:2" },
    ],
  },
}

const at = (path: string): ReadonlyArray<JsonValue> | string => {
  const parsed = parseFieldPath(path)
  return isFieldPath(parsed) ? valuesAt(object, parsed) : parsed.problem
}

test.each([
  ["spec.replicas", [3]],
  [".spec.replicas", [3]],
  ["/spec/replicas", [3]],
  ['metadata.labels["app.kubernetes.io/name"]', ["web"]],
  ["metadata.labels['app.kubernetes.io/name']", ["web"]],
  ["/metadata/labels/app.kubernetes.io~1name", ["web"]],
  ["spec.containers[1].image", ["b:2"]],
  ["spec.containers[*].image", ["a:1", "b:2"]],
  ["/spec/containers/*/image", ["a:1", "b:2"]],
  ["spec.containers[name=b].image", ["b:2"]],
  ["spec.containers[name=c].image", []],
  ["spec.replica", []],
  ["spec.replicas.more", []],
  ["spec.constructor", []],
])("%s is %j", (path, values) => {
  expect(at(path)).toEqual(values)
})

test.each(["", ".", "spec..replicas", "spec.containers[", "spec.containers[x]", "spec replicas", "a[0]b"])(
  "%j is no path, and says where",
  (path) => {
    expect(at(path)).toEqual(expect.any(String))
  },
)

test("every text is a path or has a reason, and finds at most what is there", () => {
  fc.assert(
    fc.property(fc.string(), fc.jsonValue(), (text, value) => {
      const parsed = parseFieldPath(text)
      if (isFieldPath(parsed)) expect(Array.isArray(valuesAt(value as JsonValue, parsed))).toBe(true)
      else expect(parsed.problem).not.toBe("")
    }),
  )
})
