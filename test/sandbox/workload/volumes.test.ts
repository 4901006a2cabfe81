/** PersistentVolumes and their claims. */

import { describe, expect, test } from "vitest"
import { kinds } from "../../../src/kube/index.ts"
import type { Claim, Volume } from "../../../src/sandbox/workload/volume-controllers.ts"
import { type LivingCluster, livingClusters } from "./living-cluster.ts"

const start = livingClusters()

const volume = (name: string, spec: object = {}) => ({
  metadata: { name, labels: { disk: name } },
  spec: {
    capacity: { storage: "5Gi" },
    accessModes: ["ReadWriteOnce"],
    storageClassName: "manual",
    hostPath: { path: `/mnt/${name}` },
    ...spec,
  },
})
const claim = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: {
    accessModes: ["ReadWriteOnce"],
    storageClassName: "manual",
    resources: { requests: { storage: "3Gi" } },
    ...spec,
  },
})
const volumeOf = (cluster: LivingCluster, name: string): Volume | undefined => cluster.get<Volume>(kinds.volumes, name)
const phaseOf = (cluster: LivingCluster, name: string): string | undefined => volumeOf(cluster, name)?.status?.phase
const claimOf = (cluster: LivingCluster, name: string): Claim | undefined => cluster.get<Claim>(kinds.claims, name)
const isBound = (cluster: LivingCluster, name: string) => (): boolean =>
  claimOf(cluster, name)?.status?.phase === "Bound"
const remove = (cluster: LivingCluster, kind: typeof kinds.claims | typeof kinds.volumes, name: string) =>
  cluster.api.delete(kind, kind.namespaced ? { namespace: "default", name } : { name })

describe("A PersistentVolume", () => {
  test("is Available, and is gone once it is deleted", async () => {
    const cluster = await start()
    await cluster.create(kinds.volumes, volume("disk"))
    await cluster.sees(() => phaseOf(cluster, "disk") === "Available")
    expect(Date.parse(volumeOf(cluster, "disk")?.status?.lastPhaseTransitionTime ?? "")).not.toBeNaN()
    await remove(cluster, kinds.volumes, "disk")
    await cluster.sees(() => volumeOf(cluster, "disk") === undefined)
    expect(cluster.troubles).toEqual([])
  })

  test("that is deleted while a claim is bound to it stays until the claim is gone", async () => {
    const cluster = await start()
    await cluster.create(kinds.volumes, volume("disk"))
    await cluster.create(kinds.claims, claim("data"))
    await cluster.sees(isBound(cluster, "data"))
    await remove(cluster, kinds.volumes, "disk")
    await cluster.passes(2000)
    expect(phaseOf(cluster, "disk")).toBe("Bound")
    await remove(cluster, kinds.claims, "data")
    await cluster.sees(() => volumeOf(cluster, "disk") === undefined)
  })

  test("is Released, free again or gone when its claim is gone, as its reclaim policy says", async () => {
    const cluster = await start()
    for (const policy of ["Retain", "Recycle", "Delete"]) {
      const name = policy.toLowerCase()
      await cluster.create(kinds.volumes, volume(name, { persistentVolumeReclaimPolicy: policy }))
      await cluster.create(kinds.claims, claim(name, { volumeName: name }))
    }
    const names = ["retain", "recycle", "delete"]
    await cluster.sees(() => names.every((name) => isBound(cluster, name)() && phaseOf(cluster, name) === "Bound"))
    for (const name of names) await remove(cluster, kinds.claims, name)
    await cluster.sees(
      () =>
        phaseOf(cluster, "retain") === "Released" &&
        phaseOf(cluster, "recycle") === "Available" &&
        volumeOf(cluster, "delete") === undefined,
    )
    expect(volumeOf(cluster, "recycle")?.spec.claimRef).toBeUndefined()
    expect(volumeOf(cluster, "retain")?.spec.claimRef?.name).toBe("retain")
    expect(cluster.troubles).toEqual([])
  })
})

