/**
 * The decisions of the controllers, compared with those of the real ones: every status in the recordings must be the
 * result of our functions for the previous state and some state of the Pods and ReplicaSets seen by then (the real
 * controllers' caches are a little behind, by an unknown amount).
 */

import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { sameJson } from "../../../src/host/index.ts"
import {
  type ApiObject,
  type ControllerRevision,
  isControlledBy,
  type Node,
  type Pod,
} from "../../../src/kube/index.ts"
import { type DaemonSet, daemonSetStatus } from "../../../src/sandbox/workload/daemon-set-controller.ts"
import { afterCreation, planDeployment } from "../../../src/sandbox/workload/deployment-controller.ts"
import type { Deployment } from "../../../src/sandbox/workload/deployment-replica-sets.ts"
import { planJob } from "../../../src/sandbox/workload/job-controller.ts"
import type { Job } from "../../../src/sandbox/workload/job-objects.ts"
import { isActive } from "../../../src/sandbox/workload/pods/pods.ts"
import { type ReplicaSet, replicaSetStatus } from "../../../src/sandbox/workload/replica-set-controller.ts"
import { planStatefulSet, type StatefulSet } from "../../../src/sandbox/workload/stateful-set-controller.ts"

interface State<T extends ApiObject> {
  readonly version: number
  /** When it was received, RFC 3339. */
  readonly at: string
  readonly isDeleted: boolean
  readonly object: T
}

const read = <T extends ApiObject>(folder: string, plural: string): ReadonlyArray<State<T>> => {
  const text = readFileSync(new URL(`../../data/${folder}/${plural}.watch`, import.meta.url), "utf8")
  return text.split("\n").flatMap((line): State<T>[] => {
    const space = line.indexOf(" ")
    if (space < 0) return []
    const { type, object } = JSON.parse(line.slice(space + 1)) as { type: string; object: T }
    if (type === "BOOKMARK") return []
    const at = `${new Date(Number(line.slice(0, space)) * 1000).toISOString().slice(0, 19)}Z`
    return [{ version: Number(object.metadata.resourceVersion), at, isDeleted: type === "DELETED", object }]
  })
}

/** The contents of a cache that had seen everything up to each version below `end`, newest first. */
const snapshots = function* <T extends ApiObject>(
  states: ReadonlyArray<State<T>>,
  end: number,
): Generator<ReadonlyArray<T>> {
  const seen = states.filter(({ version }) => version < end).sort((left, right) => left.version - right.version)
  for (let count = seen.length; count >= 0; count--) {
    const objects = new Map<string, T>()
    for (const { object, isDeleted } of seen.slice(0, count)) {
      if (isDeleted) objects.delete(object.metadata.uid ?? "")
      else objects.set(object.metadata.uid ?? "", object)
    }
    yield [...objects.values()]
  }
}

/** The changes of the status of each object. */
const statusChanges = <T extends ApiObject>(states: ReadonlyArray<State<T>>) => {
  const known = new Map<string, ReadonlyArray<T>>()
  return states.flatMap(({ version, at, isDeleted, object }) => {
    const { uid = "" } = object.metadata
    // The last state or the previous one: for a status of an outdated generation the real controllers retry.
    const before = (known.get(uid) ?? []).slice(-2)
    known.set(uid, [...before, object])
    if (before.length === 0 || isDeleted || sameJson(before.at(-1)?.status, object.status)) return []
    const second = `${new Date(Date.parse(at) - 1000).toISOString().slice(0, 19)}Z`
    return [{ version, times: [at, second], before, after: object }]
  })
}

/** The recorded statuses that our function computes from no state seen by then. */
const unexplained = <T extends ApiObject, S extends ApiObject>(
  states: ReadonlyArray<State<T>>,
  seen: ReadonlyArray<State<S>>,
  statusesOf: (before: T, seen: ReadonlyArray<S>, now: string) => ReadonlyArray<unknown>,
): { readonly count: number; readonly missing: ReadonlyArray<string> } => {
  const changes = statusChanges(states)
  const missing = changes.filter(({ version, times, before, after }) => {
    for (const objects of snapshots(seen, version)) {
      for (const now of times) {
        const statuses = before.flatMap((state) => statusesOf(state, objects, now))
        if (statuses.some((status) => sameJson(status, after.status))) return false
      }
    }
    return true
  })
  const name = ({ metadata }: ApiObject): string => `${metadata.name}@${metadata.resourceVersion}`
  return {
    count: changes.length,
    missing: missing.map(({ after }) => `${name(after)} ${JSON.stringify(after.status)}`),
  }
}

