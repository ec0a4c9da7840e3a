import { browser } from './browser-storage.ts'
import { Kept } from './kept.ts'

/**
 * Who signed in with this browser, as far as it knows: the cookie itself is hidden from scripts, and to ask the server would
 * cost a request of the few that somebody without an account has.
 */
const NAME = 'slipway.signed-in'

export const signedInAs = new Kept<string | null>(browser.read(NAME))

export function rememberSignedIn(email: string | null): void {
  browser.write(NAME, email)
  signedInAs.value = email
}

// What another tab does counts here too.
addEventListener('storage', ({ key, newValue }) => {
  if (key === NAME) signedInAs.value = newValue
})
