/** Directories of modules on the real file system; time and events are the test's. */
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import { type DirectoryIo, fileSystem } from "../../../src/host/modules/directory-io.ts"
import { ModuleDirectory } from "../../../src/host/modules/module-directory.ts"
import { describeRefusal } from "../../../src/host/modules/module-problem.ts"
import { eventually } from "../../harness/eventually.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn, until } from "../../runtime/until.ts"

const start = async (files: Readonly<Record<string, string>> = {}) => {
  const directory = temporaryDirectory()
  const put = async (name: string, text: string): Promise<void> => writeFile(join(directory, name), text)
  for (const [name, text] of Object.entries(files)) await put(name, text)
  const clock = new ManualClock()
  const story: string[] = []
  let event = (): void => undefined
  let reads = 0
  let failure: Error | undefined
  let running = 0
  const counted = async <Value>(value: Promise<Value>): Promise<Value> => {
    running++
    try {
      return await value
    } finally {
      running--
    }
  }
  const io: DirectoryIo = {
    list: (path) => counted(failure === undefined ? fileSystem.list(path) : Promise.reject(failure)),
    signature: (path) => counted(fileSystem.signature(path)),
    read: (path, limit) => {
      reads++
      return counted(fileSystem.read(path, limit))
    },
    watch: (_, changed) => {
      event = changed
      return () => undefined
    },
  }
  const modules = new ModuleDirectory({
    directory,
    clock,
    io,
    changed: ({ added, replaced, removed, refusals }) => {
      for (const { file, form } of added) story.push(`added ${file.name} (${form})`)
      for (const { before, after } of replaced)
        story.push(`replaced ${after.file.name}${before.codeHash === after.codeHash ? "" : " with other code"}`)
      for (const { file } of removed) story.push(`removed ${file.name}`)
      for (const { path, refusal } of refusals)
        story.push(`refused ${describeRefusal(path, refusal).replaceAll(`${directory}/`, "")}`)
    },
  })
  onTestFinished(() => modules.close())
  await modules.start()
  /** What is reported after an event and the time that it takes to settle. */
  const news = async (): Promise<string[]> => {
    event()
    for (let step = 0; step < 6; step++) {
      clock.advance(200)
      // Until the reading that the timer started is over.
      await turn()
      await until(() => running === 0)
    }
    return story.splice(0)
  }
  return {
    directory,
    put,
    clock,
    story,
    modules,
    news,
    idle: async (): Promise<void> => {
      await turn()
      await until(() => running === 0)
    },
    event: () => event(),
    reads: () => reads,
    fail: (error: Error | undefined) => {
      failure = error
    },
  }
}

const wasm = (name: string): string => `name: ${name}\nabi: rust_v1alpha1\n`

