/** Sums that are kept are those that adding up all rows would give. */
import { DatabaseSync } from "node:sqlite"
import fc from "fast-check"
import { expect, test } from "vitest"
import { KindBytes } from "../../../src/archive/retention/stride-plan.ts"

const anyStep = fc.oneof(
  fc.record({ type: fc.constant("block" as const), kind: fc.nat(2), bytes: fc.nat(1000) }),
  // The open block has another key after each commit, and grows.
  fc.record({ type: fc.constant("grow" as const), kind: fc.nat(2), bytes: fc.nat(1000) }),
  fc.record({ type: fc.constant("remove" as const), kind: fc.nat(2), bytes: fc.nat(3) }),
)

test("the bytes of a kind follow its blocks, whatever is added and removed", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
      const database = new DatabaseSync(":memory:")
      database.exec("CREATE TABLE block_kind (kind INTEGER, last_sequence INTEGER, bytes INTEGER)")
      const insert = database.prepare("INSERT INTO block_kind VALUES (?, ?, ?)")
      const dropLast = database.prepare(
        "DELETE FROM block_kind WHERE kind = ?1 AND last_sequence = (SELECT max(last_sequence) FROM block_kind WHERE kind = ?1)",
      )
      const dropFirst = database.prepare(
        "DELETE FROM block_kind WHERE kind = ?1 AND last_sequence = (SELECT min(last_sequence) FROM block_kind WHERE kind = ?1)",
      )
      const all = database.prepare("SELECT coalesce(sum(bytes), 0) AS bytes FROM block_kind WHERE kind = ?")
      const kept = new KindBytes(database)
      for (const [index, { type, kind, bytes }] of steps.entries()) {
        if (type === "grow") dropLast.run(kind)
        if (type === "remove") for (let count = 0; count <= bytes; count++) dropFirst.run(kind)
        else insert.run(kind, 10 * index + 1, bytes)
        for (let each = 0; each < 3; each++) expect(kept.of(each)).toBe(all.get(each)?.bytes)
      }
      database.close()
    }),
  )
})
