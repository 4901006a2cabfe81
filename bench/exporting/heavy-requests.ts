/** The requests to `POST /export` that cost a recorder most, within and beyond its limits. */
import { maximumEntries, maximumPatterns } from "../../src/recorder/export/limits.ts"

export interface HeavyRequests {
  readonly name: string
  /** Sent at once, again and again. */
  readonly connections: number
  /** ms after which a client gives up and disconnects; absent: it reads the response. */
  readonly leavesAfterMs?: number
  /** JSON; `now` in s since the Unix epoch. */
  readonly body: (now: number) => string
}

const dryRun = (now: number, filters: object): string =>
  JSON.stringify({
    ...{ start_ts: 0, end_ts: now, export_path: "trace.ndjson", dry_run: true },
    filters: { excluded_namespaces: [], excluded_labels: [], ...filters },
  })

const many = <Entry>(length: number, entry: (index: number) => Entry): ReadonlyArray<Entry> =>
  Array.from({ length }, (_, index) => entry(index))

/** Each compares with every character of a name, and matches none. */
const pattern = (index: number): string => `*a*e*${index}*`

export const heavyRequests: ReadonlyArray<HeavyRequests> = [
  {
    name: `dry runs with ${maximumPatterns} patterns and ${maximumEntries - maximumPatterns} names`,
    connections: 4,
    body: (now) =>
      dryRun(now, {
        names: [
          ...many(maximumEntries - maximumPatterns, (index) => `name-${index}`),
          ...many(maximumPatterns, pattern),
        ],
      }),
  },
  {
    name: "the same, given up after 100 ms",
    connections: 4,
    leavesAfterMs: 100,
    body: (now) => dryRun(now, { names: many(maximumPatterns, pattern) }),
  },
  {
    name: "60,000 patterns, which are rejected",
    connections: 4,
    body: (now) => dryRun(now, { names: many(60_000, pattern) }),
  },
  {
    name: "400,000 entries of another type, which are rejected",
    connections: 4,
    body: (now) => dryRun(now, { names: many(400_000, () => 1) }),
  },
]
