/**
 * Late is not live, in a sandbox: the same tests as of a real control plane (test/cluster/late). The truth is exact here, and clients without a
 * socket write on while the API server cannot be reached.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { systemClock } from "../../../src/clock.ts"
import { kinds } from "../../../src/kube/index.ts"
import { shopNamespace } from "../../../src/sandbox/demo/demo-workload.ts"
import { cleanUpDemo, LocalCluster, playDemo, writeKubeconfig } from "../../../src/sandbox/index.ts"
import { startRecorder } from "../../cluster/command.ts"
import { Relay } from "../../cluster/k8s/relay.ts"
import { describeOutages, type OutageCluster } from "../../cluster/late/outages.ts"
import { TrueTimes } from "../../cluster/late/true-times.ts"
import { patient } from "../../harness/patience.ts"

/** The long form has the lengths of real incidents, and takes two minutes of mostly waiting, too long for each run of all tests. */
const isLong = process.env.KUBEREEL_TEST_OUTAGES === "long"
const lengths = isLong ? { killed: 30, held: 20, down: 60 } : { killed: 8, held: 6, down: 6 }

const tracked: ReadonlyArray<string> = [
  ...["apps/v1.Deployment", "apps/v1.ReplicaSet", "apps/v1.StatefulSet", "apps/v1.DaemonSet", "batch/v1.Job"],
  ...["v1.Pod", "v1.ConfigMap"],
]

/** The demo again and again, for so many seconds or more, and ConfigMaps that are created, changed and deleted four times a second. */
const live = async ({ client, sandbox }: LocalCluster, seconds: number): Promise<void> => {
  const end = performance.now() + seconds * 1000
  const demo = async (): Promise<void> => {
    while (performance.now() < end) {
      const signal = AbortSignal.timeout(Math.max(1, Math.ceil(end - performance.now())))
      await playDemo({ client, clock: systemClock, announce: () => undefined, signal })
      await cleanUpDemo(client)
      while (sandbox.get("v1.Namespace", "", shopNamespace) !== undefined) await sleep(100)
    }
  }
  const settings = async (): Promise<void> => {
    for (let number = 0; performance.now() < end; number++) {
      const place = { namespace: "default", name: `settings-${number}` }
      await client.create(kinds.configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: place, data: { a: "1" } })
      await sleep(250)
      await client.patch(kinds.configMaps, place, "merge", { data: { a: "2" } })
      await sleep(250)
      await client.patch(kinds.configMaps, place, "merge", { metadata: { labels: { tier: "edge" } } })
      await sleep(250)
      await client.delete(kinds.configMaps, place)
      await sleep(250)
    }
  }
  await Promise.all([demo(), settings()])
}

const startCluster = async (): Promise<OutageCluster> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-late-"))
  const cluster = await LocalCluster.start({ ledger: "none", nodes: 3 })
  const truth = new TrueTimes()
  cluster.sandbox.observe(({ gvk, change: { type, uid, revision } }) => {
    if (tracked.includes(gvk))
      truth.add({ gvk, uid, type, version: String(revision), micros: systemClock.wallMicros() })
  })
  const relay = await Relay.listen(cluster.sandbox.port)
  const config = join(directory, "tracer.yml")
  await writeFile(config, `trackedObjects:\n${tracked.map((gvk) => `  ${gvk}: {detect: all}\n`).join("")}`)
  await writeKubeconfig(join(directory, "killed.kubeconfig"), cluster.sandbox.url)
  await writeKubeconfig(join(directory, "held.kubeconfig"), `http://127.0.0.1:${relay.port}`)
  for (const name of ["killed", "held"]) await mkdir(join(directory, name))
  return {
    truth,
    observedWithin: 0,
    record: (name) =>
      startRecorder({ kubeconfig: join(directory, `${name}.kubeconfig`) }, config, join(directory, name)),
    live: (seconds) => live(cluster, seconds),
    mark: (name) =>
      cluster.client.create(kinds.configMaps, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { namespace: "default", name },
      }),
    hold: () => relay.hold(),
    release: () => relay.release(),
    outage: async (seconds) => {
      const life = live(cluster, seconds + 5)
      await cluster.sandbox.faults.refuseConnections()
      await sleep(seconds * 1000)
      await cluster.sandbox.faults.acceptConnections()
      await life
    },
    [Symbol.asyncDispose]: async () => {
      await relay[Symbol.asyncDispose]()
      await cluster.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

describeOutages(startCluster, lengths, patient(180_000))
