/** The connections that the sandbox keeps to webhooks. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { Resource } from "../../../../src/apiserver/index.ts"
import { systemClock } from "../../../../src/clock.ts"
import { systemRandomness } from "../../../../src/sandbox/store/stamps.ts"
import type { Webhook } from "../../../../src/sandbox/writes/webhooks/webhook.ts"
import { WebhookCaller } from "../../../../src/sandbox/writes/webhooks/webhook-caller.ts"

let server: Server
let isHeld = false
let release: () => void = () => undefined
beforeEach(async () => {
  server = createServer(async (request, response) => {
    let body = ""
    for await (const chunk of request) body += chunk
    const { uid } = JSON.parse(body).request
    if (request.url?.startsWith("/held")) {
      isHeld = true
      await new Promise<void>((resolve) => {
        release = resolve
      })
    }
    response.setHeader("content-type", "application/json")
    const answer = { uid, allowed: true }
    response.end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: answer }))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
})
afterEach(() => {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(resolve))
})

const connections = (): Promise<number> =>
  new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))))

test("are those to the servers that were called last, and a call that runs is never cut", async () => {
  const caller = new WebhookCaller(systemClock, systemRandomness, () => ({ tag: "none", problem: "no Services here" }))
  const resource = { gvk: { group: "", version: "v1", kind: "ConfigMap" }, plural: "configmaps" } as Resource
  // Each configuration has an authority of its own, as those of replays do.
  const call = (number: number, path = "/") => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
    const target = { url, service: undefined, certificateAuthority: `authority ${number}` }
    const webhook: Webhook = {
      type: "validating",
      name: "test",
      rules: [],
      isExact: true,
      namespaceSelector: [],
      objectSelector: [],
      isFailureIgnored: false,
      timeoutMs: 30_000,
      isReinvoked: false,
      hasSideEffects: false,
      reviewVersion: "v1",
      target,
      conditions: [],
    }
    const place = { resource, subresource: "", kind: resource.gvk, namespace: "shop", name: "a" }
    const state = { object: { metadata: { name: "a" } }, oldObject: undefined, options: {}, dryRun: false }
    return caller.call(webhook, { operation: "CREATE", ...place, ...state } as never, resource)
  }
  const held = call(0, "/held")
  await expect.poll(() => isHeld).toBe(true)
  for (let number = 1; number <= 40; number++) expect(await call(number)).toMatchObject({ type: "allowed" })
  await expect.poll(connections).toBe(16)
  release()
  expect(await held).toMatchObject({ type: "allowed" })
  caller.close()
})
