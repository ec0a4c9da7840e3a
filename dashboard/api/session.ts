import { browser } from './browser-storage.ts'
import { rateLimit } from './rate-limit.ts'
import { invalidate } from './resource.ts'
import { Signal } from './signal.ts'

/**
 * The signed-in address, as this browser knows it: the cookie is hidden from scripts, and asking the server
 * would cost one of the few anonymous requests.
 */
const NAME = 'slipway.signed-in'

/**
 * Time of the last sign-in: the address alone would not notify other tabs of a sign-in by the same person.
 */
const AT = 'slipway.signed-in-at'

export const signedInAs = new Signal<string | null>(browser.read(NAME))

/** Counts sign-ins, including those of other tabs: what was rejected before the latest one may be retried. */
export const signIns = new Signal(0)

/** Whether the browser is known to have stored the cookie of the last sign-in. */
export const staysSignedIn = new Signal(true)

/** Whether no call has succeeded since the last sign-in on this page. */
let isUnproven = false

// Drops the previous person's data.
signedInAs.subscribe(() => {
  invalidate()
  rateLimit.value = undefined
})

export function rememberSignedIn(email: string | null): void {
  isUnproven = email !== null
  browser.write(NAME, email)
  signedInAs.value = email
  if (email === null) return
  staysSignedIn.value = true
  browser.write(AT, String(Date.now()))
  signIns.value++
}

/** A call succeeded: the sign-in holds. */
export function confirmSignedIn(): void {
  isUnproven = false
}

/** Calls what drops the input of a user when another one signs in: the same one may return after a session has expired. */
export function onOtherUser(drop: () => void): void {
  let owner = signedInAs.value
  signedInAs.subscribe(() => {
    const { value: email } = signedInAs
    if (email === null || email === owner) return
    // A guest keeps the input.
    if (owner !== null) drop()
    owner = email
  })
}

/**
 * A call was rejected. Whether the browser did not keep the cookie of a fresh sign-in: signing in again would
 * not help, and the user counts as signed out.
 */
export function isSignInLost(): boolean {
  if (!isUnproven) return false
  rememberSignedIn(null)
  staysSignedIn.value = false
  return true
}

// Applies changes of other tabs, including those made while this page was in the back/forward cache.
addEventListener('storage', ({ key, newValue }) => {
  if (key === NAME) signedInAs.value = newValue
  if (key === AT) signIns.value++
})
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) signedInAs.value = browser.read(NAME)
})
