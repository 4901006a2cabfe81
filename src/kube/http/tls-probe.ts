/**
 * Whether a server speaks TLS, found out by a handshake: a port that closes a plain connection without a word may do so for many reasons, and
 * advice to write https:// would mislead in all but one.
 */
import * as tls from "node:tls"
import type { Timers } from "../../clock.ts"
import type { Target } from "./target.ts"

/** ms for name look-up, TCP and TLS: the port was reached a moment ago. */
const probeMs = 3000

/** No certificate is checked and nothing is sent after the handshake. Never rejects; false if there is no answer in time. */
export const speaksTls = ({ host, port }: Pick<Target, "host" | "port">, timers: Timers): Promise<boolean> =>
  new Promise((resolve) => {
    const settle = (isTls: boolean): void => {
      timer.cancel()
      socket.destroy()
      resolve(isTls)
    }
    const timer = timers.after(probeMs, () => settle(false))
    const socket = tls.connect({ host, port, rejectUnauthorized: false })
    socket.once("secureConnect", () => settle(true))
    // The listener stays: an error after the end must not become an uncaught exception. An alert is a refusal in TLS.
    socket.on("error", (error: NodeJS.ErrnoException) => settle(/ALERT/.test(error.code ?? "")))
    socket.once("close", () => settle(false))
  })
