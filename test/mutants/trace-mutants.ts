/** Mutants of traces in every format that is read. */
import { gzipSync, zstdCompressSync } from "node:zlib"
import fc from "fast-check"
import { parseAllDocuments } from "yaml"
import { decodeMessagePack, type TraceFormatName } from "../../src/trace/index.ts"
import { converted } from "../trace/formats/traces.ts"
import { goldenTrace } from "../trace/recording.ts"
import { type ByteMutation, byteMutation, mutatedBytes } from "./byte-mutations.ts"
import { messagePackOf } from "./message-pack.ts"
import { Fields, jsonOf, type Raw, type Tree, treeOf } from "./tree.ts"
import { jsonRaws, messagePackRaws, mutatedTree, type TreeMutation, treeMutation, yamlRaws } from "./tree-mutations.ts"
import { blockYamlOf } from "./yaml-block.ts"

export const formats = ["ndjson", "simkube", "kwok"] as const

/** A trace of every sort of line that a recorder writes: gaps, late changes, objects at the start, owners and their pods, what has vanished. */
const recorded = (): Buffer => {
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "d" }
  const pod = (more: object) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web-1",
      namespace: "a",
      uid: "p",
      labels: { app: "web" },
      ownerReferences: [deployment],
      ...more,
    },
    spec: {
      nodeName: "n",
      containers: [{ name: "c", image: "x", env: [{ name: "A", value: "1" }], resources: { requests: { cpu: "1" } } }],
    },
    status: {
      phase: "Succeeded",
      containerStatuses: [
        { name: "c", state: { terminated: { startedAt: "1970-01-01T00:00:02Z", finishedAt: "1970-01-01T00:00:05Z" } } },
      ],
    },
  })
  const web = (replicas: number) => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name: "web",
      namespace: "a",
      uid: "d",
      creationTimestamp: "1970-01-01T00:00:01Z",
      annotations: { "a/b": "c" },
    },
    spec: {
      replicas,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: pod({}).spec },
    },
    status: { replicas },
  })
  const change = (
    sequence: number,
    time: number,
    action: string,
    gvk: string,
    name: string,
    object?: object,
    more = {},
  ) => ({
    sequence,
    time,
    action,
    gvk,
    uid: name === "web" ? "d" : "p",
    namespace: "a",
    name,
    resourceVersion: String(sequence),
    ...more,
    ...(object && { object }),
  })
  const lines = [
    {
      format: "kubereel",
      version: 1,
      window: { start: 1_000_000, end: 9_000_000 },
      cut: 9,
      kinds: ["v1.Pod", "apps/v1.Deployment"],
      incomplete: [{ gvk: "v1.Node", state: "forbidden" }],
      late: [
        {
          gvk: "v1.Pod",
          namespace: "a",
          notBefore: 3_000_000,
          notAfter: 4_500_000,
          receivedFrom: 4_000_000,
          receivedTo: 5_000_000,
          events: 1,
          cause: "delayed",
        },
      ],
    },
    change(1, 1_000_000, "applied", "apps/v1.Deployment", "web", web(1), { snapshot: true }),
    change(2, 2_000_000, "applied", "v1.Pod", "web-1", pod({})),
    change(3, 2_500_000, "applied", "apps/v1.Deployment", "web", web(3)),
    {
      ...{
        sequence: 4,
        time: 3_000_000,
        action: "gap",
        gvk: "v1.Pod",
        namespace: "a",
        fromVersion: "2",
        toVersion: "9",
      },
      ...{ fromTime: 2_000_000, toTime: 3_000_000, reason: "expired", detail: "the server forgot" },
    },
    change(5, 4_000_000, "applied", "v1.Pod", "web-1", pod({ deletionTimestamp: "1970-01-01T00:00:04Z" }), {
      received: 4_500_000,
    }),
    change(6, 5_000_000, "deleted", "v1.Pod", "web-1", pod({})),
    change(7, 6_000_000, "vanished", "apps/v1.Deployment", "web"),
    { end: { snapshot: 1, events: 5, gaps: 1 } },
  ]
  return Buffer.from(`${lines.map((line) => JSON.stringify(line)).join("\n")}\n`)
}

const ndjsonTree = (bytes: Buffer): Tree =>
  bytes
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => treeOf(JSON.parse(line)))
const kwokTree = (bytes: Buffer): Tree =>
  [...parseAllDocuments(bytes.toString())].map((document) => treeOf(document.toJS()))

