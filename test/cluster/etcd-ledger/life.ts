/**
 * Life of a cluster that is hard to tell afterwards: what the scripted workload does, and besides it fields that are only removed, a kind at rest for most of a minute,
 * server-side apply by several managers, scale, statuses that turn bad, evictions, and CRDs that live for seconds.
 */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { churn, kubectl } from "../command.ts"
import type { TestCluster } from "../guard.ts"

/** Repeats all of it, some 50 s a round, until the deadline has passed. @param directory for manifests. @param endMs on the clock of `performance.now()` */
export const live = async (cluster: TestCluster, directory: string, endMs: number): Promise<void> => {
  const until = async (part: (round: number) => Promise<void>): Promise<void> => {
    for (let round = 0; round === 0 || performance.now() < endMs; round++) await part(round)
  }
  const rounds = new Rounds(cluster, directory)
  await kubectl(cluster, "create", "namespace", "life")
  await Promise.all([
    until(async (round) => {
      await churn(cluster, `round-${round}`)
      await churn(cluster, `round-${round}`, "clean")
    }),
    until((round) => rounds.removals(round)),
    until((round) => rounds.managers(round)),
    until((round) => rounds.failures(round)),
    until((round) => rounds.shortLivedKind(round)),
  ])
}

class Rounds {
  readonly #cluster: TestCluster
  readonly #directory: string

  constructor(cluster: TestCluster, directory: string) {
    this.#cluster = cluster
    this.#directory = directory
  }

  /** Changes that leave no time in managedFields, after long silences of their kinds. */
  async removals(round: number): Promise<void> {
    const name = `quiet-${round}`
    await this.#apply(name, {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      spec: { minAvailable: 1, selector: { matchLabels: { app: name } } },
    })
    await this.#kubectl("label", "pdb", name, "tier=edge")
    await this.#kubectl("annotate", "namespace", "life", `round=${round}`)
    await this.#kubectl("taint", "node", await this.#node(round), "lab=yes:PreferNoSchedule")
    await sleep(40_000)
    await this.#kubectl("label", "pdb", name, "tier-")
    await this.#kubectl("annotate", "namespace", "life", "round-")
    await this.#kubectl("taint", "node", await this.#node(round), "lab-")
    await this.#kubectl("delete", "pdb", name)
  }

  /** Several managers of one object; one takes a field from another, one lets go of its own. */
  async managers(round: number): Promise<void> {
    const name = `shared-${round}`
    const settings = (data: Record<string, string>) => ({ apiVersion: "v1", kind: "ConfigMap", data })
    await this.#apply(name, settings({ a: "1", b: "1" }), "team-a")
    await sleep(3000)
    await this.#apply(name, settings({ b: "2", c: "1" }), "team-b")
    await sleep(3000)
    await this.#apply(name, settings({ a: "1" }), "team-a")
    await sleep(3000)
    await this.#apply(name, settings({}), "team-b")
    await this.#kubectl("create", "deployment", name, "--image=web:1", "--replicas=2")
    await sleep(4000)
    await this.#kubectl("scale", "deployment", name, "--replicas=3")
    await sleep(3000)
    await this.#kubectl("set", "env", `deployment/${name}`, "MODE=fast")
    await sleep(3000)
    await this.#kubectl("set", "env", `deployment/${name}`, "MODE-")
    await sleep(5000)
    await this.#kubectl("delete", "deployment", name)
  }

  /** Pods that are not ready any more, and one that is evicted. */
  async failures(round: number): Promise<void> {
    const name = `failing-${round}`
    const labels = { app: name }
    const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } }
    await this.#apply(name, {
      apiVersion: "v1",
      kind: "ReplicationController",
      spec: { replicas: 3, selector: labels, template },
    })
    await sleep(6000)
    const pods = (await this.#kubectl("get", "pods", "-l", `app=${name}`, "-o", "name"))
      .split("\n")
      .filter((pod) => pod !== "")
    for (const pod of pods.slice(0, 2)) {
      const conditions = [{ type: "Ready", status: "False", lastTransitionTime: new Date().toISOString() }]
      await this.#kubectl("patch", pod, "--subresource=status", "-p", JSON.stringify({ status: { conditions } }))
      await sleep(2000)
    }
    const last = pods.at(-1)?.replace("pod/", "")
    if (last !== undefined) {
      const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: last, namespace: "life" } }
      const file = await this.#file(`eviction-${round}`, eviction)
      await this.#kubectl("create", "--raw", `/api/v1/namespaces/life/pods/${last}/eviction`, "-f", file)
    }
    await sleep(15_000)
    await this.#kubectl("scale", "rc", name, "--replicas=1")
    await sleep(10_000)
    await this.#kubectl("delete", "rc", name)
  }

  /** A CRD that is deleted, with objects, one to five seconds after it was created. */
  async shortLivedKind(round: number): Promise<void> {
    const group = `round-${round}.example.com`
    const crd = `gears.${group}`
    const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
    await this.#apply(crd, {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      spec: {
        group,
        scope: "Namespaced",
        names: { plural: "gears", singular: "gear", kind: "Gear", listKind: "GearList" },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    })
    await this.#kubectl("wait", "--for=condition=Established", `crd/${crd}`)
    for (const name of ["first", "second"])
      await this.#apply(name, { apiVersion: `${group}/v1`, kind: "Gear", spec: { size: 1 } })
    await this.#kubectl("patch", crd.replace(".", `.v1.`), "first", "--type=merge", "-p", '{"spec":{"size":2}}')
    await sleep((round % 5) * 1000)
    await this.#kubectl("delete", "crd", crd)
    await sleep(8000)
  }

  async #apply(name: string, object: object, manager?: string): Promise<void> {
    const file = await this.#file(name, { ...object, metadata: { name } })
    await this.#kubectl(
      "apply",
      ...(manager === undefined ? [] : ["--server-side", `--field-manager=${manager}`, "--force-conflicts"]),
      "-f",
      file,
    )
  }

  async #file(name: string, object: object): Promise<string> {
    const file = join(this.#directory, `${name}.json`)
    await writeFile(file, JSON.stringify(object))
    return file
  }

  async #node(round: number): Promise<string> {
    const nodes = (await this.#kubectl("get", "nodes", "-o", "name")).split("\n").filter((node) => node !== "")
    return nodes[round % nodes.length]?.replace("node/", "") ?? ""
  }

  #kubectl(...words: string[]): Promise<string> {
    return kubectl(this.#cluster, "-n", "life", ...words)
  }
}
