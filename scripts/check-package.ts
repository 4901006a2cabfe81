/**
 * What a user of the package gets: packs it, installs it into an empty directory, and uses it there. Part of `.ci/run`.
 *
 *   npm run check-package
 *
 * The checkout is not touched: everything happens in a temporary directory. Installing needs the npm registry or npm's cache. Fails with the
 * first thing that is wrong.
 */
import { type ExecFileOptions, execFile } from "node:child_process"
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join, posix, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { kubeconfigOf, LocalCluster } from "../src/sandbox/index.ts"
import { blocksOf } from "./guide-blocks.ts"

/** MB of everything that is installed, in blocks of 4 KiB. */
const largestInstallation = 110

const root = fileURLToPath(new URL("..", import.meta.url))
const run = promisify(execFile)

const fail = (problem: string): never => {
  throw new Error(problem)
}

/** What is not part of a checkout: the copy has the same sources, and the packages of this one. */
const notCopied = new Set(["node_modules", "dist", ".git"])

const pack = async (work: string): Promise<string> => {
  const copy = join(work, "checkout")
  cpSync(root, copy, { recursive: true, filter: (path) => !notCopied.has(relative(root, path)) })
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
  // As for a release: prepack builds everything.
  await run("npm", ["pack", "--pack-destination", work], { cwd: copy, maxBuffer: 1e8 })
  const [tarball, ...others] = readdirSync(work).filter((name) => name.endsWith(".tgz"))
  if (tarball === undefined || others.length > 0) return fail("npm pack made no tarball, or several")
  return join(work, tarball)
}

const install = async (tarball: string, user: string): Promise<void> => {
  mkdirSync(user)
  writeFileSync(join(user, "package.json"), '{"name": "user", "private": true, "type": "module"}\n')
  const words = ["install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel", "notice", tarball]
  const { stdout, stderr } = await run("npm", words, { cwd: user })
  const warning = /^npm warn .*$/m.exec(stdout + stderr)
  if (warning !== null) fail(`npm install warns: ${warning[0]}`)
}

const megabytes = (folder: string): number =>
  globSync("**/*", { cwd: folder }).reduce((sum, path) => {
    const status = statSync(join(folder, path))
    return sum + (status.isFile() ? Math.ceil(status.size / 4096) * 4096 : 4096)
  }, 0) / 1e6

const checkSize = (user: string): string => {
  const total = megabytes(join(user, "node_modules"))
  const parts = ["kubereel", "effect"].map(
    (name) => `${name} ${Math.round(megabytes(join(user, "node_modules", name)))}`,
  )
  const text = `${Math.round(total)} MB installed (${parts.join(", ")})`
  return total <= largestInstallation ? text : fail(`${text}; the limit is ${largestInstallation} MB`)
}

