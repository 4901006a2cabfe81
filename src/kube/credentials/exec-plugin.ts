/**
 * Runs a credential plugin (`client.authentication.k8s.io`). client-node's keeps a credential until it expires,
 * passes no `KUBERNETES_EXEC_INFO`, waits forever, and may report an empty error.
 */
import { spawn } from "node:child_process"
import type { Timers } from "../../clock.ts"
import { ExecPluginFailed } from "./errors.ts"
import type { ContextSettings, ExecSettings } from "./select-context.ts"

/** The credential from a plugin: a token, a certificate, or both. */
export interface ExecCredential {
  readonly token: string | undefined
  /** PEM. */
  readonly certificate: string | undefined
  readonly key: string | undefined
  /** ms since the Unix epoch; `undefined` if it does not expire. */
  readonly expiresAtMs: number | undefined
}

interface ExecSurroundings {
  /** The plugin's environment, to which the kubeconfig's variables are added. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** ms that the plugin may take. */
  readonly deadlineMs: number
  readonly timers: Timers
}

const maximumOutputBytes = 1024 * 1024
/** Characters of standard error that an error message includes: the end, which has the reason. */
const maximumExcerpt = 500

/** Rejects with `ExecPluginFailed`. The plugin's output is a secret and appears in no message. */
export const runExecPlugin = (
  exec: ExecSettings,
  context: ContextSettings,
  certificateAuthority: string | undefined,
  surroundings: ExecSurroundings,
): Promise<ExecCredential> =>
  new Promise((resolve, reject) => {
    const { environment, deadlineMs, timers } = surroundings
    const output: Buffer[] = []
    let outputBytes = 0
    let stderr = ""
    const fail = (reason: string): void => {
      timer.cancel()
      child.kill("SIGKILL")
      // A process that the plugin started may hold the pipes open forever.
      child.stdout.destroy()
      child.stderr.destroy()
      const { command, installHint } = exec
      reject(new ExecPluginFailed({ command, context: context.name, reason, stderr: excerpt(stderr), installHint }))
    }
    const info = JSON.stringify(execInfo(exec, context, certificateAuthority))
    const child = spawn(exec.command, [...exec.parameters], {
      env: { ...environment, ...Object.fromEntries(exec.environment), KUBERNETES_EXEC_INFO: info },
      stdio: ["ignore", "pipe", "pipe"],
    })
    const timer = timers.after(deadlineMs, () => fail(`did not finish within ${deadlineMs / 1000} s`))
    child.on("error", (error: NodeJS.ErrnoException) =>
      fail(error.code === "ENOENT" ? "was not found" : `could not be started: ${error.message}`),
    )
    child.stdout.on("data", (chunk: Buffer) => {
      outputBytes += chunk.length
      if (outputBytes > maximumOutputBytes) fail(`wrote more than ${maximumOutputBytes} bytes`)
      else output.push(chunk)
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-4 * maximumExcerpt)
    })
    child.on("close", (code, signal) => {
      timer.cancel()
      if (signal !== null) return fail(`was terminated by ${signal}`)
      if (code !== 0) return fail(`failed with exit code ${code}`)
      const credential = readExecCredential(Buffer.concat(output).toString("utf8"), exec.apiVersion)
      if (typeof credential === "string") fail(credential)
      else resolve(credential)
    })
  })

const excerpt = (text: string): string => {
  // Also C1 controls, which are control sequences for some terminals, and characters that reverse the direction of text.
  const line = text.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim()
  return line.length > maximumExcerpt ? `…${line.slice(-maximumExcerpt)}` : line
}

/** Information for the plugin (KEP-541); it cannot prompt the user, because no terminal is connected. */
const execInfo = (
  exec: ExecSettings,
  { cluster }: ContextSettings,
  certificateAuthority: string | undefined,
): unknown => ({
  apiVersion: exec.apiVersion,
  kind: "ExecCredential",
  spec: {
    interactive: false,
    ...(exec.providesClusterInfo
      ? {
          cluster: {
            server: cluster.server,
            "tls-server-name": cluster.tlsServerName,
            "insecure-skip-tls-verify": cluster.skipTlsVerify || undefined,
            "certificate-authority-data":
              certificateAuthority === undefined ? undefined : Buffer.from(certificateAuthority).toString("base64"),
            "proxy-url": cluster.proxyUrl,
            config: cluster.execConfig,
          },
        }
      : {}),
  },
})

interface Answer {
  readonly kind?: unknown
  readonly apiVersion?: unknown
  readonly status?: Readonly<Record<string, unknown>> | null
}

/** The credential, or the problem with it. */
export const readExecCredential = (text: string, apiVersion: string): ExecCredential | string => {
  let answer: Answer | null
  try {
    answer = JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return "did not write JSON"
    throw error
  }
  if (answer?.kind !== "ExecCredential") return "did not write an ExecCredential"
  if (answer.apiVersion !== apiVersion) {
    return `is configured for ${apiVersion} but wrote ${excerpt(String(answer.apiVersion).slice(0, 100))}`
  }
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = answer.status ?? {}
  const certificate = textOf(clientCertificateData)
  const key = textOf(clientKeyData)
  if (textOf(token) === undefined && certificate === undefined) return "returned neither a token nor a certificate"
  if ((certificate === undefined) !== (key === undefined))
    return "returned a certificate without a key, or a key without a certificate"
  const expiresAtMs =
    expirationTimestamp === undefined || expirationTimestamp === null
      ? undefined
      : Date.parse(String(expirationTimestamp))
  if (Number.isNaN(expiresAtMs)) return "returned an invalid expirationTimestamp"
  return { token: textOf(token)?.trim(), certificate, key, expiresAtMs }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value : undefined
