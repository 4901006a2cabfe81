/**
 * A set of supervised actors and the links between them, in one scope.
 *
 * Links are made anew whenever either end starts another life. Closing the scope stops the actors in waves, senders before the receivers
 * they feed, so that what a source has read is drained, acknowledged and on disk when the process ends. A single actor can be removed the
 * same way; all others keep their lives and their links.
 */
import { MessageChannel } from "node:worker_threads"
import { type Clock, systemClock } from "../clock.ts"
import type { ActorMetrics } from "./actor-host.ts"
import type { ControlInterface } from "./control.ts"
import { type ActorSpec, type ActorState, Supervisor } from "./supervisor.ts"

/** The parts of a supervisor that do not depend on its types. */
type AnySupervisor = Pick<
  Supervisor<never, ControlInterface, never>,
  "name" | "role" | "state" | "incarnation" | "restarts" | "thread" | "metrics" | "stop" | "move" | "kill"
>

interface Link {
  readonly mailbox: string
  readonly from: string
  readonly to: string
  readonly direction: LinkDirection
}

/**
 * `downstream` links carry what must be drained: at shutdown the sender stops first. `upstream` links carry answers back to a source: they
 * do not affect the order, and what is left in them is not waited for, because the source is gone.
 */
export type LinkDirection = "downstream" | "upstream"

export interface ActorStatus {
  readonly name: string
  readonly role: string
  readonly state: ActorState
  readonly restarts: number
  /** Absent if the actor is not running or does not respond. */
  readonly metrics?: ActorMetrics
}

export interface ActorSystemOptions {
  readonly clock?: Clock
  /** Returns a number in [0, 1) for the jitter of restarts. */
  readonly random?: () => number
  /** ms that each actor's mailboxes may take to drain when the system stops. Default 5 s. */
  readonly drainMs?: number
}

export class ActorSystem {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #drainMs: number
  readonly #actors = new Map<string, AnySupervisor>()
  #links: Array<Link> = []
  /** Upstream links whose receiver was removed: what is left in those mailboxes is never received. */
  readonly #unanswered: Array<Pick<Link, "mailbox" | "from">> = []
  #stopping: Promise<ReadonlyArray<string>> | undefined

  constructor(options: ActorSystemOptions = {}) {
    this.#clock = options.clock ?? systemClock
    this.#random = options.random ?? Math.random
    this.#drainMs = options.drainMs ?? 5000
  }

