import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { afterEach, describe, expect, test } from "vitest"
import { RecordingPlayer, type RecordingPlayerOptions } from "../../src/sandbox/index.ts"
import { ManualClock } from "../runtime/manual-clock.ts"
import { get, getJson, Watch } from "./client.ts"

const recording = fileURLToPath(new URL("../data/recording", import.meta.url))
const recording2 = fileURLToPath(new URL("../data/recording-2", import.meta.url))

const opened: Array<{ close(): unknown }> = []
const start = async (options: Partial<RecordingPlayerOptions> = {}) => {
  const clock = new ManualClock()
  const player = await RecordingPlayer.start({ directory: recording, clock, ...options })
  opened.push(player)
  return { player, clock }
}
const watch = async (player: RecordingPlayer, path: string, query: string): Promise<Watch> => {
  const stream = await Watch.open(`${player.url}${path}?watch=1&${query}`)
  opened.push(stream)
  return stream
}
afterEach(async () => {
  await Promise.all(opened.splice(0).map((resource) => resource.close()))
})

const streamingList = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
const configMaps = "/api/v1/configmaps"

/** The lines of a file, and when they are due, in ms after the first line of the whole recording. */
const recorded = async (directory: string, plural: string, first: number) => {
  const text = await readFile(`${directory}/${plural}.watch`, "utf8")
  return text
    .trimEnd()
    .split("\n")
    .map((whole) => ({ due: Math.round(Number(whole.slice(0, 17)) * 1e6 - first) / 1000, line: whole.slice(18) }))
}
/** Job line 1 of the recording, the earliest of all. */
const firstMicros = 1795253880768407

describe("a recording is played", () => {
  test("line by line, byte for byte, each at its time", async () => {
    const { player, clock } = await start()
    const expected = await recorded(recording, "configmaps", firstMicros)
    const stream = await watch(player, configMaps, streamingList)
    for (const [index, { due, line }] of expected.entries()) {
      clock.advance(due - 0.001 - clock.monotonicMs())
      expect(player.played).toHaveLength(index)
      // A little beyond, because sums of fractions do not come out even.
      clock.advance(due + 0.0001 - clock.monotonicMs())
      expect(await stream.line()).toBe(line)
      expect(stream.waiting).toBe(0)
    }
    expect(player.played.filter(({ gvk }) => gvk === "v1.ConfigMap")).toHaveLength(expected.length)
  })

  test("not a microsecond early, and faster if so told", async () => {
    const { player, clock } = await start({ speed: 5 })
    const [, , , , , , , , , tenth] = await recorded(recording, "configmaps", firstMicros)
    await watch(player, configMaps, streamingList)
    clock.advance((tenth?.due ?? 0) / 5 - 0.001)
    expect(player.played).toHaveLength(9)
    clock.advance(0.0011)
    expect(player.played).toHaveLength(10)
    expect(player.duration).toBeGreaterThan(8_000)
    expect(player.duration).toBeLessThan(9_000)
  })

  test("from the first watch on, not before; or when told", async () => {
    const { player, clock } = await start()
    await getJson(`${player.url}${configMaps}`)
    clock.advance(100_000)
    let finished = false
    void player.finished.then(() => {
      finished = true
    })
    const stream = await watch(player, configMaps, streamingList)
    expect(stream.lines).toEqual([])
    clock.advance(100_000)
    await player.finished
    expect(finished).toBe(true)

    const manual = await start({ begin: "manual" })
    await watch(manual.player, configMaps, streamingList)
    manual.clock.advance(100_000)
    expect(manual.player.played).toEqual([])
    manual.player.begin()
    manual.clock.advance(100_000)
    expect(manual.player.played).toHaveLength(15)
  })

  test("to the end on the machine's own clock; the streams stay open afterwards", async () => {
    const player = await RecordingPlayer.start({ directory: recording, speed: Number.POSITIVE_INFINITY })
    opened.push(player)
    const pods = await watch(player, "/api/v1/pods", streamingList)
    await player.finished
    const lines = await recorded(recording, "pods", firstMicros)
    for (const { line } of lines) expect(await pods.line()).toBe(line)
    await get(`${player.url}/version`)
    expect(player.faults.count("hung-up")).toBe(0)
    player.faults.garbage("pods", "still open")
    expect(await pods.line()).toBe("still open")
  })
})

test("what was played is told once for every line, with its identifiers and its recorded time", async () => {
  const { player, clock } = await start()
  const streams = [await watch(player, configMaps, streamingList), await watch(player, configMaps, streamingList)]
  clock.advance(100_000)
  for (const stream of streams) for (let index = 0; index < 15; index++) await stream.line()
  expect(player.played).toHaveLength(15)
  expect(player.played[0]).toEqual({
    gvk: "v1.ConfigMap",
    type: "ADDED",
    uid: "49d788b9-ca6d-412c-97a7-6b4b8e046bc5",
    resourceVersion: "220",
    namespace: "default",
    name: "kube-root-ca.crt",
    time: 1795253880845123,
  })
  expect(player.played[5]).toMatchObject({ type: "BOOKMARK", uid: "", name: "" })
})

