import { describe, expect, test } from "vitest"
import { type KindState, permissionHint } from "../../../src/kube/index.ts"
import { NoticeLog } from "../../../src/recorder/notices/notice-log.ts"
import type { RecorderNotice } from "../../../src/recorder/recording/recorder-actors.ts"
import type { KindStatus } from "../../../src/recorder/status/kind-status.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const listening = () => {
  const clock = new ManualClock()
  const said: string[] = []
  const at = (level: string) => (message: string) => {
    if (level !== "debug") said.push(`${level} ${message}`)
  }
  const log = new NoticeLog({ error: at("error"), warn: at("warn"), info: at("info"), debug: at("debug") }, clock)
  const kind = (state: KindState, detail: string, gvk = "v1.Pod"): void =>
    log.hear({ type: "kind", gvk, report: { type: "state", state, detail, namespaces: [], atMicros: 0 } })
  const hear = (notice: RecorderNotice): void => log.hear(notice)
  return { clock, said, kind, hear, log }
}

test("a kind that fails for one reason all night is logged once as failing, and once as recovered", () => {
  const { clock, said, kind } = listening()
  kind("listing", "first list")
  kind("watching", "from version 7")
  for (let hour = 0; hour < 8; hour++) {
    kind("failing", `the watch ended after ${hour * 100} ms`)
    // Each attempt begins as if it succeeded.
    kind("watching", "from version 7")
    clock.advance(999)
  }
  clock.advance(1)
  clock.advance(10_000)
  expect(said).toEqual([
    "info v1.Pod listing: first list",
    "info v1.Pod watching: from version 7",
    "warn v1.Pod failing: the watch ended after 0 ms",
    "info v1.Pod watching: from version 7",
  ])
})

test("many kinds are told of together: some of all while one fails, and all once it has recovered", () => {
  const clock = new ManualClock()
  const said: string[] = []
  const info = (message: string) => said.push(message)
  const quiet = () => undefined
  let states: ReadonlyArray<KindState> = ["watching", "failing"]
  const crowd = () => ({ isCrowded: true, isListed: true, all: () => states.map((state) => ({ state }) as KindStatus) })
  const log = new NoticeLog({ error: quiet, warn: quiet, info, debug: quiet }, clock, () => undefined, crowd)
  const kind = (state: KindState): void =>
    log.hear({ type: "kind", gvk: "v1.Pod", report: { type: "state", state, detail: "", namespaces: [], atMicros: 0 } })
  kind("failing")
  states = ["watching", "watching"]
  kind("watching")
  clock.advance(10_000)
  kind("watching")
  expect(said).toEqual(["1 of 2 kinds are watched", "all 2 kinds are watched"])
})

test("another reason is logged again", () => {
  const { clock, said, kind } = listening()
  kind("failing", "connection refused")
  kind("failing", "HTTP 500")
  kind("forbidden", "HTTP 403")
  clock.advance(1000)
  expect(said).toEqual([
    "warn the API server cannot be reached: connection refused",
    "warn v1.Pod failing: HTTP 500",
    "warn v1.Pod forbidden: HTTP 403",
  ])
})

test("a list that leaves a gap is a warning that says so", () => {
  const { said, kind } = listening()
  kind("watching", "from version 7")
  kind("listing", "expired")
  expect(said[1]).toMatch(/^warn v1\.Pod listing: the server no longer has .*; a gap is recorded$/)
})

test("a gap is logged even if its kind was failing and recovers at once", () => {
  const { clock, said, kind } = listening()
  kind("watching", "from version 7")
  for (let turn = 0; turn < 3; turn++) {
    kind("failing", "connection refused")
    kind("listing", "expired")
    // The list is due until it has arrived.
    kind("failing", "connection refused")
    kind("listing", "expired")
    kind("watching", "from version 9")
    clock.advance(1000)
  }
  kind("failing", "connection refused")
  kind("listing", "expired")
  kind("stopped", "asked to")
  const shortened = said.map((line) => line.replace("v1.Pod ", "").split(/[:;]/)[0])
  const failing = "warn the API server cannot be reached"
  const turn = [failing, "warn listing", "info watching"]
  expect(shortened).toEqual(["info watching", ...turn, ...turn, ...turn, failing, "warn listing"])
})