/** The tarball's own files: licences, no source maps, no link into the void. */
const checkFiles = (installed: string): void => {
  if (!existsSync(join(installed, "dist/THIRD-PARTY.md"))) fail("dist/THIRD-PARTY.md is not in the package")
  const files = globSync("**/*", { cwd: installed }).filter((path) => !path.startsWith("node_modules"))
  const map = files.find((path) => path.endsWith(".map"))
  if (map !== undefined) fail(`${map} is a source map`)
  for (const path of files.filter((each) => each.endsWith(".js")))
    if (/^\/\/# sourceMappingURL=/m.test(readFileSync(join(installed, path), "utf8")))
      fail(`${path} names a source map`)
  for (const page of files.filter((each) => each.endsWith(".md"))) {
    const prose = readFileSync(join(installed, page), "utf8").replace(/^( *)```[\s\S]*?^\1```/gm, "")
    for (const [, target = ""] of prose.replace(/`[^`]*`/g, "").matchAll(/\]\(([^)\s#]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      const path = posix.join(posix.dirname(page), target)
      if (!existsSync(join(installed, path))) fail(`${page} links to ${path}, which is not in the package`)
    }
  }
}

/** A file that uses every export, compiled as users do, with the types of all dependencies checked. */
const checkTypes = async (user: string): Promise<void> => {
  const manifest = JSON.parse(readFileSync(join(user, "node_modules/kubereel/package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, unknown>>
  }
  const names = Object.keys(manifest.exports).map((path) => posix.join("kubereel", path))
  const imports = names.map((name, index) => `import * as m${index} from "${name}"`)
  const used = `console.log(${names.map((_, index) => `m${index}`).join(", ")})`
  writeFileSync(join(user, "every-export.ts"), `${[...imports, used].join("\n")}\n`)
  const files = readdirSync(user).filter((name) => name.endsWith(".ts"))
  for (const moduleResolution of ["nodenext", "bundler"]) {
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      target: "es2024",
      // Effect declares something with a type of the DOM.
      lib: ["es2024", "esnext.disposable", "dom"],
      module: moduleResolution === "bundler" ? "esnext" : "nodenext",
      moduleResolution,
      types: ["node"],
    }
    writeFileSync(join(user, "tsconfig.json"), JSON.stringify({ compilerOptions, files }))
    await run(join(root, "node_modules/.bin/tsc"), ["-p", user], { cwd: user, maxBuffer: 1e8 }).catch(
      ({ stdout }: { readonly stdout: string }) => fail(`types with moduleResolution ${moduleResolution}:\n${stdout}`),
    )
  }
}

/** The tools that a user's project has besides kubereel are those of this checkout. */
const tools = ["typescript", "vitest", "@types/node"]

const useIt = async (user: string): Promise<ReadonlyArray<string>> => {
  const done: string[] = []
  const vitest = join(root, "node_modules/vitest/vitest.mjs")
  mkdirSync(join(user, "node_modules/@types"), { recursive: true })
  for (const name of tools)
    if (!existsSync(join(user, "node_modules", name)))
      symlinkSync(join(root, "node_modules", name), join(user, "node_modules", name))
  const version = await run("npx", ["reel", "version"], { cwd: user })
  done.push(version.stdout.split("\n")[0] ?? "")
  const plugin = await run("npx", ["kubectl-reel", "help"], { cwd: user })
  if (!plugin.stdout.startsWith("Usage: kubectl reel ")) fail(`kubectl-reel does not know its name: ${plugin.stdout}`)
  await using cluster = await LocalCluster.start()
  writeFileSync(join(user, "kubeconfig"), kubeconfigOf(cluster.sandbox.url))
  const options: ExecFileOptions = {
    cwd: user,
    env: { ...process.env, KUBECONFIG: join(user, "kubeconfig"), TMPDIR: user },
  }
  const page = readFileSync(join(root, "docs/guides/embed.md"), "utf8")
  for (const { text, line } of blocksOf(page).filter(({ language }) => language === "ts")) {
    const isTest = text.includes('from "vitest"')
    const file = `line-${line}${isTest ? ".test" : ""}.ts`
    writeFileSync(join(user, file), text)
    await run(process.execPath, isTest ? [vitest, "run", "--root", user, file] : [file], options)
    done.push(`docs/guides/embed.md:${line}`)
  }
  cpSync(join(root, "examples/host/typescript"), join(user, "operator"), { recursive: true })
  await run(process.execPath, [vitest, "run", "--root", user, "operator"], options)
  done.push("examples/host/typescript")
  cpSync(join(root, "examples/vitest"), join(user, "shop"), { recursive: true })
  await run(process.execPath, [vitest, "run", "--root", user, "shop"], options)
  done.push("examples/vitest")
  return done
}

const work = mkdtempSync(join(tmpdir(), "kubereel-package-"))
try {
  const start = performance.now()
  const took = (): string => `${Math.round((performance.now() - start) / 1000)} s`
  const user = join(work, "user")
  const tarball = await pack(work)
  console.log(`packed: ${(statSync(tarball).size / 1e6).toFixed(1)} MB (${took()})`)
  await install(tarball, user)
  console.log(`${checkSize(user)} (${took()})`)
  checkFiles(join(user, "node_modules/kubereel"))
  console.log(`used: ${(await useIt(user)).join(", ")} (${took()})`)
  await checkTypes(user)
  console.log(`types: strict, with nodenext and bundler, all declarations checked (${took()})`)
} finally {
  rmSync(work, { recursive: true, force: true })
}
