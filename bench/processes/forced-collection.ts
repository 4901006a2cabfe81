/**
 * Collects the garbage of a running Node process from outside, including all its threads: the remaining memory is what it needs.
 *
 * SIGUSR1 makes Node listen for a debugger, which is told over a WebSocket to collect. Everything else must be measured before, because the
 * debugger's own memory remains. The process must have been started with `--inspect-port=0`, because two processes could otherwise not
 * listen at once.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { LineProcess } from "./line-process.ts"

/** Environment for a process whose garbage is to be collected. */
export const collectableOptions = "--inspect-port=0"

const patienceMs = 20_000
/** ms in which the workers of a process are reported after they were asked for: all come at once. */
const workersMs = 300

export const collectGarbage = async (process: LineProcess): Promise<void> => {
  const listening = process.hear("the debugger's address", patienceMs, (line) =>
    /^Debugger listening on (ws:\S+)$/.exec(line)?.at(1),
  )
  process.signal("SIGUSR1")
  const debug = await DebugConnection.open(await listening)
  try {
    await debug.ask({ method: "NodeWorker.enable", params: { waitForDebuggerOnStart: false } })
    await sleep(workersMs)
    await debug.ask({ method: "HeapProfiler.collectGarbage" })
    for (const session of debug.workers) await debug.askWorker(session, { method: "HeapProfiler.collectGarbage" })
  } finally {
    debug.close()
  }
}

interface Question {
  readonly method: string
  readonly params?: object
}

/** As much of the debugger's protocol as is needed. */
interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly sessionId?: string; readonly message?: string }
  readonly error?: { readonly message: string }
}

class DebugConnection {
  readonly #socket: WebSocket
  /** Sessions of the worker threads that were reported. */
  readonly workers: Array<string> = []
  readonly #waiting = new Map<number, (answer: Message) => void>()
  #lastId = 0

  static open(address: string): Promise<DebugConnection> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(address)
      socket.addEventListener("open", () => resolve(new DebugConnection(socket)))
      socket.addEventListener("error", () => reject(new Error(`no debugger at ${address}`)))
    })
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener("message", ({ data }) => this.#hear(JSON.parse(String(data)) as Message))
  }

  ask(question: Question): Promise<void> {
    return this.#ask((id) => ({ id, ...question }))
  }

  /** Questions to a worker are wrapped, and so are its answers. */
  askWorker(sessionId: string, question: Question): Promise<void> {
    return this.#ask((id) => ({
      // A separate number for the envelope, which gets an empty reply too.
      id: ++this.#lastId,
      method: "NodeWorker.sendMessageToWorker",
      params: { sessionId, message: JSON.stringify({ id, ...question }) },
    }))
  }

  close(): void {
    this.#socket.close()
  }

  #ask(write: (id: number) => object): Promise<void> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`the debugger did not answer within ${patienceMs} ms`)),
        patienceMs,
      )
      this.#waiting.set(id, ({ error }) => {
        clearTimeout(timer)
        if (error === undefined) resolve()
        else reject(new Error(`the debugger refused: ${error.message}`))
      })
      this.#socket.send(JSON.stringify(write(id)))
    })
  }

  #hear(message: Message): void {
    const { id, method, params } = message
    if (method === "NodeWorker.attachedToWorker" && params?.sessionId !== undefined) this.workers.push(params.sessionId)
    if (method === "NodeWorker.receivedMessageFromWorker" && params?.message !== undefined) {
      this.#hear(JSON.parse(params.message) as Message)
    }
    if (id === undefined) return
    this.#waiting.get(id)?.(message)
    this.#waiting.delete(id)
  }
}
