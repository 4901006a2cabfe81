/** Chooses the cluster that the page shows: a select with how each is doing. The list is asked again until that is known, and when the select gets the focus. */

import { useEffect, useRef, useState } from "preact/hooks"
import type { SwitchProps } from "../shell/toolbar.tsx"
import { type ClusterSource, type ListedCluster, SourceError } from "../source/source.ts"
import { visible } from "../text/shown-text.ts"
import { durationText } from "../timeline/axis.ts"

/** ms until the list is asked again that was not complete, or did not come. */
const againMs = 2000

/** ms after which a choice counts: who goes through a closed select with the arrow keys chooses each on the way. */
const chosenMs = 250

/** What a cluster is called, and what is to be known before it is opened. Its end is given in whole minutes, as recorders send something each minute. */
export const clusterText = ({ name, lag, gaps, trouble }: ListedCluster): string =>
  [
    visible(name, 60),
    ...(lag === undefined ? [] : [`${durationText(Math.max(1, Math.ceil(lag / 60)) * 60_000_000)} behind`]),
    ...(gaps === 0 ? [] : [`⚠ ${gaps} ${gaps === 1 ? "gap" : "gaps"}`]),
    ...(trouble === "" ? [] : [`⚠ ${visible(trouble, 60)}`]),
  ].join(" · ")

/** The select, for the clusters of a source. */
export const clusterSwitch =
  (source: ClusterSource) =>
  ({ cluster, send }: SwitchProps) => {
    const [clusters, setClusters] = useState<ReadonlyArray<ListedCluster>>()
    const [times, setTimes] = useState(0)
    const [wanted, setWanted] = useState<string>()
    const choosing = useRef<ReturnType<typeof setTimeout>>(undefined)
    const again = (): void => setTimes((count) => count + 1)
    useEffect(() => {
      const controller = new AbortController()
      let timer: ReturnType<typeof setTimeout> | undefined
      const say = (message?: string): void => {
        const failure = message === undefined ? undefined : { code: "failed" as const, message }
        send({ type: "failed", about: "clusters", failure })
      }
      source.list(controller.signal).then(
        ({ clusters: listed, isComplete }) => {
          setClusters(listed)
          const [first] = listed
          if (first !== undefined) send({ type: "cluster", cluster: first.name, isDefault: true })
          say()
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
    const choose = (name: string): void => {
      setWanted(name)
      clearTimeout(choosing.current)
      choosing.current = setTimeout(() => {
        setWanted(undefined)
        send({ type: "cluster", cluster: name, isDefault: false })
      }, chosenMs)
    }
    const isKnown = clusters?.some(({ name }) => name === cluster) === true
    return (
      <select
        aria-label="cluster"
        value={wanted ?? cluster ?? ""}
        onFocus={again}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        {!isKnown && (
          <option value={cluster ?? ""}>
            {visible(cluster ?? "clusters…", 60) + (clusters === undefined ? "" : " · ⚠ there is none of this name")}
          </option>
        )}
        {clusters?.map((each) => (
          <option key={each.name} value={each.name}>
            {clusterText(each)}
          </option>
        ))}
      </select>
    )
  }
