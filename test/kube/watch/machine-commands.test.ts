/** The state machine alone: its commands and reports, where the phase does not show them. */
import { describe, expect, test } from "vitest"
import { complete, describePhase, status, truncated, type World, worldIn } from "./machine-world.ts"

describe("a continue token that has expired", () => {
  const openings = (world: World): ReadonlyArray<string> =>
    world.commands.flatMap(({ type }) => (type.startsWith("open-") ? [type] : []))
  const expire = (world: World): World => {
    world.feed({ type: "refused", stream: world.stream, status: status(410, { reason: "Expired" }) })
    return world
  }

  test("is followed at once by a full list, restarted for the same reason", () => {
    const world = worldIn["paging on"]()
    const { length } = world.commands
    expire(world)
    expect(world.commands.slice(length)).toEqual([
      { type: "state", state: "listing", detail: expect.stringContaining("a continue token expired") },
      { type: "list-started", reason: "first", detail: undefined },
      { type: "open-whole-list", stream: world.stream, version: undefined },
      { type: "limit-silence", stream: world.stream, ms: 60_000 },
    ])
  })

  test("whether the server returns 410, or 400 because the token is not valid", () => {
    const world = worldIn["paging on"]()
    world.feed({ type: "refused", stream: world.stream, status: status(400, { message: "continue key is not valid" }) })
    expect(describePhase(world)).toBe("paging everything at once")
  })

  test("is handled once per list: if the full list fails too, the next attempt waits and starts with pages", () => {
    const world = expire(expire(worldIn["paging on"]()))
    expect(describePhase(world)).toBe("backing off to list")
    world.feed({ type: "retry" })
    expect(openings(world)).toEqual(["open-streaming-list", "open-page", "open-page", "open-whole-list", "open-page"])
    world.feed({ type: "page-complete", stream: world.stream, version: "100", continueToken: "token" })
    expect(describePhase(expire(world))).toBe("paging everything at once")
  })

  test("of a server that sends pages even without a limit leads to no second attempt", () => {
    const world = worldIn["paging everything at once"]()
    world.feed({ type: "page-complete", stream: world.stream, version: "100", continueToken: "token" })
    expect(describePhase(expire(world))).toBe("backing off to list")
  })

  test("is followed by a list not older than the version of the pages", () => {
    const world = worldIn["watching unanswered"]()
    for (let time = 1; time <= 2; time++) {
      world.feed({ type: "malformed-line", stream: world.stream, description: "" })
      if (time === 1) world.feed({ type: "retry" })
    }
    world.feed({ type: "page-complete", stream: world.stream, version: "110", continueToken: "token" })
    expire(world)
    const versions = world.commands.flatMap((command) =>
      command.type === "open-page" || command.type === "open-whole-list" ? [command.version] : [],
    )
    expect(versions.slice(-3)).toEqual(["100", undefined, "100"])
  })
})

describe("a kind is reported as watched", () => {
  const states = (world: World): ReadonlyArray<string> =>
    world.commands.flatMap((command) => (command.type === "state" ? [command.state] : []))

  test("when the server has accepted the watch, and once", () => {
    const world = worldIn["watching unanswered"]()
    expect(states(world).at(-1)).toBe("listing")
    const opened = { type: "opened", stream: world.stream } as const
    expect(world.feed(opened)).toEqual([{ type: "state", state: "watching", detail: "from version 100" }])
    expect(world.feed(opened)).toEqual([])
  })

  test("when the server accepts the successor of a watch whose response a proxy holds back, and once", () => {
    const world = worldIn["watching unanswered"]()
    world.feed({ type: "successor-due" })
    const [old, { successor }] = [world.stream, world]
    world.feed({ type: "opened", stream: successor })
    world.feed({ type: "first-bytes", stream: successor })
    world.feed({ type: "opened", stream: old })
    expect(states(world).filter((state) => state === "watching")).toHaveLength(1)
  })

  test("not when the server rejects it", () => {
    for (const [code, state] of [
      [403, "forbidden"],
      [500, "failing"],
    ] as const) {
      const world = worldIn["watching unanswered"]()
      world.feed({ type: "refused", stream: world.stream, status: status(code) })
      expect([states(world).includes("watching"), states(world).at(-1)]).toEqual([false, state])
    }
  })

  test("also after its successor has taken over, without a second report", () => {
    const world = worldIn["watching with a successor"]()
    const { successor } = world
    const { length } = world.commands
    world.feed({ type: "bookmark", stream: world.stream })
    world.nowMs += 5000
    world.feed({ type: "ended", stream: world.stream, outcome: complete, whileBlocked: false })
    world.feed({ type: "opened", stream: successor })
    expect([world.stream, world.commands.slice(length).filter(({ type }) => type === "state")]).toEqual([successor, []])
  })
})

