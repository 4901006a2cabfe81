/** A watcher that runs out of memory affects one kind only, is reported, and recovers. */

import { expect, test } from "vitest"
import { workerEntry } from "../../../src/recorder/recording/worker-entries.ts"
import { testWorker } from "../../harness/test-worker.ts"
import { differences, ledgerOf, RecordedSandbox, tracked } from "../recorded/recorded-sandbox.ts"

const gvk = "v1.ConfigMap"

test("a watcher whose heap is full is restarted and reported, and misses nothing", async () => {
  await using recorded = await RecordedSandbox.start({
    kinds: [tracked(gvk)],
    entry: (role) => (role === "watcher" ? testWorker("greedy-watcher") : workerEntry(role)),
  })
  const states: string[] = []
  // A list is in the order of names; from here on the order is that of the ledger.
  await recorded.inState(gvk, "watching")
  for (let number = 0; recorded.actors.watchers[0]?.watcher.restarts !== 1; number++) {
    recorded.sandbox.put(gvk, { metadata: { namespace: "shop", name: `object-${number}` } })
    states.push(...recorded.actors.statuses.all().map(({ state, detail }) => `${state}: ${detail}`))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const ending = recorded.notices.filter((notice) => notice.type === "actor" && notice.state === "backing-off")
  expect(ending).toMatchObject([{ gvk, reason: expect.stringContaining("JS heap out of memory") }])
  // Not "watching" while it was not being watched.
  expect(states.at(-1)).toMatch(/^failing: its watcher stopped and is being restarted: .*JS heap out of memory/)
  await recorded.caughtUp()
  await recorded.inState(gvk, "watching")
  const { changes, gaps } = await recorded.export()
  expect(gaps).toEqual([])
  expect(differences(changes, ledgerOf(recorded.sandbox, gvk), gvk)).toEqual({})
})
