/** Pins of a recording in a directory, without a recorder. Those of a recorder: test/recorder/recorder/pins.test.ts. */
import { expect, test } from "vitest"
import { compactRecording } from "../../src/archive/index.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { exportCommand } from "../../src/cli/export.ts"
import { pinCommand } from "../../src/cli/pin.ts"
import { pinsCommand } from "../../src/cli/pins.ts"
import { sample } from "../archive/sample-recording.ts"
import { ran } from "./commands-in.ts"

test("a window of a directory is pinned by its end, listed, and removed", async () => {
  const directory = sample()
  const made = await ran(pinCommand(), ["--from", "-30s", "--note", "kept", "-o", "json", "--data-dir", directory])
  expect([made.code, made.error]).toEqual([exitCodes.ok, ""])
  const pin = JSON.parse(made.output)
  expect(pin).toMatchObject({ note: "kept", source: "command", bytes: 0 })
  expect(Date.parse(pin.until) - Date.parse(pin.from)).toBe(30_000)
  const listed = await ran(pinsCommand(), ["ls", "--data-dir", directory])
  expect(listed.output).toMatch(new RegExp(`^ID .*NOTE\n${pin.id} .* command +kept\n$`))
  const removed = await ran(pinsCommand(), ["rm", pin.id, "--data-dir", directory])
  expect(removed).toEqual({ code: exitCodes.ok, output: `pin/${pin.id} removed\n`, error: "" })
  const none = await ran(pinsCommand(), ["--data-dir", directory])
  expect(none).toEqual({ code: exitCodes.ok, output: "", error: "reel pins: no pins found\n" })
})

test("the window of a pin is exported out of the recording and, once it is copied, out of its copy", async () => {
  const directory = sample()
  const made = await ran(pinCommand(), ["--from", "-30s", "-o", "json", "--data-dir", directory])
  const { id } = JSON.parse(made.output)
  const exported = () => ran(exportCommand(), ["--pin", id, "-o", "-", "--data-dir", directory])
  const before = await exported()
  expect([before.code, before.error]).toEqual([exitCodes.ok, expect.stringContaining(" to ")])
  expect(before.output).toContain('"second":95')
  expect(before.output).not.toContain('"second":75')
  compactRecording(directory, { forMicros: 1, kinds: new Map() })
  expect((await exported()).output).toBe(before.output)
  const none = await ran(exportCommand(), ["--pin", "20261129t0312-1f2e3d4c", "-o", "-", "--data-dir", directory])
  expect([none.code, none.output, none.error]).toEqual([
    ...[exitCodes.failed, "", "reel export: there is no pin 20261129t0312-1f2e3d4c; reel pins lists them\n"],
  ])
  const both = await ran(exportCommand(), ["--pin", id, "--start", "-1m", "-o", "-", "--data-dir", directory])
  expect([both.code, both.error]).toEqual([exitCodes.usage, expect.stringContaining("leave out --start and --end")])
  const far = await ran(exportCommand(), ["--pin", id, "-o", "-", "--data-dir", "s3://bucket/shop"])
  expect([far.code, far.error]).toEqual([exitCodes.usage, expect.stringContaining("which has no pins")])
})

test("a directory without a recording is a failure in words", async () => {
  const { code, error } = await ran(pinsCommand(), ["--data-dir", "/no/such/directory"])
  expect([code, error]).toEqual([exitCodes.failed, expect.stringMatching(/^reel pins: .*\/no\/such\/directory/)])
})
