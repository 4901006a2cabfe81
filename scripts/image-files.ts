/**
 * The complete list of the image's files: the Containerfile's last stage copies these files, and tests run the recorder
 * from them.
 *
 * There is no base image. Node comes from the `node` package, whose version is in the lock file, with the shared
 * libraries it is linked to; the program is the bundles. There is no shell, no package manager, no home directory.
 */
import { readdir, readFile, realpath } from "node:fs/promises"
import { join } from "node:path"
import { packageFiles } from "./image-packages.ts"

export interface ImageFile {
  /** Absolute path in the image. */
  readonly target: string
  /** A file to copy, or the text that it holds. */
  readonly content: { readonly copyOf: string } | { readonly text: string }
  readonly isExecutable: boolean
}

/** Empty directories of the image: mount points. */
export const mountPoints: ReadonlyArray<string> = [
  "/etc/kubereel",
  "/var/lib/kubereel",
  "/proc",
  "/sys",
  "/dev",
  "/tmp",
]

/** The user that is called nonroot in distroless images; the manifests run the recorder as this user. */
const accounts: Readonly<Record<string, string>> = {
  "/etc/passwd": "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n",
  "/etc/group": "root:x:0:\nnonroot:x:65532:\n",
  // Names of the cluster's own hosts first, then DNS; glibc asks for this file.
  "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}

/** Programs under the names by which SimKube's manifests start its own, with the commands that they are: one image is all of them. */
const programs: Readonly<Record<string, string>> = { "/sk-ctrl": "controller", "/sk-driver": "driver" }

/** No shell is in the image to start it, and nothing says that it is a module, so it imports what it runs. */
const programText = (command: string): string =>
  `#!/nodejs/bin/node\nprocess.argv.splice(2, 0, "${command}")\nimport("/app/bin/reel.js")\n`

/**
 * The list, in order of targets.
 *
 * @param root the project, built and with its packages installed.
 * @param node the Node to include; default: the running one, which must have the version of the lock file.
 */
export const imageFiles = async (root: string, node: string = process.execPath): Promise<ReadonlyArray<ImageFile>> => {
  await checkVersion(root)
  const files: ImageFile[] = (await programFiles(root)).map((path) => ({
    target: `/app/${path}`,
    content: { copyOf: join(root, path) },
    isExecutable: false,
  }))
  files.push({ target: "/nodejs/bin/node", content: { copyOf: await realpath(node) }, isExecutable: true })
  for (const library of sharedLibraries())
    files.push({ target: library, content: { copyOf: await realpath(library) }, isExecutable: true })
  for (const [target, text] of Object.entries(accounts)) files.push({ target, content: { text }, isExecutable: false })
  for (const [target, command] of Object.entries(programs))
    files.push({ target, content: { text: programText(command) }, isExecutable: true })
  return files.sort((left, right) => (left.target < right.target ? -1 : 1))
}

/** Paths below the root of everything that `reel` needs besides Node, with the packages that it does not bundle. */
export const programFiles = async (root: string): Promise<ReadonlyArray<string>> => {
  const scripts = await bundles(root)
  const program = ["package.json", "LICENSE", "dist/THIRD-PARTY.md", "bin/reel.js", ...scripts, ...(await data(root))]
  return [...program, ...(await packageFiles(root, scripts))]
}

/** Another Node would make another image of the same commit. */
const checkVersion = async (root: string): Promise<void> => {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version?: string }>>
  }
  const wanted = `v${lock.packages["node_modules/node"]?.version}`
  if (process.version !== wanted)
    throw new Error(
      `the image needs Node ${wanted} of the lock file, and this is ${process.version}: run it with "npx node"`,
    )
}

/** The programs: the command, in all its files, and the workers. Without source maps. */
const bundles = async (root: string): Promise<ReadonlyArray<string>> => {
  const scriptsIn = async (folder: string): Promise<ReadonlyArray<string>> => {
    const names = (await readdir(join(root, folder))).filter((name) => name.endsWith(".js"))
    if (names.length === 0) throw new Error(`there is no script in ${folder}: run "npm run build"`)
    return names.map((name) => `${folder}/${name}`)
  }
  const folders = await Promise.all(["dist", "dist/workers", "dist/script-library"].map(scriptsIn))
  return folders.flat()
}

/** The data that bundles read at run time: the folders of dist/ without programs, and without source maps of the page. */
const data = async (root: string): Promise<ReadonlyArray<string>> => {
  const programs = new Set(["workers", "test-workers", "bench", "lib", "script-library", "types"])
  const entries = await readdir(join(root, "dist"), { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory() && !programs.has(entry.name))
  const found = await Promise.all(
    folders.map(async ({ name }) => {
      const files = await readdir(join(root, "dist", name), { withFileTypes: true, recursive: true })
      return files
        .filter((file) => file.isFile() && !file.name.endsWith(".map"))
        .map((file) => join(file.parentPath, file.name).slice(root.length))
    }),
  )
  return found.flat().map((path) => path.replace(/^\//, ""))
}

/** The libraries that this process was linked to, by the paths at which the loader looks for them. */
const sharedLibraries = (): ReadonlyArray<string> => {
  const report = process.report.getReport() as unknown as { readonly sharedObjects: ReadonlyArray<string> }
  // linux-vdso.so.1 has no path: it comes from the kernel. Add-ons that this process has loaded are not part of Node.
  const libraries = report.sharedObjects.filter((path) => path.startsWith("/") && /\/[^/]*\.so(?:\.\d+)*$/.test(path))
  if (libraries.length === 0)
    throw new Error("cannot tell which shared libraries Node is linked to: use a Linux with glibc")
  return [...new Set(libraries)].filter((path) => !path.endsWith(".node") && !path.includes("/node_modules/"))
}
