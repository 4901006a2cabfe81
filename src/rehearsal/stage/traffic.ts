/**
 * The requests of the participants of a rehearsal: each has a transport into the sandbox, through memory, and all of them together know
 * whether anything is under way.
 *
 * With a latency every request but a watch is held for that time of the rehearsal before it is sent, so that recorded changes come in the
 * middle of runs, as in production.
 */
import type { HttpStream, ResponseHandler, Transport } from "../../kube/index.ts"

import { type LocalRequest, LocalTransport, type Sandbox } from "../../sandbox/index.ts"
import type { Witness } from "../journal/witness.ts"
import type { VirtualClock } from "./virtual-clock.ts"

interface TrafficOptions {
  readonly sandbox: Sandbox
  readonly clock: VirtualClock
  /** ms. */
  readonly latencyMs: number
  /** Carries out a write; called within it, so that what it changes can be told. */
  readonly around: Witness["around"]
}

export class Traffic {
  readonly #options: TrafficOptions
  readonly #transports: LocalTransport[] = []
  #activity = 0
  #underWay = 0
  #held = 0

  constructor(options: TrafficOptions) {
    this.#options = options
  }

  /** Grows with everything that is sent or received. */
  get activity(): number {
    return this.#activity
  }

  /** Requests without a complete response. An open watch counts until its response begins. */
  get underWay(): number {
    return this.#underWay
  }

  /** Requests that wait for the clock. */
  get held(): number {
    return this.#held
  }

  transportOf(participant: string): Transport {
    const { sandbox, clock, around } = this.#options
    const server = {
      endpoint: sandbox.endpoint,
      connect: () => sandbox.connect(),
      request: (request: LocalRequest) => around(participant, request, () => sandbox.request(request)),
    }
    const transport = new LocalTransport(server, participant, { isInMemory: true, timers: clock })
    this.#transports.push(transport)
    return {
      get: (path, headers, handler) =>
        this.#counted(handler, isWatch(path), (own) => transport.get(path, headers, own)),
      send: (request, handler) =>
        this.#counted(handler, false, (own) => this.#delayed(own, () => transport.send(request, own))),
    }
  }

  close(): void {
    for (const transport of this.#transports) transport.close()
  }

  #counted(
    handler: ResponseHandler,
    endsWithHead: boolean,
    start: (handler: ResponseHandler) => HttpStream,
  ): HttpStream {
    let isOpen = true
    const ended = (): void => {
      if (isOpen) this.#underWay--
      isOpen = false
    }
    this.#underWay++
    this.#activity++
    return start({
      head: (status, headers) => {
        this.#activity++
        if (endsWithHead) ended()
        handler.head(status, headers)
      },
      data: (buffer, from, to) => {
        this.#activity++
        handler.data(buffer, from, to)
      },
      readDone: () => handler.readDone?.(),
      end: (outcome) => {
        this.#activity++
        ended()
        handler.end(outcome)
      },
    })
  }

  #delayed(handler: ResponseHandler, send: () => HttpStream): HttpStream {
    const { clock, latencyMs } = this.#options
    if (latencyMs === 0) return send()
    let stream: HttpStream | undefined
    let isPaused = false
    let isAborted = false
    this.#held++
    const timer = clock.after(latencyMs, () => {
      this.#held--
      stream = send()
      if (isPaused) stream.pause()
    })
    return {
      pause: () => {
        isPaused = true
        stream?.pause()
      },
      resume: () => {
        isPaused = false
        stream?.resume()
      },
      abort: () => {
        if (stream !== undefined) return stream.abort()
        if (isAborted) return
        isAborted = true
        timer.cancel()
        this.#held--
        queueMicrotask(() => handler.end({ tag: "aborted" }))
      },
      get bytesReceived() {
        return stream?.bytesReceived ?? 0
      },
    }
  }
}

const isWatch = (path: string): boolean => /[?&]watch=(?:1|true)\b/.test(path)