test("a trouble of the server is logged once for all kinds, and again after all have recovered", () => {
  const { clock, said, kind, hear } = listening()
  const kinds = ["v1.Pod", "v1.Node", "apps/v1.Deployment"]
  const refused = (gvk: string): void => {
    hear({ type: "kind", gvk, report: { type: "unauthorized" } })
    kind("failing", "list: HTTP 401 Unauthorized: Unauthorized; log in again", gvk)
  }
  const recover = (...some: ReadonlyArray<string>): void => {
    for (const gvk of some) kind("watching", "from version 7", gvk)
    clock.advance(1000)
  }
  for (const round of [1, 2]) {
    for (const gvk of kinds) kind("failing", `discovery: localhost:${round}: connection refused`, gvk)
    for (const gvk of kinds) refused(gvk)
    // One that has recovered and fails again meanwhile is no news.
    recover("v1.Pod")
    refused("v1.Pod")
    recover(...kinds)
  }
  const each = (round: number): ReadonlyArray<string> => [
    `warn the API server cannot be reached: localhost:${round}: connection refused`,
    "warn the API server does not accept the credentials: HTTP 401 Unauthorized: Unauthorized; log in again",
  ]
  expect(said.filter((line) => line.startsWith("warn"))).toEqual([...each(1), ...each(2)])
})

describe("kinds that are forbidden", () => {
  const reason = (path: string): string => `list: HTTP 403 Forbidden: not ${path}; ${permissionHint(path)}`
  const pods = reason("/api/v1/pods")

  test("are named in one line, with one rule for each API group", () => {
    const { clock, said, kind } = listening()
    kind("forbidden", pods, "v1.Pod")
    clock.advance(900)
    kind("forbidden", reason("/apis/apps/v1/deployments"), "apps/v1.Deployment")
    kind("forbidden", reason("/apis/apps/v1/replicasets"), "apps/v1.ReplicaSet")
    expect(said).toEqual([])
    clock.advance(100)
    expect(said).toEqual([
      "warn 3 kinds are forbidden (v1.Pod, apps/v1.Deployment, apps/v1.ReplicaSet): add to a ClusterRole of this user: " +
        '{apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"]}, ' +
        '{apiGroups: ["apps"], resources: ["deployments", "replicasets"], verbs: ["get", "list", "watch"]}; ' +
        "`reel k8s` prints all rules that a recorder needs",
    ])
  })

  test("are not told again while they are refused again and again, and are when they are refused anew", () => {
    const { clock, said, kind } = listening()
    const all = (state: KindState, detail: (gvk: string) => string): void => {
      for (const gvk of ["v1.Pod", "v1.Node"]) kind(state, detail(gvk), gvk)
      clock.advance(1000)
    }
    for (let hour = 0; hour < 8; hour++) all("forbidden", (gvk) => reason(`/api/v1/${gvk.slice(3).toLowerCase()}s`))
    expect(said).toHaveLength(1)
    all("watching", () => "from version 7")
    all("forbidden", (gvk) => reason(`/api/v1/${gvk.slice(3).toLowerCase()}s`))
    expect(said.filter((line) => line.startsWith("warn 2 kinds are forbidden (v1.Pod, v1.Node): "))).toHaveLength(2)
  })

  test("may be one, whose reason is that of the server, or be permitted before that is logged", () => {
    const { clock, said, kind, log } = listening()
    kind("forbidden", pods)
    kind("forbidden", pods, "v1.Node")
    kind("watching", "from version 7", "v1.Node")
    log.close()
    clock.advance(1000)
    expect(said).toEqual([`warn v1.Pod forbidden: ${pods}`])
  })

  test("that are many are not all named", () => {
    const { clock, said, kind } = listening()
    for (let index = 0; index < 40; index++)
      kind("forbidden", reason(`/apis/group-${index}/v1/things`), `group-${index}/v1.Thing`)
    clock.advance(1000)
    expect(said).toHaveLength(1)
    expect(said[0]).toMatch(/^warn 40 kinds are forbidden \(group-0\/v1\.Thing, .*, group-7\/v1\.Thing and 32 more\): /)
    expect(said[0]).toMatch(
      /\{apiGroups: \["group-3"\], resources: \["things"\], [^}]*\}; and 36 more rules; `reel k8s`/,
    )
    expect(said[0]).not.toContain("group-8")
  })
})

