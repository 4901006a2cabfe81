/** Rules of Roles in short form, and configurations to compute them from. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { PrintedObject } from "./printed.ts"

/** `list,watch apps/deployments` for each resource of each rule of a Role or ClusterRole. */
export const rightsOf = (role: PrintedObject): ReadonlyArray<string> =>
  (role.rules as ReadonlyArray<Record<string, ReadonlyArray<string>>>).flatMap(
    ({ apiGroups = [], resources = [], resourceNames = [], verbs = [] }) =>
      resources.map((resource) => [`${verbs} ${apiGroups[0]}/${resource}`, ...resourceNames].join(" ")),
  )

/** The permission of every recorder that is not limited to namespaces. */
export const clusterIdentity = "get /namespaces kube-system"

/** One configuration file at a time, in a directory that is removed when it is closed. */
export class ConfigurationFile {
  readonly #directory = mkdtempSync(join(tmpdir(), "kubereel-k8s-"))

  /** Writes the kinds, one per line, and returns the path. */
  write(...kinds: ReadonlyArray<string>): string {
    const file = join(this.#directory, "tracer.yml")
    writeFileSync(file, `trackedObjects:\n${kinds.map((line) => `  ${line}\n`).join("")}`)
    return file
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
