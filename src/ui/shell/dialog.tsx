/** A dialog of the browser's own: it keeps the focus within, and gives it back. */

import type { ComponentChildren } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"

interface DialogProps {
  readonly label: string
  /** Absent: it cannot be closed without an answer. */
  readonly onClose?: () => void
  readonly children: ComponentChildren
}

export const Dialog = ({ label, onClose, children }: DialogProps) => {
  const element = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => element.current?.showModal(), [])
  return (
    <dialog
      ref={element}
      class={onClose === undefined ? "narrow" : ""}
      aria-label={label}
      onCancel={(event) => onClose === undefined && event.preventDefault()}
      onClose={onClose}
    >
      {children}
    </dialog>
  )
}