test("credentials that say that they have expired are reported as expired", () => {
  const said: string[] = []
  const write = (message: string): void => void said.push(message)
  const log = new NoticeLog(
    { error: write, warn: write, info: write, debug: () => undefined },
    new ManualClock(),
    () => "the client certificate expired on 2026-11-20 03:12:00 CET",
  )
  const report = {
    type: "state",
    state: "failing",
    detail: "list: HTTP 401 Unauthorized",
    namespaces: [],
    atMicros: 0,
  } as const
  log.hear({ type: "kind", gvk: "v1.Pod", report })
  expect(said).toEqual([
    "the API server does not accept the credentials (the client certificate expired on 2026-11-20 03:12:00 CET): HTTP 401 Unauthorized",
  ])
})

test("a full disk is logged at once, then once a minute, and when there is room again", () => {
  const { clock, said, hear } = listening()
  for (let second = 0; second < 100; second++) {
    hear({ type: "store", trouble: "no space left.", isCertain: true })
    clock.advance(1000)
  }
  hear({ type: "store", trouble: undefined, isCertain: false })
  hear({ type: "store", trouble: undefined, isCertain: false })
  expect(said.map((line) => line.split(":")[0])).toEqual([
    "error the recording cannot be written",
    "error the recording cannot be written",
    "info the recording can be written again",
  ])
})

test("a store that is only silent is a warning", () => {
  const { said, hear } = listening()
  hear({ type: "store", trouble: "the store does not respond.", isCertain: false })
  hear({ type: "store", trouble: undefined, isCertain: false })
  expect(said.map((line) => line.split(":")[0])).toEqual([
    "warn the recording cannot be written",
    "info the recording can be written again",
  ])
})

test("the first cluster is not logged as a change, another one is", () => {
  const { said, hear } = listening()
  const cluster = (uid: string): void => hear({ type: "kind", gvk: "v1.Pod", report: { type: "cluster", uid } })
  cluster("one")
  cluster("one")
  expect(said).toEqual([])
  cluster("two")
  expect(said).toEqual(["warn namespace kube-system has UID two"])
})

test("the recovery of a watcher that ended is logged", () => {
  const { said, kind, hear } = listening()
  kind("watching", "from version 7")
  hear({ type: "actor", name: "watcher v1.Pod", gvk: "v1.Pod", state: "backing-off", reason: "out of memory" })
  kind("watching", "from version 8")
  expect(said.slice(1)).toEqual([
    "warn watcher v1.Pod stopped and is being restarted",
    "info v1.Pod watching: from version 8",
  ])
})

test("nothing is logged after the end", () => {
  const { clock, said, kind, log } = listening()
  kind("failing", "connection refused")
  kind("watching", "from version 7")
  log.close()
  clock.advance(5000)
  expect(said).toHaveLength(1)
})

