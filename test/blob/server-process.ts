/** A server that speaks an object store's protocol, in a separate process. */
import { spawn } from "node:child_process"
import { createServer } from "node:net"

export interface ServerProcess {
  /** The match of the awaited pattern in its output. */
  readonly ready: RegExpExecArray
  /** Ends it; resolves when it is gone. */
  stop(): Promise<void>
}

/**
 * Starts a server and waits for the output that shows that it listens.
 *
 * @throws Error with its output if it ends before
 */
export const startServer = (
  command: string,
  words: ReadonlyArray<string>,
  ready: RegExp,
  environment: NodeJS.ProcessEnv = {},
): Promise<ServerProcess> =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, ...environment }
    const child = spawn(command, words, { env, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    const ended = new Promise<void>((done) => {
      child.on("error", (cause) => {
        reject(cause)
        done()
      })
      child.on("close", (code) => {
        reject(new Error(`${command} ended with code ${code}:\n${output}`))
        done()
      })
    })
    const stop = async (): Promise<void> => {
      child.kill("SIGKILL")
      await ended
    }
    let found = false
    const read = (text: string): void => {
      if (found) return
      output += text
      const match = ready.exec(output)
      if (match === null) return
      found = true
      resolve({ ready: match, stop })
    }
    child.stdout.setEncoding("utf8").on("data", read)
    child.stderr.setEncoding("utf8").on("data", read)
  })

/** A loopback port that is free at the moment. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })
