/** Asks for the token that the server wants. It is kept as long as the tab, and sent to that server only. */

import { useState } from "preact/hooks"
import { Modal } from "./modal.tsx"

interface TokenDialogProps {
  /** What the server said. */
  readonly message: string
  readonly onToken: (token: string) => void
}

export const TokenDialog = ({ message, onToken }: TokenDialogProps) => {
  const [token, setToken] = useState("")
  return (
    <Modal label="A token is needed" isNarrow>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (token.trim() !== "") onToken(token.trim())
        }}
      >
        <h2>A token is needed</h2>
        <p class="quiet">{message}</p>
        <label>
          Bearer token
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <p class="quiet">
          For example from <code>kubectl create token</code>. It stays in this tab.
        </p>
        <button type="submit" class="primary">
          Continue
        </button>
      </form>
    </Modal>
  )
}
