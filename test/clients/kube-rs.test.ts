/** An operator on kube-rs: its own definition, a finalizer, the status by server-side apply, a reflector on a streaming list. */

import { beforeAll, test } from "vitest"
import { type Program, rustProgram } from "./build/compiled-program.ts"
import { keepsCafes } from "./kube-operator.ts"
import { runProgram } from "./running-program.ts"
import { skipBecause } from "./skip-because.ts"
import { withProgram } from "./with-program.ts"

let program: Program

beforeAll(async () => {
  program = await rustProgram("kube-rs")
})

test("defines its kind, keeps status and Deployment, holds what matches, and tidies up before an object goes", async ({
  skip,
}) => {
  if ("missing" in program) return skipBecause(skip, `the operator was not built: ${program.missing}`)
  const { path } = program
  await withProgram([], ({ kubeconfig }) => runProgram(path, [], { KUBECONFIG: kubeconfig }), keepsCafes)
})
