/** A recorder merges its blocks while it records, and what it then exports is what the sandbox has had; also after it was killed. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import { DATABASE_FILE } from "../../../src/archive/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { type RecorderProcess, until, Workplace } from "../recorder/recorder-command.ts"

/** Of 10 kB each, so that two merged blocks come of them. */
const changes = 1800
const objects = 30

const mergedIn = (directory: string): number => {
  const database = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true })
  try {
    return Number(database.prepare("SELECT count(*) AS merged FROM block WHERE sealed = 2").get()?.merged)
  } finally {
    database.close()
  }
}

const exportedVersions = async (recorder: RecorderProcess): Promise<ReadonlyArray<string>> =>
  (await recorder.exported()).flatMap(({ action, resourceVersion }) => (action === "applied" ? [resourceVersion] : []))

test("what was recorded is exported whole after its blocks were merged, and after a kill", {
  timeout: patient(90_000),
}, async () => {
  await using place = new Workplace()
  const sandbox = await Sandbox.start()
  try {
    const directory = place.path("data")
    const start = (): RecorderProcess => place.record({ cluster: { server: sandbox.url } })
    let recorder = start()
    await recorder.ready()
    const versions: string[] = []
    for (let change = 0; change < changes; change++) {
      const name = `object-${change % objects}`
      const data = { change: String(change), filler: `${name} `.repeat(1000) }
      const put = sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name }, data })
      versions.push(String(put.metadata?.resourceVersion))
      // The watch cache of a cluster would not keep more of them either.
      if (change % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await until(async () => (await exportedVersions(recorder)).length === changes, "all changes")
    expect(await exportedVersions(recorder)).toEqual(versions)
    await until(() => mergedIn(directory) > 0, "merged blocks", 30_000)
    expect(await exportedVersions(recorder)).toEqual(versions)
    await recorder.kill()
    recorder = start()
    await recorder.ready()
    expect(await exportedVersions(recorder)).toEqual(versions)
    expect(mergedIn(directory)).toBeGreaterThan(0)
  } finally {
    await sandbox.close()
  }
})
