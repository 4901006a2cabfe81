/** That something could not be read, why, and a way to ask again. */

import type { SourceError } from "../source/source.ts"
import { visible } from "../text/shown-text.ts"

interface FailedProps {
  readonly failure: Pick<SourceError, "message">
  readonly again: () => void
}

export const Failed = ({ failure, again }: FailedProps) => (
  <p class="note bad" role="alert">
    {visible(failure.message, 500)}{" "}
    <button type="button" onClick={again}>
      Try again
    </button>
  </p>
)
