/**
 * The limit of a replay: a client that sends prepared bodies over a number of kept connections, each with one request at a time, as fast
 * as responses arrive. It has nothing of a replay: no trace, no schedule, no order.
 *
 * Arguments: a kubeconfig, a file with a {@link PreparedWrite} per line, the number of connections. Prints `{"ready": true}` once a
 * connection is open, then, told anything, `{"seconds"}` from the first request to the last response. Ends with an error on any refusal.
 */
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { HttpClient, loadCredentials, sendOnce } from "../../src/kube/index.ts"

export interface PreparedWrite {
  readonly path: string
  readonly body: string
}

const [kubeconfig = "", file = "", connections = ""] = process.argv.slice(2)
const credentials = await loadCredentials({ kubeconfig, context: undefined })
const client = new HttpClient(await credentials.endpoint(), {
  userAgent: "bare-client",
  maximumIdle: Number(connections),
})
const writes = readFileSync(file, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as PreparedWrite)
let next = 0

const send = async (request: Parameters<typeof sendOnce>[1]): Promise<void> => {
  const outcome = await sendOnce(client, request, { deadlineMs: 60_000 })
  if (outcome.tag === "response" && outcome.status < 300) return
  throw new Error(outcome.tag === "response" ? outcome.body.toString() : JSON.stringify(outcome))
}

const writeNext = async (): Promise<void> => {
  while (next < writes.length) {
    const { path, body } = writes[next++] as PreparedWrite
    await send({ method: "PATCH", path, contentType: "application/apply-patch+yaml", body, isRepeatable: true })
  }
}

const connect = Array.from({ length: Number(connections) }, () => send({ method: "GET", path: "/version" }))
await Promise.all(connect)
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
for await (const _ of createInterface(process.stdin)) {
  const start = performance.now()
  await Promise.all(Array.from({ length: Number(connections) }, writeNext))
  process.stdout.write(`${JSON.stringify({ seconds: (performance.now() - start) / 1000 })}\n`)
}
client.close()
