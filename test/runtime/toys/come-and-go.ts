/** A separate process: starts two actors, kills one, stops the system, and must then end by itself. */
import * as Effect from "effect/Effect"
import { ActorSystem } from "../../../src/library/runtime.ts"
import { type MisfitConfig, misfit } from "./misfit.ts"
import { inWorker } from "./toy-worker.ts"

const system = new ActorSystem({ random: () => 0 })
const spawn = (name: string) => {
  let lives = 0
  return system.spawn({
    definition: misfit,
    name,
    start: inWorker("misfit"),
    config: (): MisfitConfig => ({ boot: "run" }),
    incarnation: () => ++lives,
  })
}
const [killed, calm] = [spawn("killed"), spawn("calm")]
system.link("numbers", killed, calm)
await Effect.runPromise(killed.running())
await killed.kill()
await Effect.runPromise(killed.running())
await Effect.runPromise(calm.running())
await Effect.runPromise(killed.call("echo", { text: "still here", level: 1, at: new Date(0) }))
await system.status()
console.log(`stopped, undrained: ${JSON.stringify(await system.stop())}`)
process.on("beforeExit", () => console.log(`nothing left: ${process.getActiveResourcesInfo().join(", ")}`))
