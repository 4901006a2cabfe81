/** A module host in real threads whose modules and scripts act with the tokens and the rights of their ServiceAccounts. Ends with the test. */
import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished } from "vitest"
import { type Clock, systemClock } from "../../../src/clock.ts"
import { WatchAccess } from "../../../src/host/dispatcher/watch-access.ts"
import { AccessReviewer } from "../../../src/host/identity/access-reviewer.ts"
import { TokenSource } from "../../../src/host/identity/token-source.ts"
import { ModuleHost } from "../../../src/host/module-host.ts"
import type { ModuleFile } from "../../../src/host/modules/module-file.ts"
import { startHostThread } from "../../../src/host/worker-entries.ts"
import { ApiClient, type EndpointSource, ResourceFinder, Reviews } from "../../../src/kube/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

interface Options {
  /** The host's own credentials. */
  readonly endpoints: EndpointSource
  /** Of the host; default: the machine's. */
  readonly clock?: Clock
  /** For the age of reviews and kinds; default: the machine's. */
  readonly accessClock?: Pick<Clock, "monotonicMs">
}

export const hostWithAccounts = ({ endpoints, clock = systemClock, accessClock = systemClock }: Options) => {
  const client = new ApiClient({ server: endpoints, userAgent: "kubereel/host" })
  const reviews = new Reviews(endpoints, "kubereel/host")
  const reviewer = new AccessReviewer({ reviews, clock: accessClock })
  const access = new WatchAccess({ reviewer, finder: new ResourceFinder(client.connection), clock: accessClock })
  const logs = new Map<string, string[]>()
  const notes: string[] = []
  const host = new ModuleHost({
    workers: 1,
    clock,
    random: Math.random,
    checkWatch: (account, request) => access.check(account, request),
    endpoints,
    identityOf: ({ serviceAccount }) =>
      serviceAccount === undefined
        ? endpoints
        : new TokenSource({
            account: serviceAccount,
            host: endpoints,
            client,
            clock: systemClock,
            random: Math.random,
          }),
    version: "test",
    start: startHostThread,
    onLog: (module, _stream, line) => logs.get(module)?.push(line) ?? logs.set(module, [line]),
    onNote: (subject, note) => notes.push(`${subject}: ${note}`),
  })
  onTestFinished(async () => {
    await host.close()
    reviews.close()
    client.close()
  })
  const logOf = (module: string): string => logs.get(module)?.join("\n") ?? ""
  const directory = temporaryDirectory()
  return {
    host,
    notes,
    logOf,
    add: (name: string, codePath: string, more: Partial<ModuleFile> = {}) =>
      host.add({ file: { name, abi: "rust_v1alpha1", env: [], limits: {}, ...more }, codePath }),
    /** `text`: TypeScript. Resolves as `ScriptHost.add`. */
    addScript: (name: string, text: string, more: Partial<ModuleFile> = {}): Promise<void> => {
      const codePath = join(directory, `${name}.ts`)
      writeFileSync(codePath, text)
      const codeHash = createHash("sha256").update(text).digest("hex")
      const path = join(directory, `${name}.yaml`)
      const file: ModuleFile = { name, env: [], limits: {}, ...more }
      return host.scripts.add({ file, path, codePath, form: "ts", codeHash, hash: codeHash })
    },
    hasLogged: (module: string, line: RegExp): Promise<void> =>
      eventually(() => expect(logOf(module), notes.join("\n")).toMatch(line)),
  }
}
