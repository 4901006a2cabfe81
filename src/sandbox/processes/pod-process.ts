/**
 * The process of one pod, from its start to its end, and what a kubelet reports about it. It is started at most once; after SIGTERM it has its grace period, then it gets
 * SIGKILL.
 */
import { mkdtemp, open, rm } from "node:fs/promises"
import { request as httpRequest } from "node:http"
import { request as httpsRequest } from "node:https"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Timer, Timers } from "../../clock.ts"
import type { Cluster } from "../../host/index.ts"
import { isRecord } from "../../is-record.ts"
import { type Container, kinds, type Pod } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import type { PodRun } from "../workload/nodes/pod-runner.ts"
import { setUp, UnsupportedPod } from "./container-setup.ts"
import type { ContainerEnd, RunContainer } from "./run-container.ts"

// Waits until a container is ready, by its readinessProbe.

/** ms between two attempts. A kubelet takes seconds, by which a simulation would take longer. */
const everyMs = 50

/** Resolves at the first success, or when `signal` aborts; at once without a probe. Rejects with {@link UnsupportedPod}. */
const untilReady = async (container: Container, host: string, timers: Timers, signal: AbortSignal): Promise<void> => {
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

/** Where a process of kubereel writes its termination message instead of /dev/termination-log, which is the machine's own /dev here. */
const terminationVariable = "KUBEREEL_TERMINATION_LOG"
/** As many bytes of it as a kubelet keeps. */
const longestMessage = 4096
/** The kubelet's exit code for a container that could not be started. */
const notStarted = 128

interface Surroundings {
  readonly cluster: Cluster
  readonly podIP: string
  readonly run: RunContainer
  /** The pod is ready or has ended. */
  readonly onChange: () => void
}

export class PodProcess {
  /** Resolves at the end. Never rejects. */
  readonly ended: Promise<void>
  readonly #cluster: Cluster
  readonly #stop = new AbortController()
  readonly #kill = new AbortController()
  readonly #over = new AbortController()
  #grace: Timer | undefined
  /** When it is killed, by the monotonic clock. */
  #killMs = Number.POSITIVE_INFINITY
  #report: PodRun

  private constructor(
    pod: Pod,
    surroundings: Surroundings,
    directory: string,
    setup: Awaited<ReturnType<typeof setUp>>,
  ) {
    const { cluster, podIP, run, onChange } = surroundings
    const [container] = pod.spec.containers as [Pod["spec"]["containers"][number]]
    this.#cluster = cluster
    const nowMs = cluster.nowMs()
    this.#report = {
      ...{ uid: pod.metadata.uid ?? "", podIP, restarts: 0, exitCode: 0 },
      ...{ stage: "running", sinceMs: nowMs, startedMs: nowMs, endedMs: nowMs, readyMs: nowMs },
    }
    const log = join(directory, "termination-log")
    const start = {
      ...{ pod, container, directory, ...setup, stop: this.#stop.signal, kill: this.#kill.signal },
      environment: { ...setup.environment, [terminationVariable]: log },
      token: () => tokenOf(cluster, pod),
    }
    // Not at once: what runs in this process may throw.
    const running = Promise.resolve().then(() => run(start))
    this.ended = this.#follow(running, log, directory).then(onChange)
    void this.#awaitReady(untilReady(container, podIP, cluster.clock, this.#over.signal), onChange)
  }

  /** Prepares and starts the only container of a pod. Rejects with ApiError while something that it needs does not exist. */
  static async start(pod: Pod, surroundings: Surroundings): Promise<PodProcess> {
    if (pod.spec.containers.length !== 1 || (pod.spec.initContainers?.length ?? 0) > 0)
      throw new UnsupportedPod({ what: "a pod with several containers" })
    const [container] = pod.spec.containers as [Pod["spec"]["containers"][number]]
    const directory = await mkdtemp(join(tmpdir(), "kubereel-pod-"))
    try {
      const { cluster, podIP } = surroundings
      const setup = await setUp(pod, container, { api: cluster.api, directory, podIP })
      return new PodProcess(pod, surroundings, directory, setup)
    } catch (error) {
      await rm(directory, { recursive: true, force: true })
      throw error
    }
  }

  get report(): PodRun {
    return this.#report
  }

  get hasEnded(): boolean {
    return this.#over.signal.aborted
  }

  /** SIGTERM now, SIGKILL after `graceMs`. A later call can only shorten it. */
  stop(graceMs: number): void {
    if (this.hasEnded) return
    if (!this.#stop.signal.aborted) {
      this.#report = { ...this.#report, stage: "stopping", sinceMs: this.#cluster.nowMs() }
      this.#stop.abort()
    }
    const dueMs = this.#cluster.clock.monotonicMs() + graceMs
    if (dueMs >= this.#killMs) return
    this.#killMs = dueMs
    this.#grace?.cancel()
    this.#grace = this.#cluster.clock.after(graceMs, () => this.#kill.abort())
  }

  async #awaitReady(ready: Promise<void>, onChange: () => void): Promise<void> {
    try {
      await ready
    } catch (error) {
      this.#cluster.trouble(messageOf(error))
      return
    }
    if (this.#report.stage !== "running") return
    const nowMs = this.#cluster.nowMs()
    this.#report = { ...this.#report, stage: "ready", sinceMs: nowMs, readyMs: nowMs }
    onChange()
  }

  async #follow(running: Promise<ContainerEnd>, log: string, directory: string): Promise<void> {
    const end = await running.catch((error): ContainerEnd => ({ exitCode: notStarted, message: messageOf(error) }))
    const message = end.message ?? (await written(log))
    await rm(directory, { recursive: true, force: true })
    this.#grace?.cancel()
    const endedMs = this.#cluster.nowMs()
    const { exitCode } = end
    this.#report = {
      ...{ ...this.#report, stage: "finished", sinceMs: endedMs, endedMs, exitCode },
      ...(message !== "" && { message }),
    }
    this.#over.abort()
  }
}

const written = async (log: string): Promise<string> => {
  try {
    await using file = await open(log)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(longestMessage), 0, longestMessage, 0)
    return buffer.toString("utf8", 0, bytesRead)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return ""
    throw error
  }
}

const tokenOf = async ({ api }: Cluster, pod: Pod): Promise<string> => {
  const { namespace, name, uid } = pod.metadata
  const account = { namespace, name: String(pod.spec.serviceAccountName ?? "default") }
  const bound = { apiVersion: "v1", kind: "Pod", name, uid }
  const { status } = await api.createSubresource<{ readonly status: { readonly token: string } }>(
    kinds.serviceAccounts,
    account,
    "token",
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: 3600, boundObjectRef: bound },
    },
  )
  return status.token
}
