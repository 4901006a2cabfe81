/** What is read of a recording in a directory is the same however slowly it is taken. */
import { expect, onTestFinished, test } from "vitest"
import { openPlace } from "../../../src/cli/export/connection/recorder-place.ts"
import { recordingItems } from "../../../src/cli/inspect/inspected-items.ts"
import { recordSample } from "../../archive/sample-recording.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

const nothing = { server: undefined, inCluster: undefined, kubeconfig: undefined, context: undefined }

/** Turns of the event loop: the recording's side has time to send all that it may, and to use its memory again. */
const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test("a reader that takes its time gets the same items as one that does not", async () => {
  const directory = temporaryDirectory()
  recordSample(directory).close()
  const { signal } = new AbortController()
  const options = { ...nothing, tokenFile: undefined, timeout: 60_000, dataDir: directory }
  const place = await openPlace(options, { environment: {} }, () => undefined, signal)
  onTestFinished(() => place.close())
  const read = async (pause: number): Promise<ReadonlyArray<string>> => {
    const items: string[] = []
    for await (const chunk of await recordingItems(place, { start: 0, end: Number.MAX_SAFE_INTEGER }, signal)) {
      for (const item of chunk)
        if (item.type === "event" && item.event.type === "object")
          items.push(`${item.event.sequence} ${Buffer.from(item.event.object).toString("utf8")}`)
      await turns(pause)
    }
    return items
  }
  const quickly = await read(0)
  expect(quickly.length).toBeGreaterThan(300)
  expect(await read(200)).toEqual(quickly)
})
