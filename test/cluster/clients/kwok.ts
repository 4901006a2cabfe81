/** The real kwok, as the control plane's script builds it. */

import { spawn } from "node:child_process"
import { access, constants } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"

/** That of KWOK, else the one that test/cluster/control-plane/up has built. @throws Error when it is not there. */
export const kwokBinary = async (environment: NodeJS.ProcessEnv = process.env): Promise<string> => {
  const cache = environment.XDG_CACHE_HOME ?? join(homedir(), ".cache")
  const built = join(environment.BIN ?? join(cache, "control-plane-bin"), "kwok")
  const path = environment.KWOK ?? built
  await access(path, constants.X_OK).catch((cause: unknown) => {
    throw new Error(`no kwok at ${path}: name one in KWOK, or let test/cluster/control-plane/up build it`, { cause })
  })
  return path
}

export interface Kwok {
  /** What it logged so far. */
  readonly log: () => string
  readonly stop: () => Promise<void>
}

export interface KwokOptions {
  /** A file with stages, in place of those built in. */
  readonly stages?: string
  /** The value of {@link nodeAnnotation} on the Nodes that it manages. */
  readonly nodes?: string
}

const nodeAnnotation = "kwok.x-k8s.io/node"

/** Plays stages on the Nodes with kwok's annotation, and keeps their leases. */
export const startKwok = async (kubeconfig: string, options: KwokOptions = {}): Promise<Kwok> => {
  const { stages = "/dev/null", nodes = "fake" } = options
  const { KUBECONFIG: _never, ...env } = process.env
  const words = ["--kubeconfig", kubeconfig, `--config=${stages}`, "--node-lease-duration-seconds=40"]
  words.push(`--manage-nodes-with-annotation-selector=${nodeAnnotation}=${nodes}`)
  const child = spawn(await kwokBinary(), words, { env, stdio: ["ignore", "pipe", "pipe"] })
  const parts: Buffer[] = []
  child.stdout.on("data", (part: Buffer) => parts.push(part))
  child.stderr.on("data", (part: Buffer) => parts.push(part))
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", () => resolve())
  })
  return {
    log: () => Buffer.concat(parts).toString("utf8"),
    stop: async () => {
      child.kill("SIGTERM")
      await ended
    },
  }
}

/** A Node for kwok, big enough for every test. */
export const kwokNode = (name: string, type = "virtual", nodes = "fake"): object => {
  const resources = { cpu: "64", memory: "256Gi", pods: "500" }
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { type, "kubernetes.io/hostname": name },
      annotations: { [nodeAnnotation]: nodes },
    },
    status: { allocatable: resources, capacity: resources },
  }
}
