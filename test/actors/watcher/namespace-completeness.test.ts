/** What a recording of several namespaces states about each of them and about the kind: never more than it contains. */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { KindWatchOptions } from "../../../src/actors/watcher/kind-watch.ts"
import { watchNamespaces } from "../../../src/actors/watcher/namespace-watch.ts"
import type { LoadedState } from "../../../src/actors/watcher/objects/loaded-state.ts"
import { ArchiveReader } from "../../../src/archive/index.ts"
import { defaultWatchPolicy } from "../../../src/kube/index.ts"
import { podLivesKind } from "../../../src/trace/index.ts"
import { decodeObservations } from "../../../src/wire/observations.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"
import { nothingRecorded as neverResumed } from "./nothing-recorded.ts"
import { PlayedCluster, PlayedServer } from "./played-cluster.ts"
import { both, Life } from "./played-life.ts"

let directory: string
let clock: ManualClock
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-completeness-"))
  clock = new ManualClock()
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const gaps = () => {
  const reader = ArchiveReader.open(directory)
  const found = reader.gaps()
  reader.close()
  return found
}

const populated = (): PlayedCluster => {
  const cluster = new PlayedCluster()
  for (const namespace of both) cluster.put(namespace, "a")
  return cluster
}

/** Long enough to distinguish times. */
const minute = 60_000

describe("a kind of several namespaces is not complete as of now", () => {
  test("if the watch of one is accepted but resumes from an expired version", async () => {
    const cluster = populated()
    const life = await Life.begin({ directory, cluster, clock })
    await life.serveAll()
    const { completeThroughTime } = life.state
    life.server.hangUp("shop")
    cluster.delete("shop", "a")
    clock.advance(minute)
    cluster.put("stock", "a")
    life.server.serve("stock", 1)
    life.commit()
    await life.settle()
    life.server.answer("shop")
    life.commit()
    life.server.expire("shop")
    life.commit()
    expect(life.state.completeThroughTime).toBe(completeThroughTime)
    life.end()
  })

  test("if one was lost before the recorder stops: it is complete up to then", async () => {
    const cluster = populated()
    const life = await Life.begin({ directory, cluster, clock })
    await life.serveAll()
    const { completeThroughTime } = life.state
    life.server.hangUp("shop")
    clock.advance(minute)
    cluster.put("stock", "a")
    life.server.serve("stock", 1)
    life.watch.stop()
    life.commit()
    expect(life.state.completeThroughTime).toBe(completeThroughTime)
    life.end()
  })
})

test("a gap begins at the last recorded version, even if no frame had stated it yet", async () => {
  const cluster = populated()
  const life = await Life.begin({ directory, cluster, clock })
  await life.serveAll()
  cluster.put("shop", "a")
  life.server.serve("shop", 1)
  life.server.expire("shop")
  await life.settle()
  expect(life.server.listed).toEqual(["shop", "stock", "shop"])
  life.commit()
  expect(life.state.namespaces.map(({ completeThrough }) => completeThrough)).toEqual(["103", "102"])
  await life.serveAll()
  life.end()
  expect(gaps().map(({ fromVersion }) => fromVersion)).toEqual(["103"])
})

describe("a cluster-scoped kind requested for namespaces", () => {
  const cluster = (): PlayedCluster => {
    const made = new PlayedCluster("first", 100, false)
    for (const name of ["a", "b"]) made.put("", name)
    return made
  }

  test("reports that changes are unknown after its first list was repeated", async () => {
    const nodes = cluster()
    const first = await Life.begin({ directory, cluster: nodes, clock })
    first.server.serve(undefined, 1)
    first.end()
    const second = await Life.begin({ directory, cluster: nodes, clock })
    second.server.serve(undefined, 100)
    second.end()
    expect(gaps().map(({ reason }) => reason)).toEqual(["stopped"])
  })

  test("is reported as a whole, not as the content of one of them", async () => {
    const life = await Life.begin({ directory, cluster: cluster(), clock })
    life.server.serve(undefined, 100)
    life.end()
    expect(life.states).toEqual(["listing: first list", "watching: from version 102", "stopped: asked to"])
  })

  test("resumes, for any order of namespaces", async () => {
    const nodes = cluster()
    const first = await Life.begin({ directory, cluster: nodes, clock })
    first.server.serve(undefined, 100)
    first.end()
    const second = await Life.begin({ directory, cluster: nodes, clock, namespaces: ["stock", "shop"] })
    second.server.serve(undefined, 100)
    expect(second.server.listed).toEqual([])
    second.end()
    expect(gaps()).toEqual([])
  })
})

