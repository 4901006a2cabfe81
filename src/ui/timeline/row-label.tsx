/** The label of one row, which is also what a screen reader reads of it. */

import { canOpen, type Row } from "../state/rows.ts"
import type { DrawnTile } from "../state/state.ts"
import { kindOf, visible } from "../text/shown-text.ts"
import { toneText } from "./tone-text.ts"

interface RowLabelProps {
  readonly row: Row
  readonly tile: DrawnTile | undefined
  /** The moment that is looked at. */
  readonly time: number
  /** Why something of it is missing then. */
  readonly lacks: ReadonlyArray<string>
  readonly onToggle: () => void
}

export const RowLabel = ({ row, tile, time, lacks, onToggle }: RowLabelProps) => {
  const { lane, part, level } = row
  const indent = { paddingInlineStart: `${8 + (level - 1) * 14}px` }
  if (lane === undefined)
    return (
      <span class="label quiet" style={indent}>
        …
      </span>
    )
  const { object, type, children, objects } = lane
  const isNamespace = type === "namespace"
  const name = isNamespace && object.name === "" ? "(no namespace)" : object.name
  const full = isNamespace ? name : [object.gvk, object.namespace, object.name].filter((each) => each !== "").join(" ")
  return (
    <span
      class={`label ${isNamespace ? "of-namespace" : ""}`}
      style={indent}
      title={part === undefined ? full : part.label}
    >
      <span
        class="twisty"
        aria-hidden="true"
        onClick={(event) => {
          event.stopPropagation()
          onToggle()
        }}
      >
        {canOpen(row) ? (row.isOpen ? "▾" : "▸") : ""}
      </span>
      {part === undefined ? (
        <>
          {!isNamespace && <span class="kind">{visible(kindOf(object.gvk), 40)}</span>}
          <span class="name">{visible(name)}</span>
          {isNamespace && <span class="count">{objects.toLocaleString("en")}</span>}
          {!isNamespace && children > 0 && <span class="count">{children.toLocaleString("en")}</span>}
          {type === "owner" && <span class="count">not recorded</span>}
        </>
      ) : (
        <span class="name part">{visible(part.label)}</span>
      )}
      {tile !== undefined && (
        <span class="hidden">
          {[toneText(tile, time), `${tile.changes} changes in the window`, ...lacks].join("; ")}
        </span>
      )}
    </span>
  )
}
