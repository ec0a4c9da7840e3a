import { METADATA_TEXTS } from '../../protocol/api/publish.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { MAX_PASSWORD_LENGTH } from '../../protocol/api/sites.ts'
import { pluralize } from '../../protocol/format.ts'
import { type Action, useAction } from '../api/action.ts'
import { serverNow } from '../api/server-clock.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { showToast } from '../kit/toast.tsx'
import { findExpiryError } from './expiry-choice.ts'
import {
  changeDraft,
  hasChanges,
  readSaved,
  removeSaved,
  type SettingsDraft,
  setDraft,
  settingsDraft,
  toRequest,
} from './settings-draft.ts'

export interface SettingsProps {
  site: SiteDetails
  settings: Settings
}

/** The settings of a site with the user's unsaved changes. */
export interface Settings {
  draft: SettingsDraft
  /** What the controls show: the draft, and what it leaves as it is saved. */
  values: Required<SettingsDraft>
  isChanged: boolean
  /** Why the draft cannot be saved, by field. */
  errors: Partial<Record<keyof SettingsDraft, string>>
  change(change: SettingsDraft): void
  discard(): void
  save: Action<[]>
}

/** A change of a site as the page shows it. */
export type OnChanged = (change: SiteDetails | ((known: SiteDetails) => SiteDetails)) => void

export function useSettings(site: SiteDetails, onChanged: OnChanged): Settings {
  const { slug } = site
  const draft = useSignal(settingsDraft(slug))
  const errors = findErrors(draft, site)
  const save: Action<[]> = useAction(async () => {
    const { title } = site
    onChanged((known) => ({ ...known, title: draft.title ?? title }))
    try {
      onChanged(await slipway.setMetadata(slug, toRequest(draft, serverNow())))
    } catch (error) {
      onChanged((known) => ({ ...known, title }))
      throw error
    }
    removeSaved(slug, draft)
    showToast('Settings saved.')
  })
  const { ttlSeconds: expiry, ...refused } = save.error?.fields ?? {}
  return {
    draft,
    values: { ...readSaved(site), ...draft },
    isChanged: hasChanges(draft),
    errors: { ...refused, ...(expiry !== undefined && { expiry }), ...errors },
    save,
    change(change) {
      // What was refused may be corrected now.
      save.clear()
      changeDraft(site, change)
    },
    discard() {
      save.clear()
      setDraft(slug, {})
      showToast('Changes discarded.', () => setDraft(slug, draft))
    },
  }
}

/** Characters, as the server counts them. */
export const MAX_LENGTHS = {
  ...METADATA_TEXTS,
  password: { maxLength: MAX_PASSWORD_LENGTH },
}

type LimitedField = keyof typeof MAX_LENGTHS

/** Negative when the text is too long. */
export function countRemainingCharacters(field: LimitedField, text: string | null | undefined): number {
  return MAX_LENGTHS[field].maxLength - [...(text ?? '')].length
}

function findErrors(draft: SettingsDraft, { hasPassword }: SiteDetails): Settings['errors'] {
  const errors: Settings['errors'] = {}
  for (const field of Object.keys(MAX_LENGTHS) as LimitedField[]) {
    const left = countRemainingCharacters(field, draft[field])
    if (left < 0)
      errors[field] = `${pluralize(-left, 'character')} over the limit of ${MAX_LENGTHS[field].maxLength}.`
  }
  if (draft.password === '' && !hasPassword) errors.password = 'Enter a password.'
  const expiry = draft.expiry && findExpiryError(draft.expiry, serverNow())
  if (expiry) errors.expiry = expiry
  return errors
}