/** The traces that are mutated, by their format. */
export const baseTraces = async (): Promise<Readonly<Record<TraceFormatName, ReadonlyArray<Tree>>>> => {
  // The smaller one: time is better spent on more mutants.
  const golden = [goldenTrace("recording-2")]
  const own = recorded()
  const inFormat = async (format: TraceFormatName): Promise<ReadonlyArray<Buffer>> => [
    ...(await Promise.all(golden.map(async (bytes) => (await converted(bytes, "simkube", format)).bytes))),
    (await converted(own, "ndjson", format)).bytes,
  ]
  return {
    simkube: (await inFormat("simkube")).map((bytes) => treeOf(decodeMessagePack(bytes))),
    kwok: (await inFormat("kwok")).map(kwokTree),
    ndjson: [...(await inFormat("ndjson")), own].map(ndjsonTree),
  }
}

/** A recipe; {@link traceMutantOf} makes the bytes. */
export interface TraceMutant {
  readonly base: number
  readonly donor: number
  readonly tree: ReadonlyArray<TreeMutation>
  readonly bytes: ReadonlyArray<ByteMutation>
  /** Whether the last line of NDJSON counts the lines as they are, so that not every mutant fails for its number of lines. */
  readonly isCounted: boolean
  /** Block style instead of JSON, where the format is YAML. */
  readonly isBlock: boolean
  readonly compression: "none" | "gzip" | "zstd"
  /** After the compression. */
  readonly compressedBytes: ReadonlyArray<ByteMutation>
}

/** Any mutant: most of them with changes to values, many with changes to bytes, a few compressed and damaged. */
export const traceMutant: fc.Arbitrary<TraceMutant> = fc.record({
  base: fc.nat(),
  donor: fc.nat(),
  tree: fc.oneof(
    { weight: 4, arbitrary: fc.array(treeMutation, { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.constant([]) },
  ),
  bytes: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 2, arbitrary: fc.array(byteMutation, { minLength: 1, maxLength: 4 }) },
  ),
  isCounted: fc.boolean(),
  isBlock: fc.boolean(),
  compression: fc.oneof(
    { weight: 20, arbitrary: fc.constant("none" as const) },
    { weight: 1, arbitrary: fc.constantFrom("gzip" as const, "zstd" as const) },
  ),
  compressedBytes: fc.array(byteMutation, { maxLength: 2 }),
})

const countedLines = (lines: Tree): Tree => {
  if (!Array.isArray(lines)) return lines
  const has = (line: Tree, name: string): boolean =>
    line instanceof Fields && line.entries.some(([key]) => key === name)
  const count = (test: (line: Tree) => boolean): number => lines.filter(test).length
  const events = (line: Tree): boolean => has(line, "action") && !has(line, "snapshot")
  const gap = (line: Tree): boolean => line instanceof Fields && line.entries.some(([, value]) => value === "gap")
  const counts: Array<[string, number]> = [
    ["snapshot", count((line) => has(line, "snapshot"))],
    ["events", count((line) => events(line) && !gap(line))],
    ["gaps", count((line) => events(line) && gap(line))],
    ["configs", count((line) => has(line, "config"))],
    ["batches", count((line) => has(line, "batch"))],
    ["index", count((line) => has(line, "index"))],
    ["lifecycles", count((line) => has(line, "lifecycles"))],
  ]
  return lines.map((line) => (has(line, "end") ? new Fields([["end", new Fields(counts)]]) : line))
}

const joined = (tree: Tree, separator: string, write: (item: Tree) => Buffer): Buffer =>
  Array.isArray(tree) ? Buffer.concat(tree.flatMap((item) => [write(item), Buffer.from(separator)])) : write(tree)

const writtenAs = (format: TraceFormatName, tree: Tree, { isCounted, isBlock }: TraceMutant): Buffer => {
  if (format === "simkube") return messagePackOf(tree)
  if (format === "ndjson") return joined(isCounted ? countedLines(tree) : tree, "\n", jsonOf)
  return joined(tree, "\n---\n", isBlock ? blockYamlOf : jsonOf)
}

const raws: Readonly<Record<TraceFormatName, ReadonlyArray<Raw>>> = {
  ndjson: jsonRaws,
  simkube: messagePackRaws,
  kwok: yamlRaws,
}

/** The bytes of a mutant of one of these traces. */
export const traceMutantOf = (format: TraceFormatName, bases: ReadonlyArray<Tree>, mutant: TraceMutant): Buffer => {
  const base = bases[mutant.base % bases.length] ?? null
  const donor = bases[mutant.donor % bases.length] ?? null
  const tree = mutatedTree(base, mutant.tree, { donor, raws: raws[format] })
  const donorBytes = mutant.bytes.length === 0 ? Buffer.alloc(0) : writtenAs(format, donor, mutant)
  const bytes = mutatedBytes(writtenAs(format, tree, mutant), mutant.bytes, donorBytes)
  if (mutant.compression === "none") return bytes
  const compressed = mutant.compression === "gzip" ? gzipSync(bytes) : zstdCompressSync(bytes)
  return mutatedBytes(compressed, mutant.compressedBytes, bytes)
}
