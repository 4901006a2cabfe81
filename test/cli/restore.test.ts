/** `reel restore` from a directory with a stream: what it says, and what it refuses. */
import { join } from "node:path"
import { expect, test } from "vitest"
import { openStore } from "../../src/blob/index.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { restoreCommand } from "../../src/cli/restore.ts"
import { sample } from "../archive/sample-recording.ts"
import { expectSameRecording } from "../fleet/same-recording.ts"
import { shipAll } from "../fleet/shipping-recorder.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { ran } from "./commands-in.ts"

const run = (...words: ReadonlyArray<string>) => ran(restoreCommand(), words)

const shipped = async (original: string): Promise<string> => {
  const bucket = temporaryDirectory()
  const store = await openStore({ provider: "file", host: undefined, region: undefined, bucket, key: "" })
  await shipAll(store, original, 20_000)
  store.close()
  return bucket
}

test("a stream becomes a recording, once", async () => {
  const original = sample()
  const bucket = await shipped(original)
  const directory = join(temporaryDirectory(), "new")
  const { code, output } = await run(bucket, "--into", directory)
  expect(code).toBe(exitCodes.ok)
  expect(output).toMatch(
    /^restored cluster cluster-1 into .*\/new, up to .*, and verified: \d+ segments, .*, \d+ blocks\n$/,
  )
  expectSameRecording(directory, original)
  const again = await run(bucket, "--into", directory)
  expect(again.code).toBe(exitCodes.failed)
  expect(again.error).toMatch(/contains a recording\. Choose another one\./)
})

test.each([
  ["without a directory to write", ["./somewhere"], exitCodes.usage, "say where to, with --into DIR"],
  ["with an address that is none", ["ftp://somewhere", "--into", "x"], exitCodes.usage, "is not supported"],
])("%s nothing is done", async (_, words, code, error) => {
  expect(await run(...words)).toMatchObject({ code, error: expect.stringContaining(error) })
})

test("a place without a stream is said to have none", async () => {
  const { code, error } = await run(temporaryDirectory(), "--into", join(temporaryDirectory(), "new"))
  expect(code).toBe(exitCodes.failed)
  expect(error).toMatch(/contains no stream: it has no stream\.json/)
})
