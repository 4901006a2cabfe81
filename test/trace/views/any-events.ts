/** Events in which anything happens to a few objects that own each other, in any order: for what must hold of every view. */
import fc from "fast-check"
import type { TraceItem } from "../../../src/trace/trace-item.ts"
import { event, gap, timeText } from "./items.ts"

const second = fc.integer({ min: -20, max: 80 })

const state = fc.oneof(
  fc.record({ running: fc.record({ startedAt: second.map(timeText) }) }),
  fc.record({ waiting: fc.record({ reason: fc.string({ unit: "binary", maxLength: 3 }) }) }),
  fc.record({
    terminated: fc.record({ startedAt: second.map(timeText), finishedAt: second.map(timeText), exitCode: fc.nat(2) }),
  }),
)

const reference = fc.record({
  apiVersion: fc.constantFrom("v1", "apps/v1"),
  kind: fc.constantFrom("Pod", "ReplicaSet", "Deployment"),
  name: fc.constantFrom("x", "y"),
  uid: fc.constantFrom("", "1", "2", "3", "4"),
  controller: fc.boolean(),
})

const condition = fc.record({
  type: fc.constantFrom("Failed", "Progressing", "Ready"),
  status: fc.constantFrom("True", "False", "Unknown"),
})

const change = fc.record({
  action: fc.constantFrom("applied", "applied", "applied", "deleted", "vanished", "existed", "gap"),
  at: fc.double({ min: -5, max: 70, noNaN: true }),
  kind: fc.constantFrom("v1 Pod", "apps/v1 ReplicaSet", "apps/v1 Deployment"),
  name: fc.constantFrom("x", "y"),
  uid: fc.constantFrom("", "1", "2", "3", "4"),
  namespace: fc.constantFrom("", "a", "b"),
  owners: fc.array(reference, { maxLength: 2 }),
  replicas: fc.nat(2),
  phase: fc.constantFrom("Pending", "Running", "Failed"),
  isEnding: fc.boolean(),
  conditions: fc.array(condition, { maxLength: 2 }),
  states: fc.array(fc.record({ name: fc.constantFrom("c", "d"), state, lastState: state }), { maxLength: 2 }),
})

/** Without a header. Half of them are in the order of their times. */
export const anyEvents: fc.Arbitrary<ReadonlyArray<TraceItem>> = fc
  .tuple(fc.array(change, { maxLength: 40 }), fc.boolean())
  .map(([changes, isSorted]) =>
    (isSorted ? changes.toSorted((one, other) => one.at - other.at) : changes).map((each) => {
      const [apiVersion = "", kind = ""] = each.kind.split(" ")
      if (each.action === "gap") return gap(`${apiVersion}.${kind}`, Math.floor(each.at) - 5, Math.floor(each.at))
      return event(each.action as "applied", each.at, {
        apiVersion,
        kind,
        metadata: {
          name: each.name,
          ...(each.namespace !== "" && { namespace: each.namespace }),
          ...(each.uid !== "" && { uid: each.uid }),
          ...(each.isEnding && { deletionTimestamp: "2025-11-21T00:00:00Z" }),
          ownerReferences: each.owners,
        },
        spec: { replicas: each.replicas },
        status: { phase: each.phase, containerStatuses: each.states, conditions: each.conditions },
      })
    }),
  )