describe("a client of a recording", () => {
  test("discovers the kinds that were recorded, and Namespaces", async () => {
    const { player } = await start({ directory: recording2 })
    const names = async (path: string): Promise<ReadonlyArray<string>> => {
      const { resources } = JSON.parse((await get(player.url + path)).text) as { resources: Array<{ name: string }> }
      return resources.map(({ name }) => name).filter((name) => !name.includes("/"))
    }
    expect(await names("/api/v1")).toEqual(["namespaces", "pods"])
    expect(await names("/apis/apps/v1")).toEqual(["deployments", "replicasets", "statefulsets"])
    expect(await names("/apis/ml.example.com/v1")).toEqual(["trainings"])
    expect(player.kinds).toContain("ml.example.com/v1.Training")
    expect((await get(`${player.url}/api/v1/configmaps`)).status).toBe(404)
  })

  test("resumes at the version it has, without the lines it had and without a gap", async () => {
    const { player, clock } = await start()
    const first = await watch(player, configMaps, streamingList)
    clock.advance(100_000)
    await player.finished
    for (let index = 0; index < 15; index++) await first.line()
    const versionOf = (line: string): number => Number(/"resourceVersion":"(\d+)"/.exec(line)?.[1])
    for (const version of first.lines.slice(5).map(versionOf)) {
      const query = `resourceVersion=${version}&allowWatchBookmarks=true&timeoutSeconds=1`
      const resumed = await watch(player, configMaps, query)
      clock.advance(1000)
      expect(await resumed.ended).toBe("clean")
      expect(resumed.lines).toEqual(first.lines.slice(5).filter((line) => versionOf(line) > version))
    }
  })

  test("that resumes in the middle gets the rest as it is played", async () => {
    const { player, clock } = await start()
    const resumed = await watch(player, configMaps, "resourceVersion=297")
    clock.advance(100_000)
    const all = await recorded(recording, "configmaps", firstMicros)
    const changes = all.slice(6).filter(({ line }) => !line.includes("BOOKMARK"))
    for (const { line } of changes) expect(await resumed.line()).toBe(line)
  })

  test("that knows only what was before the recording is told 410", async () => {
    const { player } = await start()
    const stream = await watch(player, configMaps, "resourceVersion=100")
    expect((await stream.next()).object).toMatchObject({ code: 410, reason: "Expired" })
  })

  test("that comes late gets all lines so far at once", async () => {
    const { player, clock } = await start({ begin: "manual" })
    player.begin()
    clock.advance(100_000)
    const stream = await watch(player, configMaps, streamingList)
    for (const { line } of await recorded(recording, "configmaps", firstMicros)) expect(await stream.line()).toBe(line)
  })

  test("can list instead, and watch from there: first the recorded start, later the state of the moment", async () => {
    const { player, clock } = await start({ begin: "manual" })
    const before = await getJson(`${player.url}${configMaps}`)
    expect([before.items.length, before.metadata.resourceVersion]).toEqual([5, "297"])
    player.begin()
    clock.advance(100_000)
    const after = await getJson(`${player.url}${configMaps}`)
    expect(after.metadata.resourceVersion).toBe("561")
    const stream = await watch(player, configMaps, `resourceVersion=${before.metadata.resourceVersion}`)
    const state = new Map(before.items.map(({ metadata }) => [`${metadata.namespace}/${metadata.name}`, metadata]))
    for (let index = 0; index < 7; index++) {
      const { type, object } = await stream.next()
      const key = `${object.metadata.namespace}/${object.metadata.name}`
      if (type === "DELETED") state.delete(key)
      else state.set(key, object.metadata)
    }
    expect(after.items.map(({ metadata }) => metadata.uid).toSorted()).toEqual(
      [...state.values()].map(({ uid }) => uid).toSorted(),
    )
    expect(Object.keys(after.items[0] ?? {})).not.toContain("kind")
  })

  test("can list in pages", async () => {
    const { player } = await start()
    const first = await getJson(`${player.url}${configMaps}?limit=2`)
    const second = await getJson(`${player.url}${configMaps}?limit=9&continue=${first.metadata.continue}`)
    expect([first.items.length, second.items.length, first.metadata.remainingItemCount]).toEqual([2, 3, 3])
  })

  test("can read one object as it stands", async () => {
    const { player, clock } = await start({ begin: "manual" })
    const path = "/apis/apps/v1/namespaces/team-a/deployments/web"
    expect((await get(player.url + path)).status).toBe(404)
    player.begin()
    clock.advance(10_000)
    expect((await getJson(player.url + path)).metadata.name).toBe("web")
  })

  test("may watch one namespace", async () => {
    const { player, clock } = await start()
    const stream = await watch(player, "/api/v1/namespaces/default/configmaps", streamingList)
    clock.advance(100)
    expect((await stream.next()).object.metadata.namespace).toBe("default")
    expect((await stream.next()).type).toBe("BOOKMARK")
  })

  test("meets the same cluster whenever the same recording is played", async () => {
    const uids = new Set<string>()
    for (const directory of [recording, recording, recording2]) {
      const { player } = await start({ directory })
      const { metadata } = await getJson(`${player.url}/api/v1/namespaces/kube-system`)
      expect(metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      uids.add(metadata.uid)
    }
    expect(uids.size).toBe(2)
  })

  test("meets faults as in the sandbox", async () => {
    const { player, clock } = await start()
    player.faults.forceExpired("configmaps", 1)
    const refused = await watch(player, configMaps, "resourceVersion=297")
    expect((await refused.next()).object.code).toBe(410)
    const stream = await watch(player, configMaps, streamingList)
    player.faults.stall("configmaps")
    clock.advance(100_000)
    player.faults.resume()
    for (const { line } of await recorded(recording, "configmaps", firstMicros)) expect(await stream.line()).toBe(line)
  })
})

test("a speed that is none is refused", async () => {
  for (const speed of [0, -1, Number.NaN])
    await expect(RecordingPlayer.start({ directory: recording, speed })).rejects.toMatchObject({
      _tag: "RecordingError",
    })
})
