/** The state machine alone: every phase against every input. */
import { describe, expect, test } from "vitest"
import type { Input } from "../../../../src/kube/watch/protocol/protocol.ts"
import { complete, describePhase, status, truncated, type World, worldIn } from "../machine-world.ts"

/** Each input with a name, about one stream if it is about any. */
const inputsOf = (stream: number): Readonly<Record<string, Input>> => ({
  start: { type: "start", resumeVersion: "5", clusterUid: undefined },
  stop: { type: "stop" },
  discovered: { type: "discovered", clusterUid: "uid" },
  "not installed": { type: "not-installed" },
  "discovery failed": { type: "discovery-failed", status: status(403) },
  "probed ahead": { type: "probed", version: "200", clusterUid: "uid" },
  "probed behind": { type: "probed", version: "50", clusterUid: "uid" },
  "probed elsewhere": { type: "probed", version: "200", clusterUid: "other" },
  "probe 404": { type: "probe-failed", status: status(404) },
  "probe failed": { type: "probe-failed", status: status(500) },
  opened: { type: "opened", stream },
  "refused 401": { type: "refused", stream, status: status(401) },
  "refused 403": { type: "refused", stream, status: status(403) },
  "refused 404": { type: "refused", stream, status: status(404) },
  "refused 410": { type: "refused", stream, status: status(410) },
  "refused 422": { type: "refused", stream, status: status(422, { message: "sendInitialEvents: Forbidden" }) },
  "refused 429": { type: "refused", stream, status: status(429) },
  "refused 504": { type: "refused", stream, status: status(504, { causes: [{ reason: "ResourceVersionTooLarge" }] }) },
  "first bytes": { type: "first-bytes", stream },
  "page complete": { type: "page-complete", stream, version: "100", continueToken: undefined },
  "page continues": { type: "page-complete", stream, version: "100", continueToken: "another" },
  "page repeats": { type: "page-complete", stream, version: "100", continueToken: "token" },
  "initial events end": { type: "initial-events-end", stream, version: "100" },
  bookmark: { type: "bookmark", stream },
  "in-stream 410": { type: "error-event", stream, status: status(410) },
  "in-stream 500": { type: "error-event", stream, status: status(500) },
  malformed: { type: "malformed-line", stream, description: "" },
  complete: { type: "ended", stream, outcome: complete, whileBlocked: false },
  truncated: { type: "ended", stream, outcome: truncated, whileBlocked: false },
  "hung up": { type: "ended", stream, outcome: truncated, whileBlocked: true },
  silent: { type: "silent", stream },
  stalled: { type: "stalled", stream },
  "changes begin": { type: "changes-begin", stream },
  "out of order": { type: "out-of-order", stream },
  retry: { type: "retry" },
  "successor due": { type: "successor-due" },
  "restored elsewhere": { type: "restored-elsewhere", detail: "another says so", clusterUid: "new" },
})
const inputNames = Object.keys(inputsOf(0))
const phaseNames = Object.keys(worldIn) as ReadonlyArray<keyof typeof worldIn>

