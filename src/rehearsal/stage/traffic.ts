/**
 * The requests of the participants of a rehearsal: each has a transport into the sandbox, through memory, and all of them together know
 * whether anything is under way.
 *
 * With a latency every request but a watch is held for that time of the rehearsal before it is sent, so that recorded changes come in the
 * middle of runs, as in production. Single writes can be disturbed, watches be silenced, and a process be ended with all of its requests.
 */
import type { Eventually } from "../../apiserver/index.ts"
import type { Timer } from "../../clock.ts"
import { isRecord } from "../../is-record.ts"
import type { HttpRequest, HttpStream, ResponseHandler, Transport } from "../../kube/index.ts"
import { type LocalAnswer, type LocalRequest, LocalTransport, type Sandbox } from "../../sandbox/index.ts"
import type { VirtualClock } from "../clock/virtual-clock.ts"
import { recordOf, verbs, type Witness } from "../journal/witness.ts"
import type { Disturbance } from "./schedule.ts"

interface TrafficOptions {
  readonly sandbox: Sandbox
  readonly clock: VirtualClock
  /** ms. */
  readonly latencyMs: number
  /** What happens to single writes. Default: nothing. */
  readonly disturbances?: ReadonlyArray<Disturbance>
  /** A disturbance has happened. */
  readonly disturbed?: (disturbance: Disturbance) => void
  /** One of them has ended the process; called within the request after which it did. */
  readonly crashed?: (changes: number) => void
  /** Carries out a write; called within it, so that what it changes can be told. */
  readonly around: Witness["around"]
}

/** The requests of one process, from its start to its end. */
interface Life {
  isOver: boolean
  readonly cuts: Set<() => void>
}

export class Traffic {
  readonly #options: TrafficOptions
  readonly #transports: LocalTransport[] = []
  /** By write: how many there were. */
  readonly #counts = new Map<string, number>()
  readonly #raced = new Set<() => void>()
  /** By silent kind: what its watches will have to deliver. */
  readonly #silent = new Map<string, Array<() => void>>()
  readonly writes: string[] = []
  readonly watched = new Set<string>()
  #isCalm = false
  #life: Life = { isOver: false, cuts: new Set() }
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

  /** Requests that wait for the clock, or for the next change. */
  get held(): number {
    return this.#held
  }

