/**
 * One open watch: a chunked response, one chunk per line, or a WebSocket, one frame per line; in the order of the
 * calls.
 *
 * Under overload: without a limit, lines that the client does not read pile up in this process (Node buffers them in
 * the socket). With a limit the stream does what the real server does: it closes the connection of a reader that stays
 * behind by more than the limit for 100 ms. The initial events (state or history) do not count: the real server paces
 * them, and drops only readers that are behind with what has happened since. While held (a stall), lines are queued
 * without bound, and the 100 ms do not run.
 */

import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Clock, Timer } from "../../clock.ts"
import { type Failure, statusText } from "../answers/failure.ts"
import { bookmarkObject, type Form } from "../forms/form.ts"
import { type Change, type ChangeRecord, encodeLine, retyped } from "../kinds/change.ts"
import type { JsonFormat } from "../kinds/json-spacing.ts"
import type { Resource } from "../kinds/resources.ts"
import { hasSelectors, lineFor, type Selection, selects } from "../selection/selection.ts"
import { atTurnEnd } from "./turn.ts"

/**
 * Pieces of memory to be sent one after the other, joined without copying if they are adjacent. Watch lines are, up to
 * the end of their slab, so for a turn's sixteen writes each of ten watchers is sent one piece, not sixteen.
 */
export class AdjacentBytes {
  #memory: ArrayBufferLike | undefined
  #start = 0
  #end = 0

  /**
   * Adds a piece, which must not be changed any more. If it is not adjacent to the bytes held so far, returns those.
   */
  add(piece: Buffer): Buffer | undefined {
    const { buffer, byteOffset, length } = piece
    if (buffer === this.#memory && byteOffset === this.#end) {
      this.#end += length
      return undefined
    }
    const before = this.take()
    this.#memory = buffer
    this.#start = byteOffset
    this.#end = byteOffset + length
    return before
  }

  /** Bytes that wait to be taken. */
  get length(): number {
    return this.#memory === undefined ? 0 : this.#end - this.#start
  }

