/** Chooses the cluster that the page shows: a select with how each is doing. The list is asked again until that is known, and when the select gets the focus. */

import { useEffect, useRef, useState } from "preact/hooks"
import type { SwitchProps } from "../shell/toolbar.tsx"
import { type ClusterSource, type ListedCluster, SourceError } from "../source/source.ts"
import { visible } from "../text/shown-text.ts"

/** ms until the list is asked again that was not complete, or did not come. */
const againMs = 2000

/** ms after which a choice counts: who goes through a closed select with the arrow keys chooses each on the way. */
const chosenMs = 250

/** In the largest unit of which there is one, rounded up: recorders send something each minute. */
const lagText = (seconds: number): string => {
  const minutes = Math.max(1, Math.ceil(seconds / 60))
  if (minutes < 120) return `${minutes} min behind`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h behind` : `${Math.floor(minutes / 1440)} days behind`
}

/** What a cluster is called, and what is to be known before it is opened. */
export const clusterText = ({ name, lag, gaps, trouble }: ListedCluster): string =>
  [
    visible(name, 60),
    ...(lag === undefined ? [] : [lagText(lag)]),
    ...(gaps === 0 ? [] : [`⚠ ${gaps} ${gaps === 1 ? "gap" : "gaps"}`]),
    ...(trouble === undefined ? [] : [`⚠ ${visible(trouble, 60)}`]),
  ].join(" · ")

/** The select, for the clusters of a source. */
export const clusterSwitch =
  (source: ClusterSource) =>
  ({ cluster, send }: SwitchProps) => {
    const [clusters, setClusters] = useState<ReadonlyArray<ListedCluster>>([])
    const [times, setTimes] = useState(0)
    const [wanted, setWanted] = useState<string>()
    const choosing = useRef<ReturnType<typeof setTimeout>>(undefined)
    const again = (): void => setTimes((count) => count + 1)
    useEffect(() => {
      const controller = new AbortController()
      let timer: ReturnType<typeof setTimeout> | undefined
      const say = (message: string | undefined): void =>
        send({
          type: "failed",
          about: "clusters",
          failure: message === undefined ? undefined : { code: "failed", message },
        })
      source.list(controller.signal).then(
        ({ clusters: listed, isComplete, trouble }) => {
          setClusters(listed)
          const [first] = listed
          if (first !== undefined) send({ type: "cluster", cluster: first.name, isDefault: true })
          say(trouble)
          if (!isComplete) timer = setTimeout(again, againMs)
        },
        (error: unknown) => {
          if (controller.signal.aborted) return
          say(error instanceof SourceError ? error.message : String(error))
          timer = setTimeout(again, againMs)
        },
      )
      return () => {
        controller.abort()
        clearTimeout(timer)
      }
    }, [times])
    const isUnknown = !clusters.some(({ name }) => name === cluster)
    return (
      <select
        aria-label="cluster"
        title={clusters.find(({ name }) => name === cluster)?.trouble}
        value={wanted ?? cluster ?? ""}
        onFocus={again}
        onChange={({ currentTarget: { value } }) => {
          setWanted(value)
          clearTimeout(choosing.current)
          choosing.current = setTimeout(() => {
            setWanted(undefined)
            send({ type: "cluster", cluster: value, isDefault: false })
          }, chosenMs)
        }}
      >
        {isUnknown && (
          <option value={cluster ?? ""}>
            {cluster === undefined
              ? "clusters…"
              : `${visible(cluster, 60)}${clusters.length === 0 ? "" : " · ⚠ there is none of this name"}`}
          </option>
        )}
        {clusters.map((each) => (
          <option key={each.name} value={each.name}>
            {clusterText(each)}
          </option>
        ))}
      </select>
    )
  }
