/** Where authorization meets the rest of a sandbox: certificates, webhooks, the controllers of a local cluster. */

import { get as getOverTls } from "node:https"
import { expect, onTestFinished, test } from "vitest"
import { LocalCluster, Sandbox } from "../../../src/library/sandbox.ts"
import { makeCertificates } from "../../kube/certificates.ts"
import { configuration, validatingConfigurations, WebhookServer, webhook } from "../writes/webhooks/webhook-server.ts"
import { grant, withAuthorization } from "./requests.ts"

test("A client certificate says who the user is", async () => {
  const { authority: ca, server, client } = makeCertificates()
  const tls = { key: server.key, cert: server.certificate, ca, requestCert: true }
  await using sandbox = await Sandbox.start({ authorization: "rbac", tls })
  const text = await new Promise<string>((resolve, reject) => {
    const options = { key: client.key, cert: client.certificate, ca, agent: false }
    getOverTls(`${sandbox.url}/api/v1/pods`, options, async (response) => {
      let body = ""
      for await (const part of response) body += part
      resolve(body)
    }).on("error", reject)
  })
  expect(JSON.parse(text).message).toMatch(/^pods is forbidden: User "recorder" cannot list/)
  sandbox.put("rbac.authorization.k8s.io/v1.ClusterRoleBinding", {
    metadata: { name: "recorders" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "recorders" }],
  } as never)
  const status = await new Promise((resolve, reject) => {
    const options = { key: client.key, cert: client.certificate, ca, agent: false }
    getOverTls(`${sandbox.url}/api/v1/pods`, options, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).on("error", reject)
  })
  expect(status).toBe(200)
})

test("Admission webhooks are told who writes", async () => {
  const { sandbox, ask } = await withAuthorization()
  const server = await WebhookServer.start(() => ({ allowed: true }))
  onTestFinished(() => server[Symbol.asyncDispose]())
  await grant(ask, "bob", [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create", "delete"] }])
  const configured = configuration("w", webhook(server, "/check"))
  expect((await ask(validatingConfigurations, { body: configured })).status).toBe(201)
  const maps = "/api/v1/namespaces/default/configmaps"
  await ask(maps, { as: "bob", headers: { "Impersonate-Uid": "7" }, body: { metadata: { name: "a" } } })
  await sandbox.request({ method: "POST", path: maps, body: { metadata: { name: "b" } } })
  expect(server.reviews.map(({ request }) => request.userInfo)).toEqual([
    { username: "bob", uid: "7", groups: ["system:authenticated"] },
    { username: "sandbox", uid: "sandbox", groups: ["system:masters", "system:authenticated"] },
  ])
})

test("A local cluster's controllers work on: a Deployment gets its pods, and its ServiceAccounts no rights", async () => {
  await using cluster = await LocalCluster.start({ authorization: "rbac", nodes: 1 })
  const deployments = {
    gvk: { group: "apps", version: "v1", kind: "Deployment" },
    plural: "deployments",
    namespaced: true,
  }
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } }
  await cluster.client.create(deployments, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default" },
    spec: { replicas: 1, selector: { matchLabels: { app: "web" } }, template },
  })
  const ready = () =>
    (cluster.sandbox.get("apps/v1.Deployment", "default", "web") as { status?: { readyReplicas?: number } } | undefined)
      ?.status?.readyReplicas
  await expect.poll(ready).toBe(1)
})
