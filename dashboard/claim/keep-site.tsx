import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Action, useAction } from '../api/action.ts'
import { invalidate } from '../api/resource.ts'
import { signedInAs } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { useSettled } from '../app/use-settled.ts'
import { forgetAnonymous } from '../drop/anonymous-sites.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { showToast } from '../kit/toast.tsx'
import { SignInForm } from '../sign-in/sign-in-form.tsx'
import { type NameChoice, NameField, NameSuggestion, onEnter, useNameChoice } from '../site/name-field.tsx'

interface Unclaimed {
  slug: string
  claimToken: string
  /** A name that is known to be available. */
  suggestedName?: string | undefined
}

/** Giving a site without an owner a name and an owner in one step. */
export interface Keeping {
  slug: string
  choice: NameChoice
  claim: Action<[]>
}

/** `onKept` is called when the site has an owner and its page has replaced this one, whose script may have to be loaded. */
export function useKeeping({ slug, claimToken, suggestedName }: Unclaimed, onKept?: () => void): Keeping {
  const navigate = useGuardedNavigate()
  const choice = useNameChoice(slug, suggestedName)
  const isKept = useRef(false)
  useEffect(() => () => void (isKept.current && onKept?.()), [])
  const claim = useAction(async () => {
    const claimed = await slipway.claim(slug, claimToken, choice.isNew ? choice.name : undefined)
    forgetAnonymous(slug)
    invalidate('sites', 'name')
    showToast(
      claimed.alreadyOwned ? 'This site is already yours.' : "This site is now yours and won't expire.",
    )
    isKept.current = navigate(`/sites/${encodeURIComponent(claimed.slug)}`, true)
    if (!isKept.current) onKept?.()
  })
  return { slug, choice, claim }
}

interface KeepSiteProps {
  keeping: Keeping
  /** What a name is suggested from. */
  title: string | null | undefined
  /** Whether the form to sign in is shown from the start, rather than after a click. */
  isOpen: boolean
  /** Other actions, beside that. */
  beside?: ComponentChildren
}

/** The name of the site, and the way to its owner: a click when signed in, otherwise an emailed code. */
export function KeepSite({ keeping: { slug, choice, claim }, title, isOpen, beside }: KeepSiteProps) {
  const email = useSignal(signedInAs)
  const [form, showForm] = useState<'hidden' | 'new' | 'another'>(isOpen ? 'new' : 'hidden')
  const { typed, name, write, isNew, isAvailable } = choice
  // A claim link can be opened by a page of someone else, who wants the site in this account.
  const isSettled = useSettled()
  const canKeep = (!isNew || isAvailable) && (isSettled || email === null || !isOpen)
  const isFormShown = form === 'another' || (form === 'new' && email === null)
  const keep = () => {
    if (!canKeep) return
    if (email === null) showForm('new')
    else void claim()
  }
  const claimSignedIn = () => {
    showForm('new')
    void claim()
  }
  return (
    <div class="stack">
      <fieldset class="keep-name" onKeyDown={(event) => onEnter(event, keep)}>
        <NameField label="Site name" slug={slug} choice={choice} />
        {!isAvailable && (
          <NameSuggestion texts={[typed, title ?? '']} known={[name, slug]} isNeeded onUse={write} />
        )}
      </fieldset>
      <ErrorNotice error={claim.error} />
      {isFormShown && (
        <>
          <p>Confirm your email and it stays online.</p>
          <SignInForm verb="Keep this site" focused={!isOpen} onSignedIn={claimSignedIn} />
        </>
      )}
      <div class="choices">
        {!isFormShown && (
          <Button variant="main" class="long-words" disabled={!canKeep} busy={claim.busy} onClick={keep}>
            {email === null ? 'Keep this site' : `Keep as ${email}`}
          </Button>
        )}
        {!isFormShown && email !== null && (
          <Button variant="link" onClick={() => showForm('another')}>
            Use another email
          </Button>
        )}
        {beside}
      </div>
    </div>
  )
}
