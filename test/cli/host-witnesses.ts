/**
 * Twenty controllers of a `reel host` that note what they were told, in lives of its process that end by SIGKILL: WebAssembly modules on its standard
 * output, scripts in a file each. Some act as a ServiceAccount that may only read ConfigMaps of the namespace `shop`.
 */
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { buildWitness, selections, Testimony } from "../host/dispatcher/witness.ts"
import { account } from "../host/identity/as-account.ts"

export interface Witness {
  readonly name: string
  readonly form: "wasm" | "script"
  /** Index of what it watches. */
  readonly selection: number
  /** It acts as the ServiceAccount. */
  readonly isLimited: boolean
  /** It may not see what it asks for. */
  readonly isForbidden: boolean
  /** Of a module: what it does beside watching, as in witness.ts. */
  readonly habit: string
}

const shop = 1

const wasm = (index: number): Witness => {
  const isForbidden = index === 11
  const isLimited = isForbidden || index % 3 === shop
  return {
    name: `witness-${index}`,
    form: "wasm",
    selection: isForbidden ? 0 : index % selections.length,
    isLimited,
    isForbidden,
    habit: index < 3 ? "t" : "",
  }
}

const script = (index: number): Witness => ({
  name: `script-${index}`,
  form: "script",
  selection: index % selections.length,
  isLimited: index % selections.length === shop,
  isForbidden: false,
  habit: "",
})

export const witnesses: ReadonlyArray<Witness> = [
  ...Array.from({ length: 12 }, (_, index) => wasm(index)),
  ...Array.from({ length: 8 }, (_, index) => script(index)),
]

/** A controller without the library: what defineController returns is a plain record. */
const source = `
import { appendFileSync } from "node:fs"
export default ({ NAME, SELECTION, LOG }) => {
  const say = (line) => appendFileSync(LOG, line + "\\n")
  say("run")
  return {
    name: NAME, for: { kind: "v1.ConfigMap", ...JSON.parse(SELECTION) },
    owns: [], watches: [], reads: [], indexes: [], writes: [], concurrency: 5,
    reconcile: ({ key, object }) => {
      say(object === undefined ? "gone " + key : "has " + key + " " + object.metadata.uid + " " + object.metadata.resourceVersion)
    },
  }
}
`

/** Writes the modules of all witnesses into the directory; the scripts write to `logs`. */
export const writeWitnesses = (directory: string, logs: string, compiled: string): void => {
  const code = buildWitness(compiled)
  for (const { name, form, selection, isLimited, habit } of witnesses) {
    const env =
      form === "wasm"
        ? { WATCH: `${selection}${habit}` }
        : { NAME: name, SELECTION: JSON.stringify(selections[selection]), LOG: logOf(logs, name) }
    const file = {
      name,
      ...(form === "wasm" && { abi: "rust_v1alpha1" }),
      ...(isLimited && { serviceAccount: account }),
      env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
    }
    if (form === "wasm") copyFileSync(code, join(directory, `${name}.wasm`))
    else writeFileSync(join(directory, `${name}.js`), source)
    // JSON is YAML.
    writeFileSync(join(directory, `${name}.yaml`), JSON.stringify(file))
  }
}

const logOf = (logs: string, name: string): string => join(logs, `${name}.log`)

/** What a witness was told in the present life of the host. */
export interface Account {
  /** UID → version of what it believes to exist. */
  readonly known: ReadonlyMap<string, number>
  /** What it was told of in this life. */
  readonly everKnown: ReadonlyArray<string>
  /** What it was told the end of in this life. */
  readonly gone: ReadonlySet<string>
  /** What cannot be, of all lives. */
  readonly contradictions: ReadonlyArray<string>
  /** Times that it has begun. */
  readonly lives: number
}

/** What a script has written: per key, the object that is there. */
export const readScriptLog = (logs: string, name: string): Account => {
  const path = logOf(logs, name)
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : []
  const keys = new Map<string, { readonly uid: string; readonly version: number }>()
  const versions = new Map<string, number>()
  const gone = new Set<string>()
  const contradictions: string[] = []
  let lives = 0
  for (const line of lines) {
    const [word, key = "", uid = "", text = ""] = line.split(" ")
    if (word === "run") {
      lives++
      for (const each of [keys, versions, gone]) each.clear()
      continue
    }
    const before = keys.get(key)
    // Another object of its name: the one before has gone.
    if (before !== undefined && before.uid !== uid) gone.add(before.uid)
    if (word === "gone") keys.delete(key)
    else {
      const version = Number(text)
      // The same version again is another run for the same state.
      if (version < (versions.get(uid) ?? 0)) contradictions.push(`out of order: ${line}`)
      versions.set(uid, version)
      keys.set(key, { uid, version })
      // It may have left the selection and come back.
      gone.delete(uid)
    }
  }
  return {
    known: new Map([...keys.values()].map(({ uid, version }) => [uid, version])),
    everKnown: [...versions.keys()],
    gone,
    contradictions,
    lives,
  }
}

/** Passes the lines of a host to the modules that wrote them. */
export class ModuleTestimonies {
  readonly #testimonies = new Map(
    witnesses.filter(({ form }) => form === "wasm").map(({ name }) => [name, new Testimony()]),
  )

  of(name: string): Testimony {
    return this.#testimonies.get(name) as Testimony
  }

  /** `witness-3: ADDED …`. Lines of others are ignored. */
  hear(line: string): void {
    const [, name = "", text = ""] = /^([^:]+): (.*)$/.exec(line) ?? []
    this.#testimonies.get(name)?.hear(text)
  }
}
