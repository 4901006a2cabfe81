/** The world outside the state machine, as far as it can see it: what its commands have started and not yet ended. */
import { expect } from "vitest"
import type { ApiStatus } from "../../../src/kube/status.ts"
import { initialState, step } from "../../../src/kube/watch/protocol/machine.ts"
import { defaultWatchPolicy } from "../../../src/kube/watch/protocol/policy.ts"
import type { Command, Input, StreamId, WatchState } from "../../../src/kube/watch/protocol/protocol.ts"

export const status = (code: number, more: Partial<ApiStatus> = {}): ApiStatus => ({
  code,
  reason: "",
  message: "",
  causes: [],
  retryAfterSeconds: undefined,
  ...more,
})
export const complete = { tag: "complete", description: "" } as const
export const truncated = { tag: "truncated", description: "" } as const

/** Simulates the commands, and checks the machine's invariants. */
export class World {
  state: WatchState = initialState
  readonly open = new Set<StreamId>()
  /** Streams with a limit of silence. */
  readonly limited = new Set<StreamId>()
  readonly commands: Command[] = []
  enquiry: "discover" | "probe" | undefined
  isRetryDue = false
  delivered: string | undefined
  progressed = false
  isStale = false
  nowMs = 1000
  random = 0
  /** Reason of the list that has started and is not complete. */
  listing: string | undefined

  get phase(): string {
    return this.state.phase.tag
  }

  /** The current stream. */
  get stream(): StreamId {
    const { phase } = this.state
    return "stream" in phase ? phase.stream : -1
  }

  get successor(): StreamId {
    const { phase } = this.state
    return phase.tag === "watching" ? (phase.successor ?? -1) : -1
  }

  /** Everything the machine needs to continue by itself. */
  get goesOn(): boolean {
    const isWatched = [...this.open].every((stream) => this.limited.has(stream))
    return this.enquiry !== undefined || this.isRetryDue || (this.open.size > 0 && isWatched)
  }

  feed(input: Input): ReadonlyArray<Command> {
    // The session forgets by itself what ends with its own input.
    if (input.type === "ended" || input.type === "refused") this.#forget(input.stream)
    if (input.type === "page-complete" && this.phase === "paging") this.#forget(input.stream)
    if (input.type === "discovered" || input.type === "not-installed" || input.type === "discovery-failed") {
      if (this.enquiry === "discover") this.enquiry = undefined
    }
    if ((input.type === "probed" || input.type === "probe-failed") && this.enquiry === "probe") this.enquiry = undefined
    if (input.type === "retry") this.isRetryDue = false
    const { nowMs, delivered, progressed, isStale } = this
    const moment = { nowMs, delivered, progressed, isStale, random: () => this.random }
    const [state, commands] = step(defaultWatchPolicy, this.state, input, moment)
    this.state = state
    for (const command of commands) this.#carryOut(command)
    this.commands.push(...commands)
    return commands
  }

  #carryOut(command: Command): void {
    switch (command.type) {
      case "discover":
      case "probe":
        expect(this.enquiry).toBeUndefined()
        this.enquiry = command.type
        return
      case "open-streaming-list":
      case "open-page":
      case "open-whole-list":
      case "open-watch":
        expect(this.open.has(command.stream)).toBe(false)
        this.open.add(command.stream)
        this.progressed = false
        if (command.type === "open-watch") expect([command.version, this.listing]).toEqual([this.delivered, undefined])
        else if ("continueToken" in command && command.continueToken !== undefined)
          expect(command.version).toBeUndefined()
        else expect([undefined, this.delivered]).toContain(command.version)
        return
      case "close":
        expect(this.open).toContain(command.stream)
        this.#forget(command.stream)
        return
      case "limit-silence":
        expect(this.open).toContain(command.stream)
        expect(command.ms).toBeGreaterThan(0)
        this.limited.add(command.stream)
        return
      case "retry-after":
        expect(this.isRetryDue).toBe(false)
        expect(command.ms).toBeGreaterThan(0)
        this.isRetryDue = true
        return
      case "list-started":
        this.listing = command.reason
        return
      case "list-completed":
        this.listing = undefined
        this.delivered = command.version
        return
      case "epoch-started":
      case "history-forgotten":
        this.delivered = undefined
        return
      default:
        return
    }
  }

  #forget(stream: StreamId): void {
    this.open.delete(stream)
    this.limited.delete(stream)
  }
}

