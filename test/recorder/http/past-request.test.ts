import { readFileSync } from "node:fs"
import fc from "fast-check"
import { expect, test } from "vitest"
import { parse } from "yaml"
import { streamEndText } from "../../../src/cli/events.ts"
import { pastPaths, readPastRequest } from "../../../src/recorder/http/past-request.ts"
import { streamEndReasons } from "../../../src/recorder/http/stream-end.ts"

const nowMicros = 1_000_000
const read = (path: string, query: string, accept?: string) =>
  readPastRequest(path, new URLSearchParams(query), { nowMicros, accept })

test("what is not given has its default: now, from the beginning, one document", () => {
  expect(read("/v1/objects", "kind=v1.Pod")).toMatchObject({
    about: "objects",
    kinds: ["v1.Pod"],
    to: nowMicros,
    isDocument: true,
  })
  expect(read("/v1/changes", "", "application/x-ndjson")).toMatchObject({ from: 0, to: nowMicros, isDocument: false })
})

test.each([
  ["/v1/objects", "at=yesterday", /µs since 1970/],
  ["/v1/objects", "form=1", /unknown parameter "form"; allowed are kind/],
  ["/v1/kinds", "at=1", /unknown parameter "at"; there are none/],
  ["/v1/changes", "from=9&to=1", /from must not be after to/],
  ["/v1/changes", "owned=yes", /must be true or false/],
  ["/v1/objects", "limit=0", /limit must be a positive integer/],
  ["/v1/objects", "order=age", /order must be name or change/],
  ["/v1/objects", "name=a&name=b", /name is given more than once/],
])("%s?%s is refused with what is wrong", (path, query, message) => {
  expect(read(path, query)).toMatchObject({ status: 400, message: expect.stringMatching(message) })
})

test("any parameters are a question or a refusal", () => {
  fc.assert(
    fc.property(fc.constantFrom(...pastPaths), fc.dictionary(fc.string(), fc.string()), (path, given) => {
      const reading = readPastRequest(path, new URLSearchParams(given), { nowMicros })
      expect("status" in reading ? reading.status : reading.to).toBeGreaterThanOrEqual(0)
    }),
  )
})

test("the OpenAPI page has these paths, and exactly the parameters that are read", () => {
  const page = parse(readFileSync(new URL("../../../docs/reference/openapi.yaml", import.meta.url), "utf8"))
  const ofPins = ["/v1/pins", "/v1/pins/{id}"]
  expect(Object.keys(page.paths).sort()).toEqual([...pastPaths, ...ofPins].sort())
  for (const path of pastPaths) {
    const names = page.paths[path].get.parameters.map(({ $ref }: { $ref: string }) => $ref.replace(/.*\//, ""))
    const refusal = readPastRequest(path, new URLSearchParams("no-such=1"), { nowMicros })
    const allowed = "message" in refusal ? (/allowed are (.*)/.exec(refusal.message)?.[1]?.split(", ") ?? []) : []
    expect(names).toEqual(allowed)
    for (const name of names) expect(page.components.parameters[name].name).toBe(name)
  }
})

test("the OpenAPI page and the reference have every reason for which a stream ends, and reel events has words for it", () => {
  const page = (name: string): string =>
    readFileSync(new URL(`../../../docs/reference/${name}`, import.meta.url), "utf8")
  const { enum: reasons } = parse(page("openapi.yaml")).components.schemas.StreamEnd.properties.reason
  expect(reasons.toSorted()).toEqual(streamEndReasons.toSorted())
  for (const reason of streamEndReasons) {
    expect(page("http-api.md")).toContain(`\n| \`${reason}\` |`)
    expect(streamEndText(reason)).toContain(" ")
  }
  // Of a newer recorder.
  expect(streamEndText("unheard-of")).toBe("unheard-of")
})
