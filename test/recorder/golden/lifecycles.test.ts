/**
 * The pod lifecycles in SimKube's own traces, and those that we record from the same watch lines: same hashes, same seconds. Their owners
 * are determined at export, so here they are compared pod by pod.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/index.ts"
import type { RecordedPodLife } from "../../../src/archive/rows/pod-table.ts"
import { SimkubeTraceReader } from "../../../src/trace/index.ts"
import { recordLines } from "./record-lines.ts"

interface Golden {
  readonly name: string
  /** Lifecycles in SimKube's export. */
  readonly lives: number
  /** Pods that SimKube omitted because none of their owners is tracked, by prefix of their name. */
  readonly untracked: ReadonlyArray<string>
  /** Unix seconds: the end of the window that SimKube exported, exclusive. */
  readonly until: number
}

const goldens: ReadonlyArray<Golden> = [
  { name: "recording", lives: 16, untracked: ["team-b/agent-", "team-b/bare"], until: Number.POSITIVE_INFINITY },
  // The second run of the CronJob, at :40, was recorded and is beyond the window.
  { name: "recording-2", lives: 8, untracked: [], until: 1_795_257_540 },
]

const directories: Array<string> = []
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

describe.each(goldens)("the lifecycles of $name", ({ name, lives, untracked, until }) => {
  const folder = fileURLToPath(new URL(`../../data/${name}`, import.meta.url))
  const simkube = simkubeLives(folder)

  test("have the recorded number", () => {
    expect(simkube.length).toBe(lives)
  })

  test.each(["v1.Pod", "lifecycle/v1.Pod"])(
    "equal those that SimKube recorded, on the stream of %s",
    async (stream) => {
      const recorded = await recordedLives(folder, stream)
      const tracked = recorded.filter(({ namespace, name: pod, start }) => {
        const named = `${namespace}/${pod}`
        return start < until && !untracked.some((prefix) => named.startsWith(prefix)) && namespace !== "kube-system"
      })
      expect(tracked.map(describeLife).sort()).toEqual(simkube)
      for (const prefix of untracked) {
        expect(recorded.some(({ namespace, name: pod }) => `${namespace}/${pod}`.startsWith(prefix))).toBe(true)
      }
    },
  )
})

/** `hash start end` */
const describeLife = ({ specHash, start, end }: Pick<RecordedPodLife, "specHash" | "start" | "end">): string =>
  `${specHash} ${start} ${end ?? "running"}`

function simkubeLives(folder: string): ReadonlyArray<string> {
  const reader = new SimkubeTraceReader()
  const items = [...reader.push(readFileSync(join(folder, "simkube-2.7.sktrace"))), ...reader.end()]
  return items
    .flatMap((item) => (item.type === "lifecycles" ? [...item.pods] : []))
    .flatMap(([specHash, list]) =>
      list.map((life) => {
        if (life.state === "empty") throw new Error("a trace holds no empty lifecycle")
        return describeLife({ specHash, start: life.start, end: life.state === "finished" ? life.end : undefined })
      }),
    )
    .sort()
}

async function recordedLives(folder: string, stream: string): Promise<ReadonlyArray<RecordedPodLife>> {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-lives-"))
  directories.push(directory)
  await recordLines(folder, new Set([stream]), directory)
  const reader = ArchiveReader.open(directory)
  const recorded = [...reader.podLives({ cut: reader.cut() })]
  reader.close()
  return recorded
}
