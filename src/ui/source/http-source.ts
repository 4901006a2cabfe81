/**
 * The page's source over the HTTP interface of a recorder, or of what serves a recording. Addresses are relative to the page, so that it works behind a prefix.
 *
 * Guarantee: the token is sent to the page's own server only, and kept no longer than the tab.
 */

import type { Finding, Lack, Lane, LaneObject, Part } from "../../timeline/index.ts"
import { timeIn } from "../text/instants.ts"
import {
  type Author,
  type ClusterSource,
  type FieldChange,
  type HistorySource,
  type LaneFilter,
  type LeftOut,
  type Manager,
  type ObjectChange,
  type Pin,
  SourceError,
  type Span,
} from "./source.ts"

/** What the source needs of the browser. */
interface HttpSurroundings {
  /** Of the page: `http://127.0.0.1:7777/ui/`. */
  readonly base: string
  /** What is looked at; default: the host. */
  readonly name?: string
  readonly fetch: typeof fetch
  /** `undefined`: none is known. */
  readonly token: () => string | undefined
}

type Item = Readonly<Record<string, unknown>>
type Parameters = ReadonlyArray<readonly [name: string, value: string | number | undefined]>

const codes: Readonly<Record<number, SourceError["code"]>> = {
  400: "refused",
  401: "unauthorized",
  403: "forbidden",
  404: "refused",
  429: "busy",
  503: "busy",
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0)
const isItem = (value: unknown): value is Item => typeof value === "object" && value !== null && !Array.isArray(value)
const itemsOf = (value: unknown): ReadonlyArray<Item> => (Array.isArray(value) ? value.filter(isItem) : [])
const textsOf = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((each) => typeof each === "string") : []

/**
 * Requests at once. A recorder answers four of one client; those that are given up keep their places until it notices, so those that follow them need
 * places beside them.
 */
const mostAtOnce = 2

