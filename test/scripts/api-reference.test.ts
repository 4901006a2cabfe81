import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import { apiPage } from "../../scripts/api-reference.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"

test("a page has each export once, in order, with its comment, its declaration and the names of others through doors", () => {
  const folder = temporaryDirectory()
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  write("library/host.d.ts", `/** The entry. */\nexport * from "../host/index.ts";\n`)
  write(
    "host/index.d.ts",
    `/** What the room does. */\nexport { type Pod, run as runAll } from "./parts.ts";\nexport type { Away } from "../other/index.ts";\n`,
  )
  write(
    "host/parts.d.ts",
    [
      `import type { Effect } from "effect";`,
      `/** Not exported by the door. */\nexport declare const hidden = 1;`,
      `/**\n * Runs all, see {@link Pod}.\n *\n * - in order\n */\nexport declare const run: (pods: ReadonlyArray<Pod>) => void;`,
      `/** A pod. */\nexport declare class Pod {\n    #private;\n    /** ms. */\n    readonly age: number;\n}\n`,
    ].join("\n"),
  )
  write("other/index.d.ts", `export { Away } from "./away.ts";\n`)
  write(
    "other/away.d.ts",
    `declare const Away_base: unknown;\n/** It is away. */\nexport declare class Away extends Away_base {\n}\n`,
  )
  expect(apiPage("kubereel/host", join(folder, "library/host.d.ts"))).toBe(
    [
      "# kubereel/host\n\nWhat the room does.\n",
      "## Away\n\nIt is away.\n\n```ts\nclass Away extends Error {\n}\n```\n",
      "## Pod\n\nA pod.\n\n```ts\nclass Pod {\n    /** ms. */\n    readonly age: number;\n}\n```\n",
      "## runAll\n\nRuns all, see `Pod`.\n\n- in order\n\n```ts\nconst run: (pods: ReadonlyArray<Pod>) => void;\n```\n",
    ].join("\n"),
  )
})
