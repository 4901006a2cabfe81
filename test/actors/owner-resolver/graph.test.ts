/** The ownership facts of a recording, as the owner-resolver reads them while the store writes. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import { openOwnershipGraph } from "../../../src/actors/owner-resolver/graph.ts"
import { type AnsweredOwner, ArchiveWriter } from "../../../src/archive/index.ts"
import { podKind } from "../../../src/trace/index.ts"
import { ObservationsBuilder } from "../../../src/wire/index.ts"

const referencing = (uid: string): string =>
  JSON.stringify([{ apiVersion: "apps/v1", kind: "ReplicaSet", name: uid, uid }])
const question = (uid: string) => ({ uid, gvk: "batch/v1.Job", namespace: "shop", name: uid })
const answer = (uid: string, ownerReferences: string, found: boolean): AnsweredOwner => ({
  ...question(uid),
  ownerReferences,
  state: found ? "learnt" : "gone",
})

test("open owners are read once, for any number of them, including one named while reading; answers and objects are found", () => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-graph-"))
  const writer = ArchiveWriter.open(directory, { fsync: "interval" })
  const graph = openOwnershipGraph(directory)
  let frame = 0
  const write = (...answers: ReadonlyArray<AnsweredOwner>): void => {
    writer.appendOwners("owner-resolver", 1, ++frame, answers, 100)
    writer.commit()
  }
  try {
    write(
      ...Array.from({ length: 2500 }, (_, index) => answer(`owned-${index}`, referencing(`above-${index}`), true)),
      ...Array.from({ length: 2500 }, (_, index) => answer(`other-${index}`, "", false)),
    )
    const read: Array<string> = []
    for (const { uid } of graph.open()) {
      // After all others, and nothing prevents it from being committed.
      if (read.length === 0) write(answer("p", referencing("late"), true))
      read.push(uid)
    }
    const expected = [...Array.from({ length: 2500 }, (_, index) => `above-${index}`), "late"]
    expect(read.toSorted()).toEqual(expected.toSorted())
    expect(graph.answerOf(question("owned-7"))).toEqual({
      namespace: "shop",
      ownerReferences: referencing("above-7"),
      found: true,
    })
    expect(graph.answerOf(question("other-7"))).toEqual({ namespace: "shop", ownerReferences: "", found: false })
    expect([
      graph.answerOf(question("above-7")),
      graph.answerOf({ ...question("owned-7"), gvk: "batch/v1beta1.Job" }),
    ]).toEqual([undefined, undefined])

    const pod = { ...question("o"), gvk: podKind }
    expect(graph.isRecorded(pod)).toBe(false)
    const slab = Buffer.alloc(4096)
    const builder = new ObservationsBuilder(podKind)
    builder.begin(slab, 0)
    builder.addObject({ number: 1, uid: "o", namespace: "shop", name: "o" })
    writer.append("watcher", 1, 1, slab.subarray(0, builder.finish()))
    writer.commit()
    expect([graph.isRecorded(pod), graph.isRecorded({ ...pod, uid: "p" })]).toEqual([true, false])
  } finally {
    graph.close()
    writer.close()
    rmSync(directory, { recursive: true, force: true })
  }
})
