/** Any history, any retention at any time, between any two transactions of it: what is kept reads as if nothing had been removed. */
import fc from "fast-check"
import { test } from "vitest"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { anyCommand, anyRetention, ModelledRecorder } from "../modelled-recorder.ts"

test("what retention keeps reads like a plain list, with the state at every moment from the beginning on", {
  timeout: patient(60_000),
}, () => {
  const command = fc.oneof({ weight: 7, arbitrary: anyCommand }, { weight: 1, arbitrary: anyRetention })
  fc.assert(
    fc.property(fc.array(command, { minLength: 40, maxLength: 160, size: "max" }), fc.nat(), (commands, seed) => {
      const directory = temporaryDirectory()
      const recorder = new ModelledRecorder(directory, seed)
      try {
        for (const each of commands) {
          recorder.run(each)
          if (each.type === "retain" || each.type === "compact") recorder.compare()
        }
        recorder.run({ type: "reopen" })
        recorder.compare()
        recorder.run({ type: "compact" })
        recorder.compare()
        recorder.verify()
      } finally {
        recorder.writer.close()
      }
    }),
    { numRuns: process.env.KUBEREEL_TEST_THOROUGH === "1" ? 100 : 8 },
  )
})