/** Where inputs lead from a phase: every input that is not mentioned changes nothing and causes no command. */
const transitions: Readonly<Record<keyof typeof worldIn, ReadonlyArray<readonly [inputs: string, phase: string]>>> = {
  idle: [["start", "discovering"]],
  discovering: [
    ["restored elsewhere", "discovering"],
    ["discovered", "streaming-list"],
    ["not installed", "absent"],
    ["discovery failed", "backing off to discover"],
  ],
  absent: [
    ["retry", "discovering"],
    ["restored elsewhere", "absent"],
  ],
  probing: [
    ["restored elsewhere", "probing"],
    ["probed ahead", "watching unanswered"],
    ["probed behind, probed elsewhere", "streaming-list"],
    ["probe 404", "absent"],
    ["probe failed", "backing off to probe"],
  ],
  "streaming-list": [
    ["restored elsewhere", "streaming-list"],
    ["opened", "streaming-list with nothing"],
    ["changes begin", "streaming-list with changes"],
    ["initial events end", "watching"],
    ["refused 422, complete, stalled, out of order", "paging"],
    ["refused 404", "absent"],
    ["refused 401, refused 403, refused 410, refused 429, refused 504", "backing off to list"],
    ["in-stream 410, in-stream 500, malformed, truncated, hung up, silent", "backing off to list"],
  ],
  "streaming-list with nothing": [
    ["restored elsewhere", "streaming-list"],
    ["first bytes", "streaming-list with objects"],
    ["changes begin", "streaming-list with changes"],
    ["initial events end", "watching"],
    ["refused 422, complete, silent, stalled, out of order", "paging"],
    ["refused 404", "absent"],
    ["refused 401, refused 403, refused 410, refused 429, refused 504", "backing off to list"],
    ["in-stream 410, in-stream 500, malformed, truncated, hung up", "backing off to list"],
  ],
  "streaming-list with objects": [
    ["restored elsewhere", "streaming-list"],
    ["changes begin", "streaming-list with changes"],
    ["initial events end", "watching"],
    ["refused 422, complete, silent, stalled, out of order", "paging"],
    ["refused 404", "absent"],
    ["refused 401, refused 403, refused 410, refused 429, refused 504", "backing off to list"],
    ["in-stream 410, in-stream 500, malformed, truncated, hung up", "backing off to list"],
  ],
  "streaming-list with changes": [
    ["restored elsewhere", "streaming-list"],
    ["initial events end", "watching"],
    ["refused 422, complete, silent, stalled, out of order", "paging"],
    ["refused 404", "absent"],
    ["refused 401, refused 403, refused 410, refused 429, refused 504", "backing off to list"],
    ["in-stream 410, in-stream 500, malformed, truncated, hung up", "backing off to list"],
  ],
  paging: [
    ["restored elsewhere", "paging"],
    ["page continues, page repeats", "paging on"],
    ["page complete", "watching unanswered"],
    ["refused 404", "absent"],
    ["refused 401, refused 403, refused 410, refused 422, refused 429, refused 504", "backing off to list"],
    ["in-stream 410, in-stream 500, malformed, complete, truncated, hung up, silent", "backing off to list"],
  ],
  "paging on": [
    ["restored elsewhere", "paging"],
    ["page continues", "paging on"],
    ["page repeats", "backing off to list"],
    ["page complete", "watching unanswered"],
    ["refused 410, in-stream 410", "paging everything at once"],
    ["refused 404", "absent"],
    ["refused 401, refused 403, refused 422, refused 429, refused 504", "backing off to list"],
    ["in-stream 500, malformed, complete, truncated, hung up, silent", "backing off to list"],
  ],
  "paging everything at once": [
    ["restored elsewhere", "paging"],
    ["page continues, page repeats", "paging everything at once"],
    ["page complete", "watching unanswered"],
    ["refused 404", "absent"],
    ["refused 401, refused 403, refused 410, refused 422, refused 429, refused 504", "backing off to list"],
    ["in-stream 410, in-stream 500, malformed, complete, truncated, hung up, silent", "backing off to list"],
  ],
  "watching unanswered": [
    ["restored elsewhere", "paging"],
    ["opened", "watching"],
    ["successor due", "watching with a successor"],
    ["bookmark", "watching unanswered"],
    ["refused 404", "absent"],
    ["refused 410, in-stream 410", "paging"],
    ["refused 401, refused 403, refused 422, refused 429, in-stream 500", "backing off to watch"],
    ["malformed, silent", "backing off to watch"],
    ["refused 504", "backing off to probe"],
    ["complete, truncated, hung up", "probing"],
  ],
  watching: [
    ["restored elsewhere", "streaming-list"],
    ["successor due", "watching with a successor"],
    ["bookmark", "watching"],
    ["refused 404", "absent"],
    ["refused 410, in-stream 410", "streaming-list"],
    ["refused 401, refused 403, refused 422, refused 429, in-stream 500", "backing off to watch"],
    ["malformed, silent", "backing off to watch"],
    ["refused 504", "backing off to probe"],
    // After a second in which nothing arrived.
    ["complete, truncated, hung up", "probing"],
  ],
  "watching with a successor": [
    ["restored elsewhere", "streaming-list"],
    ["bookmark", "watching with a successor"],
    ["refused 404", "absent"],
    ["refused 410, in-stream 410", "streaming-list"],
    ["refused 401, refused 403, refused 422, refused 429, in-stream 500", "backing off to watch"],
    ["malformed, silent", "backing off to watch"],
    ["refused 504", "backing off to probe"],
    ["complete, truncated, hung up", "probing"],
  ],
  "backing off to discover": [
    ["retry", "discovering"],
    ["restored elsewhere", "backing off to discover"],
  ],
  "backing off to probe": [
    ["retry", "probing"],
    ["restored elsewhere", "backing off to probe"],
  ],
  "backing off to list": [
    ["retry", "streaming-list"],
    ["restored elsewhere", "backing off to list"],
  ],
  "backing off to watch": [
    ["retry", "watching unanswered"],
    ["restored elsewhere", "backing off to watch"],
  ],
  stopped: [],
}

