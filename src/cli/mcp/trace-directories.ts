/** The traces that a server is asked about, each as a recording in a temporary directory: made with the first question, and kept until the server ends. */
import { traceDirectory } from "../past/trace-place.ts"

/** Makes the directories once, however many questions wait for them. */
export class TraceDirectories {
  readonly #paths: ReadonlyArray<string>
  readonly #abort = new AbortController()
  #making: Promise<ReadonlyArray<string>> | undefined
  readonly #removals: (() => Promise<void>)[] = []

  constructor(paths: ReadonlyArray<string>) {
    this.#paths = paths
  }

  /** Rejects as {@link traceDirectory} does; the next call then tries again. A caller that is aborted leaves the others waiting. */
  async all(signal: AbortSignal): Promise<ReadonlyArray<string>> {
    if (this.#paths.length === 0) return []
    this.#making ??= this.#make().catch((cause: unknown) => {
      this.#making = undefined
      throw cause
    })
    const making = this.#making
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(signal.reason)
      if (signal.aborted) leave()
      signal.addEventListener("abort", leave, { once: true })
      making.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave))
    })
  }

  async #make(): Promise<ReadonlyArray<string>> {
    await this.#remove()
    const directories: string[] = []
    for (const path of this.#paths) {
      const { directory, close } = await traceDirectory(path, this.#abort.signal)
      this.#removals.push(close)
      directories.push(directory)
    }
    return directories
  }

  async #remove(): Promise<void> {
    for (const remove of this.#removals.splice(0)) await remove()
  }

  /** Stops what is being made, and removes what was. */
  async close(): Promise<void> {
    this.#abort.abort()
    await this.#making?.then(undefined, () => undefined)
    await this.#remove()
  }
}
