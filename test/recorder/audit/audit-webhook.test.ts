import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import { join } from "node:path"
import { afterEach, expect, test } from "vitest"
import type { AuditBatch } from "../../../src/actors/index.ts"
import { tokenFileAccess } from "../../../src/recorder/access/token-file.ts"
import { AuditWebhook, maximumBatchBytes } from "../../../src/recorder/audit/audit-webhook.ts"
import { receiveMs } from "../../../src/recorder/http/body/request-bodies.ts"
import { formatMetrics } from "../../../src/recorder/metrics/metrics-text.ts"
import { auditEvent, configMap } from "../../audit/audit-events.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const token = "a-token-of-sixteen-characters"

const closing: Array<() => void> = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

const serve = async (add: (batch: AuditBatch) => Promise<number>) => {
  const tokens = join(temporaryDirectory(), "tokens")
  writeFileSync(tokens, token)
  const [clock, said] = [new ManualClock(), [] as string[]]
  const log = { warn: (text: string) => void said.push(text) }
  const webhook = new AuditWebhook({ access: tokenFileAccess(tokens, () => undefined), add, clock, log })
  const receive = (incoming: IncomingMessage, response: ServerResponse): void =>
    void webhook.answer(incoming, response, () => incoming.resume())
  const server = createServer(receive).on("checkContinue", receive)
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const post = (body: string, given = token) =>
    fetch(`http://127.0.0.1:${port}/v1/audit`, { method: "POST", body, headers: { authorization: `Bearer ${given}` } })
  /** Begins a request; returns it, and its response. */
  const begin = (headers: Readonly<Record<string, string>>) => {
    const options = { port, path: "/v1/audit", method: "POST", agent: false }
    const sent = request({ ...options, headers: { authorization: `Bearer ${token}`, ...headers } })
    const answer = once(sent, "response").then(([response]) => (response as IncomingMessage).statusCode)
    sent.flushHeaders()
    return { sent, answer }
  }
  return { webhook, clock, said, tokens, post, begin }
}

const batch = JSON.stringify({
  ...{ kind: "EventList", apiVersion: "audit.k8s.io/v1" },
  items: [auditEvent({ response: configMap(7) }), auditEvent({ verb: "get" }), {}],
})

test("a batch is answered once its authors are on disk, and counted", async () => {
  const stored = Promise.withResolvers<number>()
  const added: AuditBatch[] = []
  const { webhook, post, said } = await serve((given) => {
    added.push(given)
    return stored.promise
  })
  let isAnswered = false
  const answer = post(batch).then((response) => {
    isAnswered = true
    return response
  })
  while (added.length === 0) await new Promise((resolve) => setImmediate(resolve))
  expect(isAnswered).toBe(false)
  stored.resolve(1)
  expect((await answer).status).toBe(200)
  expect(added[0]?.writes.map(({ object, version, author }) => [object, version, author.user])).toEqual([
    ["u1", "7", "admin"],
  ])
  const metrics = formatMetrics(webhook.metrics())
  expect(metrics).toContain('kubereel_audit_batches_total{result="taken"} 1')
  expect(metrics).toContain("kubereel_audit_events_total 3")
  expect(metrics).toContain("kubereel_audit_unreadable_events_total 1")
  expect(metrics).toContain('kubereel_audit_writes_total{kept="true"} 1')
  expect(said).toEqual([])
})

test("what is not taken is refused in words, counted, and said once a minute", async () => {
  const { webhook, post, said, clock, tokens } = await serve(() => Promise.reject(new Error("the disk is full")))
  const wrong = await post(batch, "another-token-of-some-length")
  expect([wrong.status, wrong.headers.get("www-authenticate")]).toEqual([401, "Bearer"])
  const malformed = await post("{")
  expect([malformed.status, await malformed.text()]).toEqual([400, "the body is not JSON\n"])
  expect(said).toHaveLength(1)
  clock.advance(60_000)
  const failed = await post(batch)
  expect([failed.status, failed.headers.get("retry-after"), await failed.text()]).toEqual([
    503,
    "1",
    "the disk is full\n",
  ])
  expect(said).toHaveLength(2)
  writeFileSync(tokens, "")
  expect((await post(batch)).status).toBe(503)
  expect(formatMetrics(webhook.metrics())).toMatch(/unauthorised"} 2[\s\S]*malformed"} 1[\s\S]*failed"} 1/)
})

test("a batch that is too large is not read, whether it says its size or not", async () => {
  const { post } = await serve(() => Promise.reject(new Error("it was taken")))
  const answer = await post(" ".repeat(maximumBatchBytes + 1)).then(
    async (response) => [response.status, await response.text()],
    (cause: unknown) => [413, String(cause)],
  )
  expect(answer[0]).toBe(413)
})

test("a third batch at once is told to come again, and none is taken with another method", async () => {
  const stored = Promise.withResolvers<number>()
  let adding = 0
  const { post } = await serve(() => {
    adding++
    return stored.promise
  })
  const first = [post(batch), post(batch)]
  while (adding < 2) await new Promise((resolve) => setImmediate(resolve))
  const third = await post(batch)
  expect([third.status, third.headers.get("retry-after")]).toEqual([429, "1"])
  stored.resolve(1)
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200])
})

test("clients that send slowly are cut off after their time, and their places are free again", async () => {
  const { webhook, clock, post, begin, said } = await serve(() => Promise.resolve(1))
  const slow = [begin({}), begin({})]
  for (const { sent } of slow) sent.write(batch.slice(0, 20))
  while (clock.pending < 2) await new Promise((resolve) => setImmediate(resolve))
  expect((await post(batch)).status).toBe(429)
  clock.advance(receiveMs)
  const broken = slow.map(({ sent }) => once(sent, "close"))
  expect(await Promise.all(slow.map(({ answer }) => answer))).toEqual([408, 408])
  await Promise.all(broken)
  expect((await post(batch)).status).toBe(200)
  expect(formatMetrics(webhook.metrics())).toContain('kubereel_audit_batches_total{result="late"} 2')
  expect(said).toEqual(["a batch of audit events was not taken: the batch did not arrive within 30 s"])
  expect(clock.pending).toBe(0)
})

test("a client that asks whether it may send its body is told so, unless it may not", async () => {
  const { begin } = await serve(() => Promise.resolve(1))
  const { sent, answer } = begin({ expect: "100-continue" })
  await once(sent, "continue")
  sent.end(batch)
  expect(await answer).toBe(200)
  const other = begin({ expect: "100-continue", authorization: "Bearer another-token-of-some-length" })
  other.sent.on("continue", () => other.sent.destroy(new Error("the body of a stranger is asked for")))
  expect(await other.answer).toBe(401)
  other.sent.destroy()
})
