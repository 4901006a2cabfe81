/** Frames that the store cannot decode affect only the kind that sent them. */

import { expect, test } from "vitest"
import { workerEntry } from "../../../src/recorder/recording/worker-entries.ts"
import { testWorker } from "../../harness/test-worker.ts"
import { differences, ledgerOf, RecordedSandbox, tracked, untiring } from "../recorded/recorded-sandbox.ts"
import { until } from "./recorder-command.ts"

const garbled = "v1.ConfigMap"
const other = "v1.ServiceAccount"
const crashes = 5

const start = async (): Promise<RecordedSandbox> => {
  const recorded = await RecordedSandbox.start({
    kinds: [tracked(garbled), tracked(other)],
    restart: { ...untiring, maximumCrashes: crashes },
    entry: (role) => (role === "watcher" ? testWorker("garbling-watcher") : workerEntry(role)),
  })
  await recorded.inState(garbled, "watching")
  await recorded.inState(other, "watching")
  return recorded
}

const put = ({ sandbox }: RecordedSandbox, gvk: string, name: string, text = "") =>
  sandbox.put(gvk, { metadata: { namespace: "shop", name, annotations: { text } } })

const refusals = ({ notices }: RecordedSandbox) => notices.filter(({ type }) => type === "refused")

test("a malformed frame restarts its watcher, not the store, and nothing is missing", async () => {
  await using recorded = await start()
  put(recorded, garbled, "first")
  await recorded.caughtUp()
  put(recorded, garbled, "second", "garbled once")
  put(recorded, garbled, "third")
  put(recorded, other, "default")
  await recorded.caughtUp()
  expect(refusals(recorded)).toEqual([
    { type: "refused", name: `watcher ${garbled}`, reason: expect.stringContaining("malformed frame") },
  ])
  const { actors, sandbox } = recorded
  expect(actors.watchers.map(({ watcher }) => watcher.restarts)).toEqual([1, 0])
  expect(actors.store.restarts).toBe(0)
  const { changes, gaps } = await recorded.export()
  expect(gaps).toEqual([])
  for (const gvk of [garbled, other]) expect(differences(changes, ledgerOf(sandbox, gvk), gvk)).toEqual({})
})

test("a kind all of whose frames are rejected is stopped with a gap, and the others continue", async () => {
  await using recorded = await start()
  const last = put(recorded, garbled, "first")
  await recorded.caughtUp()
  put(recorded, garbled, "second", "always garbled")
  await recorded.inState(garbled, "stopped")
  put(recorded, other, "default")
  await recorded.reached(other, BigInt(recorded.sandbox.ledger.of(other).at(-1)?.resourceVersion ?? 0))
  expect(refusals(recorded)).toHaveLength(crashes)
  expect(recorded.actors.store.restarts).toBe(0)
  await until(async () => (await recorded.export()).gaps.length > 0, "the gap")
  expect((await recorded.export()).gaps).toMatchObject([
    {
      gvk: garbled,
      reason: "stopped",
      fromVersion: last.metadata.resourceVersion,
      toVersion: "",
      detail: expect.stringContaining("the store rejected its data"),
    },
  ])
})
