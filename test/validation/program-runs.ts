/** Runs generated programs on objects. */
import type { JsonObject } from "../../src/trace/index.ts"
import { parseProgram } from "../../src/trace/transform/index.ts"
import { runnerOf } from "../../src/trace/transform/run-program.ts"
import type { Body } from "./traces.ts"

/** Returns an object after all commands of a program. Fails if the program is none, or deletes the object. */
export const programOf = (lines: ReadonlyArray<string>): ((body: Body) => Body) => {
  const run = runnerOf(parseProgram(lines.join("\n")), 0)
  return (body) => {
    const after = run(body as JsonObject, 0, () => undefined)
    if (after === undefined) throw new Error("the program deletes the object")
    return after
  }
}
