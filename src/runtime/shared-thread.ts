/**
 * A worker in which several actors of one role live, for actors that are many and mostly quiet: a worker of its own takes 10 MB before it does
 * anything.
 *
 * Each actor keeps its own mailboxes, calls, state and supervision, and one that crashes leaves the others alone
 * (worker.ts). What they share is the event loop and the heap: if the thread ends, all lives in it end, and their
 * supervisors learn that it may not have been their own fault. The worker starts with its first life and ends with its
 * last; after it ended, the next life starts another.
 */
import { MessageChannel, type MessagePort, type Worker } from "node:worker_threads"
import { type Clock, systemClock, type Timer } from "../clock.ts"
import type { MemoryLimits } from "./actor.ts"
import { type StartThread, startWorker, type Thread, type ThreadObserver } from "./thread.ts"
import type { OpenRoom, RoomCommand, RoomEvent } from "./worker.ts"

/** ms in which a crashed life must have left the thread; otherwise the thread is ended, with all lives in it. */
const leaveMs = 2000

interface Room {
  readonly worker: Worker
  readonly observer: ThreadObserver
  readonly port: MessagePort
  reason: string
  /** Ends the thread if the life does not leave it in time. */
  leaving: Timer | undefined
  /** Called when the life has ended. */
  readonly waiters: Array<() => void>
}

export interface SharedThreadOptions {
  readonly clock?: Clock
  /** Called when the thread has ended by itself, before the supervisors of the lives in it learn of it. */
  readonly onLost?: (reason: string) => void
}

export class SharedThread {
  readonly #entry: URL
  readonly #limits: () => MemoryLimits
  readonly #clock: Clock
  readonly #onLost: (reason: string) => void
  readonly #rooms = new Set<Room>()
  #worker: Worker | undefined
  #utilisation: ReturnType<Worker["performance"]["eventLoopUtilization"]> | undefined

  /** `limits`: called before each start of the worker. */
  constructor(
    entry: URL,
    limits: () => MemoryLimits,
    { clock = systemClock, onLost = () => undefined }: SharedThreadOptions = {},
  ) {
    this.#entry = entry
    this.#limits = limits
    this.#clock = clock
    this.#onLost = onLost
  }

  /** Lives in it now. */
  get residents(): number {
    return this.#rooms.size
  }

  /** The share of time, 0 to 1, for which its event loop has been busy since the previous call. Does not wake the thread. */
  takeUtilisation(): number {
    const now = this.#worker?.performance.eventLoopUtilization()
    const before = this.#utilisation
    this.#utilisation = now
    if (now === undefined || this.#worker === undefined) return 0
    return before === undefined
      ? now.utilization
      : this.#worker.performance.eventLoopUtilization(now, before).utilization
  }

  /** Starts a life here. */
  readonly start: StartThread = (observer) => {
    this.#worker ??= this.#begin()
    const { port1: port, port2 } = new MessageChannel()
    const room: Room = {
      worker: this.#worker,
      observer,
      port,
      reason: "it left its thread",
      leaving: undefined,
      waiters: [],
    }
    this.#rooms.add(room)
    port.on("message", (event: RoomEvent) => this.#event(room, event))
    room.worker.postMessage({ type: "open-room", port: port2 } satisfies OpenRoom, [port2])
    return {
      send: (command, transfer = []) => port.postMessage(command, [...transfer]),
      kill: (reason = "killed") => this.#kill(room, reason),
    } satisfies Thread
  }

  #begin(): Worker {
    const worker = startWorker(this.#entry, this.#limits())
    let reason = "the thread exited"
    worker.on("error", (error) => {
      reason = error instanceof Error ? (error.stack ?? error.message) : String(error)
    })
    worker.on("exit", (code) => {
      if (this.#worker === worker) this.#worker = undefined
      const lost = [...this.#rooms].filter((room) => room.worker === worker)
      const why = reason === "the thread exited" ? `${reason} with code ${code}` : reason
      if (lost.length > 0) this.#onLost(why)
      for (const room of lost) this.#end(room, why, lost.length > 1)
    })
    this.#utilisation = undefined
    return worker
  }

  #event(room: Room, event: RoomEvent): void {
    if (!this.#rooms.has(room)) return
    if (event.type === "left") {
      this.#end(room, room.reason, false)
      return
    }
    if (event.type === "crashed") {
      room.reason = event.reason
      this.#leaveSoon(room)
    } else if (event.type === "stopped") room.reason = "stopped"
    room.observer.event(event)
  }

  /** Resolves when the life has ended. */
  #kill(room: Room, reason: string): Promise<void> {
    if (!this.#rooms.has(room)) return Promise.resolve()
    room.port.postMessage({ type: "leave", reason } satisfies RoomCommand)
    this.#leaveSoon(room)
    return new Promise((resolve) => room.waiters.push(resolve))
  }

  #leaveSoon(room: Room): void {
    room.leaving ??= this.#clock.after(leaveMs, () => void room.worker.terminate())
  }

  #end(room: Room, reason: string, isShared: boolean): void {
    this.#rooms.delete(room)
    room.leaving?.cancel()
    room.port.close()
    const isEmpty = ![...this.#rooms].some(({ worker }) => worker === room.worker)
    if (isEmpty && this.#worker === room.worker) {
      this.#worker = undefined
      // Its last life has ended: nothing is left to wait for.
      void room.worker.terminate()
    }
    room.observer.ended(reason, isShared)
    for (const resolve of room.waiters) resolve()
  }
}
