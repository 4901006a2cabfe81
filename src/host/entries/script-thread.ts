/** Worker entry point of a script thread, and the library `kubereel/host` for the scripts in it. */
import { registerHooks } from "node:module"
import { runInWorker } from "../../runtime/thread/worker.ts"
import { scriptThreadBody } from "../scripts/thread/body.ts"
import { scriptThreadDefinition } from "../scripts/thread/definition.ts"

export * from "../index.ts"

// The host's own copy: a second one beside the script would cost 20 MB a thread, and the classes of its errors would be others. It also serves
// scripts beside which nothing is installed.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "kubereel/host" ? { url: import.meta.url, shortCircuit: true } : next(specifier, context),
})

runInWorker(scriptThreadDefinition, scriptThreadBody)
