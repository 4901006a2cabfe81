/** Watches over WebSockets, as fabric8's client opens them; the statuses, headers and frames are those of Kubernetes 1.34.4. */

import { request } from "node:http"
import { connect, type Socket } from "node:net"
import { expect, test } from "vitest"
import type { Sandbox } from "../../../src/sandbox/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { open as start } from "../../sandbox/opened-sandbox.ts"

const watch = "/api/v1/namespaces/default/configmaps?watch=true"

interface Client {
  readonly lines: string[]
  readonly socket: WebSocket
  readonly closed: Promise<{ readonly code: number; readonly wasClean: boolean }>
}

/** Node's own client. */
const openTo = async (sandbox: Sandbox, path: string): Promise<Client> => {
  const socket = new WebSocket(`ws://127.0.0.1:${sandbox.port}${path}`, { headers: { Origin: sandbox.url } } as never)
  const lines: string[] = []
  socket.addEventListener("message", ({ data }) => lines.push(String(data)))
  const closed = new Promise<CloseEvent>((resolve) => socket.addEventListener("close", resolve))
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve)
    socket.addEventListener("error", reject)
  })
  return { lines, socket, closed }
}

const handshake = { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13" }

/** Status and body of a request that asks for a WebSocket. */
const ask = (sandbox: Sandbox, path: string, headers: Readonly<Record<string, string>>, method = "GET") =>
  new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const sent = request(sandbox.url + path, { method, headers, agent: false }, async (response) => {
      let text = ""
      for await (const part of response) text += part
      resolve({ status: response.statusCode ?? 0, text })
    })
    sent.on("upgrade", (response, socket) => {
      socket.destroy()
      resolve({ status: response.statusCode ?? 0, text: response.headers["sec-websocket-accept"] ?? "" })
    })
    sent.on("error", reject)
    sent.end()
  })

const kindsOf = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.map((line) => {
    const { type, object } = JSON.parse(line)
    return `${type} ${object.metadata.name}`
  })

test("A watch that asks for a WebSocket gets one event a frame, each as a line", async () => {
  const sandbox = await start()
  sandbox.put("v1.ConfigMap", { metadata: { name: "before" } })
  const { lines, socket, closed } = await openTo(sandbox, watch)
  await eventually(() => expect(lines.length).toBe(1))
  sandbox.put("v1.ConfigMap", { metadata: { name: "after" }, data: { long: "x".repeat(70_000) } })
  sandbox.delete("v1.ConfigMap", "default", "before")
  await eventually(() => expect(lines.length).toBe(3))
  expect(kindsOf(lines)).toEqual(["ADDED before", "ADDED after", "DELETED before"])
  expect(lines.every((line) => line.endsWith("}\n"))).toBe(true)
  expect(sandbox.requests.entries().at(-1)).toMatchObject({ verb: "watch", status: 101 })
  expect(sandbox.watchCount("configmaps")).toBe(1)
  socket.close()
  expect(await closed).toMatchObject({ code: 1000, wasClean: true })
  await eventually(() => expect(sandbox.watchCount("configmaps")).toBe(0))
})

test("The server closes it when the watch ends, and cuts it when connections drop", async () => {
  const sandbox = await start()
  const ended = await openTo(sandbox, `${watch}&resourceVersion=5`)
  expect(await ended.closed).toMatchObject({ code: 1000, wasClean: true })
  expect(JSON.parse(ended.lines[0] ?? "")).toMatchObject({ type: "ERROR", object: { code: 410 } })
  const cut = await openTo(sandbox, watch)
  sandbox.faults.dropConnections()
  expect(await cut.closed).toMatchObject({ wasClean: false })
  expect(sandbox.watchCount()).toBe(0)
})

test("What is no watch is answered as without a WebSocket, and refusals are statuses", async () => {
  const sandbox = await start({ token: "secret" })
  const key = { "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==" }
  const whole = { ...handshake, ...key, Origin: sandbox.url, Authorization: "Bearer secret" }
  const { Origin: _origin, ...withoutOrigin } = whole
  const statuses = async (path: string, headers: Readonly<Record<string, string>>) =>
    (await ask(sandbox, path, headers)).status
  expect(await ask(sandbox, watch, whole)).toEqual({ status: 101, text: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" })
  expect(await statuses(watch, { ...whole, Authorization: "Bearer wrong" })).toBe(401)
  expect(await statuses(watch, withoutOrigin)).toBe(403)
  expect(await statuses(watch, { ...whole, Origin: "null" })).toBe(403)
  expect(await statuses(watch, { ...whole, "Sec-WebSocket-Version": "8" })).toBe(400)
  expect(await statuses(`${watch}&labelSelector==(`, whole)).toBe(400)
  expect(await statuses("/api/v1/nothings?watch=true", whole)).toBe(404)
  const list = await ask(sandbox, "/api/v1/namespaces/default/configmaps", whole)
  expect([list.status, JSON.parse(list.text).kind]).toEqual([200, "ConfigMapList"])
  // Java's client offers HTTP/2 with every request.
  const h2c = { Authorization: "Bearer secret", Connection: "Upgrade, HTTP2-Settings", Upgrade: "h2c" }
  const version = await ask(sandbox, "/version", {
    ...h2c,
    "HTTP2-Settings": "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
  })
  expect([version.status, JSON.parse(version.text).minor]).toEqual([200, "34"])
})

test("Pings are answered, and a client that goes away without a close frame ends its watch", async () => {
  const sandbox = await start()
  const socket: Socket = connect(sandbox.port, "127.0.0.1")
  const received: Buffer[] = []
  socket.on("data", (bytes: Buffer) => received.push(bytes))
  const head = [
    `GET ${watch} HTTP/1.1`,
    "Host: x",
    `Origin: ${sandbox.url}`,
    ...Object.entries(handshake).map(([name, value]) => `${name}: ${value}`),
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ]
  // The ping comes with the request, before the server has switched.
  const ping = Buffer.from([0x89, 0x82, 0, 0, 0, 0, 0x68, 0x69])
  socket.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), ping]))
  const pong = Buffer.from([0x8a, 2, 0x68, 0x69])
  await eventually(() => expect(Buffer.concat(received).includes(pong)).toBe(true))
  expect(sandbox.watchCount()).toBe(1)
  socket.destroy()
  await eventually(() => expect(sandbox.watchCount()).toBe(0))
})
