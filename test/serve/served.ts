/** A served past and its clients, closed after each test. */
import { onTestFinished } from "vitest"
import { readMomentInPath } from "../../src/cli/serve.ts"
import { HistoryServer, type HistoryServerSettings, type Past } from "../../src/serve/index.ts"
import { ManualClock } from "../runtime/manual-clock.ts"
import { Watch } from "../sandbox/client.ts"

export const closedAfterTest = <Resource extends { close(): unknown }>(resource: Resource): Resource => {
  // The last one first, as tests that finish do.
  onTestFinished(async () => {
    await resource.close()
  })
  return resource
}

export interface Served {
  readonly past: Past
  readonly clock: ManualClock
  readonly server: HistoryServer
  readonly url: string
  readonly troubles: string[]
}

export const serve = async (past: Past, settings: Partial<HistoryServerSettings> = {}): Promise<Served> => {
  const clock = new ManualClock()
  const troubles: string[] = []
  closedAfterTest(past)
  const { begin, end } = past
  const server = await HistoryServer.listen({
    past,
    clock,
    readMoment: (text) => (/^\d{16}$/.test(text) ? { time: Number(text) } : readMomentInPath(text, { begin, end })),
    root: { moment: "end" },
    port: 0,
    cacheBytes: 64 * 1024 * 1024,
    bookmarkInterval: 60_000,
    onTrouble: (detail) => troubles.push(detail),
    ...settings,
  })
  closedAfterTest(server)
  return { past, clock, server, url: `http://127.0.0.1:${server.port}`, troubles }
}

export const watching = async (url: string, headers: Record<string, string> = {}): Promise<Watch> =>
  closedAfterTest(await Watch.open(url, headers))

/** Asks for the present objects, a bookmark after them, and what follows. */
export const streamingList = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
