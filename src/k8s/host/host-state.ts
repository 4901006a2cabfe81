/** Where a host in a cluster keeps the checkpoints of its modules: a volume that its pods share one after the other, if any module has a checkpoint. */
import type { Manifest } from "../manifest/manifest.ts"
import { volumeClaim } from "../manifest/objects.ts"
import { type HostSettings, hostLabels } from "./host-settings.ts"

/** In the container; the argument of `--state-directory`. */
export const stateDirectory = "/var/lib/kubereel-state"

/** Whether any module keeps a checkpoint. Without one there is neither volume nor argument. */
export const keepsState = ({ modules }: Pick<HostSettings, "modules">): boolean =>
  modules.some(({ hasCheckpoint }) => hasCheckpoint)

const claimName = ({ name }: HostSettings): string => `${name}-state`

/** The claim, unless the state is on an emptyDir. */
export const stateClaim = (settings: HostSettings): ReadonlyArray<Manifest> => {
  const { namespace, state } = settings
  if (!keepsState(settings) || state.tag !== "claim") return []
  const text = "Checkpoints of modules. Without them, deletions while no host runs would be missed."
  const metadata = { name: claimName(settings), namespace, labels: hostLabels(settings) }
  return [volumeClaim(metadata, state, { path: ["spec"], text })]
}

export const stateVolume = (settings: HostSettings) => {
  const { state } = settings
  const source =
    state.tag === "claim"
      ? { persistentVolumeClaim: { claimName: claimName(settings) } }
      : { emptyDir: { sizeLimit: state.size } }
  return { name: "state", ...source }
}
