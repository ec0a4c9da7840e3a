import type { MetadataRequest, SiteDetails } from '../../protocol/api/sites.schema.ts'
import { onOtherUser } from '../api/session.ts'
import { Signal } from '../api/signal.ts'
import { dropKeptInput } from '../kit/kept-input.ts'
import { type ExpiryChoice, toTtlSeconds, UNCHANGED_EXPIRY } from './expiry-choice.ts'

/** The changed settings of a site that are not saved yet. Absent fields are unchanged. */
export interface SettingsDraft extends Omit<MetadataRequest, 'ttlSeconds'> {
  /** `null` removes the password; an empty text is one that is not entered yet. */
  password?: string | null
  expiry?: ExpiryChoice
}

const drafts = new Map<string, Signal<SettingsDraft>>()

/** The draft of a site, which is kept until the page is closed or another user signs in. */
export function settingsDraft(slug: string): Signal<SettingsDraft> {
  const draft = drafts.get(slug) ?? new Signal<SettingsDraft>({})
  drafts.set(slug, draft)
  return draft
}

/** Changes the draft. Values that equal the saved ones leave it. */
export function changeDraft(site: SiteDetails, change: SettingsDraft): void {
  const draft = settingsDraft(site.slug)
  const fields = Object.entries({ ...draft.value, ...change })
  const saved: Record<string, unknown> = { ...readSaved(site) }
  const isSaved = (name: string, value: unknown) =>
    name === 'expiry' ? (value as ExpiryChoice).span === UNCHANGED_EXPIRY.span : value === saved[name]
  draft.value = Object.fromEntries(fields.filter(([name, value]) => !isSaved(name, value)))
  confirmUnloadOfDrafts()
}

/** Removes saved values from the draft, except where the user has changed them again. */
export function removeSaved(slug: string, saved: SettingsDraft): void {
  const draft = settingsDraft(slug)
  const left = Object.entries(draft.value).filter(
    ([name, value]) => value !== saved[name as keyof SettingsDraft],
  )
  draft.value = Object.fromEntries(left)
  confirmUnloadOfDrafts()
}

/** Keeps what was typed about a site that was renamed, beneath what was typed under its new name. */
export function moveDraft(from: string, to: string): void {
  dropDraft(from)(to)
}

/** Replaces the draft, such as by an empty one. */
export function setDraft(slug: string, draft: SettingsDraft): void {
  settingsDraft(slug).value = draft
  confirmUnloadOfDrafts()
}

/** Forgets what was typed about a site that was deleted or left; the returned function brings it back, as above. */
export function dropDraft(slug: string): (to?: string) => void {
  const bringBack = dropKeptInput(slug)
  const draft = settingsDraft(slug).value
  setDraft(slug, {})
  return (to = slug) => {
    bringBack(to)
    if (hasChanges(draft)) setDraft(to, { ...draft, ...settingsDraft(to).value })
  }
}

export function hasChanges(draft: SettingsDraft): boolean {
  return Object.keys(draft).length > 0
}

/** The request that saves a draft, at this time of the server. */
export function toRequest({ expiry, ...metadata }: SettingsDraft, now: number): MetadataRequest {
  const ttlSeconds = expiry && toTtlSeconds(expiry, now)
  return { ...metadata, ...(ttlSeconds !== undefined && { ttlSeconds }) }
}

/** The saved settings, as a draft has them. */
export function readSaved({
  viewer,
  spaMode,
  requireApproval,
  hasPassword,
}: SiteDetails): Required<SettingsDraft> {
  return {
    ...viewer,
    spaMode,
    requireApproval,
    password: hasPassword ? '' : null,
    expiry: UNCHANGED_EXPIRY,
  }
}

/** The names of the sites with unsaved settings. */
export function findUnsavedSites(): string[] {
  return [...drafts].filter(([, draft]) => hasChanges(draft.value)).map(([slug]) => slug)
}

export function discardDrafts(): void {
  for (const draft of drafts.values()) draft.value = {}
  confirmUnloadOfDrafts()
}

/** The browser asks before it closes a page with unsaved changes. */
function confirmUnloadOfDrafts(): void {
  if (findUnsavedSites().length > 0) addEventListener('beforeunload', confirmUnload)
  else removeEventListener('beforeunload', confirmUnload)
}

function confirmUnload(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

onOtherUser(discardDrafts)