  /** For one participant of the present process. */
  transportOf(participant: string): Transport {
    const { around, disturbed } = this.#options
    const life = this.#life
    const plain = this.#through(participant, (request, carryOut) => around(participant, request, carryOut))
    return {
      get: (path, headers, handler) =>
        this.#counted(life, isWatch(path) ? this.#audible(path, handler) : handler, isWatch(path), (own) =>
          plain.get(path, headers, own),
        ),
      send: (request, handler) => {
        const found = life.isOver ? undefined : this.#disturbanceOf(request)
        return this.#counted(life, handler, false, (own) => {
          if (found === undefined) return this.#delayed(own, () => plain.send(request, own))
          disturbed?.(found)
          const answered = found.type === "lost" ? withoutAnswer(own) : own
          const carrier = this.#through(participant, (given, carryOut) => {
            const answer = around(participant, given, found.type === "conflict" ? () => conflict : carryOut)
            if (found.type !== "restart") return answer
            const ended = (one: LocalAnswer): LocalAnswer => {
              this.#crash(found.changes)
              return one
            }
            // A webhook may be asked first.
            return answer instanceof Promise ? answer.then(ended) : ended(answer)
          })
          const send = (): HttpStream => this.#delayed(answered, () => carrier.send(request, answered))
          return found.type === "race" && !this.#isCalm ? this.#untilNextChange(own, send) : send()
        })
      },
    }
  }

  /** Sends what waits for a recorded change. `isLast`: nothing waits for one any more. */
  changed(isLast = false): void {
    this.#isCalm = isLast
    for (const release of this.#raced) {
      this.#raced.delete(release)
      release()
    }
  }

  /** What the watches of that kind receive waits, or is delivered. */
  silence(kind: string, isSilent: boolean): void {
    const waiting = this.#silent.get(kind) ?? []
    if (isSilent) this.#silent.set(kind, waiting)
    else if (this.#silent.delete(kind)) for (const deliver of waiting) deliver()
  }

  close(): void {
    for (const transport of this.#transports) transport.close()
  }

  /** The process ends: no request of it is answered any more, and none is sent. Transports made afterwards are another one's. */
  #crash(changes: number): void {
    const { cuts } = this.#life
    this.#life.isOver = true
    this.#life = { isOver: false, cuts: new Set() }
    for (const cut of cuts) cut()
    this.#options.crashed?.(changes)
  }

  #through(
    participant: string,
    carriedOut: (request: LocalRequest, carryOut: () => Eventually<LocalAnswer>) => Eventually<LocalAnswer>,
  ): LocalTransport {
    const { sandbox, clock } = this.#options
    const server = {
      endpoint: sandbox.endpoint,
      connect: () => sandbox.connect(),
      request: (request: LocalRequest) => carriedOut(request, () => sandbox.request(request)),
    }
    const transport = new LocalTransport(server, participant, { isInMemory: true, timers: clock })
    this.#transports.push(transport)
    return transport
  }

  /** Counts the write. Events and Leases are no work of a controller. */
  #disturbanceOf(request: HttpRequest) {
    if (request.method === "GET") return undefined
    const target = this.#options.sandbox.targetOf(request)
    if (target === undefined || /\.(?:Event|Lease)$/.test(target.gvk)) return undefined
    const { gvk, namespace, name, subresource } = target
    const place = [namespace, name || nameIn(request.body), subresource].filter((part) => part !== "").join("/")
    const write = `${verbs[request.method]} ${gvk} ${place}`
    const count = (this.#counts.get(write) ?? 0) + 1
    this.#counts.set(write, count)
    const numbered = `${write} #${count}`
    this.writes.push(numbered)
    return this.#options.disturbances?.find((each) => "write" in each && each.write === numbered) as
      | Extract<Disturbance, { write: string }>
      | undefined
  }

  #counted(
    life: Life,
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
    let isCut = life.isOver
    const cut = (): void => {
      isCut = true
      ended()
      queueMicrotask(() => handler.end(reset))
    }
    if (isCut) {
      cut()
      return noStream
    }
    const stream = start({
      head: (status, headers) => {
        if (isCut) return
        this.#activity++
        if (endsWithHead) ended()
        handler.head(status, headers)
      },
      data: (buffer, from, to) => {
        if (isCut) return
        this.#activity++
        handler.data(buffer, from, to)
      },
      readDone: () => {
        if (!isCut) handler.readDone?.()
      },
      end: (outcome) => {
        life.cuts.delete(end)
        if (isCut) return
        this.#activity++
        ended()
        handler.end(outcome)
      },
    })
    const end = (): void => {
      cut()
      stream.abort()
    }
    life.cuts.add(end)
    return stream
  }

  /** A watch that waits while its kind is silent. */
  #audible(path: string, handler: ResponseHandler): ResponseHandler {
    const kind = this.#options.sandbox.targetOf({ path })?.gvk ?? ""
    this.watched.add(kind)
    const pass = (deliver: () => void): void => {
      const waiting = this.#silent.get(kind)
      if (waiting === undefined) return deliver()
      waiting.push(deliver)
    }
    return {
      head: (status, headers) => pass(() => handler.head(status, headers)),
      data: (buffer, from, to) => {
        if (!this.#silent.has(kind)) return handler.data(buffer, from, to)
        const bytes = Buffer.from(buffer.subarray(from, to))
        pass(() => handler.data(bytes, 0, bytes.length))
      },
      readDone: () => pass(() => handler.readDone?.()),
      end: (outcome) => pass(() => handler.end(outcome)),
    }
  }

  #delayed(handler: ResponseHandler, send: () => HttpStream): HttpStream {
    const { clock, latencyMs } = this.#options
    if (latencyMs === 0) return send()
    return this.#heldBack(handler, send, (release) => clock.after(latencyMs, release))
  }

  #untilNextChange(handler: ResponseHandler, send: () => HttpStream): HttpStream {
    return this.#heldBack(handler, send, (release) => {
      this.#raced.add(release)
      return { cancel: () => void this.#raced.delete(release) }
    })
  }

  #heldBack(handler: ResponseHandler, send: () => HttpStream, wait: (release: () => void) => Timer): HttpStream {
    let stream: HttpStream | undefined
    let isPaused = false
    let isAborted = false
    this.#held++
    const timer = wait(() => {
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

/** What a client gets whose connection is gone. */
const reset = { tag: "connection", code: "ECONNRESET", message: "the connection was reset" } as const

const ignore = (): void => undefined
const noStream: HttpStream = { pause: ignore, resume: ignore, abort: ignore, bytesReceived: 0 }

const withoutAnswer = (handler: ResponseHandler): ResponseHandler => ({
  head: ignore,
  data: ignore,
  end: () => handler.end(reset),
})

const conflict: LocalAnswer = {
  status: 409,
  text: JSON.stringify({
    ...{ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason: "Conflict", code: 409 },
    message: "Operation cannot be fulfilled: the object has been modified (a disturbance of the rehearsal)",
  }),
  warnings: [],
}

/** The name of an object to create; `web-*` if the server is to generate it. */
const nameIn = (body: HttpRequest["body"]): string => {
  const { metadata } = recordOf(body)
  const { name, generateName = "" } = isRecord(metadata) ? metadata : {}
  return String(name ?? `${generateName}*`)
}

const isWatch = (path: string): boolean => /[?&]watch=(?:1|true)\b/.test(path)
