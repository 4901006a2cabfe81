/** A script that watches objects and writes a line for each run into a file, from its thread; on some objects it misbehaves. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "vitest"
import type { ModuleFile } from "../../../src/host/modules/module-file.ts"
import { eventually } from "../../harness/eventually.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import type { hostWithAccounts } from "../dispatcher/host-with-accounts.ts"

/** Nothing is installed beside it: the library is the host's. */
const source = `
import { appendFileSync } from "node:fs"
import { type ApiObject, defineController, TerminalError } from "kubereel/host"

export default ({ LOG, NAME, KIND, NAMESPACE, MANAGED, INDEXED }: Readonly<Record<string, string>>) => {
  const write = (line: string): void => appendFileSync(LOG, line + "\\n")
  return defineController<ApiObject & { readonly data?: Readonly<Record<string, string>> }>({
    name: NAME,
    for: { kind: KIND, namespace: NAMESPACE, managedFields: MANAGED === "true" },
    indexes: INDEXED === "true" ? [{ kind: KIND, name: "name", valuesOf: ({ metadata }) => (write("indexes " + metadata.name), [metadata.name]) }] : [],
    reconcile: async ({ object, name, cluster }) => {
      if (object === undefined) return write("gone " + name)
      const { does } = object.data ?? {}
      if (does === "loop") {
        write("loops")
        for (;;);
      }
      if (does === "loop later") setTimeout(() => { for (;;); })
      if (does === "throw later") setTimeout(() => { throw new Error("thrown later") })
      if (does === "give up") throw new TerminalError({ detail: "never" })
      if (does === "write" && object.metadata.labels?.written === undefined) {
        await cluster.patch(object, "merge", { metadata: { labels: { written: "yes" } } })
        return write("wrote " + name + " " + (cluster.cached(KIND).get(object.metadata)?.metadata.labels?.written ?? "unseen"))
      }
      write("is " + name + (object.metadata.managedFields === undefined ? "" : " with managedFields"))
    },
  })
}
`

export interface WatchingScript {
  readonly kind?: string
  readonly namespace?: string
  readonly managedFields?: boolean
  /** It has an index, which writes a line for each object that it enters. */
  readonly indexed?: boolean
  readonly serviceAccount?: ModuleFile["serviceAccount"]
  /** Instead of the one above. */
  readonly text?: string
}

/** Adds scripts to a host, and reads what they write. */
export const watchingScripts = ({ addScript, notes }: ReturnType<typeof hostWithAccounts>) => {
  const directory = temporaryDirectory()
  const logOf = (name: string): string => {
    const path = join(directory, name)
    return existsSync(path) ? readFileSync(path, "utf8") : ""
  }
  const add = (name: string, watching: WatchingScript = {}): Promise<void> => {
    const {
      kind = "v1.ConfigMap",
      namespace,
      managedFields = false,
      indexed = false,
      serviceAccount,
      text = source,
    } = watching
    const env = Object.entries({
      NAME: name,
      LOG: join(directory, name),
      KIND: kind,
      MANAGED: String(managedFields),
      INDEXED: String(indexed),
      ...(namespace !== undefined && { NAMESPACE: namespace }),
    }).map(([key, value]) => ({ name: key, value }))
    return addScript(name, text, { env, ...(serviceAccount !== undefined && { serviceAccount }) })
  }
  const has = (name: string, line: RegExp): Promise<void> =>
    eventually(() => expect(logOf(name), notes.join("\n")).toMatch(line))
  return { add, has, logOf }
}
