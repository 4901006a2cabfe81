/** Code of the compiling thread: piscina calls the default export once per module. */
import { readFile } from "node:fs/promises"
import { messageOf } from "../../message-of.ts"
import type { CompileResult, CompileTask } from "../dispatcher/module-compiler.ts"
import { compileGuest } from "../guest/compiled-guest.ts"

export default async ({ file, module }: CompileTask): Promise<CompileResult> => {
  try {
    return { compiled: compileGuest(await readFile(file), module) }
  } catch (cause) {
    return { refusal: messageOf(cause) }
  }
}
