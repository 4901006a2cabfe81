/**
 * Google Cloud Storage, emulated by fake-gcs-server. It has no authentication, keeps no media type of resumable uploads, has no
 * list of their sessions and returns 499 for a deletion without deleting. So all requests go through a relay that tracks the
 * sessions: Google guarantees that a session is over once it has returned 499 or 200 for it.
 */
import { createServer, request } from "node:http"
import { vi } from "vitest"
import { describeStore, type StoreServer } from "../../blob/objects/store-contract.ts"
import { freePort, startServer } from "../../blob/server-process.ts"
import {
  describeBlobStore,
  describeFailures,
  httpResponse,
  testedStore,
} from "../../blob/stores/blob-store-contract.ts"
import { buildMs, buildServers } from "./programs.ts"

vi.setConfig({ hookTimeout: buildMs })

interface Relay {
  readonly url: string
  /** Those that are neither completed nor deleted. */
  readonly sessions: ReadonlySet<string>
  readonly stop: () => void
}

const sessionOf = (url: string): string => new URL(url, "http://localhost").searchParams.get("upload_id") ?? ""

const relayTo = (port: number): Promise<Relay> =>
  new Promise((resolve) => {
    const sessions = new Set<string>()
    const server = createServer((incoming, outgoing) => {
      const { method, url: path, headers } = incoming
      const forwarded = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
        const { location } = answer.headers
        if (method === "POST" && location !== undefined) sessions.add(sessionOf(location))
        const over =
          (method === "PUT" && answer.statusCode === 200) || (method === "DELETE" && answer.statusCode === 499)
        if (over) sessions.delete(sessionOf(path ?? ""))
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      forwarded.on("error", () => outgoing.destroy())
      incoming.on("close", () => {
        if (!incoming.complete) forwarded.destroy()
      })
      incoming.pipe(forwarded)
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
      const stop = (): void => {
        server.close()
        server.closeAllConnections()
      }
      resolve({ url, sessions, stop })
    })
  })

const start = async (): Promise<StoreServer> => {
  const { fakeGcs } = await buildServers()
  const port = await freePort()
  const relay = await relayTo(port)
  const words = ["-scheme", "http", "-backend", "memory", "-host", "127.0.0.1", "-port", String(port)]
  const server = await startServer(fakeGcs, [...words, "-external-url", relay.url], /server started at/)
  const created = await fetch(`${relay.url}/storage/v1/b?project=kubereel`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ name: "traces" }),
  })
  if (!created.ok) throw new Error(`no bucket was made: ${await created.text()}`)
  return {
    environment: { STORAGE_EMULATOR_HOST: relay.url },
    elsewhere: (other) => ({ STORAGE_EMULATOR_HOST: other }),
    read: async (key) => {
      const answer = await fetch(`${relay.url}/storage/v1/b/traces/o/${encodeURIComponent(key)}?alt=media`)
      return answer.status === 404 ? undefined : new Uint8Array(await answer.arrayBuffer())
    },
    contentType: undefined,
    unfinished: async () => [...relay.sessions],
    stop: async () => {
      relay.stop()
      await server.stop()
    },
  }
}

describeStore("gs", start, undefined)

const busy = httpResponse(
  "429 Too Many Requests",
  ["Content-Type: application/json"],
  JSON.stringify({ error: { code: 429, message: "Too many requests", errors: [{ reason: "rateLimitExceeded" }] } }),
)
const startStore = async () => testedStore("gs", await start(), { busy, wrongSecret: undefined })
describeBlobStore("Google", startStore)
describeFailures("Google", startStore, false)
