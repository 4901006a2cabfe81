/** A story in a trace, and the screen that shows it. */
import { onTestFinished } from "vitest"
import { EventList } from "../../../../src/cli/inspect/screen/event-list.ts"
import { PackedStates } from "../../../../src/cli/inspect/screen/packed-states.ts"
import { updated } from "../../../../src/cli/inspect/screen/screen-keys.ts"
import { loadEvents } from "../../../../src/cli/inspect/screen/screen-session.ts"
import { firstScreen, type ScreenSize, type ScreenState } from "../../../../src/cli/inspect/screen/screen-state.ts"
import { screenLines } from "../../../../src/cli/inspect/screen/screen-view.ts"
import { textOf } from "../../../../src/cli/inspect/screen/styled-line.ts"
import { memorySpool, type ObjectEvent, type TraceItem } from "../../../../src/trace/index.ts"

/** s since the Unix epoch: 2026-03-02T03:00:00Z. */
export const start = Date.UTC(2026, 2, 2, 3) / 1000

/** An event of the trace, `at` s after its start. */
export const event = (
  at: number,
  gvk: string,
  name: string,
  given: Partial<ObjectEvent> & { readonly body?: object; readonly owner?: readonly [kind: string, name: string] } = {},
  isSnapshot = false,
): TraceItem => {
  const { body = {}, owner, ...rest } = given
  const namespace = rest.namespace ?? "shop"
  const uid = `uid-${name}`
  const owners = owner && [
    { apiVersion: "apps/v1", kind: owner[0], name: owner[1], uid: `uid-${owner[1]}`, controller: true },
  ]
  const object = {
    ...{ apiVersion: gvk.slice(0, gvk.lastIndexOf(".")), kind: gvk.slice(gvk.lastIndexOf(".") + 1) },
    metadata: { name, namespace, uid, ...(owners && { ownerReferences: owners }) },
    ...body,
  }
  return {
    ...{ type: "event", isSnapshot },
    event: {
      ...{ type: "object", sequence: 1, time: (start + at) * 1_000_000, gvk, action: "applied", uid, namespace, name },
      ...{
        resourceVersion: "1",
        object: Buffer.from(rest.action === "vanished" ? "" : JSON.stringify(object)),
        ...rest,
      },
    },
  }
}

const needsSecret = (replicas: number) => ({
  spec: {
    replicas,
    template: { spec: { containers: [{ name: "web" }], volumes: [{ name: "a", secret: { secretName: "keys" } }] } },
  },
})

/** A Deployment that is scaled, with what it owns; a Secret is missing, a ConfigMap is deleted, a Node is found gone. */
export const story: ReadonlyArray<TraceItem> = [
  { type: "header", cut: 0, kinds: [], incomplete: [] },
  event(-9, "v1.Node", "node-1", { namespace: "" }, true),
  event(-8, "v1.Namespace", "shop", { namespace: "" }, true),
  event(1, "apps/v1.Deployment", "web", { body: needsSecret(1) }),
  event(2, "apps/v1.ReplicaSet", "web-1", { owner: ["Deployment", "web"] }),
  event(3, "v1.Pod", "web-1-a", { owner: ["ReplicaSet", "web-1"] }),
  event(60, "v1.ConfigMap", "prices", { body: { data: { tea: "1" } } }),
  event(61, "v1.ConfigMap", "prices", { body: { data: { tea: "2" } } }),
  event(62, "v1.ConfigMap", "prices", { body: { data: { tea: "2" } }, action: "deleted" }),
  event(90, "v1.Node", "node-1", { namespace: "", action: "vanished" }),
  event(100, "apps/v1.Deployment", "web", { body: needsSecret(3) }),
]

/** All of a trace in a list. */
export const listOf = async (items: Iterable<TraceItem>): Promise<EventList> => {
  const states = new PackedStates(memorySpool())
  onTestFinished(() => states[Symbol.dispose]())
  const list = new EventList(states)
  async function* chunks() {
    yield items
  }
  await loadEvents(chunks(), list, () => undefined, new AbortController().signal)
  return list
}

/** A screen that has read these items. */
export const screenOf = async (
  items: Iterable<TraceItem> = story,
  size: ScreenSize = { columns: 80, rows: 20 },
): Promise<ScreenState> => {
  const first = firstScreen("a.ndjson", await listOf(items), size, start * 1000)
  return updated(first, { tag: "progress", progress: "" })
}

/** The screen after these keys. */
export const press = (state: ScreenState, ...keys: ReadonlyArray<string>): ScreenState =>
  keys.reduce((before, key) => updated(before, { tag: "key", key }), state)

/** What is typed, key by key, with Enter at the end. */
export const typing = (text: string): ReadonlyArray<string> => [...text, "\r"]

/** The text on the screen, line by line. */
export const shown = (state: ScreenState): ReadonlyArray<string> =>
  screenLines(state).map((line) => textOf(line).trimEnd())
