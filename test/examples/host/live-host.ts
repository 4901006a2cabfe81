/** Connects a guest to an API server: what it asks for is done, until the test ends. */
import { onTestFinished } from "vitest"
import type { GuestRequest, WatchRequest } from "./abi-values.ts"
import type { GuestHost, Open } from "./guest-host.ts"

const plurals: Readonly<Record<string, string>> = { SimplePod: "simplepods", Pod: "pods" }

/** @returns a function that ends all connections, as a restart of the API server would. */
export const connect = (host: GuestHost, server: string): (() => void) => {
  let connections = new AbortController()
  const timers = new Set<NodeJS.Timeout>()
  const begun = new Set<bigint>()
  let isOver = false

  const request = async ({ id, asked }: Open<GuestRequest>): Promise<void> => {
    const headers = Object.entries(asked.headers).flatMap(([name, values]) => values.map((value) => [name, value]))
    const init = { method: asked.method, headers: headers as [string, string][], signal: connections.signal }
    try {
      const response = await fetch(server + asked.uri, asked.body === "" ? init : { ...init, body: asked.body })
      answer(id, response.status, await response.text())
    } catch (error) {
      answer(id, 503, { kind: "Status", code: 503, message: String(error) })
    }
  }
  const answer = (id: bigint, status: number, body: unknown): void => go(() => host.answer(id, status, body))

  const watch = async ({ id, asked }: Open<WatchRequest>): Promise<void> => {
    const { signal } = connections
    const root = asked.group === "" ? `/api/${asked.version}` : `/apis/${asked.apiVersion}`
    const scope = asked.namespace === undefined ? "" : `/namespaces/${asked.namespace}`
    const query = new URLSearchParams({ watch: "true", resourceVersion: asked.resourceVersion })
    if (asked.labelSelector !== undefined) query.set("labelSelector", asked.labelSelector)
    if (asked.allowBookmarks) query.set("allowWatchBookmarks", "true")
    try {
      const uri = `${root}${scope}/${plurals[asked.kind]}?${query}`
      const response = await fetch(server + uri, { signal })
      if (!response.ok) {
        const status = (await response.json()) as object
        go(() => host.deliver(id, "ERROR", status))
      }
      let rest = Buffer.alloc(0)
      for await (const part of response.ok ? (response.body ?? []) : []) {
        rest = Buffer.concat([rest, part])
        for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
          const line = rest.subarray(0, end)
          rest = rest.subarray(end + 1)
          go(() => host.deliverBytes(id, line))
        }
      }
    } catch (error) {
      // A connection that breaks is the end of a watch.
      if (!signal.aborted && !(error instanceof TypeError)) throw error
    }
    go(() => host.end(id))
  }

  /** Enters the guest, then does what it has asked for. */
  const go = (enter: () => void): void => {
    if (isOver) return
    enter()
    const isNew = ({ id }: Open<unknown>): boolean => !begun.has(id)
    const requests = host.requests.filter(isNew)
    const watches = host.watches.filter(isNew)
    const delays = host.delays.filter(isNew)
    for (const { id } of [...requests, ...watches, ...delays]) begun.add(id)
    for (const asked of requests) void request(asked)
    for (const asked of watches) void watch(asked)
    for (const { id, asked } of delays) {
      const timer = setTimeout(() => {
        timers.delete(timer)
        go(() => host.elapse(id))
      }, Number(asked))
      timers.add(timer)
    }
  }

  onTestFinished(() => {
    isOver = true
    connections.abort()
    for (const timer of timers) clearTimeout(timer)
  })
  go(() => undefined)
  return () => {
    const former = connections
    connections = new AbortController()
    former.abort()
  }
}
