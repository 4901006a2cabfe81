#!/usr/bin/env node
/**
 * The command `reel`. Plain JavaScript that any Node from 14.14 on can read, because its first duty is to tell an old Node
 * from a new one: in a checkout the development dependency `node` brings a new enough Node, and this hands over to it,
 * so that `npx reel` works whatever Node the machine has.
 */
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { constants } from "node:os"
import { fileURLToPath } from "node:url"

/** Effect and undici ask for it; also the first that strips types from sources without a flag. */
const needed = [22, 19]

const pathOf = (relative) => fileURLToPath(new URL(relative, import.meta.url))

const isNewEnough = (version) => {
  const [major, minor] = version.replace(/^v/, "").split(".").map(Number)
  return major > needed[0] || (major === needed[0] && minor >= needed[1])
}

/** Signals that are meant for the recorder. A second SIGINT or SIGTERM is passed on like the first. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]

/** Runs the same program again under another Node, and ends as that one ends. */
const handOver = (node) => {
  // The path by which this one was started, because its name says what to do (src/cli/terminal/invocation.ts).
  const child = spawn(node, process.argv.slice(1), {
    stdio: "inherit",
    // If the other Node is too old as well, it must not hand over to itself for ever.
    env: { ...process.env, KUBEREEL_HANDED_OVER: "1" },
  })
  // A terminal sends Ctrl-C and Ctrl-\ to every process in the foreground, the child included: passing them on would
  // deliver them twice, and twice means "at once, without cleaning up" to many programs.
  const fromTerminal = process.stdin.isTTY === true ? ["SIGINT", "SIGQUIT"] : []
  for (const signal of signals)
    process.on(signal, () => {
      if (!fromTerminal.includes(signal)) child.kill(signal)
    })
  child.on("error", (cause) => {
    console.error(`reel: cannot start ${node}: ${cause.message}. Run "npm ci --ignore-scripts=false"`)
    process.exit(1)
  })
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code)
    // Die of the same signal, so that a shell sees what happened; the number is for systems where that does not work.
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
    setTimeout(() => process.exit(128 + constants.signals[signal]), 100)
  })
}

const start = () => {
  const built = pathOf("../dist/cli.js")
  const entry = existsSync(built) ? "../dist/cli.js" : "../src/cli/main.ts"
  import(new URL(entry, import.meta.url).href).catch((cause) => {
    console.error(cause)
    process.exit(1)
  })
}

const own = pathOf(process.platform === "win32" ? "../node_modules/node/bin/node.exe" : "../node_modules/node/bin/node")
if (isNewEnough(process.version)) start()
else if (existsSync(own) && process.env.KUBEREEL_HANDED_OVER === undefined) handOver(own)
else {
  console.error(
    `reel: this is Node ${process.version}, and kubereel needs ${needed.join(".")} or later. ` +
      'Install it from https://nodejs.org, or run "npm ci" in the checkout, which brings its own.',
  )
  process.exit(1)
}
