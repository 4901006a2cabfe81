/** TLS of the recorder's interface, over real sockets: the certificate that clients see, and what happens when its files are replaced. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { Agent, request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TLSSocket } from "node:tls"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterEach, beforeEach, expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import { makeServerCertificate, type ServerCertificate } from "../../../src/host/index.ts"
import { bindHttpApi } from "../../../src/recorder/http/http-api.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const hourMs = 3_600_000
const newCertificate = (): ServerCertificate => {
  const nowMs = systemClock.wallMicros() / 1000
  return makeServerCertificate({ host: "127.0.0.1", notBeforeMs: nowMs - hourMs, notAfterMs: nowMs + hourMs })
}
const [first, second] = [newCertificate(), newCertificate()]

let folder: string
let files: { readonly certificate: string; readonly key: string }
const clock = new ManualClock()
const said: Array<readonly [string, string]> = []
const log = {
  info: (line: string) => void said.push(["info", line]),
  warn: (line: string) => void said.push(["warn", line]),
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubereel-tls-"))
  files = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key") }
  said.length = 0
})
afterEach(() => rm(folder, { recursive: true }))

const place = async ({ certificate, key }: Pick<ServerCertificate, "certificate" | "key">): Promise<void> => {
  await writeFile(files.certificate, certificate)
  await writeFile(files.key, key)
}

/** The next look at the files, to its end, which is when the one after it is due. */
const look = async (): Promise<void> => {
  const before = clock.pending
  clock.advance(5000)
  while (clock.pending < before) await new Promise((resolve) => setImmediate(resolve))
}

/** The status of `/healthz`, and the connection's own port. Rejects unless the certificate is of this authority. */
const get = (port: number, { authority }: ServerCertificate, agent = new Agent()): Promise<readonly [number, number]> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path: "/healthz", ca: authority, agent }, (response) => {
      const own = (response.socket as TLSSocket).localPort ?? 0
      response.resume().on("end", () => resolve([response.statusCode ?? 0, own]))
    })
    sent.on("error", reject).end()
  })

const bind = () => {
  const scope = Effect.runSync(Scope.make())
  const binding = bindHttpApi("127.0.0.1", 0, clock, { files, log })
  return Effect.runPromise(Effect.provideService(binding, Scope.Scope, scope)).then((bound) => ({
    ...bound,
    [Symbol.asyncDispose]: () => Effect.runPromise(Scope.close(scope, Exit.void)),
  }))
}

test("a replaced pair is presented to new connections, while those that exist go on", async () => {
  await place(first)
  await using bound = await bind()
  const { port } = bound
  expect(bound.url).toBe(`https://127.0.0.1:${port}`)
  const kept = new Agent({ keepAlive: true, maxSockets: 1 })
  const [status, own] = await get(port, first, kept)
  expect(status).toBe(200)
  await expect(get(port, second)).rejects.toThrow(/self.signed|unable to verify/)

  await place(second)
  await look()
  expect(await get(port, second)).toEqual([200, expect.any(Number)])
  await expect(get(port, first)).rejects.toThrow(/self.signed|unable to verify/)
  expect(await get(port, first, kept)).toEqual([200, own])
  expect(said).toEqual([["info", `the interface presents the certificate in ${files.certificate}`]])
  kept.destroy()
})

test("a bad pair leaves the old one in force, is said once, and so is its end", async () => {
  await place(first)
  await using bound = await bind()
  await place({ certificate: second.certificate, key: first.key })
  await look()
  // It may have been between the writes of the two files.
  expect(said).toEqual([])
  await look()
  await look()
  const mismatch = `the TLS file ${files.key} cannot be used: it is not the key of the certificate in ${files.certificate}`
  expect(said).toEqual([["warn", `${mismatch}; the interface keeps presenting the certificate that it has`]])
  expect((await get(bound.port, first))[0]).toBe(200)
  await rm(files.certificate)
  await look()
  await look()
  expect(said.at(-1)).toEqual(["warn", expect.stringContaining(`${files.certificate} cannot be used: file not found`)])
  await place(first)
  await look()
  expect(said.slice(2)).toEqual([["info", `the interface presents the certificate in ${files.certificate}`]])
})

test.each([
  [{ certificate: "no PEM", key: first.key }, "tls.crt cannot be used: it is no certificate in PEM"],
  [{ certificate: first.certificate, key: "no PEM" }, "tls.key cannot be used: it is no private key in PEM"],
  [{ certificate: first.certificate, key: second.key }, "tls.key cannot be used: it is not the key of the certificate"],
])("a recorder does not start with a pair that cannot be used: %#", async (pair, reason) => {
  await place(pair)
  await expect(bind()).rejects.toThrow(reason)
})

test("who speaks plain HTTP to it gets no answer, and disturbs no one", async () => {
  await place(first)
  await using bound = await bind()
  await expect(fetch(`http://127.0.0.1:${bound.port}/healthz`)).rejects.toThrow()
  expect((await get(bound.port, first))[0]).toBe(200)
})
