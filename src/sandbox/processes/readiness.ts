/** Waits until a container is ready, by its readinessProbe. */
import { request as httpRequest } from "node:http"
import { request as httpsRequest } from "node:https"
import { connect } from "node:net"
import type { Timers } from "../../clock.ts"
import { isRecord } from "../../is-record.ts"
import type { Container } from "../../kube/client/objects.ts"
import { UnsupportedPod } from "./container-setup.ts"

/** ms between two attempts. A kubelet takes seconds, which whoever waits for a simulation would wait too. */
const everyMs = 50

/** Resolves at the first success, or when `signal` aborts; at once without a probe. Rejects with {@link UnsupportedPod}. */
export const untilReady = async (
  container: Container,
  host: string,
  timers: Timers,
  signal: AbortSignal,
): Promise<void> => {
  const probe = probeOf(container, host)
  if (probe === undefined) return
  while (!signal.aborted && !(await probe(signal)))
    await new Promise<void>((resolve) => {
      const done = (): void => {
        timer.cancel()
        signal.removeEventListener("abort", done)
        resolve()
      }
      const timer = timers.after(everyMs, done)
      signal.addEventListener("abort", done, { once: true })
    })
}

type Probe = (signal: AbortSignal) => Promise<boolean>

const probeOf = (container: Container, host: string): Probe | undefined => {
  const { readinessProbe } = container
  if (!isRecord(readinessProbe)) return undefined
  const { tcpSocket, httpGet } = readinessProbe
  if (isRecord(tcpSocket)) return tcpProbe(host, portOf(container, tcpSocket.port))
  if (isRecord(httpGet)) {
    const port = portOf(container, httpGet.port)
    return httpProbe(httpGet.scheme === "HTTPS", host, port, String(httpGet.path ?? "/"))
  }
  throw new UnsupportedPod({ what: `a readinessProbe with ${Object.keys(readinessProbe).join()}` })
}

const portOf = ({ ports }: Container, given: unknown): number => {
  if (typeof given === "number") return given
  const named = Array.isArray(ports) ? ports.find((port) => isRecord(port) && port.name === given) : undefined
  return Number(isRecord(named) ? named.containerPort : given)
}

/** Attempts are short: the process is on this machine. */
const timeout = 1000

const tcpProbe =
  (host: string, port: number): Probe =>
  (signal) =>
    new Promise((resolve) => {
      const socket = connect({ host, port, timeout, signal })
      const done = (isReady: boolean) => (): void => {
        resolve(isReady)
        socket.destroy()
      }
      socket.on("connect", done(true)).on("timeout", done(false)).on("error", done(false))
    })

const httpProbe =
  (isSecure: boolean, host: string, port: number, path: string): Probe =>
  (signal) =>
    new Promise((resolve) => {
      const send = isSecure ? httpsRequest : httpRequest
      // As a kubelet, which does not know the authority.
      const request = send({ host, port, path, timeout, signal, rejectUnauthorized: false }, (response) => {
        response.resume()
        const status = response.statusCode ?? 0
        resolve(status >= 200 && status < 400)
      })
      request.on("timeout", () => request.destroy()).on("error", () => resolve(false))
      request.end()
    })