describe("A directory of modules", () => {
  test("has modules of three forms, in the order of their files; other files are ignored", async () => {
    const { story, modules, directory } = await start({
      "b.yaml": wasm("beta"),
      "b.wasm": "code",
      "a.yaml": "name: alpha",
      "a.ts": "export {}",
      "c.yaml": "name: gamma",
      "c.js": "",
      "shared.ts": "imported by others",
      "README.md": "",
      "crd.yaml": "# a definition\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n",
      ".hidden.yaml": "not yaml: [",
    })
    expect(story).toEqual(["added alpha (ts)", "added beta (wasm)", "added gamma (js)"])
    expect(modules.modules.get("beta")).toMatchObject({
      path: join(directory, "b.yaml"),
      codePath: join(directory, "b.wasm"),
      codeHash: "5694d08a2e53ffcae0c3103e5ad6f6076abd960eb1f8a56577040bc1028f702b",
    })
  })

  test("refuses modules by name and reason, and has the others", async () => {
    const { story } = await start({
      "good.yaml": wasm("good"),
      "good.wasm": "",
      "no-code.yaml": wasm("no-code"),
      "no-file.wasm": "",
      "two.yaml": wasm("two"),
      "two.wasm": "",
      "two.js": "",
      "no-abi.yaml": "name: no-abi",
      "no-abi.wasm": "",
      "invalid.yaml": "abi: rust_v1alpha1",
      "invalid.wasm": "",
      "other.yml": wasm("other"),
      "same.yaml": wasm("good"),
      "same.wasm": "",
    })
    expect(story).toEqual([
      "added good (wasm)",
      "refused invalid.yaml:1:1: the key name is missing; add name: and a name such as simple-pod",
      "refused no-abi.yaml:1:1: the key abi is missing; a WebAssembly module needs it: add abi: rust_v1alpha1",
      "refused no-code.yaml: its code is missing; put one of no-code.wasm, no-code.ts, no-code.js beside it",
      "refused no-file.wasm: the module has no configuration; put no-file.yaml beside it",
      "refused other.yml: it is not read; rename it to other.yaml",
      'refused same.yaml: the name "good" is taken by good.yaml; give the module another name',
      "refused two.yaml: its code exists in several forms (two.wasm, two.js); leave one of them",
    ])
  })

  test("reports additions, replacements and removals, each once", async () => {
    const { put, news, directory } = await start({ "a.yaml": wasm("a"), "a.wasm": "1" })
    await news()
    await put("b.yaml", wasm("b"))
    await put("b.wasm", "1")
    expect(await news()).toEqual(["added b (wasm)"])
    expect(await news()).toEqual([])
    await put("a.wasm", "2")
    expect(await news()).toEqual(["replaced a with other code"])
    await put("a.yaml", `${wasm("a")}env: [{name: A, value: b}]`)
    expect(await news()).toEqual(["replaced a"])
    await rename(join(directory, "b.yaml"), join(directory, "c.yaml"))
    await rename(join(directory, "b.wasm"), join(directory, "c.wasm"))
    await put("c.yaml", wasm("c"))
    expect(await news()).toEqual(["added c (wasm)", "removed b"])
    await rm(join(directory, "c.wasm"))
    expect(await news()).toEqual([
      "removed c",
      "refused c.yaml: its code is missing; put one of c.wasm, c.ts, c.js beside it",
    ])
    await rm(join(directory, "a.yaml"))
    await rm(join(directory, "c.yaml"))
    expect(await news()).toEqual(["removed a", "refused a.wasm: the module has no configuration; put a.yaml beside it"])
  })

  test("replaces the scripts that import a file, also through others and in folders, when it changes, appears or goes", async () => {
    const { directory, put, news } = await start({
      "a.yaml": "name: a",
      "a.ts": 'import { podOf } from "./pods.ts"\nexport default podOf',
      "b.yaml": "name: b",
      "b.js": 'export * from "./names.ts"\nawait import("./shared/labels.js")',
      "c.yaml": "name: c",
      "c.ts": 'import { defineController } from "kubereel/host"\nimport "./own.json"',
      "pods.ts": 'import { nameOf } from "./names.ts"\nimport { podOf } from "./pods.ts"\nexport { podOf }',
      "names.ts": "export const nameOf = 1",
    })
    await news()
    await put("names.ts", "export const nameOf = 2")
    expect(await news()).toEqual(["replaced a with other code", "replaced b with other code"])
    await put("own.json", "{}")
    expect(await news()).toEqual(["replaced c with other code"])
    await rm(join(directory, "pods.ts"))
    expect(await news()).toEqual(["replaced a with other code"])
    await mkdir(join(directory, "shared"))
    await put("shared/labels.js", "")
    expect(await news()).toEqual(["replaced b with other code"])
    await put("unrelated.ts", "")
    expect(await news()).toEqual([])
  })

  test("keeps a module whose file became invalid as it was, until it is valid again", async () => {
    const { put, news, modules } = await start({ "a.yaml": wasm("a"), "a.wasm": "1" })
    await news()
    await put("a.yaml", "name: A")
    expect((await news()).map((line) => line.slice(0, 30))).toEqual(['refused a.yaml:1:7: name is "A'])
    expect([...modules.modules.keys()]).toEqual(["a"])
    expect(modules.refusals).toHaveLength(1)
    await put("a.yaml", wasm("a"))
    expect(await news()).toEqual([])
    expect(modules.refusals).toEqual([])
  })

  test("leaves a name to the module that has it, and gives it to the other when that is gone", async () => {
    const { put, news, directory } = await start({ "b.yaml": wasm("x"), "b.wasm": "1" })
    await news()
    await put("a.yaml", wasm("x"))
    await put("a.wasm", "2")
    expect(await news()).toEqual(['refused a.yaml: the name "x" is taken by b.yaml; give the module another name'])
    await rm(join(directory, "b.yaml"))
    await rm(join(directory, "b.wasm"))
    expect(await news()).toEqual(["replaced x with other code"])
  })

  test("replaces a module whose files are renamed, because its next start reads the code from there", async () => {
    const { news, modules, directory } = await start({ "b.yaml": wasm("x"), "b.wasm": "1" })
    await news()
    for (const extension of ["yaml", "wasm"])
      await rename(join(directory, `b.${extension}`), join(directory, `c.${extension}`))
    expect(await news()).toEqual(["replaced x"])
    expect(modules.modules.get("x")?.codePath).toBe(join(directory, "c.wasm"))
    expect(await news()).toEqual([])
  })

  test("is not read while it changes", async () => {
    const { put, clock, event, story, idle } = await start()
    story.length = 0
    await put("a.yaml", wasm("a"))
    await put("a.wasm", "half of")
    for (let part = 0; part < 5; part++) {
      event()
      clock.advance(200)
      await idle()
      // It was read once, and is not the same at the next reading.
      await put("a.wasm", `half of the code and part ${part}`)
    }
    expect(story).toEqual([])
    for (let step = 0; step < 3; step++) {
      clock.advance(200)
      await idle()
    }
    expect(story).toEqual(["added a (wasm)"])
  })

  test("is looked at every 5 s without an event; files that are the same are not read again", async () => {
    const { put, clock, story, idle, reads } = await start({ "a.yaml": wasm("a"), "a.wasm": "1" })
    story.length = 0
    const before = reads()
    for (let look = 0; look < 5; look++) {
      clock.advance(5000)
      await idle()
    }
    expect(reads()).toBe(before)
    await put("b.yaml", "name: b")
    await put("b.js", "")
    clock.advance(5000)
    await idle()
    clock.advance(200)
    await idle()
    expect(story).toEqual(["added b (js)"])
  })

  test("that cannot be read changes nothing, and is reported", async () => {
    const { news, fail, modules } = await start({ "a.yaml": wasm("a"), "a.wasm": "1" })
    await news()
    fail(Object.assign(new Error("gone"), { code: "EIO" }))
    expect((await news()).at(0)).toMatch(
      /^refused .*: it cannot be read \(EIO\); check that it exists and its permissions$/,
    )
    expect([...modules.modules.keys()]).toEqual(["a"])
    fail(undefined)
    expect(await news()).toEqual([])
    expect(modules.refusals).toEqual([])
  })

  test("leaves no timer once it is closed", async () => {
    const { clock, modules, event } = await start()
    event()
    modules.close()
    event()
    expect(clock.pending).toBe(0)
  })

  test("is followed on the real file system, also if it is a mounted ConfigMap", async () => {
    const directory = temporaryDirectory()
    for (const version of ["1", "2"]) {
      await mkdir(join(directory, `..${version}`))
      await writeFile(join(directory, `..${version}`, "a.yaml"), `name: a\nenv: [{name: V, value: ${version}}]`)
      await writeFile(join(directory, `..${version}`, "a.js"), "")
    }
    await symlink("..1", join(directory, "..data"))
    for (const name of ["a.yaml", "a.js"]) await symlink(join("..data", name), join(directory, name))
    const story: string[] = []
    const modules = new ModuleDirectory({
      directory,
      clock: systemClock,
      settleMs: 10,
      pollMs: 100,
      changed: ({ added, replaced }) => {
        for (const one of [...added, ...replaced.map(({ after }) => after)])
          story.push(`${one.file.name} ${one.file.env[0]?.value}`)
      },
    })
    onTestFinished(() => modules.close())
    await modules.start()
    await symlink("..2", join(directory, "..new"))
    await rename(join(directory, "..new"), join(directory, "..data"))
    await eventually(() => expect(story).toEqual(["a 1", "a 2"]))
  })
})
