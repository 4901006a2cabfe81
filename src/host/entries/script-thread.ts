/** Worker entry point of a script thread, and the library `kubereel/host` for the scripts in it. */
import { runInWorker } from "../../runtime/index.ts"
import { provideScriptLibrary } from "../scripts/script-library.ts"
import { scriptThreadBody } from "../scripts/thread/script-thread-actor.ts"
import { scriptThreadDefinition } from "../scripts/thread/script-thread-interface.ts"

export * from "../controllers.ts"

// The host's own copy: a second one beside the script would cost 20 MB a thread, and the classes of its errors would be others. It also serves
// scripts beside which nothing is installed.
provideScriptLibrary(import.meta.url)

runInWorker(scriptThreadDefinition, scriptThreadBody)
