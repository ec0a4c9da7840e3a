import { TTL_SECONDS } from '../../protocol/api/publish.ts'
import { formatDayAndTime } from '../app/format-time.ts'
import { Choice, TextField } from '../kit/field.tsx'
import { Notice } from '../kit/notice.tsx'
import { LocalTime, TimeLeft, toLocalInputValue, useNow } from '../kit/time.tsx'
import { type ExpiryChoice, toTtlSeconds } from './expiry-choice.ts'
import type { SettingsProps } from './use-settings.ts'

/** When the site expires. */
export function Expiry({ site: { expiresAt }, settings }: SettingsProps) {
  const { errors, change } = settings
  const { expiry } = settings.values
  const now = useNow(10_000)
  const deletion = describeDeletion(expiry, now)
  const choose = (changed: Partial<ExpiryChoice>) => change({ expiry: { ...expiry, ...changed } })
  return (
    <div class="stack tight">
      <Choice
        label="Expires"
        value={expiry.span}
        choices={choicesFor(expiresAt)}
        hint={<CurrentExpiry expiresAt={expiresAt} />}
        onChoose={(span) => choose({ span: span as ExpiryChoice['span'] })}
      />
      {expiry.span === 'date' && (
        <TextField
          label="Date and time"
          type="datetime-local"
          hint="In your time zone."
          value={expiry.date}
          min={toLocalInputValue(now + TTL_SECONDS.min * 1000)}
          max={toLocalInputValue(now + TTL_SECONDS.max * 1000)}
          onWrite={(date) => choose({ date })}
          error={expiry.date === '' ? undefined : errors.expiry}
        />
      )}
      {expiry.span === 'never' && (
        <p class="small" role="status">
          After saving, this site doesn't expire.
        </p>
      )}
      {deletion && !errors.expiry && (
        <Notice tone="warn" title={deletion}>
          <p>Its files, versions and visits are deleted, without the trash. The address can't be reused.</p>
        </Notice>
      )}
    </div>
  )
}

function CurrentExpiry({ expiresAt }: { expiresAt: string | null }) {
  if (expiresAt === null) return <>This site doesn't expire.</>
  return (
    <>
      Expires on <LocalTime at={expiresAt} format={formatDayAndTime} /> (in{' '}
      <TimeLeft until={expiresAt} over="a moment" />
      ).
    </>
  )
}

function choicesFor(expiresAt: string | null) {
  return [
    {
      value: 'unchanged',
      name: expiresAt ? 'On the current date' : 'Never (current)',
    },
    ...(expiresAt ? [{ value: 'never', name: 'Never' }] : []),
    { value: 'hour', name: 'In an hour' },
    { value: 'day', name: 'In a day' },
    { value: 'week', name: 'In a week' },
    { value: 'month', name: 'In 30 days' },
    { value: 'date', name: 'On a date' },
  ]
}

/** What saving the choice does at that time; undefined when the site then does not expire, or as before. */
export function describeDeletion(expiry: ExpiryChoice, now: number): string | undefined {
  const seconds = toTtlSeconds(expiry, now)
  if (seconds == null) return undefined
  return `After saving, this site is deleted on ${formatDayAndTime(new Date(now + seconds * 1000).toISOString())}.`
}
