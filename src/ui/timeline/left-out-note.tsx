/** What is not shown because the reader may not read it. */

import type { PageState } from "../state/state.ts"
import { kindOf, visible } from "../text/shown-text.ts"

export const LeftOutNote = ({ state: { leftOut, filter } }: { readonly state: PageState }) => {
  if (leftOut === undefined) return null
  const { kinds } = leftOut
  // Of one namespace that was asked for there is nothing else to be said.
  const namespaces = filter.namespace === undefined ? leftOut.namespaces : []
  if (kinds.length + namespaces.length === 0) return null
  return (
    <details class="left-out">
      <summary class="warn">of what you may read</summary>
      <ul>
        {namespaces.length > 0 && (
          <li>
            left out, of kinds that you may not list everywhere: all namespaces but{" "}
            <b>{namespaces.map((name) => visible(name, 80)).join(", ")}</b>
          </li>
        )}
        {kinds.length > 0 && (
          <li>
            left out: all of <b>{kinds.map((gvk) => visible(kindOf(gvk), 80)).join(", ")}</b>
          </li>
        )}
      </ul>
    </details>
  )
}
