/** Owners above, and what is owned below: each is a link. */

import type { Lane, LaneObject } from "../../timeline/index.ts"
import type { PaneProps } from "../shell/pane.ts"
import type { Span } from "../source/source.ts"
import { kindOf, visible } from "../text/shown-text.ts"
import { useAsked } from "./asked.ts"
import { Failed } from "./failed.tsx"
import { ownersOf } from "./owners.ts"

interface FamilyViewProps {
  readonly pane: PaneProps
  readonly object: LaneObject
  readonly span: Span
  readonly time: number
  readonly onOpen: (object: LaneObject) => void
}

/** Owned objects that are listed. */
const mostOwned = 200

interface Family {
  readonly owners: ReadonlyArray<LaneObject>
  readonly owned: ReadonlyArray<Lane>
  readonly total: number
}

const none: Family = { owners: [], owned: [], total: 0 }

export const FamilyView = ({ pane, object, span, time, onOpen }: FamilyViewProps) => {
  const { source, state } = pane
  const { value, isDone, failure, again } = useAsked(pane, {
    key: JSON.stringify([object, span]),
    subject: JSON.stringify([object, state.isFollowing ? "now" : span]),
    empty: none,
    run: async (publish, signal) => {
      const owners = await ownersOf(source, object, { time, kinds: state.overview?.kinds ?? [] }, signal)
      publish({ ...none, owners })
      const lane = (await source.laneOf({ ...span, ...object }, signal))?.lane
      if (lane === undefined || lane.children === 0) return
      const page = await source.lanes({ ...span, parent: lane.id, offset: 0, limit: mostOwned }, signal)
      publish({ owners, owned: page.lanes, total: page.total })
    },
  })
  const { owners, owned, total } = value
  if (failure !== undefined) return <Failed {...{ failure, again }} />
  const self = (
    <li>
      <Name object={object} />
      {total > 0 && (
        <ul>
          {owned.map((lane) => (
            <li key={lane.id}>
              <Name object={lane.object} onOpen={onOpen} />
              {lane.objects > 0 && <span class="quiet">{` ${lane.objects} below`}</span>}
            </li>
          ))}
          {owned.length < total && <li class="quiet">{`and ${total - owned.length} more, in the time line`}</li>}
        </ul>
      )}
    </li>
  )
  return (
    <div class="family">
      <ul>
        {owners.reduceRight(
          (inner, owner) => (
            <li>
              <Name object={owner} onOpen={onOpen} />
              <ul>{inner}</ul>
            </li>
          ),
          self,
        )}
      </ul>
      {isDone && owners.length + total === 0 && <p class="note">It has no owner, and owns nothing that is recorded.</p>}
    </div>
  )
}

const Name = ({ object, onOpen }: { readonly object: LaneObject; readonly onOpen?: (object: LaneObject) => void }) => {
  const text = (
    <>
      <span class="kind">{kindOf(object.gvk)}</span> {visible(object.name)}
    </>
  )
  if (onOpen === undefined) return <b>{text}</b>
  return (
    <button type="button" class="link" onClick={() => onOpen(object)}>
      {text}
    </button>
  )
}
