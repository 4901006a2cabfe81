/** An export of some namespaces contains their gaps and those of all namespaces, and none of the others'. */
import { expect, test } from "vitest"
import { openExport } from "../../../src/actors/exporter/open-export.ts"
import { ArchiveWriter } from "../../../src/archive/index.ts"
import type { GivenFilters } from "../../../src/trace/index.ts"
import { encodeFrame, gapAt, START } from "../../archive/sample-frames.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { exportJob } from "./export-job.ts"

const gvk = "v1.ConfigMap"
const noFilters = { excluded_namespaces: [], excluded_labels: [] }

const recordingWithGaps = (namespaces: ReadonlyArray<string>): string => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory)
  const gaps = namespaces.map((namespace, index) => ({ ...gapAt(START + index * 1_000_000), namespace }))
  writer.append("watcher", 1, 1, encodeFrame({ gvk, gaps }))
  writer.commit()
  writer.close()
  return directory
}

/** The counts in the headers, and the namespaces of the gaps in the trace. */
const exported = async (directory: string, filters: GivenFilters) => {
  const { started, pieces } = openExport({ directory }, exportJob([gvk], { filters }))
  const chunks: Uint8Array[] = []
  for await (const piece of pieces) chunks.push(Buffer.from(piece))
  const lines = Buffer.concat(chunks).toString().trimEnd().split("\n")
  const items = lines.map((line) => JSON.parse(line) as { action?: string; namespace?: string; end?: { gaps: number } })
  const told = items.filter(({ action }) => action === "gap").map(({ namespace }) => namespace)
  expect(items.at(-1)?.end?.gaps).toBe(started.gaps)
  return told
}

test.each([
  ["everything", noFilters, ["shop", "", "stock"]],
  ["one namespace", { ...noFilters, namespaces: ["shop"] }, ["shop", ""]],
  ["namespaces by a pattern", { ...noFilters, namespaces: ["st*"] }, ["", "stock"]],
  ["all but one namespace", { ...noFilters, excluded_namespaces: ["shop"] }, ["", "stock"]],
  ["a namespace without gaps of its own", { ...noFilters, namespaces: ["bank"] }, [""]],
] as const)("%s", async (_, filters, expected) => {
  expect(await exported(recordingWithGaps(["shop", "", "stock"]), filters)).toEqual(expected)
})