describe("a list after a refusal is reported as listing", () => {
  const reported = (world: World, from = 0): ReadonlyArray<string> =>
    world.commands.slice(from).flatMap((command) => (command.type === "state" ? [command.state] : []))
  const refuse = (world: World, code: number): void => {
    world.feed({ type: "refused", stream: world.stream, status: status(code) })
    world.feed({ type: "retry" })
  }

  test.each([
    ["streaming-list", 403, "forbidden"],
    ["paging", 403, "forbidden"],
    ["paging", 500, "failing"],
  ] as const)(
    "(%s, %i) only once the server has accepted it, since the recorder is not ready meanwhile",
    (phase, code, state) => {
      const world = worldIn[phase]()
      const { length } = world.commands
      refuse(world, code)
      refuse(world, code)
      expect(reported(world, length)).toEqual([state, state])
      world.feed({ type: "opened", stream: world.stream })
      expect(reported(world, length)).toEqual([state, state, "listing"])
    },
  )
})

test("a list that skips an unreadable line gives the reason in its detail, the other reasons need none", () => {
  const world = worldIn["watching unanswered"]()
  for (let time = 1; time <= 2; time++) {
    world.feed({ type: "malformed-line", stream: world.stream, description: "not JSON at byte 7" })
    if (time === 1) world.feed({ type: "retry" })
  }
  const started = (): ReadonlyArray<unknown> =>
    world.commands.flatMap((command) => (command.type === "list-started" ? [[command.reason, command.detail]] : []))
  const detail = expect.stringMatching(/after version 100 could not be parsed, twice \(not JSON at byte 7\)/)
  expect(started().at(-1)).toEqual(["expired", detail])
  // A list that fails and is retried is the same list.
  world.feed({ type: "refused", stream: world.stream, status: status(500) })
  world.feed({ type: "retry" })
  expect(started().at(-1)).toEqual(["expired", detail])
  world.feed({ type: "page-complete", stream: world.stream, version: "120", continueToken: undefined })
  world.feed({ type: "refused", stream: world.stream, status: status(410) })
  expect(started().at(-1)).toEqual(["expired", undefined])
})

describe("a cluster that another session found restored", () => {
  const restored = { type: "restored-elsewhere", detail: "behind 100", clusterUid: "new" } as const
  const lists = (world: World): ReadonlyArray<unknown> =>
    world.commands.flatMap((command) => (command.type === "list-started" ? [[command.reason, command.detail]] : []))

  test("is listed at once while it is watched, and starts no new epoch here", () => {
    const world = worldIn["watching with a successor"]()
    const { length } = world.commands
    world.feed(restored)
    expect(lists(world).at(-1)).toEqual(["cluster-restored", "behind 100"])
    expect(world.commands.slice(length).map(({ type }) => type)).not.toContain("epoch-started")
    expect(world.open.size).toBe(1)
  })

  test.each([
    ["backing off to watch", { type: "retry" }],
    ["probing", { type: "probed", version: "50", clusterUid: "new" }],
  ] as const)("is listed before anything is resumed: %s", (phase, next) => {
    const world = worldIn[phase]()
    world.feed(restored)
    world.feed(next)
    expect([world.phase, lists(world).at(-1)]).toEqual(["streaming-list", ["cluster-restored", "behind 100"]])
    expect(world.commands.map(({ type }) => type)).not.toContain("epoch-started")
  })

  test("keeps a first list a first list, without a gap, and restarts it", () => {
    const world = worldIn["paging on"]()
    world.feed(restored)
    expect(lists(world)).toEqual([
      ["first", undefined],
      ["first", undefined],
      ["first", undefined],
    ])
    const unfound = worldIn.absent()
    unfound.feed(restored)
    unfound.feed({ type: "retry" })
    unfound.feed({ type: "discovered", clusterUid: "new" })
    expect(lists(unfound)).toEqual([["first", undefined]])
  })

  test("is found restored by a watch that the server cut while its reader was blocked", () => {
    const world = worldIn.watching()
    world.feed({ type: "ended", stream: world.stream, outcome: truncated, whileBlocked: true })
    world.feed({ type: "retry" })
    expect(world.phase).toBe("probing")
  })

  test("is not found restored a second time by what the first one saw", () => {
    const world = worldIn.watching()
    world.feed(restored)
    world.feed({ type: "initial-events-end", stream: world.stream, version: "70" })
    world.nowMs += 2000
    world.feed({ type: "ended", stream: world.stream, outcome: truncated, whileBlocked: false })
    expect(world.phase).toBe("probing")
    world.feed({ type: "probed", version: "70", clusterUid: "new" })
    expect(world.phase).toBe("watching")
  })
})

describe("a watch that is cut", () => {
  const ended = (outcome: typeof complete | typeof truncated, aliveMs: number): ReadonlyArray<string> => {
    const world = worldIn.watching()
    world.nowMs += aliveMs
    return world.feed({ type: "ended", stream: world.stream, outcome, whileBlocked: false }).map(({ type }) => type)
  }

  test("and resumed at once is told", () => {
    expect(ended(truncated, 60_000)).toEqual(["cut", "probe"])
  })

  test("is not told if the server has ended it, or if it is a failure after which the kind waits", () => {
    expect(ended(complete, 60_000)).not.toContain("cut")
    expect(ended(truncated, 1)).toEqual(["state", "retry-after"])
  })
})