/** Lets so many run at once, in the order in which they came. A turn whose signal is aborted while it waits rejects with its reason. */
const turnsOf = (most: number) => {
  let running = 0
  const waiting: Array<() => void> = []
  const turn = async (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted()
    if (running < most) {
      running++
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const start = (): void => {
      signal.removeEventListener("abort", stop)
      resolve()
    }
    const stop = (): void => {
      waiting.splice(waiting.indexOf(start), 1)
      reject(signal.reason)
    }
    waiting.push(start)
    signal.addEventListener("abort", stop, { once: true })
    await promise
  }
  return async <Answer>(signal: AbortSignal, run: () => Promise<Answer>): Promise<Answer> => {
    await turn(signal)
    try {
      return await run()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}

/** Sends a request to a path relative to the page. */
const senderOf =
  ({ base, fetch, token }: HttpSurroundings) =>
  async (path: string, signal: AbortSignal, init: RequestInit): Promise<Response> => {
    const known = token()
    const headers = { ...init.headers, ...(known !== undefined && { "Kubereel-Authorization": `Bearer ${known}` }) }
    let response: Response
    try {
      response = await fetch(new URL(path, base), { ...init, headers, signal, cache: "no-store" })
    } catch (cause) {
      if (signal.aborted) throw cause
      throw new SourceError("failed", "the server cannot be reached")
    }
    if (response.ok) return response
    const said = (await response.text().catch(() => "")).trim()
    throw new SourceError(
      codes[response.status] ?? "failed",
      said === "" ? `the server answered ${response.status}` : said,
    )
  }

/** The clusters of a page that is at `/clusters/ui/`. */
export const httpClusters = (surroundings: HttpSurroundings): ClusterSource => {
  const { base } = surroundings
  const send = senderOf(surroundings)
  return {
    list: async (signal) => {
      const answer: unknown = await (await send("../v1/clusters", signal, {})).json()
      const { items, isComplete } = isItem(answer) ? answer : {}
      const clusters = itemsOf(items).map(({ name, lagSeconds, gaps, trouble }) => ({
        ...{ name: textOf(name), gaps: numberOf(gaps), trouble: textOf(trouble) },
        lag: typeof lagSeconds === "number" ? lagSeconds : undefined,
      }))
      return { clusters, isComplete: isComplete === true }
    },
    of: (name) => httpSource({ ...surroundings, name, base: new URL(`../${encodeURIComponent(name)}/ui/`, base).href }),
  }
}

export const httpSource = (surroundings: HttpSurroundings): HistorySource => {
  const { base, name = new URL(base).host } = surroundings
  const inTurn = turnsOf(mostAtOnce)
  const isOfPin = /\/pins\/[^/]+\/ui\/$/.test(new URL(base).pathname)
  const send = senderOf(surroundings)

  /** Calls `each` with every item, and returns the end. */
  const stream = async (
    path: string,
    parameters: Parameters,
    each: (item: Item) => void,
    signal: AbortSignal,
  ): Promise<Item> => {
    const query = new URLSearchParams()
    for (const [name, value] of parameters) if (value !== undefined) query.append(name, String(value))
    return inTurn(signal, async () => {
      const response = await send(`../v1/${path}?${query}`, signal, { headers: { Accept: "application/x-ndjson" } })
      let end: Item | undefined
      for await (const line of linesOf(response, signal)) {
        const item: unknown = JSON.parse(line)
        if (!isItem(item)) continue
        if (item.type === "end") end = { ...item, date: response.headers.get("date") }
        else each(item)
      }
      if (end === undefined) throw new SourceError("failed", "the connection broke off before the answer was complete")
      return end
    })
  }

  /** A recording without pins has no such path; a reader without the right to them is shown none. */
  const listed = async (signal: AbortSignal): Promise<ReadonlyArray<Pin> | undefined> => {
    try {
      const answer: unknown = await (await send("../v1/pins", signal, {})).json()
      return isItem(answer) ? itemsOf(answer.items).map(pinIn) : undefined
    } catch (cause) {
      if (cause instanceof SourceError && (cause.code === "refused" || cause.code === "forbidden")) return undefined
      throw cause
    }
  }

  return {
    overview: async (signal) => {
      const kinds: Item[] = []
      const pin = isOfPin ? (await listed(signal))?.[0] : undefined
      const end = await stream("kinds", [], (item) => kinds.push(item), signal)
      const span = { from: numberOf(end.since), to: Math.max(numberOf(end.since) + 1, numberOf(end.until)) }
      const now = Date.parse(textOf(end.date)) * 1000
      return {
        name,
        kinds: kinds.map(({ gvk, since, until, namespaced }) => ({
          ...{ gvk: textOf(gvk), since: numberOf(since), until: numberOf(until), namespaced: namespaced !== false },
        })),
        span,
        isLive: pin === undefined && Math.abs(now - span.to) < liveMicros,
        lacks: [],
        // The end of a window that is held open is not a moment that anything can have happened at.
        ...(pin && { pin: pin.until > now ? { ...pin, until: now } : pin }),
      }
    },
    lanes: async ({ parent, offset, limit, ...asked }, signal) => {
      const lanes: Lane[] = []
      const parameters: Parameters = [
        ...filterOf(asked),
        ["find", asked.find],
        ["parent", parent],
        ["offset", offset],
        ["limit", limit],
      ]
      const end = await stream("lanes", parameters, (item) => lanes.push(laneIn(item)), signal)
      const leftOut = leftOutIn(end)
      return { total: numberOf(end.total), lanes, lacks: lacksIn(end), ...(leftOut && { leftOut }) }
    },
    laneOf: async ({ gvk, namespace, name, uid, from, to }, signal) => {
      let found: { readonly lane: Lane; readonly above: ReadonlyArray<string> } | undefined
      const object: Parameters = [
        ["kind", gvk],
        ["namespace", namespace],
        ["name", name],
        ["uid", uid],
      ]
      const take = (item: Item): void => {
        found = { lane: laneIn(item), above: textsOf(item.above) }
      }
      await stream("lanes", [["from", from], ["to", to], ...object], take, signal)
      return found
    },
    tiles: async ({ from, to, width, lanes, parts, namespace }, each, signal) => {
      const named = lanes.map((lane) => ["lane", lane] as const)
      const window: Parameters = [
        ["from", Math.round(from)],
        ["to", Math.round(to)],
        ["width", width],
        ["namespace", namespace],
      ]
      const asked: Parameters = [...window, ["parts", parts ? "true" : undefined], ...named]
      await stream("tiles", asked, (item) => each(tileIn(item)), signal)
    },
    histogram: async ({ width, ...asked }, signal) => {
      const end = await stream("histogram", [...filterOf(asked), ["width", width]], () => undefined, signal)
      return Float64Array.from(Array.isArray(end.counts) ? end.counts : [], numberOf)
    },
    findings: async (asked, each, signal) => {
      await stream(
        "findings",
        filterOf(asked),
        (item) => each(item.type === "progress" ? { progress: numberOf(item.done) } : findingIn(item)),
        signal,
      )
    },
    changes: async ({ object, from, to, owned, owners, withStates }, each, signal) => {
      const { gvk, namespace, name, uid } = object
      const isTree = owned || owners
      const asked: Parameters = [
        ...([
          ["kind", gvk],
          ["namespace", namespace],
          ["name", name],
          ["uid", isTree ? undefined : uid || undefined],
        ] as const),
        ...([
          ["from", Math.round(from)],
          ["to", Math.round(to)],
          ["objects", String(withStates)],
        ] as const),
        ...([
          ["owned", String(owned)],
          ["owners", String(owners)],
        ] as const),
      ]
      const end = await stream("changes", asked, (item) => each(changeIn(item)), signal)
      return { lacks: lacksIn(end) }
    },
    stateAt: async ({ gvk, namespace, name, uid }, time, signal) => {
      let found: { readonly state: Item; readonly time: number } | undefined
      const object: Parameters = [
        ["kind", gvk],
        ["namespace", namespace],
        ["name", name],
        ["uid", uid || undefined],
      ]
      const take = (item: Item): void => {
        if (isItem(item.object)) found = { state: item.object, time: numberOf(item.time) }
      }
      await stream("objects", [...object, ["at", Math.round(time)]], take, signal)
      return found
    },
    differences: async (asked, each, signal) => {
      const { kinds, namespace, from, to, find } = asked
      const take = (item: Item): void => {
        const object = { gvk: textOf(item.gvk), namespace: textOf(item.namespace), name: textOf(item.name) }
        if (find !== undefined && !object.name.toLowerCase().includes(find.toLowerCase())) return
        const { type } = item
        if (type === "created" || type === "changed" || type === "deleted" || type === "replaced")
          each({ type, object, managers: managersIn(item), differences: fieldsIn(item) })
      }
      const kindNames = (kinds ?? []).map((kind) => ["kind", kind] as const)
      const window: Parameters = [
        ["from", Math.round(from)],
        ["to", Math.round(to)],
        ["namespace", namespace],
      ]
      await stream("differences", [...window, ...kindNames], take, signal)
    },
    ...(!isOfPin && {
      pins: {
        list: listed,
        add: async (pin, signal) => {
          const headers = { "Content-Type": "application/json" }
          await send("../v1/pins", signal, { method: "POST", headers, body: JSON.stringify(pin) })
        },
        remove: async (id, signal) => {
          await send(`../v1/pins/${encodeURIComponent(id)}`, signal, { method: "DELETE" })
        },
        address: (id) => new URL(`../pins/${encodeURIComponent(id)}/ui/`, base).href,
      },
    }),
  }
}

/** µs: a recording whose end is nearer to the server's clock goes on. The clock is in whole seconds. */
const liveMicros = 10_000_000

async function* linesOf(response: Response, signal: AbortSignal): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  let rest = ""
  try {
    for (;;) {
      const piece = await reader?.read()
      if (piece === undefined || piece.done) break
      const lines = (rest + decoder.decode(piece.value, { stream: true })).split("\n")
      rest = lines.pop() ?? ""
      yield* lines.filter((line) => line !== "")
    }
  } catch (cause) {
    if (signal.aborted) throw cause
    throw new SourceError("failed", "the connection broke off before the answer was complete")
  }
  if (rest !== "") yield rest
}

const filterOf = ({ from, to, kinds, namespace }: Span & LaneFilter): Parameters => [
  ["from", Math.round(from)],
  ["to", Math.round(to)],
  ...(kinds ?? []).map((kind) => ["kind", kind] as const),
  ["namespace", namespace],
]

const objectIn = (item: Item): LaneObject => ({
  ...{ gvk: textOf(item.gvk), namespace: textOf(item.namespace), name: textOf(item.name), uid: textOf(item.uid) },
})

const laneIn = (item: Item): Lane => {
  const { laneType } = item
  const type = laneType === "namespace" || laneType === "owner" ? laneType : "object"
  return {
    ...{ id: textOf(item.id), type, object: objectIn(item) },
    ...{ children: numberOf(item.children), objects: numberOf(item.objects) },
  }
}

const tileIn = (item: Item): { lane: string; part?: Part; columns: Uint8Array; changes: number } => {
  const { part } = item
  return {
    lane: textOf(item.lane),
    ...(isItem(part) && { part: { id: textOf(part.id), label: textOf(part.label) } }),
    columns: Uint8Array.from(atob(textOf(item.columns)), (character) => character.charCodeAt(0)),
    changes: numberOf(item.changes),
  }
}

const findingIn = (item: Item): Finding => ({
  code: item.code as Finding["code"],
  lane: textOf(item.lane),
  object: objectIn(isItem(item.object) ? item.object : item),
  from: numberOf(item.from),
  ...(typeof item.to === "number" && { to: item.to }),
  message: textOf(item.message),
  count: numberOf(item.count),
})

const managersIn = (item: Item): ReadonlyArray<Manager> =>
  itemsOf(item.managers).map(({ manager, operation, subresource }) => ({
    ...{ manager: textOf(manager), operation: textOf(operation), subresource: textOf(subresource) },
  }))

const fieldsIn = (item: Item): ReadonlyArray<FieldChange> =>
  itemsOf(item.differences).map((each) => ({
    path: textOf(each.path),
    ...("before" in each && { before: each.before }),
    ...("after" in each && { after: each.after }),
  }))

const authorIn = (value: unknown): Author | undefined =>
  isItem(value)
    ? {
        ...{ user: textOf(value.user), groups: textsOf(value.groups), userAgent: textOf(value.userAgent) },
        ...{ sourceIPs: textsOf(value.sourceIPs), verb: textOf(value.verb) },
        ...{ auditID: textOf(value.auditID), isInferred: value.isInferred === true },
      }
    : undefined

const changeIn = (item: Item): ObjectChange => {
  const author = authorIn(item.author)
  const { event, object } = item
  return {
    type: item.type as ObjectChange["type"],
    object: objectIn(item),
    ...{ resourceVersion: textOf(item.resourceVersion), time: numberOf(item.time), sequence: numberOf(item.sequence) },
    ...{
      managers: managersIn(item),
      differences: fieldsIn(item),
      hasMoreDifferences: item.hasMoreDifferences === true,
    },
    ...(author && { author }),
    ...(isItem(event) && {
      event: {
        ...{ type: textOf(event.type), reason: textOf(event.reason), message: textOf(event.message) },
        ...{ about: aboutText(event.about), source: textOf(event.source) },
      },
    }),
    ...(isItem(object) && { state: object }),
  }
}

const aboutText = (about: unknown): string =>
  isItem(about)
    ? [about.kind, about.name]
        .map(textOf)
        .filter((text) => text !== "")
        .join("/")
    : textOf(about)

const lacksIn = ({ gaps, unrecorded, late }: Item): ReadonlyArray<Lack> => [
  ...itemsOf(gaps).map((gap) => ({
    ...{ type: "gap" as const, gvk: textOf(gap.gvk), namespace: textOf(gap.namespace) },
    ...{ from: numberOf(gap.fromTime), to: numberOf(gap.toTime), why: `${textOf(gap.reason)}: ${textOf(gap.detail)}` },
  })),
  ...itemsOf(unrecorded).map((each) => ({
    ...{ type: "unrecorded" as const, gvk: textOf(each.gvk), namespace: textOf(each.namespace) },
    ...(each.why === "after"
      ? { from: numberOf(each.time), to: Number.MAX_SAFE_INTEGER, why: "it is known only up to here" }
      : each.why === "before"
        ? { from: 0, to: numberOf(each.time), why: "it is recorded only from here on" }
        : { from: 0, to: Number.MAX_SAFE_INTEGER, why: "it is not recorded" }),
  })),
  ...itemsOf(late).map((each) => ({
    ...{ type: "late" as const, gvk: textOf(each.gvk), namespace: textOf(each.namespace) },
    ...{ from: numberOf(each.notBefore), to: numberOf(each.notAfter), why: `received late: ${textOf(each.cause)}` },
  })),
]

/** Absent: everything is shown. */
const leftOutIn = ({ leftOut }: Item): LeftOut | undefined => {
  if (!isItem(leftOut)) return undefined
  const [kinds, namespaces] = [textsOf(leftOut.kinds), textsOf(leftOut.namespaces)]
  return kinds.length + namespaces.length === 0 ? undefined : { kinds, namespaces }
}

const pinIn = ({ id, from, until, note, source, place, lostThrough, alert }: Item): Pin => ({
  ...{ id: textOf(id), from: timeIn(textOf(from)) ?? 0, until: timeIn(textOf(until)) ?? 0, note: textOf(note) },
  ...{ isAlert: source === "alert", isLost: place === "lost" || lostThrough !== undefined, alert: textOf(alert) },
})
