/**
 * What a thread runs while it does not respond. The debugger of the main thread pauses it, also in an endless loop; a profile of the CPU lacks the function
 * that loops, because its code was optimized before the profile began (Node 26).
 */
import type { Session } from "node:inspector"
import type { Worker } from "node:worker_threads"

/** A function on the stack of a thread. */
export interface RunningFunction {
  /** The empty string for one without a name. */
  readonly name: string
  /** Of its module, with its query. */
  readonly url: string
}

/** ms after which a thread counts as one that cannot be paused: it is in a system call, or collects garbage. Usually it takes 30. */
const giveUpMs = 1000

/** The functions on the stack, the innermost first; none if the thread cannot be paused or has ended. It goes on then. Only for threads that the calling one started. */
export const runningFunctions = async (worker: Worker): Promise<ReadonlyArray<RunningFunction>> => {
  // It has ended.
  if (worker.threadId === -1) return []
  const { Session: Debugger } = await import("node:inspector")
  const session = new Debugger()
  const overdue = Promise.withResolvers<ReadonlyArray<RunningFunction>>()
  const timer = setTimeout(() => overdue.resolve([]), giveUpMs)
  try {
    session.connect()
    return await Promise.race([pausedStack(session, worker, overdue.promise), overdue.promise])
  } finally {
    clearTimeout(timer)
    session.disconnect()
  }
}

/** Node's protocol for workers, whose messages its types lack. */
interface WorkerSession {
  on(
    event: "NodeWorker.attachedToWorker",
    heard: (message: { params: { sessionId: string; workerInfo: { title: string } } }) => void,
  ): void
  on(event: "NodeWorker.receivedMessageFromWorker", heard: (message: { params: { message: string } }) => void): void
  post(method: string, params: object): void
}

type FromThread =
  | { readonly method?: undefined; readonly id: number }
  | { readonly method: "Debugger.scriptParsed"; readonly params: { readonly scriptId: string; readonly url: string } }
  | {
      readonly method: "Debugger.paused"
      readonly params: {
        readonly callFrames: ReadonlyArray<{
          readonly functionName: string
          readonly location: { readonly scriptId: string }
        }>
      }
    }

/** In their order, each with its place as its number. A thread that is paused cannot be ended (Node 26), so it goes on as soon as it has told. */
const messages = ["Debugger.enable", "Debugger.pause", "Debugger.resume", "Debugger.disable"] as const

/** Never rejects, and resolves when the thread has been paused and goes on. */
const pausedStack = (
  given: Session,
  worker: Worker,
  givenUp: Promise<unknown>,
): Promise<ReadonlyArray<RunningFunction>> =>
  new Promise((resolve) => {
    const session = given as unknown as WorkerSession
    const urls = new Map<string, string>()
    let stack: ReadonlyArray<RunningFunction> = []
    let send = (_from: number, _to: number): void => undefined
    session.on("NodeWorker.attachedToWorker", ({ params: { sessionId, workerInfo } }) => {
      // Its number here is another one than the thread's; the title has that.
      if (!workerInfo.title.startsWith(`[worker ${worker.threadId}]`)) return
      send = (from, to) => {
        for (let id = from; id < to; id++)
          session.post("NodeWorker.sendMessageToWorker", {
            sessionId,
            message: JSON.stringify({ id, method: messages[id] }),
          })
      }
      send(0, 2)
    })
    // If it is paused after we have given up: a paused thread cannot be ended.
    void givenUp.then(() => send(2, messages.length))
    session.on("NodeWorker.receivedMessageFromWorker", ({ params: { message } }) => {
      const heard = JSON.parse(message) as FromThread
      if (heard.method === "Debugger.scriptParsed") urls.set(heard.params.scriptId, heard.params.url)
      else if (heard.method === "Debugger.paused") {
        stack = heard.params.callFrames.map(({ functionName: name, location }) => ({
          name,
          url: urls.get(location.scriptId) ?? "",
        }))
        send(2, messages.length)
      } else if (heard.method === undefined && heard.id === messages.length - 1) resolve(stack)
    })
    session.post("NodeWorker.enable", { waitForDebuggerOnStart: false })
  })
