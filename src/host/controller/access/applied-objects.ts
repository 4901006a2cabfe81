/**
 * What a controller has applied, so that an apply that would change nothing sends nothing.
 *
 * Guaranteed: `current` returns an object only if the last apply of its name had the same content and options, has succeeded, and the cached object has
 * the UID and, in every member that was applied, the value that the server returned then. So drift, deletions, successors of the name and other applies of
 * the same name are sent, and so is the first apply after a start. Lists are compared as a whole: one to which others add is sent once more. What others
 * own is not compared.
 *
 * It knows what the cache knows: drift that no event has brought yet is seen when it arrives. Values count, not who manages them: a field that others have
 * set to the same value is theirs as well until another apply is due. The oldest of 10,000 names is forgotten, which costs a request.
 */
import type { ApiObject, ObjectBase } from "../../../kube/index.ts"
import type { CachedObjects } from "./cached-objects.ts"

/** Some kB each, as text. */
const keptNames = 10_000

/** An apply: `object` is what is sent. */
interface Application {
  readonly object: {
    readonly apiVersion: string
    readonly kind: string
    readonly metadata: Partial<ApiObject["metadata"]>
  }
  readonly force: boolean
  readonly subresource: string | undefined
}

interface Applied {
  readonly content: string
  /** What the server made of it; `undefined` while it is under way. */
  result: { readonly uid: string | undefined; readonly values: string } | undefined
}

export class AppliedObjects {
  readonly #cachedOf: (kind: string) => CachedObjects<ApiObject> | undefined
  readonly #applied = new Map<string, Applied>()

  /** `cachedOf`: `undefined` for a kind that is not watched, which is always sent. */
  constructor(cachedOf: (kind: string) => CachedObjects<ApiObject> | undefined) {
    this.#cachedOf = cachedOf
  }

  /** The cached object, if applying would not change it. */
  current({ object, force, subresource }: Application): ApiObject | undefined {
    const { apiVersion, kind, metadata } = object
    const known = this.#applied.get(nameOf(object, subresource))
    if (known?.result === undefined || known.content !== contentOf(object, force)) return undefined
    const cached = this.#cachedOf(`${apiVersion}.${kind}`)?.get({
      namespace: metadata.namespace,
      name: metadata.name ?? "",
    })
    if (cached === undefined || cached.metadata.uid !== known.result.uid) return undefined
    return valuesOf(object, cached) === known.result.values ? cached : undefined
  }

  /** An apply is sent. Call what it returns with the server's object; never if it failed. */
  begin({ object, force, subresource }: Application): (returned: ObjectBase) => void {
    const name = nameOf(object, subresource)
    const applied: Applied = { content: contentOf(object, force), result: undefined }
    // Behind all others, as the youngest.
    this.#applied.delete(name)
    this.#applied.set(name, applied)
    for (const oldest of this.#applied.keys()) {
      if (this.#applied.size <= keptNames) break
      this.#applied.delete(oldest)
    }
    return (returned) => {
      // `scale` and the like return another kind.
      if (returned.kind !== object.kind || returned.apiVersion !== object.apiVersion) return
      applied.result = {
        uid: returned.metadata.uid,
        values: valuesOf(object, returned),
      }
    }
  }
}

const nameOf = ({ apiVersion, kind, metadata }: Application["object"], subresource = ""): string =>
  [apiVersion, kind, metadata.namespace, metadata.name, subresource].join(" ")

const contentOf = (object: Application["object"], force: boolean): string => `${force} ${JSON.stringify(object)}`

/** The values that an object has in the members of what is applied. */
const valuesOf = (applied: object, object: object): string => JSON.stringify(withMembersOf(applied, object))

const withMembersOf = (applied: unknown, value: unknown): unknown => {
  if (!isRecord(applied) || !isRecord(value)) return value ?? null
  return Object.keys(applied).map((member) => withMembersOf(applied[member], value[member]))
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