describe("watches that are cut", () => {
  const cutting = () => {
    const listened = listening()
    const cut = (gvk: string): void =>
      listened.hear({ type: "kind", gvk, report: { type: "cut", detail: "ECONNRESET: read ECONNRESET" } })
    return { ...listened, cut }
  }

  test("within a second are one line, with the time that it took to resume them", () => {
    const { clock, said, kind, cut } = cutting()
    for (const gvk of ["v1.Pod", "v1.Node"]) kind("watching", "from version 7", gvk)
    said.length = 0
    for (const gvk of ["v1.Pod", "v1.Node"]) cut(gvk)
    clock.advance(200)
    for (const gvk of ["v1.Pod", "v1.Node"]) {
      kind("catching-up", "asking the server for its version", gvk)
      kind("watching", "from version 8", gvk)
    }
    clock.advance(800)
    expect(said).toEqual([
      "warn the watches of 2 kinds were cut (v1.Node, v1.Pod): ECONNRESET: read ECONNRESET; resumed within 0.2 s",
    ])
  })

  test("that are not back after a second are said to be so, and then when they are", () => {
    const { clock, said, kind, cut } = cutting()
    kind("watching", "from version 7")
    said.length = 0
    cut("v1.Pod")
    clock.advance(1500)
    kind("watching", "from version 8")
    expect(said).toEqual([
      "warn the watch of v1.Pod was cut: ECONNRESET: read ECONNRESET; not resumed yet",
      "info the watches that were cut are resumed, the last of them after 1.5 s",
    ])
  })

  test("and then fail are not called resumed, before the line and after it", () => {
    const { clock, said, kind, cut } = cutting()
    for (const gvk of ["v1.Pod", "v1.Node", "v1.Secret"]) kind("watching", "from version 7", gvk)
    said.length = 0
    for (const gvk of ["v1.Pod", "v1.Node", "v1.Secret"]) cut(gvk)
    kind("failing", "probe: HTTP 500", "v1.Pod")
    kind("watching", "from version 8", "v1.Secret")
    clock.advance(1000)
    kind("failing", "probe: HTTP 500", "v1.Node")
    clock.advance(1000)
    expect(said.filter((line) => line.includes("cut"))).toEqual([
      "warn the watches of 3 kinds were cut (v1.Node, v1.Pod, v1.Secret): ECONNRESET: read ECONNRESET; 1 not resumed yet, 1 not resumed, because they fail",
    ])
  })

  test("of which one took long are not remembered by the next line", () => {
    const { clock, said, kind, cut } = cutting()
    kind("watching", "from version 7")
    cut("v1.Pod")
    clock.advance(30_000)
    kind("watching", "from version 8")
    clock.advance(100_000)
    said.length = 0
    cut("v1.Pod")
    clock.advance(100)
    kind("watching", "from version 9")
    clock.advance(60_000)
    expect(said).toEqual(["warn the watch of v1.Pod was cut: ECONNRESET: read ECONNRESET; resumed within 0.1 s"])
  })

  test("again and again are one line a minute, and the first after a quiet minute is told within a second", () => {
    const { clock, said, kind, cut } = cutting()
    kind("watching", "from version 7")
    said.length = 0
    for (let turn = 0; turn < 13; turn++) {
      cut("v1.Pod")
      kind("watching", "from version 8")
      clock.advance(5000)
    }
    clock.advance(120_000)
    cut("v1.Pod")
    kind("watching", "from version 9")
    clock.advance(1000)
    const line = "warn the watch of v1.Pod was cut"
    const rest = ": ECONNRESET: read ECONNRESET; resumed within 0.0 s"
    expect(said).toEqual([`${line}${rest}`, `${line}, 12 times${rest}`, `${line}${rest}`])
  })
})

test("a new key in a directory that was restored is a gap of each kind, and the log says how to avoid it", () => {
  const { said, hear } = listening()
  const made = { type: "redaction-key", made: "data/redaction.key" } as const
  hear(made)
  hear({ type: "restored", segment: 7, epoch: 2, setAside: "", lostBlocks: 0 })
  hear(made)
  expect(said[0]).not.toContain("one key")
  expect(said[2]).toMatch(
    /kinds with redacted values are listed again, with a gap. Recorders of one stream need one key$/,
  )
})
