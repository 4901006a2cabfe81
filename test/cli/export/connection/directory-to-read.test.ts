/** What an operand names, where it may be a trace in an object store as well: against a server that speaks the part of S3's protocol that reading needs. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { directoryToRead, namesStream } from "../../../../src/cli/export/connection/directory-to-read.ts"
import { placeOfOperand } from "../../../../src/cli/export/connection/recorder-place.ts"
import { s3Environment } from "../../../blob/s3-environment.ts"
import { patient } from "../../../harness/patience.ts"
import { temporaryDirectory } from "../../../harness/temporary-directory.ts"

let server: Server
/** By path; a number is the status of a refusal. */
let objects: Map<string, string | number>

beforeEach(async () => {
  objects = new Map()
  server = createServer(({ url = "" }, response) => {
    const found = objects.get(decodeURIComponent(url.split("?")[0] ?? "")) ?? 404
    if (typeof found === "number") {
      const code = found === 403 ? "AccessDenied" : "NoSuchKey"
      response.writeHead(found, { "Content-Type": "application/xml" })
      return response.end(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`)
    }
    const length = Buffer.byteLength(found)
    response.writeHead(206, { ETag: '"v1"', "Content-Range": `bytes 0-${length - 1}/${length}` })
    response.end(found)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const environment = { ...s3Environment(url), AWS_REGION: "eu-west-1", KUBEREEL_CACHE: temporaryDirectory() }
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

test("an address with neither a stream nor shards names something else, also for who may read one object only", async () => {
  expect(await namesStream("s3://recordings/incident.ndjson")).toBe(false)
  for (const file of ["stream.json", "shards.json"]) objects.set(`/recordings/incident.ndjson/${file}`, 403)
  expect(await namesStream("s3://recordings/incident.ndjson")).toBe(false)
})

test("a cluster whose shards.json is damaged is no trace, and who opens it is told of the damage", {
  timeout: patient(30_000),
}, async () => {
  objects.set("/recordings/huge/shards.json", '{"version":1,"shards":2}')
  expect(await namesStream("s3://recordings/huge")).toBe(true)
  objects.set("/recordings/huge/shards.json", '{"version":1,"sh')
  const dataDir = "s3://recordings/huge"
  expect(await placeOfOperand({}, dataDir)).toEqual({ dataDir })
  const environment = { KUBEREEL_CACHE: temporaryDirectory() }
  await expect(directoryToRead(dataDir, { environment })).rejects.toThrow(
    "s3://recordings/huge/shards.json is damaged: it is not what this version reads",
  )
})
