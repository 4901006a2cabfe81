/** Objects that came by a list are recorded as those that came by a watch, and a list never makes an object look changed. */
import { expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { until } from "../recorder/recorder-command.ts"
import {
  type Change,
  differences,
  ledgerOf,
  RecordedSandbox,
  type RecordedSandboxOptions,
  tracked,
} from "./recorded-sandbox.ts"

const kinds = [
  tracked("v1.ConfigMap", "all"),
  tracked("apps/v1.Deployment", "content"),
  tracked("v1.ServiceAccount", "spec"),
]
const options: RecordedSandboxOptions = { kinds, sandbox: { streamingList: "rejected" } }
const deployment = {
  metadata: { namespace: "default", name: "web" },
  spec: { selector: { matchLabels: { app: "web" } }, template: { metadata: { labels: { app: "web" } }, spec: {} } },
}

type Exported = Change & { readonly object?: unknown }

/** That every exported object is the one of the ledger, and that the ledger has the type of each. */
const expectLedger = (recorded: RecordedSandbox, changes: ReadonlyArray<Exported>): void => {
  for (const { gvkText, gvk } of kinds) {
    expect(differences(changes, ledgerOf(recorded.sandbox, gvkText), gvkText)).toEqual({})
    const objects = changes.filter((change) => change.gvk === gvkText).map(({ object }) => object)
    const written = recorded.sandbox.ledger.of(gvkText).map(({ json }) => JSON.parse(String(json)) as unknown)
    expect(objects).toEqual(written)
    expect(objects[0]).toMatchObject({ kind: gvk.kind, apiVersion: expect.stringMatching(/v1$/) })
  }
}

test("a list after a lost version changes nothing about the objects", async () => {
  await using recorded = await RecordedSandbox.start(options)
  const { sandbox } = recorded
  await recorded.ready()
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "default", name: "a" }, data: { a: "1" } })
  sandbox.put("apps/v1.Deployment", deployment)
  sandbox.put("v1.ServiceAccount", { metadata: { namespace: "default", name: "robot" } })
  await recorded.caughtUp()
  const watched = (await recorded.export()).changes

  for (const resource of ["configmaps", "deployments", "serviceaccounts"]) {
    sandbox.faults.forceExpired(resource, 1)
    await until(
      async () => {
        sandbox.faults.endWatches(resource)
        return sandbox.faults.count("expired", resource) === 1
      },
      () => `a 410 for ${resource}`,
    )
  }
  for (const { gvkText } of kinds) await recorded.inState(gvkText, "watching")
  await until(async () => (await recorded.export()).gaps.length === kinds.length, "a gap for each kind")
  expect((await recorded.export()).changes).toEqual(watched)

  sandbox.put("v1.ConfigMap", { metadata: { namespace: "default", name: "b" } })
  await recorded.caughtUp()
  expectLedger(recorded, (await recorded.export()).changes)
})

test("what exists at the first list is recorded as a watch would deliver it", async () => {
  const sandbox = await Sandbox.start(options.sandbox)
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "default", name: "a" }, data: { kind: "none" } })
  sandbox.put("apps/v1.Deployment", deployment)
  sandbox.put("v1.ServiceAccount", { metadata: { namespace: "default", name: "robot" } })
  await using recorded = await RecordedSandbox.of(sandbox, options)
  await recorded.ready()
  await recorded.caughtUp()
  expectLedger(recorded, (await recorded.export()).changes)
})
