/** `--lease` and `--lease-duration`: of several recorders with one Lease, one records and the others stand by. */
import type { LeaseSettings } from "../../recorder/leadership/leadership.ts"
import { type OptionValues, optional, type Reading, refused, value } from "../command-line/arguments.ts"
import { parseDuration } from "../command-line/instant.ts"

const part = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
const leasePattern = new RegExp(`^(${part})/(${part}(?:\\.${part})*)$`)

/** NAMESPACE/NAME. */
const parseLease = (given: string): Reading<Pick<LeaseSettings, "namespace" | "name">> => {
  const [, namespace, name] = leasePattern.exec(given) ?? []
  return namespace === undefined || name === undefined || name.length > 253
    ? refused("must be NAMESPACE/NAME, such as kubereel/recorder")
    : value({ namespace, name })
}

/** ms. A Lease has whole seconds. With less than 3 s, a slow request would cost the lead. */
const parseLeaseDuration = (given: string): Reading<number> => {
  const micros = parseDuration(given)
  return micros === undefined || micros < 3_000_000 || micros > 3_600_000_000 || micros % 1_000_000 !== 0
    ? refused("must be whole seconds, from 3s to 1h")
    : value(micros / 1000)
}

/** client-go's. */
const defaultDurationMs = 15_000

export const leaseOptions = {
  lease: optional({
    placeholder: "NAMESPACE/NAME",
    help: "record only while holding this Lease, which is made if necessary: of several recorders with one Lease, one records and the others stand by; needs --data-dir",
    parse: parseLease,
  }),
  leaseDuration: optional({
    placeholder: "DURATION",
    help: "for --lease: another recorder takes over after so long without a sign of life, whole seconds from 3s to 1h; default: 15s",
    parse: parseLeaseDuration,
  }),
}

type Given = OptionValues<typeof leaseOptions>

/** The problem with the combination of options. */
export const leaseProblem = (given: Given & { readonly dataDir: string | undefined }): string | undefined => {
  if (given.lease === undefined)
    return given.leaseDuration === undefined ? undefined : "--lease-duration is for --lease"
  return given.dataDir === undefined
    ? "--lease requires --data-dir: no recorder continues what is in a temporary directory"
    : undefined
}

export const leaseOf = ({ lease, leaseDuration: durationMs = defaultDurationMs }: Given): LeaseSettings | undefined =>
  lease && { ...lease, durationMs }
