import { browser } from './browser-storage.ts'
import { Kept } from './kept.ts'
import { forget } from './resource.ts'
import { standing } from './standing.ts'

/**
 * Who signed in with this browser, as far as it knows: the cookie itself is hidden from scripts, and to ask the server would
 * cost a request of the few that somebody without an account has.
 */
const NAME = 'slipway.signed-in'

/** When somebody did last: the address alone would not tell other tabs of a sign-in by the same person. */
const AT = 'slipway.signed-in-at'

export const signedInAs = new Kept<string | null>(browser.read(NAME))

/** Counts sign-ins, those of other tabs too: what was refused before the last of them may be tried again. */
export const signIns = new Kept(0)

/** Whether the browser kept the cookie of the last sign-in, as far as is known. */
export const staysSignedIn = new Kept(true)

/** Whether no call has been accepted yet since the last sign-in on this page. */
let unproven = false

// Nobody sees what was another person's.
signedInAs.listen(() => {
  forget()
  standing.value = undefined
})

export function rememberSignedIn(email: string | null): void {
  unproven = email !== null
  browser.write(NAME, email)
  signedInAs.value = email
  if (email === null) return
  staysSignedIn.value = true
  browser.write(AT, String(Date.now()))
  signIns.value++
}

/** A call was accepted: the sign-in holds. */
export function proveSignedIn(): void {
  unproven = false
}

/**
 * A call was refused. Whether that is because the browser did not keep the cookie of a sign-in that has just been made: then
 * another one would not help, and nobody counts as signed in.
 */
export function isSignInLost(): boolean {
  if (!unproven) return false
  rememberSignedIn(null)
  staysSignedIn.value = false
  return true
}

// What another tab does counts here too, and so does what it did while this page was put away.
addEventListener('storage', ({ key, newValue }) => {
  if (key === NAME) signedInAs.value = newValue
  if (key === AT) signIns.value++
})
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) signedInAs.value = browser.read(NAME)
})