  /** Returns and removes what has been added; `undefined` if there is nothing. */
  take(): Buffer | undefined {
    if (this.#memory === undefined) return undefined
    const taken = Buffer.from(this.#memory, this.#start, this.#end - this.#start)
    this.#memory = undefined
    return taken
  }
}

/** Hooks through which a test interferes with an open watch. */
export interface StreamHooks {
  /** Bytes of the next line to send before the connection is cut; called for every line. */
  truncate(plural: string): number | undefined
  /** The stream is about to drop a slow reader. */
  slowReader(plural: string): void
}

/** The parts that all streams of one server share. */
export interface StreamSurroundings {
  readonly clock: Clock
  readonly format: JsonFormat
  /** Bytes of unsent data that are tolerated for {@link blockedReaderMilliseconds}. Absent: no limit. */
  readonly slowReaderLimit?: number
  readonly hooks: StreamHooks
}

interface StreamRequest {
  readonly resource: Resource
  readonly selection: Selection
  readonly allowBookmarks: boolean
  readonly timeoutSeconds?: number
  /** The form in which the client wants objects; absent means as they are stored. */
  readonly form?: Form
}

/** How long the real server lets a reader block it (measured against Kubernetes 1.34.4: about 100 ms). */
const blockedReaderMilliseconds = 100

export class WatchStream {
  readonly resource: Resource
  readonly allowBookmarks: boolean
  readonly #selection: Selection
  /** Most streams select everything or by namespace; those need no look at labels. */
  readonly #plain: boolean
  readonly #form: Form | undefined
  readonly #surroundings: StreamSurroundings
  readonly #response: WatchOutput
  /** HTTP/1.0 and WebSockets have no chunks. */
  readonly #isChunked: boolean
  readonly #closers: Array<() => unknown> = []
  /** Chunks of this turn that are adjacent in memory, as one. */
  readonly #run = new AdjacentBytes()
  /** The socket is corked until the turn ends. */
  #isGathering = false
  /**
   * Events at or below this version are not sent; a watch from a future version waits here for the server to catch up.
   */
  #after = 0n
  #held: Buffer[] | undefined
  /** Bytes written since the initial events were sent; `undefined` until then. */
  #liveBytes: number | undefined
  #ending = false
  /** A truncated line is the last thing that is sent. */
  #isCut = false
  #closed = false
  #overload: Timer | undefined

  /** Takes over an output that nothing but its head has been sent to. */
  constructor(response: WatchOutput, request: StreamRequest, surroundings: StreamSurroundings) {
    this.resource = request.resource
    this.allowBookmarks = request.allowBookmarks
    this.#selection = request.selection
    this.#form = request.form
    this.#plain =
      request.form === undefined && !hasSelectors(request.selection) && request.selection.namespace === undefined
    this.#surroundings = surroundings
    this.#response = response
    this.#isChunked = response.chunkedEncoding
    response.once("close", () => this.#close())
    // A write to a dead connection reports here as well; either way the watch is over.
    response.on("error", () => this.#close())
    if (request.timeoutSeconds !== undefined) {
      const timer = surroundings.clock.after(request.timeoutSeconds * 1000, () => this.end())
      this.onClose(() => timer.cancel())
    }
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Runs the action when the stream has ended for whatever reason; at once if it has already. */
  onClose(action: () => unknown): void {
    if (this.#closed) action()
    else this.#closers.push(action)
  }

  /** Whether the initial events have been sent. */
  get isLive(): boolean {
    return this.#liveBytes !== undefined
  }

  /** The initial events have been sent: what follows is live, and the reader must keep up with it. */
  goLive(): void {
    this.#liveBytes ??= 0
  }

  /** From now on only changes above the version are delivered. */
  startAfter(version: bigint): void {
    this.#after = version
  }

  /** Sends a change if the client selected it; returns whether it did. */
  deliver(record: ChangeRecord): boolean {
    if (record.change.revision <= this.#after) return false
    if (this.#plain) {
      this.send(record.change.line, record.change.chunk)
      return true
    }
    const line = lineFor(record, this.#selection, this.#surroundings.format, this.#form)
    if (line !== undefined) this.send(line)
    return line !== undefined
  }

  /** Sends a state as a synthetic ADDED event if the client selected it. */
  deliverState(change: Change): void {
    if (!selects(this.#selection, change)) return
    const { format } = this.#surroundings
    if (this.#form !== undefined) this.send(encodeLine("ADDED", this.#form.object(change), format).line)
    else this.send(change.type === "ADDED" ? change.line : retyped(change, "ADDED", format))
  }

  /**
   * Sends a bookmark if the client allows them and the stream is complete through this version; returns whether it did.
   */
  bookmark(version: bigint, line: Buffer, initialEventsEnd = false): boolean {
    const wanted = this.allowBookmarks && version >= this.#after
    if (wanted) this.send(this.#form === undefined ? line : this.#formed(this.#form, version, initialEventsEnd))
    return wanted
  }

  /** An `ERROR` event; the server ends the stream after it. */
  error(failure: Failure): void {
    this.send(encodeLine("ERROR", statusText(failure), this.#surroundings.format).line)
    this.end()
  }

  /** Sends raw bytes as one chunk; `chunk` is that chunk if it exists already. */
  send(line: Buffer, chunk?: Buffer): void {
    if (this.#closed || this.#ending) return
    if (this.#held === undefined) this.#write(line, chunk)
    else this.#held.push(line)
  }

  /**
   * Resolves when the client has taken most of what it was sent, or is gone; `undefined` if there is no need to wait. A
   * feed that sends many initial events calls this after every line, or all of them pile up in this process.
   */
  drained(): Promise<void> | undefined {
    const { socket } = this.#response
    if (this.#closed || socket === null || !socket.writableNeedDrain) return undefined
    return new Promise((resolve) => {
      const done = (): void => {
        socket.off("drain", done).off("close", done)
        resolve()
      }
      socket.on("drain", done).on("close", done)
    })
  }

  /** Ends the response properly, after the held lines. */
  end(): void {
    this.#ending = true
    if (this.#held === undefined && !this.#closed) this.#finish()
  }

  /** Cuts the connection; held lines are lost. */
  destroy(): void {
    this.#response.destroy()
    this.#close()
  }

  /** Queues from now on. */
  hold(): void {
    this.#held ??= []
  }

  /** Sends what has been queued and continues. */
  release(): void {
    const lines = this.#held ?? []
    this.#held = undefined
    for (const line of lines) if (!this.#closed && !this.#isCut) this.#write(line)
    if (this.#ending && !this.#closed) this.#finish()
  }

  #finish(): void {
    if (this.#isCut) return
    this.#flush()
    this.#response.end()
  }

  #formed(form: Form, version: bigint, initialEventsEnd: boolean): Buffer {
    return encodeLine("BOOKMARK", form.bookmark(version, initialEventsEnd), this.#surroundings.format).line
  }

  #write(line: Buffer, chunk?: Buffer): void {
    const cut = this.#surroundings.hooks.truncate(this.resource.plural)
    if (cut !== undefined) {
      this.#ending = true
      this.#isCut = true
      this.#flush()
      // After the bytes have been handed to the kernel, so that the client does see the start of the line.
      this.#response.write(line.subarray(0, cut), () => this.destroy())
      return
    }
    const socket = this.#gather()
    // Bypasses the response, which would frame the same bytes again for every watcher.
    if (chunk !== undefined && socket !== null && this.#isChunked) {
      const before = this.#run.add(chunk)
      if (before !== undefined) socket.write(before)
    } else {
      this.#flush()
      this.#response.write(line)
    }
    if (this.#liveBytes === undefined) return
    this.#liveBytes += line.length
    this.#watchBacklog()
  }

  /**
   * Gathers the writes of one turn of the event loop into one system call. Node would do the same, but would also merge
   * them into one chunk; it does not merge them when the socket is already corked.
   */
  #gather(): Socket | null {
    const { socket } = this.#response
    if (socket === null || this.#isGathering) return socket
    this.#isGathering = true
    socket.cork()
    atTurnEnd(() => {
      this.#isGathering = false
      this.#flush()
      socket.uncork()
    })
    return socket
  }

  #flush(): void {
    const bytes = this.#run.take()
    if (bytes !== undefined && !this.#closed) this.#response.socket?.write(bytes)
  }

  #watchBacklog(): void {
    const { slowReaderLimit, clock, hooks } = this.#surroundings
    if (slowReaderLimit === undefined) return
    // First in, first out: of the unsent bytes, at most as many are live as have been written since the initial events.
    const behind = (): boolean => {
      const unsent = (this.#response.socket?.writableLength ?? 0) + this.#run.length
      return Math.min(unsent, this.#liveBytes ?? 0) > slowReaderLimit
    }
    if (!behind()) {
      this.#overload?.cancel()
      this.#overload = undefined
      return
    }
    this.#overload ??= clock.after(blockedReaderMilliseconds, () => {
      this.#overload = undefined
      if (!behind()) return
      hooks.slowReader(this.resource.plural)
      this.destroy()
    })
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#held = undefined
    this.#overload?.cancel()
    for (const action of this.#closers) action()
  }
}

/** A BOOKMARK line. Built-in kinds carry the zero value of their Go struct, custom ones only their metadata. */
export const bookmarkLine = (
  resource: Resource,
  version: bigint,
  initialEventsEnd: boolean,
  format: JsonFormat,
): Buffer => encodeLine("BOOKMARK", bookmarkObject(resource, version, initialEventsEnd), format).line

// Where the lines of a watch go: the chunked response to a request, or a WebSocket.

/** A {@link ServerResponse} is one. */
export interface WatchOutput
  extends Pick<ServerResponse, "socket" | "chunkedEncoding" | "write" | "end" | "destroy" | "once" | "on"> {}
