import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { onTestFinished } from "vitest"
import { type Credentials, type LoadOptions, loadCredentials } from "../../../src/kube/credentials/credentials.ts"
import { type CredentialsError, isCredentialsError } from "../../../src/kube/credentials/errors.ts"
import type { CredentialClock } from "../../../src/kube/credentials/identity.ts"

/** A temporary directory that is removed after the test. */
export class Workspace {
  readonly directory = mkdtempSync(join(tmpdir(), "kubereel-credentials-"))

  constructor() {
    onTestFinished(() => rmSync(this.directory, { recursive: true, force: true }))
  }

  path(name: string): string {
    return join(this.directory, name)
  }

  /** Writes a file and returns its path. */
  write(name: string, text: string): string {
    const path = this.path(name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  /** Writes a shell script that can be run. */
  script(name: string, lines: string): string {
    const path = this.write(name, `#!/bin/sh\n${lines}\n`)
    chmodSync(path, 0o755)
    return path
  }

  read(name: string): string {
    return readFileSync(this.path(name), "utf8")
  }
}

/** One cluster, one user, one context `main`, as JSON (which is YAML). */
export const kubeconfig = (user: object, cluster: object = {}, context: object = {}): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "prod", cluster: { server: "https://127.0.0.1:6443", ...cluster } }],
    users: [{ name: "alice", user }],
    contexts: [{ name: "main", context: { cluster: "prod", user: "alice", ...context } }],
    "current-context": "main",
  })

/** Clocks that stand still until the test moves them. */
export class ManualClock implements CredentialClock {
  wall = Date.UTC(2026, 10, 21, 12)
  monotonic = 1_000

  wallMicros(): number {
    return this.wall * 1000
  }

  monotonicMs(): number {
    return this.monotonic
  }

  advance(ms: number): void {
    this.wall += ms
    this.monotonic += ms
  }

  /** The form in which expiry is given: `2026-11-21T12:00:00Z` and so on. */
  timestamp(afterMs: number): string {
    return new Date(this.wall + afterMs).toISOString()
  }
}

/** Loads with an environment of only the given variables (and PATH, for scripts). */
export const load = (options: LoadOptions): Promise<Credentials> =>
  loadCredentials({
    serviceAccountDirectory: "/nonexistent",
    ...options,
    environment: { PATH: process.env.PATH, ...options.environment },
  })

/** The error that a promise rejects with; fails if it does not, or with something else. */
export const errorOf = async (promise: Promise<unknown>): Promise<CredentialsError> => {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if (!("error" in outcome)) throw new Error(`expected an error, got ${JSON.stringify(outcome.value)}`)
  if (!isCredentialsError(outcome.error)) throw outcome.error
  return outcome.error
}

/** The Authorization header that a context's requests carry now. */
export const authorizationOf = async (credentials: Credentials): Promise<string | undefined> => {
  const { headers } = await credentials.endpoint()
  return headers.find(([name]) => name === "Authorization")?.[1]
}