const fed = (world: World, ...inputs: ReadonlyArray<Input>): World => {
  for (const input of inputs) world.feed(input)
  return world
}

const fresh = { type: "start", resumeVersion: undefined, clusterUid: undefined } as const
const noStreamingList = status(422, { causes: [{ reason: "FieldValueForbidden", field: "sendInitialEvents" }] })

const discovering = (): World => fed(new World(), fresh)
const probing = (): World => {
  const world = new World()
  world.delivered = "100"
  return fed(world, { type: "start", resumeVersion: "100", clusterUid: "uid" }, { type: "discovered" })
}
const listing = (): World => fed(discovering(), { type: "discovered" })
/** A streaming list to which that has happened. */
const onList = (...types: ReadonlyArray<"opened" | "first-bytes" | "changes-begin">): World => {
  const world = listing()
  return fed(world, ...types.map((type) => ({ type, stream: world.stream })))
}
const refused = (world: World, why: ApiStatus): World =>
  fed(world, { type: "refused", stream: world.stream, status: why })
const watching = (): World => {
  const world = listing()
  return fed(world, { type: "initial-events-end", stream: world.stream, version: "100" })
}
const ended = (world: World): World =>
  fed(world, { type: "ended", stream: world.stream, outcome: complete, whileBlocked: false })

const paging = (): World => refused(listing(), noStreamingList)
const pagingOn = (): World => {
  const world = paging()
  return fed(world, { type: "page-complete", stream: world.stream, version: "100", continueToken: "token" })
}
const allPaged = (): World => {
  const world = paging()
  return fed(world, { type: "page-complete", stream: world.stream, version: "100", continueToken: undefined })
}

/** Worlds in each phase, brought there by what a server would send. */
export const worldIn = {
  idle: () => new World(),
  discovering,
  absent: () => fed(discovering(), { type: "not-installed" }),
  probing,
  "streaming-list": listing,
  "streaming-list with nothing": () => onList("opened"),
  "streaming-list with objects": () => onList("opened", "first-bytes"),
  "streaming-list with changes": () => onList("opened", "first-bytes", "changes-begin"),
  paging,
  "paging on": pagingOn,
  "paging everything at once": () => refused(pagingOn(), status(410)),
  "watching unanswered": allPaged,
  watching,
  "watching with a successor": () => fed(watching(), { type: "successor-due" }),
  "backing off to discover": () => fed(discovering(), { type: "discovery-failed", status: status(503) }),
  "backing off to probe": () => fed(probing(), { type: "probe-failed", status: status(503) }),
  "backing off to list": () => refused(listing(), status(500)),
  "backing off to watch": () => ended(watching()),
  stopped: () => fed(watching(), { type: "stop" }),
} satisfies Record<string, () => World>

/** The phase in the names of {@link worldIn}. */
export const describePhase = (world: World): string => {
  const { phase } = world.state
  if (phase.tag === "backing-off") return `backing off to ${phase.then}`
  if (phase.tag === "paging")
    return phase.whole ? "paging everything at once" : phase.continues ? "paging on" : "paging"
  if (phase.tag === "streaming-list" && phase.part !== "asked")
    return `streaming-list with ${phase.part === "empty" ? "nothing" : phase.part}`
  if (phase.tag !== "watching") return phase.tag
  if (phase.successor !== undefined) return "watching with a successor"
  return phase.answered ? "watching" : "watching unanswered"
}
