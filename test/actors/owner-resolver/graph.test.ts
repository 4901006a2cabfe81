/** The ownership graph as the owner-resolver reads it beside the store that writes it. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import { openOwnershipGraph } from "../../../src/actors/owner-resolver/graph.ts"
import { ArchiveWriter } from "../../../src/trace/archive/archive-writer.ts"
import type { OwnerEdgeSource, StoredOwnerEdge } from "../../../src/trace/archive/owner-edges.ts"

const referencing = (uid: string): string =>
  JSON.stringify([{ apiVersion: "apps/v1", kind: "ReplicaSet", name: uid, uid }])
const edge = (uid: string, ownerReferences: string, source: OwnerEdgeSource): StoredOwnerEdge => ({
  uid,
  gvk: "v1.Pod",
  namespace: "shop",
  name: uid,
  ownerReferences,
  source,
  time: 0,
})

test("every object that has owners is read once, however many there are, also what was written while reading", () => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-graph-"))
  const writer = ArchiveWriter.open(directory, { fsync: "interval" })
  const graph = openOwnershipGraph(directory)
  let frame = 0
  const write = (...edges: ReadonlyArray<StoredOwnerEdge>): void => {
    writer.appendOwners("owner-resolver", 1, ++frame, edges, 100)
    writer.commit()
  }
  try {
    const owned = Array.from({ length: 2500 }, (_, index) => edge(`owned-${index}`, referencing(`${index}`), "learnt"))
    const others = Array.from({ length: 2500 }, (_, index) => edge(`other-${index}`, "", "gone"))
    write(...owned, ...others)
    const read: Array<string> = []
    for (const { ownerReferences } of graph.all()) {
      // Behind all others, and nothing keeps it from being committed.
      if (read.length === 0) write(edge("p", referencing("late"), "learnt"))
      read.push(ownerReferences)
    }
    expect(read).toHaveLength(2501)
    expect(new Set(read)).toEqual(
      new Set([...owned.map(({ ownerReferences }) => ownerReferences), referencing("late")]),
    )
    expect(graph.ownersOf("owned-7")).toEqual({
      namespace: "shop",
      ownerReferences: referencing("7"),
      source: "learnt",
    })
    expect(graph.ownersOf("other-7")).toEqual({ namespace: "shop", ownerReferences: "", source: "gone" })
    expect(graph.ownersOf("nobody")).toBeUndefined()
  } finally {
    graph.close()
    writer.close()
    rmSync(directory, { recursive: true, force: true })
  }
})
