/** What is said in place of rows: why there are none, and what to do about it. */

import { useState } from "preact/hooks"
import { inNamespace, type PageState } from "../state/state.ts"
import type { Input } from "../state/updates.ts"
import { visible } from "../text/shown-text.ts"

interface NoRowsProps {
  readonly state: PageState
  readonly send: (input: Input) => void
}

export const NoRows = ({ state, send }: NoRowsProps) => {
  const { filter, lists, failures, leftOut } = state
  const isRestricted = leftOut !== undefined
  const isForbidden = [...failures.values()].some(({ code }) => code === "forbidden")
  if (!lists.has("") && !isForbidden) return <p class="no-rows quiet">Reading…</p>
  const { namespace } = filter
  if ((isForbidden || isRestricted) && namespace === undefined) return <NamespaceAsked {...{ state, send }} />
  const all = [filter.kinds, filter.find, namespace].some((each) => each !== undefined)
  const where = namespace === undefined ? "" : ` in the namespace ${visible(namespace, 80)}`
  return (
    <div class="no-rows" role="status">
      <p>{`${isRestricted ? "You may read nothing that existed" : "Nothing existed"}${where} in this window${all ? " and that the filter shows" : ""}.`}</p>
      {all && (
        <button type="button" onClick={() => send({ type: "filtered", filter: {} })}>
          Without the filter
        </button>
      )}
    </div>
  )
}

const NamespaceAsked = ({ state, send }: NoRowsProps) => {
  const [name, setName] = useState("")
  return (
    <form
      class="no-rows"
      onSubmit={(event) => {
        event.preventDefault()
        send({ type: "filtered", filter: inNamespace(state.filter, name) })
      }}
    >
      <p role="status">You may not read all namespaces. Name one in which you may:</p>
      <input
        type="text"
        aria-label="a namespace that you may read"
        autocomplete="off"
        spellcheck={false}
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />{" "}
      <button type="submit" class="primary">
        Show it
      </button>
    </form>
  )
}
