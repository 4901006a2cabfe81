/** What a reader may not read, as the page takes it from the answers of a recorder. */
import { expect, test } from "vitest"
import { httpSource } from "../../src/ui/source/http-source.ts"

const leftOutAfter = async (end: object) => {
  const source = httpSource({
    base: "http://recorder.example/ui/",
    token: () => undefined,
    fetch: async () => new Response(JSON.stringify({ type: "end", total: 0, ...end })),
  })
  const asked = { from: 0, to: 1, offset: 0, limit: 1 }
  return (await source.lanes(asked, new AbortController().signal)).leftOut
}

test("kinds and namespaces that are left out come with the lanes", async () => {
  const leftOut = { kinds: ["v1.Secret"], namespaces: ["shop"] }
  expect(await leftOutAfter({ isRestricted: true, leftOut })).toEqual(leftOut)
  expect(await leftOutAfter({ isRestricted: true, leftOut: { kinds: ["v1.Secret"] } })).toEqual({
    ...{ kinds: ["v1.Secret"], namespaces: [] },
  })
})

test("who may read everything that is recorded is told of nothing", async () => {
  expect(await leftOutAfter({})).toBeUndefined()
  expect(await leftOutAfter({ isRestricted: true, leftOut: { kinds: [] } })).toBeUndefined()
})