/** The same for inputs about the successor: except for a malformed line, none of them disturbs the old watch. */
const successorTransitions: ReadonlyArray<readonly [inputs: string, phase: string]> = [
  ["bookmark", "watching with a successor"],
  [inputNames.filter((name) => name.startsWith("refused")).join(", "), "watching"],
  ["first bytes, in-stream 410, in-stream 500, complete, truncated, hung up", "watching"],
  ["malformed, silent", "backing off to watch"],
]

const read = (rows: ReadonlyArray<readonly [string, string]>): ReadonlyMap<string, string> =>
  new Map(rows.flatMap(([inputs, phase]) => inputs.split(", ").map((input) => [input, phase] as const)))

/** Feeds an input a second after the phase was reached, and checks that it leads where it should. */
const expectStep = (world: World, input: Input, expected: string | undefined): void => {
  const before = world.state
  const phase = describePhase(world)
  world.nowMs += 1000
  const commands = world.feed(input)
  expect(describePhase(world)).toBe(expected ?? phase)
  if (expected === undefined) expect([world.state, commands]).toEqual([before, []])
  expect([...world.open].sort()).toEqual([world.stream, world.successor].filter((stream) => stream > 0).sort())
  if (!["idle", "stopped"].includes(world.phase)) expect(world.goesOn).toBe(true)
}

describe.each(phaseNames)("in phase %s", (phase) => {
  const expected = read(transitions[phase])

  test.each(inputNames.filter((name) => name !== "stop"))("%s leads where it should", (name) => {
    const world = worldIn[phase]()
    expectStep(world, inputsOf(world.stream)[name] as Input, expected.get(name))
  })

  test("the table names only inputs that exist", () => {
    expect(inputNames).toEqual(expect.arrayContaining([...expected.keys()]))
  })

  test("events of a closed or unknown stream are ignored", () => {
    for (const stream of [0, 99]) {
      for (const [name, input] of Object.entries(inputsOf(stream))) {
        if (!("stream" in input)) continue
        const world = worldIn[phase]()
        const before = world.state
        expect([name, world.feed(input), world.state]).toEqual([name, [], before])
      }
    }
  })

  test("stop closes every stream, and is final", () => {
    const world = worldIn[phase]()
    world.feed({ type: "stop" })
    expect([world.phase, [...world.open]]).toEqual(["stopped", []])
    for (const input of Object.values(inputsOf(1))) expect(world.feed(input)).toEqual([])
    expect(world.phase).toBe("stopped")
  })
})

describe("with a successor", () => {
  const expected = read(successorTransitions)

  test.each(inputNames.filter((name) => "stream" in (inputsOf(0)[name] as Input)))(
    "%s of it leads where it should",
    (name) => {
      const world = worldIn["watching with a successor"]()
      expectStep(world, inputsOf(world.successor)[name] as Input, expected.get(name))
    },
  )
})

test("a machine stopped before it started stays so", () => {
  const world = worldIn.idle()
  world.feed({ type: "stop" })
  expect(world.feed({ type: "start", resumeVersion: undefined, clusterUid: undefined })).toEqual([])
})

test("continue tokens that repeat end a list, however many of them alternate, and others do not", () => {
  for (const length of [1, 2, 3, 10]) {
    const world = worldIn.paging()
    let pages = 0
    while (world.phase === "paging" && pages < 100) {
      world.feed({ type: "page-complete", stream: world.stream, version: "100", continueToken: `${pages++ % length}` })
    }
    expect(describePhase(world)).toBe("backing off to list")
    expect(pages).toBeLessThanOrEqual(4 * length)
  }
  const world = worldIn.paging()
  for (let page = 0; page < 1000; page++)
    world.feed({ type: "page-complete", stream: world.stream, version: "100", continueToken: `${page}` })
  expect(describePhase(world)).toBe("paging on")
})
