/** A project that has kubereel, as npm would have installed it, and the tools of this checkout. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "../blob/server-process.ts"

export const root = fileURLToPath(new URL("../..", import.meta.url))

/** Makes it in an empty directory. */
export const makeProject = (folder: string): void => {
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true })
  symlinkSync(root, join(folder, "node_modules/kubereel"))
  symlinkSync(join(root, "bin/reel.js"), join(folder, "node_modules/.bin/reel"))
  for (const name of ["effect", "vitest"])
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name))
  writeFileSync(join(folder, "package.json"), '{"type": "module"}')
}

/** The default ports of `reel record` and `reel sandbox`. */
const defaultPorts = [7777, 8001]

/**
 * What commands of the project find in their environment: a cluster, and `npx`, which runs installed programs as npm's does, in a twentieth of the time (npm's own
 * is tested by `npm run check-package` and the clean clones of `.ci/run`).
 *
 * @param programs further programs by name.
 */
export const environmentOf = async (
  folder: string,
  kubeconfig: string,
  programs: Readonly<Record<string, string>> = {},
): Promise<NodeJS.ProcessEnv> => {
  mkdirSync(join(folder, ".kube"))
  writeFileSync(join(folder, ".kube/config"), kubeconfig)
  const own = join(folder, ".programs")
  mkdirSync(own)
  writeFileSync(join(own, "npx"), `#!/bin/sh\nname=$1; shift; exec "${folder}/node_modules/.bin/$name" "$@"\n`)
  chmodSync(join(own, "npx"), 0o755)
  for (const [name, program] of Object.entries(programs)) symlinkSync(program, join(own, name))
  const { KUBECONFIG: _, KUBEREEL_TOKEN: __, FORCE_COLOR: ___, ...environment } = process.env
  const moved = await Promise.all(defaultPorts.map(async (port) => `${port}=${await freePort()}`))
  return {
    ...environment,
    HOME: folder,
    TMPDIR: folder,
    NO_COLOR: "1",
    PATH: [own, dirname(process.execPath), environment.PATH].join(":"),
    NODE_OPTIONS: `--import=${join(root, "test/docs/moved-ports.js")}`,
    KUBEREEL_TEST_MOVED_PORTS: moved.join(),
  }
}
