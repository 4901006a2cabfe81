import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { parseRecording, RecordingError, readRecording } from "./recorded-watches.ts"

const directory = (name: string): string => fileURLToPath(new URL(`../data/${name}`, import.meta.url))

const line = (type: string, resourceVersion: string, rest: object = {}, kind = "Pod"): string =>
  `1795253880.000001 ${JSON.stringify({
    type,
    object: { kind, apiVersion: "v1", metadata: { name: "a", namespace: "b", uid: "u", resourceVersion, ...rest } },
  })}`

describe("a recording", () => {
  test("is read with its kinds, times and bookmarks", async () => {
    const kinds = await readRecording(directory("recording"))
    expect(kinds.map(({ resource, lines }) => `${resource.gvk.group}/${resource.gvk.kind} ${lines.length}`)).toEqual([
      "/ConfigMap 15",
      "batch/CronJob 4",
      "apps/DaemonSet 7",
      "apps/Deployment 31",
      "batch/Job 9",
      "/Pod 117",
      "apps/ReplicaSet 42",
      "apps/StatefulSet 10",
    ])
    const [configMaps] = kinds
    expect(configMaps?.lines[0]).toMatchObject({ time: 1795253880845123, type: "ADDED", revision: 220n })
    expect(configMaps?.lines.findIndex(({ initialEventsEnd }) => initialEventsEnd)).toBe(5)
  })

  test("of a custom resource takes its name from the file and is served as one", async () => {
    const kinds = await readRecording(directory("recording-2"))
    expect(kinds.find(({ resource }) => resource.custom)?.resource).toEqual({
      gvk: { group: "ml.example.com", version: "v1", kind: "Training" },
      plural: "trainings",
      namespaced: true,
      custom: true,
    })
    expect(kinds.find(({ resource }) => resource.gvk.kind === "Namespace")?.resource.namespaced).toBe(false)
  })

  test("keeps every line byte for byte, except for a missing last line feed", () => {
    const lines = [line("ADDED", "1"), line("MODIFIED", "2", { labels: { a: "ü" } }).replace('"type":', ' "type" : ')]
    const { lines: parsed } = parseRecording("pods.watch", Buffer.from(lines.join("\n")))
    expect(parsed.map(({ bytes }) => bytes.toString())).toEqual(lines.map((whole) => `${whole.slice(18)}\n`))
    expect(parsed[1]?.record?.previous).toBe(parsed[0]?.record?.change)
  })

  test.each([
    ["{}", 1, "is not <seconds>.<micros> followed by a watch event"],
    [
      `${line("ADDED", "1")}\n1795253881.000000 {"type":"ADDED"}`,
      2,
      "is not <seconds>.<micros> followed by a watch event",
    ],
    [line("ADDED", "1").slice(0, -3), 1, "its object is not JSON"],
    [line("ADDED", "x"), 1, 'its resourceVersion is "x", not a number'],
    [line("ADDED", "1", { uid: "" }), 1, "its object has no uid or no name"],
    [line("ADDED", "1", {}, ""), 1, "its object has no apiVersion or no kind"],
    [`${line("ADDED", "1")}\n${line("ADDED", "2", {}, "Node")}`, 2, "v1.Node among lines of v1.Pod"],
    ["", 0, "holds no line"],
  ])("with %j is rejected, naming line %i", (text, number, problem) => {
    let error: unknown
    try {
      parseRecording("pods.watch", Buffer.from(text))
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(RecordingError)
    expect(error).toMatchObject({ file: "pods.watch", line: number, problem: expect.stringContaining(problem) })
  })

  test("needs a .watch file", async () => {
    await expect(readRecording(directory("apiserver"))).rejects.toMatchObject({ problem: "holds no .watch file" })
  })
})
