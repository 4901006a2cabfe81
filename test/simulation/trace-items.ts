/** Traces that tests write down item by item. */
import { ndjsonEncoder } from "../../src/trace/formats/ndjson/ndjson-writer.ts"
import type { ObjectEvent, TraceItem } from "../../src/trace/index.ts"
import { encoded } from "../trace/views/items.ts"

/** µs since the Unix epoch: the first moment of these traces, a whole second. */
export const start = 1_763_700_000_000_000

/** `ms` after the start, in µs since the Unix epoch. */
export const at = (ms: number): number => start + ms * 1000

type Header = Extract<TraceItem, { type: "header" }>

/** Of a trace whose window ends `ms` after the start. */
export const header = (ms: number, more: Partial<Header> = {}): Header => ({
  type: "header",
  window: { start, end: at(ms) },
  cut: 1,
  kinds: [],
  incomplete: [],
  ...more,
})

/** An object `ms` after the start, or its deletion. What is not after the start belongs to the state there. */
export const event = (
  ms: number,
  gvk: string,
  name: string,
  object: object | undefined,
  facts: Partial<ObjectEvent> = {},
): TraceItem => {
  const { namespace = "shop" } = facts
  const { metadata = {}, ...members } = (object ?? {}) as { readonly metadata?: object }
  const text = object === undefined ? "" : JSON.stringify({ metadata: { namespace, name, ...metadata }, ...members })
  return {
    type: "event",
    isSnapshot: ms <= 0,
    event: {
      type: "object",
      sequence: 1,
      time: at(ms),
      gvk,
      action: object === undefined ? "deleted" : "applied",
      uid: "",
      namespace,
      name,
      resourceVersion: "",
      object: Buffer.from(text),
      ...facts,
    },
  }
}

export const configMap = (ms: number, name: string, value: string | undefined): TraceItem =>
  event(ms, "v1.ConfigMap", name, value === undefined ? undefined : { data: { value } })

const labels = { app: "web" }
const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } }

/** The Deployment web. */
export const deployment = (ms: number, replicas: number): TraceItem =>
  event(ms, "apps/v1.Deployment", "web", { spec: { replicas, selector: { matchLabels: labels }, template } })

/** A pod that a ReplicaSet of the Deployment web created. */
export const podOfWeb = (phase: string): object => ({
  metadata: {
    labels: { ...labels, "pod-template-hash": "abc" },
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-abc", uid: "1", controller: true }],
  },
  spec: template.spec,
  status: { phase, ...(phase === "Running" && { conditions: [{ type: "PodScheduled", status: "True" }] }) },
})

/** As a replay reads it, one by one. */
export async function* chunks(items: ReadonlyArray<TraceItem>): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
  for (const item of items) yield [item]
}

/** As a file. Versions are in the order of the items. */
export const ndjsonOf = (items: ReadonlyArray<TraceItem>): string =>
  encoded(
    ndjsonEncoder(),
    items.map((item, index) =>
      item.type === "event"
        ? { ...item, event: { ...item.event, sequence: index, resourceVersion: String(index) } as ObjectEvent }
        : item,
    ),
  ).toString()
