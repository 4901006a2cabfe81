/**
 * A writer in its own process, to be killed.
 *
 * node child-writer.js hold <directory>                 takes the directory and keeps it node child-writer.js record <directory> <last
 * version> goes on recording where the recording ends
 *
 * Recording writes one line per commit that returned: the version up to which everything was acknowledged. A commit that fails is the last
 * line and the end.
 */

import { writeSync } from "node:fs"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
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
          number: 1 + (version % 50),
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
    try {
      writer.commit()
    } catch (error) {
      say(
        `${error instanceof Error ? error.name : error} with ${writer.pendingBytes > 0 ? "frames" : "nothing"} pending`,
      )
      process.exit(1)
    }
    say(String(version))
  }
}

const writer = ArchiveWriter.open(directory, { limits: { blockBytes: 30_000, blocksPerCheckpoint: 4 } })
if (mode === "record") {
  record(writer, Number(last))
  writer.close()
} else {
  say("held")
  // Only the parent's kill ends it.
  setInterval(() => writer.cut(), 60_000)
}
