import { describe, expect, test } from "vitest"
import type { ApiObject } from "../../src/kube/index.ts"
import { LocalCluster } from "../../src/library/sandbox.ts"
import { cleanUpDemo, demoLengthMs, demoSteps, playDemo } from "../../src/sandbox/demo/index.ts"
import { makeCertificates } from "../kube/certificates.ts"
import { ManualClock } from "../runtime/manual-clock.ts"

/** Advances the clock in small steps until a condition holds. */
const passUntil = async (clock: ManualClock, isTrue: () => boolean): Promise<void> => {
  for (let rounds = 0; !isTrue(); rounds++) {
    if (rounds > 20_000) throw new Error("it never came to that")
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(10)
  }
}

const deployment = (replicas: number): ApiObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } },
  },
})

const deployments = {
  gvk: { group: "apps", version: "v1", kind: "Deployment" },
  plural: "deployments",
  namespaced: true,
}

describe("a local cluster", () => {
  test("brings a Deployment's pods to life, beside another cluster in the same process", async () => {
    const clock = new ManualClock()
    await using first = await LocalCluster.start({ clock, nodes: 1 })
    await using second = await LocalCluster.start({ clock, nodes: 1 })
    await first.client.create(deployments, deployment(3))
    await second.client.create(deployments, deployment(1))
    const ready = ({ sandbox }: LocalCluster): unknown =>
      (sandbox.get("apps/v1.Deployment", "default", "web")?.status as { readonly readyReplicas?: number })
        ?.readyReplicas
    await passUntil(clock, () => ready(first) === 3 && ready(second) === 1)
    const pods = (cluster: LocalCluster): number =>
      new Set(cluster.sandbox.ledger.of("v1.Pod").map(({ uid }) => uid)).size
    expect([pods(first), pods(second)]).toEqual([3, 1])
  })

  test("works behind a port that refuses clients without a certificate, also after a restart", async () => {
    const clock = new ManualClock()
    const { authority: ca, server } = makeCertificates()
    const tls = { key: server.key, cert: server.certificate, ca, requestCert: true }
    await using cluster = await LocalCluster.start({ clock, nodes: 1, tls })
    const { client, sandbox } = cluster
    const readyOf = (name: string): unknown =>
      (sandbox.get("apps/v1.Deployment", "default", name)?.status as { readonly readyReplicas?: number })?.readyReplicas
    await client.create(deployments, deployment(2))
    await passUntil(clock, () => readyOf("web") === 2)
    sandbox.faults.restart()
    const { metadata, ...rest } = deployment(1)
    await client.create(deployments, { ...rest, metadata: { ...metadata, name: "web-2" } } as ApiObject)
    await passUntil(clock, () => readyOf("web-2") === 1)
    expect((await client.list(deployments)).items.map((item) => item.metadata.name)).toEqual(["web", "web-2"])
  })

  test("plays the demo: it scales, rolls out, breaks, heals, and leaves nothing after the clean-up", async () => {
    const clock = new ManualClock()
    await using cluster = await LocalCluster.start({ clock, nodes: 2 })
    const { client, sandbox } = cluster
    const titles: Array<string> = []
    let isOver = false
    const playing = playDemo({ client, clock, announce: ({ title }) => titles.push(title) }).then(() => {
      isOver = true
    })
    await passUntil(clock, () => isOver)
    await playing
    expect(titles).toEqual(demoSteps.map(({ title }) => title))
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(demoLengthMs)
    const versions = sandbox.ledger.of("apps/v1.Deployment").map(({ object }) => object as unknown as WebDeployment)
    // Up to 25 % more than 6 while it rolls out.
    const ready = versions.map(({ status }) => status?.readyReplicas ?? 0)
    expect([6, 7, 8]).toContain(Math.max(...ready))
    expect(new Set(versions.map(({ spec }) => spec.template.spec.containers[0]?.image))).toEqual(
      new Set(["shop/web:1.0", "shop/web:1.1", "shop/web:1.2"]),
    )
    expect(sandbox.ledger.of("v1.Pod").some(({ object }) => JSON.stringify(object).includes('"restartCount":1'))).toBe(
      true,
    )
    await cleanUpDemo(client)
    await passUntil(clock, () => sandbox.get("v1.Namespace", "", "shop") === undefined)
    for (const gvk of ["v1.Pod", "apps/v1.ReplicaSet", "apps/v1.Deployment"]) {
      const living = new Set<string>()
      for (const { uid, action } of sandbox.ledger.of(gvk)) action === "deleted" ? living.delete(uid) : living.add(uid)
      expect([gvk, living.size]).toEqual([gvk, 0])
    }
  })
})

interface WebDeployment {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: ReadonlyArray<{ readonly image: string }> } }
  }
  readonly status?: { readonly readyReplicas?: number }
}