/** The objects of an owner, by UID. */
const ownOf = <T extends ApiObject>(owner: ApiObject, objects: ReadonlyArray<T>): ReadonlyArray<T> =>
  objects.filter((object) => isControlledBy(object, owner))

describe.each(["recording", "recording-2"])("In %s", (folder) => {
  const pods = read<Pod>(folder, "pods")

  test("every status of a Deployment is one that we would have written", () => {
    const { count, missing } = unexplained(
      read<Deployment>(folder, "deployments"),
      read<ReplicaSet>(folder, "replicasets"),
      (deployment, all, now) => {
        const replicaSets = ownOf(deployment, all)
        return planDeployment({ deployment, replicaSets, pods: [], now }).flatMap((action) => {
          if (action.type === "status") return [action.deployment.status]
          if (action.type !== "create") return []
          // The recorded name replaces ours: only the hash differs.
          const names = read<ReplicaSet>(folder, "replicasets").map(({ object }) => object.metadata.name)
          return [...new Set(names)].map((name) => afterCreation(deployment, name, action.revision, now).status)
        })
      },
    )
    expect(count).toBeGreaterThan(0)
    expect(missing).toEqual([])
  })

  test("every status of a ReplicaSet is one that we would have written", () => {
    const { count, missing } = unexplained(read<ReplicaSet>(folder, "replicasets"), pods, (replicaSet, all, now) => [
      replicaSetStatus(replicaSet, ownOf(replicaSet, all).filter(isActive), undefined, now),
    ])
    expect(count).toBeGreaterThan(0)
    expect(missing).toEqual([])
  })

  test("every status of a StatefulSet is one that we would have written", () => {
    const { count, missing } = unexplained(read<StatefulSet>(folder, "statefulsets"), pods, (set, all, now) => {
      const names = pods.flatMap(({ object }) => object.metadata.labels?.["controller-revision-hash"] ?? [])
      const revisionNames = [...new Set(names)].filter((name) => name.startsWith(`${set.metadata.name}-`))
      return revisionNames.map((name) => {
        const data = { spec: { template: set.spec.template } }
        const revision: ControllerRevision = {
          apiVersion: "apps/v1",
          kind: "ControllerRevision",
          metadata: { name },
          data,
          revision: 1,
        }
        const own = ownOf(set, all)
        return planStatefulSet({
          set,
          pods: own,
          current: revision,
          update: revision,
          collisionCount: 0,
          nowMs: Date.parse(now),
        }).status
      })
    })
    expect(count).toBeGreaterThan(0)
    expect(missing).toEqual([])
  })

  test("every status of a Job is one that we would have written", () => {
    const { count, missing } = unexplained(read<Job>(folder, "jobs"), pods, (job, all, now) => {
      const plan = planJob({ job, pods: ownOf(job, all), now, backOffMs: 0 })
      return [plan.noted, plan.counted]
    })
    expect(count).toBeGreaterThan(0)
    expect(missing).toEqual([])
  })
})

test("every status of the recorded DaemonSet is one that we would have written", () => {
  const nodes: ReadonlyArray<Node> = ["kwok-1", "kwok-2", "kwok-3", "kwok-4"].map((name) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { type: "virtual" } },
  }))
  const { count, missing } = unexplained(
    read<DaemonSet>("recording", "daemonsets"),
    read<Pod>("recording", "pods"),
    (set, all, now) => [
      daemonSetStatus({ set, nodes, pods: ownOf(set, all), hash: "6bd7d955cf", nowMs: Date.parse(now) }),
    ],
  )
  expect(count).toBeGreaterThan(0)
  expect(missing).toEqual([])
})
