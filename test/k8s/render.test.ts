import { expect, test } from "vitest"
import { renderManifests } from "../../src/k8s/render.ts"

const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { key: "value" } }

test("a comment precedes what it is about, and must be about something", () => {
  const rendered = (...path: ReadonlyArray<string>) =>
    renderManifests([{ object, comments: [{ path, text: "why" }] }], "header")
  expect(rendered("data", "key")).toContain("  # why\n  key: value\n")
  expect(() => rendered("data", "keys")).toThrow("no node at data.keys")
})