describe("A PersistentVolumeClaim", () => {
  test("gets the smallest volume that is large enough and of its class, access, mode and labels", async () => {
    const cluster = await start()
    const others = [
      volume("small", { capacity: { storage: "2Gi" } }),
      volume("large", { capacity: { storage: "10Gi" } }),
      volume("foreign", { storageClassName: "fast", capacity: { storage: "3Gi" } }),
      volume("raw", { volumeMode: "Block", capacity: { storage: "3Gi" } }),
      volume("shared", { accessModes: ["ReadOnlyMany"], capacity: { storage: "3Gi" } }),
      volume("reserved", { claimRef: { namespace: "default", name: "later" }, capacity: { storage: "3Gi" } }),
    ]
    for (const other of [...others, volume("right")]) await cluster.create(kinds.volumes, other)
    await cluster.create(kinds.claims, claim("data"))
    await cluster.create(kinds.claims, claim("chosen", { selector: { matchLabels: { disk: "large" } } }))
    await cluster.create(kinds.claims, claim("later"))
    await cluster.sees(() => ["data", "chosen", "later"].every((name) => isBound(cluster, name)()))
    const got = ["data", "chosen", "later"].map((name) => claimOf(cluster, name)?.spec.volumeName)
    expect(got).toEqual(["right", "large", "reserved"])
    expect(claimOf(cluster, "data")?.status).toMatchObject({ capacity: { storage: "5Gi" } })
    const { uid } = claimOf(cluster, "data")?.metadata ?? {}
    expect(volumeOf(cluster, "right")?.spec.claimRef).toMatchObject({ namespace: "default", name: "data", uid })
  })

  test("of no class, of a class without a provisioner or for a certain volume waits until there is one", async () => {
    const cluster = await start()
    await cluster.create(kinds.storageClasses, {
      metadata: { name: "manual" },
      provisioner: "kubernetes.io/no-provisioner",
    })
    await cluster.create(kinds.claims, claim("classless", { storageClassName: "" }))
    await cluster.create(kinds.claims, claim("manual"))
    await cluster.create(kinds.claims, claim("named", { volumeName: "mine" }))
    await cluster.sees(() => cluster.reasons("named").includes("FailedBinding"))
    await cluster.passes(2000)
    const phases = ["classless", "manual", "named"].map((name) => claimOf(cluster, name)?.status?.phase)
    expect(phases).toEqual(["Pending", "Pending", "Pending"])
    expect(cluster.list(kinds.volumes).length).toBe(0)
    await cluster.create(kinds.volumes, volume("mine", { storageClassName: "other" }))
    await cluster.create(kinds.volumes, volume("any"))
    await cluster.create(kinds.volumes, volume("bare", { storageClassName: "" }))
    await cluster.sees(() => ["classless", "manual", "named"].every((name) => isBound(cluster, name)()))
    const got = ["classless", "manual", "named"].map((name) => claimOf(cluster, name)?.spec.volumeName)
    expect(got).toEqual(["bare", "any", "mine"])
  })

  test("gets a volume of its own if none matches, which goes with it", async () => {
    const cluster = await start()
    await cluster.create(kinds.claims, claim("data", { storageClassName: "fast" }))
    await cluster.sees(isBound(cluster, "data"))
    const name = claimOf(cluster, "data")?.spec.volumeName ?? ""
    await cluster.sees(() => phaseOf(cluster, name) === "Bound")
    expect(volumeOf(cluster, name)?.spec).toMatchObject({ capacity: { storage: "3Gi" }, storageClassName: "fast" })
    await remove(cluster, kinds.claims, "data")
    await cluster.sees(() => volumeOf(cluster, name) === undefined)
    expect(cluster.troubles).toEqual([])
  })

  test("of two that want the only volume one gets it, and the other one of its own", async () => {
    const cluster = await start()
    await cluster.create(kinds.volumes, volume("only"))
    await Promise.all(["a", "b"].map((name) => cluster.create(kinds.claims, claim(name))))
    await cluster.sees(() => isBound(cluster, "a")() && isBound(cluster, "b")())
    const got = ["a", "b"].map((name) => claimOf(cluster, name)?.spec.volumeName)
    expect(new Set(got).size).toBe(2)
    expect(got).toContain("only")
  })
})
