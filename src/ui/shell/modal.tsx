/** A dialog over the page: the browser keeps the focus in it, and gives it back. */

import type { ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"

interface ModalProps {
  readonly label: string
  readonly isNarrow?: boolean
  /** Absent: it is closed by an answer only. */
  readonly onClose?: () => void
  readonly children: ComponentChildren
}

export const Modal = ({ label, isNarrow = false, onClose, children }: ModalProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog
      ref={dialog}
      class={isNarrow ? "sheet narrow" : "sheet"}
      aria-label={label}
      onCancel={(event) => {
        // The state decides whether it is shown.
        event.preventDefault()
        onClose?.()
      }}
    >
      {children}
    </dialog>
  )
}
