import fc from "fast-check"
import { test } from "vitest"
import { rounds } from "../harness/effort.ts"
import { patient } from "../harness/patience.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { anyCommand, ModelledRecorder } from "./modelled-recorder.ts"

test("any recording, in any order of commits and reopenings, reads like a plain list", {
  timeout: patient(60_000),
}, () => {
  fc.assert(
    fc.property(fc.array(anyCommand, { maxLength: 120, size: "max" }), fc.nat(), (commands, seed) => {
      const directory = temporaryDirectory()
      const recorder = new ModelledRecorder(directory, seed)
      try {
        for (const command of commands) recorder.run(command)
        recorder.compare()
        recorder.run({ type: "reopen" })
        recorder.compare()
      } finally {
        recorder.writer.close()
      }
    }),
    { numRuns: rounds(40) },
  )
})
