/**
 * Controllers in TypeScript, in one process: `kubereel/host` as its users import it.
 *
 * Arguments: the port, then per controller the kinds that it watches, `v1.Pod,v1.ConfigMap`. It is for the first of them; the others wake it as well.
 * Prints `{"synced": true}`, then `{"measured": Measured}` for each mark that a controller saw, and `{"trouble": "…"}`.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { ApiObject } from "../../src/host/controllers.ts"
import { ChangeTally } from "./change-stamp.ts"

const [port = "", ...controllers] = process.argv.slice(2)

// The bundle that users import; its types are those of the source.
const bundle = new URL("../lib/host.js", import.meta.url).href
const { defineController, runControllers } = (await import(bundle)) as typeof import("../../src/host/index.ts")

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const defined = controllers.map((watched, index) => {
  const [subject = "", ...others] = watched.split(",")
  const tally = new ChangeTally((measured) => say({ measured }))
  return defineController({
    name: `controller-${index}`,
    for: subject,
    // A name that no object has leads to the other kind's object: `1.web-000000`.
    watches: others.map((kind, number) => ({
      kind,
      map: ({ metadata: { namespace, name = "" } }: ApiObject) => [{ namespace, name: `${number}.${name}` }],
    })),
    reconcile: ({ object, namespace, name, cluster }) => {
      const dot = name.indexOf(".")
      const kind = others[Number(name.slice(0, dot))]
      const changed =
        dot < 0 || kind === undefined ? object : cluster.cached(kind).get({ namespace, name: name.slice(dot + 1) })
      if (changed !== undefined) tally.entered(changed)
    },
  })
})

const running = await runControllers(defined, {
  server: { server: `http://127.0.0.1:${port}`, headers: [] },
  onTrouble: (trouble) => say({ trouble }),
})
process.stdin.on("close", () => process.exit(0)).resume()
await running.started
while (running.statistics().some(({ depth }) => depth > 0)) await sleep(50)
say({ synced: true })
