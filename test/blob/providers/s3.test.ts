/** Servers that say S3 and are not, and answers of S3 that its emulator does not give. What a sound server answers is tested in test/cluster/targets. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { openStore, readStorePlace } from "../../../src/blob/index.ts"
import { type Clock, systemClock } from "../../../src/clock.ts"
import { s3Environment } from "../s3-environment.ts"

/** Objects by their paths. */
let objects: Map<string, Buffer>
let requests: string[]
/** Returns true if it has answered a request instead of the server. */
let instead: (request: IncomingMessage, response: ServerResponse, what: string) => boolean
const stop: Array<() => void> = []

const refuse = (response: ServerResponse, status: number, code: string): boolean => {
  response.writeHead(status, { "Content-Type": "application/xml" })
  response.end(`<Error><Code>${code}</Code><Message>it says ${code}</Message></Error>`)
  return true
}

/** Pauses between attempts take no time. */
const clock: Clock = {
  ...systemClock,
  after: (delayMs, action) => systemClock.after(delayMs > 10_000 ? delayMs : 0, action),
}

const open = () => {
  const reading = readStorePlace("s3://bucket/ledger")
  if (reading.tag === "refused") throw new Error(reading.message)
  return openStore(reading.place, { clock })
}

beforeEach(async () => {
  objects = new Map()
  requests = []
  instead = () => false
  const server = createServer((request, response) => {
    const { pathname: path, searchParams } = new URL(request.url ?? "", "http://localhost")
    const what = `${request.method} ${searchParams.has("delete") ? "delete" : "object"}`
    requests.push(what)
    const pieces: Buffer[] = []
    request.on("data", (piece: Buffer) => pieces.push(piece))
    request.on("end", () => {
      if (instead(request, response, what)) return
      const body = Buffer.concat(pieces)
      const object = objects.get(path)
      const tag = (bytes: Buffer) => `"${bytes.toString("base64").slice(0, 40)}"`
      if (request.method === "PUT") {
        if (object !== undefined && request.headers["if-none-match"] === "*")
          return refuse(response, 412, "PreconditionFailed")
        objects.set(path, body)
        return response.writeHead(200, { ETag: tag(body) }).end()
      }
      if (object === undefined) return refuse(response, 404, "NoSuchKey")
      return response.writeHead(200, { ETag: tag(object), "Content-Length": object.length }).end(object)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const environment = { ...s3Environment(url), AWS_REGION: "eu-west-1" }
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  stop.push(() => {
    server.closeAllConnections()
    server.close()
  })
})
afterEach(() => {
  vi.unstubAllEnvs()
  for (const each of stop.splice(0)) each()
})

test("a server that does not implement conditions is named", async () => {
  instead = (request, response) =>
    request.headers["if-none-match"] !== undefined && refuse(response, 501, "NotImplemented")
  const store = await open()
  await expect(store.create("a", [])).rejects.toMatchObject({
    code: "no-conditions",
    message: expect.stringContaining("; use a store that supports If-None-Match"),
  })
})

test("writers that disturb each other try again", async () => {
  let conflicts = 3
  instead = (_, response, what) =>
    what === "PUT object" && conflicts-- > 0 && refuse(response, 409, "ConditionalRequestConflict")
  const store = await open()
  expect(await store.create("a", [Buffer.from("a")])).toBe("created")
  expect(store.usage().write).toEqual({ requests: 4, bytes: 4 })
})

test.each([
  [403, "AccessDenied", "denied", "write"],
  [404, "NoSuchBucket", "no-bucket", "write"],
  [403, "QuotaExceeded", "full", "write"],
  [507, "XMinioStorageFull", "full", "write"],
])("status %d %s is not repeated, and is %s", async (status, code, expected, access) => {
  instead = (_, response) => refuse(response, status, code)
  const store = await open()
  await expect(store.create("a", [])).rejects.toMatchObject({ code: expected, access, key: "ledger/a" })
  expect(requests).toEqual(["PUT object"])
})

test("a large object whose answer was lost is not sent again, as a server may reset what it does not want to read", async () => {
  instead = (request, response, what) => {
    if (what !== "PUT object" || objects.size > 0) return false
    objects.set(new URL(request.url ?? "", "http://localhost").pathname, Buffer.from("a"))
    response.destroy()
    return true
  }
  const store = await open()
  const bytes = Buffer.alloc(1024 * 1024, 1)
  expect(await store.create("a", [bytes])).toBe("exists")
  expect(requests.filter((what) => what === "PUT object")).toHaveLength(1)
  expect(store.usage()).toMatchObject({ read: { requests: 1 } })
})

test("a removal of many objects that fails for one of them is an error", async () => {
  instead = (_, response, what) => {
    if (what !== "POST delete") return false
    const fault = "<Error><Key>ledger/b</Key><Code>AccessDenied</Code><Message>no</Message></Error>"
    response.writeHead(200, { "Content-Type": "application/xml" }).end(`<DeleteResult>${fault}</DeleteResult>`)
    return true
  }
  const store = await open()
  await expect(store.remove(["a", "b"])).rejects.toMatchObject({
    access: "remove",
    reason: expect.stringContaining("ledger/b"),
  })
})
