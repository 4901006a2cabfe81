/** Pins of a recording in a directory, without a recorder. Those of a recorder: test/recorder/recorder/pins.test.ts. */
import { expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
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

test("a directory without a recording is a failure in words", async () => {
  const { code, error } = await ran(pinsCommand(), ["--data-dir", "/no/such/directory"])
  expect([code, error]).toEqual([exitCodes.failed, expect.stringMatching(/^reel pins: .*\/no\/such\/directory/)])
})
