/**
 * A control plane for this test alone, whose API servers can be stopped, restarted and joined by a second one, which would
 * disturb other tests. It is removed at the end. For Linux, like the script that starts it.
 */
import { execFile, spawn } from "node:child_process"
import { appendFile, mkdtemp, open, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { type Connection, open as get, readText } from "../connection.ts"
import { freePorts } from "../free-ports.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"

const run = promisify(execFile)
const script = (name: string): string => fileURLToPath(new URL(`../control-plane/${name}`, import.meta.url))

const secondAudit = "audit-second.log"

/** An API server as a client sees it. */
export interface ApiServer {
  readonly port: number
  readonly connection: Connection
}

export class OwnControlPlane implements AsyncDisposable {
  /** As its first API server shows it. */
  readonly cluster: TestCluster
  /** PEM of the authority that signed both API servers' certificate. */
  readonly authority: string
  readonly first: ApiServer
  /** Stopped until it is started. */
  readonly second: ApiServer
  readonly #directory: string
  readonly #environment: NodeJS.ProcessEnv
  /** How the first API server was started. */
  readonly #command: ReadonlyArray<string>
  /** By port. */
  readonly #pids = new Map<number, number>()

  private constructor(
    directory: string,
    environment: NodeJS.ProcessEnv,
    cluster: TestCluster,
    authority: string,
    { pid, command }: { readonly pid: number; readonly command: ReadonlyArray<string> },
  ) {
    this.#directory = directory
    this.#environment = environment
    this.#command = command
    this.cluster = cluster
    this.authority = authority
    const port = Number(environment.PORT)
    this.first = { port, connection: cluster.connection }
    const second = port + 3
    this.second = { port: second, connection: { ...cluster.connection, server: `https://127.0.0.1:${second}` } }
    this.#pids.set(port, pid)
  }

  /**
   * @param nodes fake nodes, on which pods run. @param flags more arguments of the API server, separated by spaces.
   * @param audit file of the policy of its audit log; default: metadata of everything.
   */
  static async start({ nodes = 0, flags = "", audit = "1" } = {}): Promise<OwnControlPlane> {
    const directory = await mkdtemp(join(tmpdir(), "kubereel-own-"))
    const port = await freePorts(4)
    const environment = {
      ...process.env,
      STATE: directory,
      PORT: String(port),
      AUDIT: audit,
      NODES: String(nodes),
      APISERVER_FLAGS: flags,
    }
    try {
      const { stdout } = await run(script("up"), { env: environment })
      const { KUBECTL: _theirs, ...rest } = process.env
      const cluster = await openTestCluster({ ...rest, KUBEREEL_TEST_KUBECONFIG: stdout.trim() })
      const chain = await readFile(join(directory, "certs", "apiserver.crt"), "utf8")
      const authority = chain.slice(chain.lastIndexOf("-----BEGIN CERTIFICATE-----"))
      return new OwnControlPlane(directory, environment, cluster, authority, await apiServerProcess(directory))
    } catch (cause) {
      await remove(directory, environment)
      throw cause
    }
  }

  /** Path of the first API server's audit log. */
  get auditLog(): string {
    return join(this.#directory, "audit.log")
  }

  /** Starts another API server on the same etcd, as highly available control planes have it. */
  async startSecond(): Promise<void> {
    const { port } = this.second
    // Each writes its own audit log.
    const changed = this.#command.map((word) =>
      word.startsWith("--secure-port=")
        ? `--secure-port=${port}`
        : word.replace("--audit-log-path=audit.log", `--audit-log-path=${secondAudit}`),
    )
    await this.#start(changed, this.second)
  }

  /** Kills an API server: an orderly shutdown would wait for its watches for a minute. */
  async kill({ port }: ApiServer): Promise<void> {
    const pid = this.#pids.get(port)
    if (pid === undefined) throw new Error(`no API server of this control plane listens on ${port}`)
    process.kill(pid, "SIGKILL")
    this.#pids.delete(port)
    while (isAlive(pid)) await sleep(20)
  }

  /** Restarts the first API server with the same data but empty caches. Resolves when it reports ready. */
  startFirst(): Promise<void> {
    return this.#start(this.#command, this.first)
  }

  /** Compacts etcd to the current revision, as it does itself with revisions older than some minutes. */
  async compact(): Promise<void> {
    const etcd = `http://127.0.0.1:${this.first.port + 1}/v3/kv`
    const ask = async (what: string, body: object): Promise<{ readonly header: { readonly revision: string } }> => {
      const response = await fetch(`${etcd}/${what}`, { method: "POST", body: JSON.stringify(body) })
      if (!response.ok) throw new Error(`etcd: ${response.status} ${await response.text()}`)
      return (await response.json()) as { header: { revision: string } }
    }
    const { header } = await ask("range", { key: Buffer.from("/registry").toString("base64"), limit: 1 })
    await ask("compaction", { revision: header.revision, physical: true })
  }

  /** Identifiers of the tokens (`jti`) with which the second API server authenticated an account. */
  async tokensOf(user: string): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    const lines = (await readFile(join(this.#directory, secondAudit), "utf8")).split("\n")
    // The last line may be half written.
    for (const line of lines.slice(0, -1)) {
      const { user: who, responseStatus } = JSON.parse(line) as AuditEntry
      if (who.username !== user || responseStatus === undefined || responseStatus.code >= 400) continue
      for (const id of who.extra?.["authentication.kubernetes.io/credential-id"] ?? [])
        found.add(id.replace("JTI=", ""))
    }
    return found
  }

  async #start([program = "", ...words]: ReadonlyArray<string>, server: ApiServer): Promise<void> {
    const log = await open(join(this.#directory, `apiserver-${server.port}.log`), "a")
    const child = spawn(program, words, {
      cwd: this.#directory,
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
    })
    child.unref()
    await log.close()
    if (child.pid === undefined) throw new Error(`${program} cannot be started`)
    this.#pids.set(server.port, child.pid)
    // The script that takes down the control plane takes down this one too.
    await appendFile(join(this.#directory, "pids"), `${child.pid}\n`)
    const deadline = performance.now() + 60_000
    for (;;) {
      if (await isReady(server.connection)) return
      if (child.exitCode !== null || performance.now() > deadline)
        throw new Error(`the API server does not come up; see ${this.#directory}/apiserver-${server.port}.log`)
      await sleep(50)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of this.#pids.values()) process.kill(pid, "SIGKILL")
    await remove(this.#directory, this.#environment)
  }
}

interface AuditEntry {
  readonly user: { readonly username: string; readonly extra?: Readonly<Record<string, ReadonlyArray<string>>> }
  readonly responseStatus?: { readonly code: number }
}

const apiServerProcess = async (directory: string) => {
  for (const line of (await readFile(join(directory, "pids"), "utf8")).split("\n")) {
    if (line === "") continue
    const command = (await readFile(`/proc/${line}/cmdline`, "utf8")).split("\0").slice(0, -1)
    if (command[1] === "apiserver") return { pid: Number(line), command }
  }
  throw new Error(`${directory}/pids names no API server`)
}

/** A starting server admits only administrators: it has not read its roles yet. */
const isReady = async (connection: Connection): Promise<boolean> => {
  try {
    return (await readText(await get(connection, "/readyz"))) === "ok"
  } catch {
    return false
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const remove = async (directory: string, environment: NodeJS.ProcessEnv): Promise<void> => {
  await run(script("down"), { env: environment })
  await rm(directory, { recursive: true, force: true })
}
