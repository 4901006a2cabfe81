/** Late is not live, on a real control plane. What is judged is in outages.ts. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { isThorough } from "../../harness/effort.ts"
import { churn, kubectl, startRecorder } from "../command.ts"
import { OwnControlPlane } from "../k8s/own-control-plane.ts"
import { Relay } from "../k8s/relay.ts"
import { describeOutages, type OutageCluster } from "./outages.ts"
import { TimedObserver } from "./timed-observer.ts"

/** The thorough form has the lengths of real incidents. */
const lengths = isThorough() ? { killed: 30, held: 20, down: 60 } : { killed: 12, held: 9, down: 8 }

const kinds: ReadonlyMap<string, string> = new Map([
  ["apps/v1.Deployment", "/apis/apps/v1/deployments"],
  ["apps/v1.ReplicaSet", "/apis/apps/v1/replicasets"],
  ["apps/v1.StatefulSet", "/apis/apps/v1/statefulsets"],
  ["apps/v1.DaemonSet", "/apis/apps/v1/daemonsets"],
  ["batch/v1.Job", "/apis/batch/v1/jobs"],
  ["batch/v1.CronJob", "/apis/batch/v1/cronjobs"],
  ["v1.Pod", "/api/v1/pods"],
  ["v1.ConfigMap", "/api/v1/configmaps"],
])

/** ConfigMaps are created, changed and deleted, some four times a second. */
const settings = async (plane: OwnControlPlane, count: number): Promise<void> => {
  for (let index = 0; index < count; index++) {
    const name = `settings-${Math.floor(index / 4)}`
    const words = [
      ["create", "configmap", name, "--from-literal=a=1"],
      ["patch", "configmap", name, "-p", '{"data":{"a":"2"}}'],
      ["label", "configmap", name, "tier=edge"],
      ["delete", "configmap", name],
    ][index % 4] as ReadonlyArray<string>
    await kubectl(plane.cluster, ...words)
  }
}

const startPlane = async (): Promise<OutageCluster> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-late-"))
  const plane = await OwnControlPlane.start({ nodes: 4 })
  const relay = await Relay.listen(plane.first.port)
  const config = join(directory, "tracer.yml")
  const lines = [...kinds.keys()].map((gvk) => `  ${gvk}: {detect: all}\n`)
  await writeFile(config, `trackedObjects:\n${lines.join("")}`)
  const behind = join(directory, "behind.kubeconfig")
  const direct = await readFile(plane.cluster.kubeconfig, "utf8")
  await writeFile(behind, direct.replaceAll(`:${plane.first.port}`, `:${relay.port}`))
  for (const name of ["killed", "held"]) await mkdir(join(directory, name))
  const observer = await TimedObserver.start(plane.first.connection, kinds)
  return {
    truth: observer.seen,
    observedWithin: 250_000,
    record: (name) => {
      const kubeconfig = name === "held" ? behind : plane.cluster.kubeconfig
      return startRecorder({ kubeconfig }, config, join(directory, name))
    },
    // The script takes 25 s.
    live: async (seconds) => {
      for (let round = 0; round * 25 < seconds; round++) await churn(plane.cluster, `round-${round}`)
    },
    mark: (name) => kubectl(plane.cluster, "create", "configmap", name),
    hold: () => relay.hold(),
    release: () => relay.release(),
    outage: async (seconds) => {
      relay.leadTo(undefined)
      await plane.kill(plane.first)
      await sleep(seconds * 1000)
      await plane.startFirst()
      // The controllers give up while there is no API server, but people do not; and a load balancer notices later that it is back.
      const life = settings(plane, 40)
      await sleep(3000)
      relay.leadTo(plane.first.port)
      await life
    },
    [Symbol.asyncDispose]: async () => {
      await observer.stop()
      await relay[Symbol.asyncDispose]()
      await plane[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

describeOutages(startPlane, lengths, 240_000)
