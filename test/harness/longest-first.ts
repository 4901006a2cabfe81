/**
 * The order of test files: those that take longest begin first, so that no processor waits for one of them at the end. Vitest knows the times of
 * the last run where there was one, and otherwise goes by the size of files, which says nothing about them: `examples.test.ts` has 40 lines.
 */
import { existsSync } from "node:fs"
import { join, relative } from "node:path"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Of the files that share processes those that take more than 5 s on an idle machine, the longest first. */
const longest: ReadonlyArray<string> = [
  // In a thorough run.
  "test/sandbox/request-mutants.test.ts",
  "test/cli/convert-mutants.test.ts",
  "test/docs/pages.test.ts",
  "test/recorder/late/outages.test.ts",
  "test/bench/measuring/live-run.test.ts",
  "test/examples/host/simplepod.test.ts",
  "test/simulation/fidelity/fidelity.test.ts",
  "test/archive/damage/flipped-bytes.test.ts",
  "test/simulation/replay/replay.test.ts",
  "test/cli/replay/replay-control.test.ts",
  "test/host/dispatcher/module-host.test.ts",
  "test/simulation/replay/repetitions.test.ts",
  "test/host/dispatcher/no-change-missed.test.ts",
  "test/k8s/pod.test.ts",
  "test/cli/replay.test.ts",
  // Needs the guests that the first one builds.
  "test/host/dispatcher/examples.test.ts",
  "test/cli/host-killed.test.ts",
  "test/simulation/api/simulation.test.ts",
  "test/cli/host-replay.test.ts",
  "test/cli/host-checkpoint.test.ts",
  "test/cli/replay/replay-sources.test.ts",
  "test/recorder/http/coverage.test.ts",
]

const places = new Map(longest.map((file, place) => [file, place]))

/** Vitest's order, in which of each project the longest files are moved to its beginning. Throws if one of them does not exist any longer. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config
    for (const file of longest)
      if (!existsSync(join(root, file))) throw new Error(`${file} of longest-first.ts is missing`)
    const sorted = await super.sort(files)
    const projects = [...new Set(sorted.map(({ project }) => project))]
    const place = ({ moduleId }: TestSpecification): number => places.get(relative(root, moduleId)) ?? longest.length
    return projects.flatMap((project) =>
      sorted.filter((each) => each.project === project).sort((one, other) => place(one) - place(other)),
    )
  }
}
