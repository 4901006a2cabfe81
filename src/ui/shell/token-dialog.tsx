/** Asks for the token that the server wants. It is kept as long as the tab, and sent to that server only. */

import { useState } from "preact/hooks"

interface TokenDialogProps {
  /** What the server said. */
  readonly message: string
  readonly onToken: (token: string) => void
}

export const TokenDialog = ({ message, onToken }: TokenDialogProps) => {
  const [token, setToken] = useState("")
  return (
    <div class="dialog" role="dialog" aria-modal="true" aria-labelledby="token-title">
      <form
        class="sheet narrow"
        onSubmit={(event) => {
          event.preventDefault()
          if (token.trim() !== "") onToken(token.trim())
        }}
      >
        <h2 id="token-title">A token is needed</h2>
        <p class="quiet">{message}</p>
        <label>
          Bearer token
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            autoFocus
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
    </div>
  )
}
