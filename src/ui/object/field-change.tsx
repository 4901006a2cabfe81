/** One field, before and after. */

import { useState } from "preact/hooks"
import type { FieldChange } from "../source/source.ts"
import { visible } from "../text/shown-text.ts"
import { shortened, shortValue, textParts, valueText } from "./field-text.ts"

const longestShown = 100_000

const Value = ({
  text,
  side,
  isWhole,
}: {
  readonly text: string
  readonly side: "del" | "ins"
  readonly isWhole: boolean
}) => {
  const shown = visibleLines(text, isWhole ? longestShown : shortValue)
  return side === "del" ? <del>{shown}</del> : <ins>{shown}</ins>
}

/** Line breaks stay. */
const visibleLines = (text: string, most: number): string =>
  (text.length > most ? `${text.slice(0, most)}…` : text)
    .split("\n")
    .map((line) => visible(line, most))
    .join("\n")

const FieldChangeRow = ({ field }: { readonly field: FieldChange }) => {
  const [isWhole, setWhole] = useState(false)
  const { path, before, after } = field
  const [old, now] = [valueText(before), valueText(after)]
  const parts = textParts(field)
  const isLong = Math.max(old.length, now.length) > shortValue
  return (
    <li class="field">
      <code class="path">{path === "" ? "(everything)" : visible(path)}</code>{" "}
      <span class={`code values${parts === undefined ? "" : " words"}`}>
        {parts === undefined ? (
          <>
            {before === undefined ? <span class="sign">+</span> : <Value text={old} side="del" isWhole={isWhole} />}
            {before !== undefined && <span class="sign">{after === undefined ? " removed" : " → "}</span>}
            {after !== undefined && <Value text={now} side="ins" isWhole={isWhole} />}
          </>
        ) : (
          parts.map(({ text, side }, index) => {
            const shown = visibleLines(isWhole || side !== "both" ? text : shortened(text), longestShown)
            if (side === "before") return <del key={index}>{shown}</del>
            return side === "after" ? <ins key={index}>{shown}</ins> : <span key={index}>{shown}</span>
          })
        )}
      </span>
      {(isLong || parts !== undefined) && (
        <button type="button" class="small" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "less" : "all"}
        </button>
      )}
    </li>
  )
}

interface FieldListProps {
  readonly fields: ReadonlyArray<FieldChange>
  readonly hasMore?: boolean
}

const mostFields = 12

export const FieldList = ({ fields, hasMore = false }: FieldListProps) => {
  const [isWhole, setWhole] = useState(false)
  if (fields.length === 0) return null
  const shown = isWhole ? fields : fields.slice(0, mostFields)
  return (
    <ul class="fields">
      {shown.map((field) => (
        <FieldChangeRow key={field.path} field={field} />
      ))}
      {shown.length < fields.length && (
        <li>
          <button type="button" class="small" onClick={() => setWhole(true)}>
            {fields.length - shown.length} more fields
          </button>
        </li>
      )}
      {hasMore && <li class="quiet">and more fields, which the answer left out; the YAML has all</li>}
    </ul>
  )
}
