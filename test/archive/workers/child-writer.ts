/**
 * A writer in its own process, to be killed.
 *
 * node child-writer.js hold <directory>                 takes the directory and keeps it node child-writer.js record <directory> <last
 * version> goes on recording where the recording ends
 * node child-writer.js retain <directory> <last version> the same, and keeps what was received in the last 400 µs, without a pause
 *
 * Recording writes one line per commit that returned: the version up to which everything was acknowledged. A commit that fails is the last
 * line and the end.
 */

import { writeSync } from "node:fs"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { mergingBounds } from "../../../src/archive/retention/block-merging.ts"
import { keepsAll } from "../../../src/archive/retention/policy.ts"
import { encodeFrame, START } from "../sample-frames.ts"

const [mode = "", directory = "", last = "0"] = process.argv.slice(2)

const say = (line: string): void => {
  writeSync(1, `${line}\n`)
}

const record = (writer: ArchiveWriter, lastVersion: number): void => {
  const incarnation = writer.nextIncarnation("watcher")
  const state = writer.kindState("v1.Pod")
  let version = Number(state.completeThrough || "0")
  let frameNumber = 0
  let known = state.nextObjectNumber - 1
  while (version < lastVersion) {
    for (let frames = 1 + (version % 4); frames > 0 && version < lastVersion; frames--) {
      const events = Array.from({ length: Math.min(1 + (version % 3), lastVersion - version) }, () => {
        version++
        return {
          action: "applied",
          number: 1 + ((version - 1) % 50),
          time: START + version,
          version,
          object: `{"version":${version},"filler":"${"x".repeat((version % 40) * 100)}"}`,
        } as const
      })
      const highest = Math.max(known, ...events.map(({ number }) => number))
      const newObjects = Array.from({ length: highest - known }, (_, index) => known + 1 + index)
      known = highest
      const frame = encodeFrame({ gvk: "v1.Pod", events, newObjects, completeThrough: String(version) })
      if (writer.append("watcher", incarnation, ++frameNumber, frame) !== "appended") throw new Error("not appended")
    }
    latest = version
    try {
      writer.commit()
    } catch (error) {
      say(
        `${error instanceof Error ? error.name : error} with ${writer.pendingBytes > 0 ? "frames" : "nothing"} pending`,
      )
      process.exit(1)
    }
    say(String(version))
    // Some transactions of retention, or of merging, between two commits.
    for (let steps = version % 4; steps > 0 && writer.retention.step(() => true); steps--);
  }
}

let latest = 0

const writer = ArchiveWriter.open(directory, {
  now: () => START + latest,
  limits: {
    ...{ blockBytes: 30_000, blocksPerCheckpoint: 4 },
    retention: {
      ...{ stride: { blocks: 3, events: 200, rows: 10 }, collectAfter: 30 },
      merging: { ...mergingBounds, objectBytes: 90_000 },
    },
  },
})
writer.retention.setPolicy(mode === "retain" ? { forMicros: 400, kinds: new Map() } : keepsAll)
if (mode === "record" || mode === "retain") {
  record(writer, Number(last))
  writer.close()
} else {
  say("held")
  // Only the parent's kill ends it.
  setInterval(() => writer.cut(), 60_000)
}
