/** Webhooks that a configuration names by a Service. */

import { afterEach, expect, test } from "vitest"
import { makeServerCertificate } from "../../../../src/host/index.ts"
import type { Sandbox } from "../../../../src/library/sandbox.ts"
import { bodyOf, configMaps, send, sendFor } from "../write-client.ts"
import { authority, configuration, mutatingConfigurations, patching, WebhookServer } from "./webhook-server.ts"
import { configMap, start } from "./with-webhooks.ts"

const hook = (port: number | undefined, caBundle: string, path?: string) => ({
  name: "web.example.com",
  clientConfig: {
    service: {
      namespace: "default",
      name: "web",
      ...(port !== undefined && { port }),
      ...(path !== undefined && { path }),
    },
    caBundle: Buffer.from(caBundle).toString("base64"),
  },
  rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["*"] }],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
})

const portOf = ({ url }: WebhookServer): number => Number(new URL(url).port)

const nowMs = Date.now()
const certificate = makeServerCertificate({
  host: "web.default.svc",
  notBeforeMs: nowMs - 60_000,
  notAfterMs: nowMs + 3_600_000,
})

const started: WebhookServer[] = []
afterEach(async () => {
  for (const server of started.splice(0)) await server[Symbol.asyncDispose]()
})
const serve = async (): Promise<WebhookServer> => {
  const server = await WebhookServer.start(() => patching({ op: "add", path: "/data/seen", value: "yes" }), {
    key: certificate.key,
    cert: certificate.certificate,
  })
  started.push(server)
  return server
}

const putService = (sandbox: Sandbox, targetPort: number | string): void =>
  void sandbox.put("v1.Service", {
    metadata: { namespace: "default", name: "web" },
    spec: { selector: { app: "web" }, ports: [{ name: "https", port: 443, targetPort }] },
  })

const putPod = (sandbox: Sandbox, name: string, ready: boolean, port: number, podIP = "127.0.0.1"): void =>
  void sandbox.put("v1.Pod", {
    metadata: { namespace: "default", name, labels: { app: "web" } },
    spec: { containers: [{ name: "web", image: "web", ports: [{ name: "hooks", containerPort: port }] }] },
    status: { podIP, conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  })

test.each(["a number", "the name of a container's port"])(
  "a Service whose target port is %s leads to the ready pod that it selects",
  async (how) => {
    const { sandbox } = await start(() => undefined)
    const server = await serve()
    putService(sandbox, how === "a number" ? portOf(server) : "hooks")
    putPod(sandbox, "dead", false, portOf(server), "127.0.0.99")
    putPod(sandbox, "web", true, portOf(server))
    await sendFor(
      sandbox,
      201,
      "POST",
      mutatingConfigurations,
      configuration("one", hook(undefined, certificate.authority, "/hook")),
    )
    const answer = await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))
    expect(answer).toMatchObject({ data: { k: "v", seen: "yes" } })
    expect(server.reviews.map(({ path }) => path)).toEqual(["/hook?timeout=10s"])
  },
)

test("the certificate must be for the Service's name in the cluster", async () => {
  const { sandbox, server } = await start(() => ({ allowed: true }))
  putService(sandbox, portOf(server))
  putPod(sandbox, "web", true, portOf(server))
  await sendFor(sandbox, 201, "POST", mutatingConfigurations, configuration("one", hook(443, authority)))
  const refused = await send(sandbox, "POST", configMaps, configMap("a"))
  expect([refused.status, server.reviews]).toEqual([500, []])
  expect(bodyOf(refused).message).toContain("web.default.svc")
})

test.each([
  ["a Service that does not exist", () => undefined, 443, 'service "web" not found'],
  [
    "a Service without a ready pod",
    (sandbox: Sandbox) => {
      putService(sandbox, 1)
      putPod(sandbox, "web", false, 1)
    },
    443,
    'no endpoints available for service "web"',
  ],
  [
    "a port that the Service does not have",
    (sandbox: Sandbox) => putService(sandbox, 1),
    8443,
    'no service port 8443 found for service "web"',
  ],
])("%s is unreachable, and the message says why", async (_what, prepare, port, problem) => {
  const { sandbox } = await start(() => undefined)
  prepare(sandbox)
  await sendFor(sandbox, 201, "POST", mutatingConfigurations, configuration("one", hook(port, certificate.authority)))
  const refused = await send(sandbox, "POST", configMaps, configMap("a"))
  expect(bodyOf(refused)).toMatchObject({
    code: 500,
    message: `Internal error occurred: failed calling webhook "web.example.com": failed to call webhook: Post "https://web.default.svc:${port}/?timeout=10s": ${problem}`,
  })
})
