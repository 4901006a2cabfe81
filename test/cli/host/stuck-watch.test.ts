import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const watch = fileURLToPath(new URL("../../../src/cli/host/stuck-watch.ts", import.meta.url))

const run = async (does: string) => {
  const program = `import { watchForStuck } from ${JSON.stringify(watch)}\nusing _ = watchForStuck("reel host", 1500)\n${does}`
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", program], {
    stdio: ["ignore", "ignore", "pipe"],
  })
  let said = ""
  child.stderr.on("data", (text) => {
    said += String(text)
  })
  const [code, signal] = await once(child, "close")
  return { code, signal, said }
}

test("a process whose event loop stands still is ended with a reason, also if it handles signals", async () => {
  const { signal, said } = await run(
    "process.on('SIGTERM', () => undefined); setTimeout(() => { for (;;); })\nawait new Promise(() => undefined)",
  )
  expect(signal).toBe("SIGKILL")
  expect(said).toContain("reel host: a module has not returned for 1.5 s, so the rehearsal is ended\n")
})

test("one that waits, computes in pieces and ends is left alone, and not kept alive", async () => {
  const { code, said } = await run(
    "for (let i = 0; i < 8; i++) { const end = performance.now() + 250; while (performance.now() < end); await new Promise((go) => setTimeout(go, 10)) }",
  )
  expect({ code, said }).toEqual({ code: 0, said: "" })
})
