/** Servers that say S3 and are not, and answers of S3 that its emulator does not give. What a sound server answers is tested in test/cluster/targets. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { openStore, readStorePlace } from "../../src/blob/index.ts"
import { type Clock, systemClock } from "../../src/clock.ts"

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

const open = (verify: boolean) => {
  const reading = readStorePlace("s3://bucket/ledger")
  if (reading.tag === "refused") throw new Error(reading.message)
  return openStore(reading.place, { verify, clock })
}

beforeEach(async () => {
  objects = new Map()
  requests = []
  instead = () => false
  const server = createServer((request, response) => {
    const { pathname: path, searchParams } = new URL(request.url ?? "", "http://localhost")
    const what = `${request.method} ${["uploads", "partNumber", "uploadId", "delete"].find((name) => searchParams.has(name)) ?? "object"}`
    requests.push(what)
    const pieces: Buffer[] = []
    request.on("data", (piece: Buffer) => pieces.push(piece))
    request.on("end", () => {
      if (instead(request, response, what)) return
      const body = Buffer.concat(pieces)
      const object = objects.get(path)
      const tag = (bytes: Buffer) => `"${bytes.toString("base64").slice(0, 40)}"`
      const xml = (text: string) => response.writeHead(200, { "Content-Type": "application/xml" }).end(text)
      if (what === "POST uploads") return xml("<A><UploadId>upload</UploadId></A>")
      if (what === "PUT partNumber") return response.writeHead(200, { ETag: '"part"' }).end()
      if (what === "DELETE uploadId") return response.writeHead(204).end()
      if (what === "GET uploadId") return xml("<A></A>")
      if (what === "POST delete") {
        objects.clear()
        return xml("<DeleteResult></DeleteResult>")
      }
      if (request.method === "PUT") {
        const { "if-none-match": none, "if-match": match } = request.headers
        if (object !== undefined && none === "*") return refuse(response, 412, "PreconditionFailed")
        if (match !== undefined && (object === undefined || match !== tag(object)))
          return refuse(response, 412, "PreconditionFailed")
        objects.set(path, body)
        return response.writeHead(200, { ETag: tag(body) }).end()
      }
      if (object === undefined) return refuse(response, 404, "NoSuchKey")
      return response.writeHead(200, { ETag: tag(object), "Content-Length": object.length }).end(object)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const environment = {
    AWS_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    AWS_REGION: "eu-west-1",
    AWS_ACCESS_KEY_ID: "some",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_CONFIG_FILE: "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
    AWS_EC2_METADATA_DISABLED: "true",
  }
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

test("a server that honours conditions is opened, and the probe is removed", async () => {
  const store = await open(true)
  expect(objects.size).toBe(0)
  store.close()
})

test.each([
  ["if-none-match", "created an object that existed, although If-None-Match forbade it"],
  ["if-match", "replaced an object that had changed, although If-Match forbade it"],
])("a server that ignores %s is refused when it is opened, and the probe is removed", async (header, what) => {
  instead = (request) => {
    delete request.headers[header]
    return false
  }
  await expect(open(true)).rejects.toMatchObject({
    code: "no-conditions",
    message: `cannot write s3://bucket/ledger: it ${what}, so writers would overwrite each other; use a store that supports If-None-Match and If-Match`,
  })
  expect(objects.size).toBe(0)
})

test("a server that does not implement conditions is refused when it is opened", async () => {
  instead = (request, response) =>
    request.headers["if-none-match"] !== undefined && refuse(response, 501, "NotImplemented")
  await expect(open(true)).rejects.toMatchObject({ code: "no-conditions" })
})

test("writers that disturb each other try again", async () => {
  let conflicts = 3
  instead = (_, response, what) =>
    what === "PUT object" && conflicts-- > 0 && refuse(response, 409, "ConditionalRequestConflict")
  const store = await open(false)
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
  const store = await open(false)
  await expect(store.create("a", [])).rejects.toMatchObject({ code: expected, access, key: "ledger/a" })
  expect(requests).toEqual(["PUT object"])
})

test("a removal of many objects that fails for one of them is an error", async () => {
  instead = (_, response, what) => {
    if (what !== "POST delete") return false
    const fault = "<Error><Key>ledger/b</Key><Code>AccessDenied</Code><Message>no</Message></Error>"
    response.writeHead(200, { "Content-Type": "application/xml" }).end(`<DeleteResult>${fault}</DeleteResult>`)
    return true
  }
  const store = await open(false)
  await expect(store.remove(["a", "b"])).rejects.toMatchObject({
    access: "remove",
    reason: expect.stringContaining("ledger/b"),
  })
})

test("a large upload that conflicts is sent again, and one whose last answer was lost finds its object", async () => {
  let completions = 0
  instead = (request, response, what) => {
    if (what === "HEAD object") {
      response.writeHead(objects.size > 0 ? 200 : 404).end()
      return true
    }
    if (what !== "POST uploadId") return false
    expect(request.headers["if-none-match"]).toBe("*")
    completions++
    if (completions === 1) return refuse(response, 409, "ConditionalRequestConflict")
    if (completions > 2) return refuse(response, 404, "NoSuchUpload")
    objects.set(new URL(request.url ?? "", "http://localhost").pathname, Buffer.from("whole"))
    response.destroy()
    return true
  }
  const store = await open(false)
  expect(await store.create("large", [Buffer.alloc(65 * 1024 * 1024)])).toBe("exists")
  expect(completions).toBe(3)
  expect(requests.filter((what) => what === "POST uploads")).toHaveLength(2)
  expect(requests.filter((what) => what === "DELETE uploadId").length).toBeGreaterThanOrEqual(2)
})
