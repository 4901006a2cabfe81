import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { afterEach, expect, test } from "vitest"
import type { AuditBatch } from "../../../src/actors/index.ts"
import { tokenFileAccess } from "../../../src/recorder/access/token-file.ts"
import { AuditWebhook, maximumBatchBytes } from "../../../src/recorder/audit/audit-webhook.ts"
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
  const server = createServer((request, response) => void webhook.answer(request, response, () => request.resume()))
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
  return { webhook, clock, said, tokens, post }
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
  expect(added[0]?.writes.map(({ uid, version, author }) => [uid, version, author.user])).toEqual([
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
