/** The pod lifecycles that a trace lists itself, as SimKube's do instead of pods: the pods have no names, only the hash of their spec. */
import type { OwnedLifecycles } from "../../formats/simkube/simkube-trace.ts"
import type { OwnerName } from "./owner-names.ts"

/** One life of a pod without a name. Times are µs since the Unix epoch. */
interface ListedLife {
  /** `Pod with spec 5f0e…`; several lives may have the same. */
  readonly name: string
  readonly begin: number
  readonly end: number
}

/** Who owns the pods of listed lifecycles, and in which namespace. */
export const listedOwner = ({
  gvk,
  owner,
}: OwnedLifecycles): { readonly owner: OwnerName; readonly namespace: string } => {
  const slash = owner.indexOf("/")
  return { owner: { gvk, name: owner.slice(slash + 1), uid: "" }, namespace: slash === -1 ? "" : owner.slice(0, slash) }
}

/** The lives, from the start of the trace on; one that runs ends with it. */
export function* listedLives({ pods }: OwnedLifecycles, start: number, end: number): Generator<ListedLife, void> {
  for (const [hash, lives] of pods) {
    const name = `Pod with spec ${hash.toString(16).padStart(16, "0")}`
    for (const life of lives) {
      if (life.state === "empty") continue
      const begin = Math.max(start, life.start * 1_000_000)
      yield { name, begin, end: life.state === "finished" ? life.end * 1_000_000 : end }
    }
  }
}
