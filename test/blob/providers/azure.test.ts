/** Requests to Azure whose effect its emulator does not show. What it answers is tested in test/cluster/targets. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, test } from "vitest"
import { openStore, readStorePlace } from "../../../src/blob/index.ts"
import { all } from "../stores/blob-store-contract.ts"

/** The queries of requests for lists, each answered with these names. */
const listed = async (names: ReadonlyArray<string>, prefix: string, after: string) => {
  const queries: URLSearchParams[] = []
  await using server = createServer((request, response) => {
    queries.push(new URL(request.url ?? "", "http://localhost").searchParams)
    const properties =
      "<Properties><Last-Modified>Sun, 29 Nov 2026 12:00:00 GMT</Last-Modified><Content-Length>1</Content-Length></Properties>"
    const blobs = names.map((name) => `<Blob><Name>${name}</Name>${properties}</Blob>`).join("")
    const body = `<EnumerationResults><Blobs>${blobs}</Blobs><NextMarker/></EnumerationResults>`
    response.writeHead(200, { "Content-Type": "application/xml" }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const key = Buffer.alloc(64).toString("base64")
  const environment = {
    AZURE_STORAGE_CONNECTION_STRING: `DefaultEndpointsProtocol=http;AccountName=some;AccountKey=${key};BlobEndpoint=http://127.0.0.1:${port}/some;`,
  }
  const reading = readStorePlace("azure://traces/ledger")
  if (reading.tag === "refused") throw new Error(reading.message)
  const store = await openStore(reading.place, { environment })
  const keys = await all(store.list(prefix, { after }))
  store.close()
  server.closeAllConnections()
  return { keys, queries: queries.map((query) => [query.get("prefix"), query.get("startFrom")]) }
}

test("a list after a key begins with that key, which is left out", async () => {
  expect(await listed(["ledger/segments/3", "ledger/segments/4"], "segments/", "segments/3")).toEqual({
    keys: ["segments/4"],
    queries: [["ledger/segments/", "ledger/segments/3"]],
  })
})

test("a service that does not know where to begin lists from the beginning of the prefix, and what comes before is left out", async () => {
  const names = ["ledger/segments/1", "ledger/segments/2", "ledger/segments/3", "ledger/segments/4"]
  expect((await listed(names, "segments/", "segments/3")).keys).toEqual(["segments/4"])
})

test("a list after a key outside of the prefix begins with the prefix", async () => {
  expect((await listed([], "segments/", "manifest/9")).queries).toEqual([["ledger/segments/", null]])
})