const config = {
  gvk: "v1.ConfigMap",
  tracksPods: false,
  detect: "all",
  ignore: [],
  keepManagedFields: true,
  skipOwned: false,
  labelSelector: undefined,
  fieldSelector: undefined,
  namespaces: both,
  policy: defaultWatchPolicy,
  reportEvents: false,
  windowBytes: 0,
  bufferBytes: 0,
} as const

/** Statistics of a watcher whose frames are discarded. */
const options = (frames: Buffer[] = []): KindWatchOptions => {
  let reserved = Buffer.alloc(0)
  return {
    config,
    gvk: { group: "", version: "v1", kind: "ConfigMap" },
    client: new PlayedServer(new PlayedCluster()),
    outlet: {
      isWritable: true,
      reserve: (bytes) => {
        reserved = Buffer.alloc(bytes)
        return reserved
      },
      commit: (length) => frames.push(reserved.subarray(0, length)),
    },
    clock,
    random: () => 0.5,
    listener: {
      stateChanged: () => undefined,
      alarm: () => undefined,
      unauthorized: () => undefined,
      clusterIdentified: () => undefined,
    },
    recorded: undefined,
  }
}

const nothingRecorded: LoadedState = {
  resume: neverResumed,
  objects: [],
  pods: { lives: { resumeVersion: "", namespaces: [], epoch: 0, completeTime: 0 }, nextPodNumber: 1, pods: [] },
}

test("a watcher that is stopped before it knows whether its kind is namespaced requests nothing more", async () => {
  const watch = watchNamespaces(options(), both, nothingRecorded)
  watch.start()
  watch.stop()
  await turn()
  expect(watch.sessions.map(({ phase }) => phase.tag)).toEqual(["stopped"])
  expect(clock.pending).toBe(0)
})

describe("namespaces that are no longer requested", () => {
  test("leave a gap even if they had no objects: until now it was recorded that they had none", async () => {
    const cluster = new PlayedCluster()
    for (const namespaces of [undefined, both, ["shop"]]) {
      const life = await Life.begin({ directory, cluster, clock, namespaces })
      await life.serveAll()
      life.end()
    }
    expect(gaps().map(({ namespace, detail }) => [namespace, detail])).toEqual([
      ["", "all other namespaces are no longer recorded; their objects are recorded as vanished"],
      ["stock", "the namespace is no longer recorded; its objects are recorded as vanished"],
    ])
  })

  test("leave a gap before anything in them is recorded as gone, even if only pod lifecycles are recorded", () => {
    const frames: Buffer[] = []
    watchNamespaces({ ...options(frames), config: { ...config, gvk: podLivesKind, tracksPods: true } }, ["shop"], {
      ...nothingRecorded,
      resume: {
        ...nothingRecorded.resume,
        namespaces: both.map((namespace) => ({ namespace, completeThrough: "812", completeTime: 0, listReason: "" })),
        lastTime: 70,
        completeTime: 80,
        selection: "namespaces shop,stock",
      },
      pods: {
        ...nothingRecorded.pods,
        nextPodNumber: 3,
        pods: both.map((namespace, index) => ({
          number: index + 1,
          uid: `pod-${namespace}`,
          namespace,
          start: 1,
          end: undefined,
          owned: false,
        })),
      },
    })
    const [frame] = frames.map((bytes) => decodeObservations(bytes))
    expect(frame?.gapCount).toBe(1)
    expect(frame?.gap(0)).toMatchObject({ reason: "stopped", fromTime: 80, namespace: "stock" })
    expect(frame?.podLifeCount).toBe(1)
    expect(frame?.podLife(0)).toMatchObject({ pod: 2, gone: true })
  })
})
