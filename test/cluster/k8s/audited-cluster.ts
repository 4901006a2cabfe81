/**
 * A cluster whose API server has an audit log: the suite's own if it has one, else one that is started for this and
 * stopped at the end.
 */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { connect } from "node:tls"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { freePorts } from "../free-ports.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"

const run = promisify(execFile)
const script = (name: string): string => fileURLToPath(new URL(`../control-plane/${name}`, import.meta.url))

export interface AuditedCluster extends AsyncDisposable {
  readonly cluster: TestCluster
  /** PEM of the certificate that signed the API server's. */
  readonly authority: string
  /** Of the API server. */
  readonly host: string
  readonly port: string
  /** The allowed requests of an account since the API server started, as `verb group/resource`, names only where they matter. */
  readonly requestsOf: (user: string) => Promise<ReadonlyArray<AuditedRequest>>
}

export interface AuditedRequest {
  readonly verb: string
  readonly group: string
  readonly resource: string
  /** Empty for collections. */
  readonly name: string
  readonly namespace: string
  /** HTTP status. */
  readonly code: number
}

export const openAuditedCluster = async (): Promise<AuditedCluster> => {
  const suite = await openTestCluster()
  const beside = join(dirname(suite.kubeconfig), "audit.log")
  if (existsSync(beside)) return describe(suite, beside, async () => undefined)
  const directory = await mkdtemp(join(tmpdir(), "kubereel-audited-"))
  const environment = { ...process.env, STATE: directory, PORT: String(await freePorts(3)), AUDIT: "1", NODES: "2" }
  const close = async (): Promise<void> => {
    await run(script("down"), { env: environment })
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const { stdout } = await run(script("up"), { env: environment })
    const { KUBECTL: _theirs, ...rest } = process.env
    const cluster = await openTestCluster({ ...rest, KUBEREEL_TEST_KUBECONFIG: stdout.trim() })
    return await describe(cluster, join(directory, "audit.log"), close)
  } catch (cause) {
    await close()
    throw cause
  }
}

const describe = async (cluster: TestCluster, log: string, close: () => Promise<void>): Promise<AuditedCluster> => {
  const { hostname, port } = new URL(cluster.connection.server)
  return {
    cluster,
    authority: await authorityOf(hostname, Number(port)),
    host: hostname,
    port,
    // The log has everything since the cluster was started, tens of megabytes, and tests read it again and again: few of its lines are parsed.
    requestsOf: async (user) =>
      (await readFile(log, "utf8"))
        .split("\n")
        .flatMap((line) => (line.includes(`"${user}"`) ? readEntry(line, user) : [])),
    [Symbol.asyncDispose]: close,
  }
}

/** A watch has two entries: at its start and at its end. */
const readEntry = (line: string, user: string): ReadonlyArray<AuditedRequest> => {
  const entry = JSON.parse(line) as {
    readonly stage: string
    readonly verb: string
    readonly user: { readonly username: string }
    readonly objectRef?: {
      readonly apiGroup?: string
      readonly resource: string
      readonly subresource?: string
      readonly name?: string
      readonly namespace?: string
    }
    readonly responseStatus?: { readonly code: number }
  }
  if (entry.user.username !== user || entry.objectRef === undefined || entry.responseStatus === undefined) return []
  const { apiGroup = "", resource, subresource, name = "", namespace = "" } = entry.objectRef
  const full = subresource === undefined ? resource : `${resource}/${subresource}`
  return [{ verb: entry.verb, group: apiGroup, resource: full, name, namespace, code: entry.responseStatus.code }]
}

/** The certificate chain that the server presents: test clusters sign their own certificates and store the authority's nowhere. */
const authorityOf = (host: string, port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port, rejectUnauthorized: false }, () => {
      let certificate = socket.getPeerCertificate(true)
      // The last of the chain is its own issuer.
      while (certificate.issuerCertificate && certificate.issuerCertificate !== certificate)
        certificate = certificate.issuerCertificate
      socket.end()
      resolve(`-----BEGIN CERTIFICATE-----\n${certificate.raw.toString("base64")}\n-----END CERTIFICATE-----\n`)
    })
    socket.on("error", reject)
  })
