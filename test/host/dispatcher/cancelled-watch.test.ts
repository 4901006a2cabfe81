/** A watch that a guest cancels, in the real host: through its thread to the hub. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeWatchRequest } from "../guest/guest-side.ts"
import { assemble, guestText, imports, literal } from "../guest/test-guests.ts"
import { hostWithAccounts } from "./host-with-accounts.ts"

const watchOf = (kind: string): Uint8Array =>
  encodeWatchRequest({
    apiVersion: "v1",
    group: "",
    kind,
    version: "v1",
    resourceVersion: "",
    includeUninitialized: false,
    allowBookmarks: true,
  })
const nodes = watchOf("Node")
const secrets = watchOf("Secret")

/** Watches nodes, as operation 0, and secrets. The first event of either ends the watch of nodes. */
const guest = guestText({
  fields: `(import "kube-watch-abi" "cancel" (func $cancel (param i64)))
    ${imports}
    (data (i32.const 16) ${literal(nodes)})
    (data (i32.const 512) ${literal(secrets)})`,
  run: `(drop (call $watch (i32.const 16) (i32.const ${nodes.length})))
    (drop (call $watch (i32.const 512) (i32.const ${secrets.length})))`,
  stream: "(call $cancel (i64.const 0))",
})

test("is no subscription of the hub any more, and the module's other watch goes on", async () => {
  const sandbox = await Sandbox.start({ lifecycle: true })
  onTestFinished(() => sandbox.close())
  const endpoints = { endpoint: async () => sandbox.endpoint, onUnauthorized: async () => undefined }
  const { host, add, notes } = hostWithAccounts({ endpoints })
  const path = join(temporaryDirectory(), "guest.wasm")
  writeFileSync(path, assemble(guest))
  await add("guest", path)
  const wakeUps = async () => (await host.statistics())[0]?.instance?.wakeUps ?? 0
  await eventually(async () => expect(await wakeUps(), notes.join("\n")).toBeGreaterThan(1))
  await eventually(async () => {
    const { subscriptions = [] } = (await host.hubStatistics()) ?? {}
    expect(subscriptions.map(({ kind, isSynced }) => [kind, isSynced])).toEqual([["v1.Secret", true]])
  })
})