  /** Starts an actor; it runs once its body has returned its control handlers ({@link Supervisor.running}). */
  spawn<Config, Control extends ControlInterface, Report>(
    spec: ActorSpec<Config, Control, Report>,
  ): Supervisor<Config, Control, Report> {
    if (this.#stopping !== undefined) throw new Error(`the system is stopping, ${spec.name} cannot start`)
    if (this.#actors.has(spec.name)) throw new Error(`an actor named ${spec.name} exists already`)
    const supervisor = new Supervisor(spec, this.#clock, this.#random, { started: () => this.#relink(spec.name) })
    this.#actors.set(spec.name, supervisor as unknown as AnySupervisor)
    supervisor.start()
    return supervisor
  }

  /**
   * Feeds the mailbox of `to` from the outbox of the same name of `from`, in every life of both. Either may be spawned later. An outbox has
   * one receiver, a mailbox any number of senders: an actor that sends answers to many has an outbox for each.
   */
  link(
    mailbox: string,
    from: { readonly name: string },
    to: { readonly name: string },
    direction: LinkDirection = "downstream",
  ): void {
    const other = this.#links.find((link) => link.mailbox === mailbox && link.from === from.name)
    if (other !== undefined) throw new Error(`outbox ${mailbox} of ${from.name} feeds ${other.to} already`)
    const link = { mailbox, from: from.name, to: to.name, direction }
    this.#links.push(link)
    this.#connect(link)
  }

  /** Whether the system is stopping or has stopped: nothing can be spawned any more. */
  get isStopping(): boolean {
    return this.#stopping !== undefined
  }

  /**
   * Stops one actor in order, then forgets it and its links: its name is free for another spawn, which must be linked anew. Until it has
   * ended it stays linked, so that a receiver that restarts meanwhile still gets its frames. Returns whether it was drained in time
   * (`drainMs` of the system); if not, its last frames may not have been acknowledged.
   *
   * Throws an Error if there is no such actor.
   */
  async remove(name: string): Promise<boolean> {
    const actor = this.#actors.get(name)
    if (actor === undefined) throw new Error(`no actor is named ${name}`)
    const drained = await actor.stop(this.#drainMs, this.#answersOf(name))
    // Two concurrent removals: the second must not remove a new actor of the same name.
    if (this.#actors.get(name) !== actor) return drained
    this.#actors.delete(name)
    for (const { mailbox, from, to, direction } of this.#links) {
      if (to !== name || direction !== "upstream") continue
      const isKnown = this.#unanswered.some((each) => each.mailbox === mailbox && each.from === from)
      if (!isKnown) this.#unanswered.push({ mailbox, from })
    }
    this.#links = this.#links.filter(({ from, to }) => from !== name && to !== name)
    return drained
  }

  /**
   * Ends an actor's life in order and begins the next, which its spec may place in another thread. No effect on one that is not running. Throws an
   * Error if there is no such actor.
   */
  async move(name: string): Promise<void> {
    const actor = this.#actors.get(name)
    if (actor === undefined) throw new Error(`no actor is named ${name}`)
    await actor.move(this.#drainMs, this.#answersOf(name))
  }

  /** State and metrics of every actor, in order of spawning. */
  async status(): Promise<ReadonlyArray<ActorStatus>> {
    return Promise.all(
      [...this.#actors.values()].map(async (actor) => {
        const metrics = await actor.metrics()
        const { name, role, state, restarts } = actor
        return metrics === undefined ? { name, role, state, restarts } : { name, role, state, restarts, metrics }
      }),
    )
  }

  /** Stops all actors, senders before receivers; returns the names of those that could not drain in time. */
  stop(): Promise<ReadonlyArray<string>> {
    this.#stopping ??= this.#stopInWaves()
    return this.#stopping
  }

  async #stopInWaves(): Promise<ReadonlyArray<string>> {
    const left = new Set(this.#actors.keys())
    const undrained: Array<string> = []
    while (left.size > 0) {
      const feeders = new Map([...left].map((name) => [name, this.#feedersOf(name, left)]))
      const ready = [...left].filter((name) => feeders.get(name)?.size === 0)
      // A cycle of downstream links has no first member: of a cycle that no other actor feeds, the last spawned stops first.
      const cycle = [...left].filter((name) =>
        [...(feeders.get(name) ?? [])].every((feeder) => feeders.get(feeder)?.has(name)),
      )
      const wave = ready.length > 0 ? ready : cycle.slice(-1)
      await Promise.all(
        wave.map(async (name) => {
          const drained = await this.#actors.get(name)?.stop(this.#drainMs, this.#answersOf(name))
          if (drained === false) undrained.push(name)
          left.delete(name)
        }),
      )
    }
    return undrained
  }

  /** Mailboxes through which `name` sends answers to the actors that feed it. */
  #answersOf(name: string): ReadonlyArray<string> {
    const answers = [...this.#links.filter(({ direction }) => direction === "upstream"), ...this.#unanswered]
    return answers.flatMap(({ mailbox, from }) => (from === name ? [mailbox] : []))
  }

  /** The actors of `left` whose frames can reach `name` over any number of downstream links. */
  #feedersOf(name: string, left: ReadonlySet<string>): Set<string> {
    const found = new Set<string>()
    const ahead = [name]
    for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
      for (const { from, to, direction } of this.#links) {
        if (direction !== "downstream" || to !== next || !left.has(from) || found.has(from)) continue
        found.add(from)
        ahead.push(from)
      }
    }
    return found
  }

  #relink(name: string): void {
    for (const link of this.#links) if (link.from === name || link.to === name) this.#connect(link)
  }

  #connect(link: Link): void {
    const from = this.#actors.get(link.from)
    const to = this.#actors.get(link.to)
    if (from?.thread === undefined || to?.thread === undefined) return
    const { port1, port2 } = new MessageChannel()
    to.thread.send(
      { type: "attach-inbox", mailbox: link.mailbox, sender: link.from, incarnation: from.incarnation, port: port2 },
      [port2],
    )
    from.thread.send({ type: "attach-outbox", mailbox: link.mailbox, port: port1 }, [port1])
  }
}
