import { useState } from 'preact/hooks'
import { useAction } from '../api/action.ts'
import { serverNow } from '../api/server-clock.ts'
import { slipway } from '../api/slipway.ts'
import { formatDayAndTime } from '../app/format-time.ts'
import { Button } from '../kit/button.tsx'
import { Choice, TextField } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { TimeLeft, useNow } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import type { SettingsProps } from './settings-props.ts'

const HOUR_SECONDS = 3600
const DAY_SECONDS = 24 * HOUR_SECONDS

/** Durations in seconds by label. */
const SPANS = [
  { value: 'hour', name: 'In an hour', seconds: HOUR_SECONDS },
  { value: 'day', name: 'In a day', seconds: DAY_SECONDS },
  { value: 'week', name: 'In a week', seconds: 7 * DAY_SECONDS },
  { value: 'month', name: 'In 30 days', seconds: 30 * DAY_SECONDS },
] as const

/** Range of the server in seconds: a minute to a year. */
const MIN_TTL_SECONDS = 60
const MAX_TTL_SECONDS = 365 * DAY_SECONDS

/** The expiry of the site. */
export function Lifetime({ site, onChanged }: SettingsProps) {
  const { slug, expiresAt } = site
  const [choice, choose] = useState('as-it-is')
  const [date, setDate] = useState('')
  const now = useNow(10_000)
  const set = useAction(async () => {
    const ttlSeconds = toSeconds(choice, date, serverNow())
    if (ttlSeconds === undefined) return
    const changed = await slipway.setMetadata(slug, { ttlSeconds })
    onChanged(changed)
    choose((now) => (now === choice ? 'as-it-is' : now))
    setDate((now) => (now === date ? '' : now))
    showToast(changed.expiresAt ? `It goes on ${formatDayAndTime(changed.expiresAt)}.` : 'It stays for good.')
  })
  const seconds = toSeconds(choice, date, now)
  const wrong = choice === 'date' && date !== '' ? lifetimeError(seconds) : undefined
  const ready = choice !== 'as-it-is' && seconds !== undefined && !wrong
  const submit = (event: Event) => {
    event.preventDefault()
    if (ready) void set()
  }
  return (
    <Panel
      title="Time to live"
      lead={
        expiresAt ? (
          <>
            It goes on {formatDayAndTime(expiresAt)}, in <TimeLeft until={expiresAt} over="a moment" />.
          </>
        ) : (
          'It stays until you delete it.'
        )
      }
    >
      <form class="stack" onSubmit={submit}>
        <Choice label="The site goes" value={choice} onChoose={choose} choices={choicesFor(expiresAt)} />
        {choice === 'date' && (
          <TextField
            label="Date and time"
            type="datetime-local"
            hint="By the clock of this device."
            value={date}
            min={toLocalInputValue(now + MIN_TTL_SECONDS * 1000)}
            max={toLocalInputValue(now + MAX_TTL_SECONDS * 1000)}
            onWrite={setDate}
            error={wrong}
          />
        )}
        {ready && <p role="status">{describeExpiry(seconds, now)}</p>}
        <ErrorNotice error={set.error} />
        <div class="choices">
          <Button busy={set.busy || !ready}>Set time to live</Button>
        </div>
      </form>
    </Panel>
  )
}

function choicesFor(expiresAt: string | null) {
  return [
    {
      value: 'as-it-is',
      name: expiresAt ? `On ${formatDayAndTime(expiresAt)}, as it is` : 'Never, as it is',
    },
    ...(expiresAt ? [{ value: 'never', name: 'Never' }] : []),
    ...SPANS,
    { value: 'date', name: 'On a date' },
  ]
}

/** The API's value: null for never, undefined when nothing is chosen. */
function toSeconds(choice: string, date: string, now: number): number | null | undefined {
  if (choice === 'never') return null
  if (choice !== 'date') return SPANS.find(({ value }) => value === choice)?.seconds
  const then = new Date(date).getTime()
  return Number.isNaN(then) ? undefined : Math.ceil((then - now) / 1000)
}

function lifetimeError(seconds: number | null | undefined): string | undefined {
  if (seconds == null) return 'This is no date.'
  if (seconds < MIN_TTL_SECONDS) return 'This is past. Choose a moment at least a minute from now.'
  return seconds > MAX_TTL_SECONDS ? 'Choose a moment within a year from now.' : undefined
}

function describeExpiry(seconds: number | null | undefined, now: number): string {
  if (seconds == null) return 'It stays until you delete it.'
  const then = formatDayAndTime(new Date(now + seconds * 1000).toISOString())
  return `It goes on ${then}, with all its versions, and its address is never given out again.`
}

/** A value for a datetime-local input: "2026-11-28T18:05", in the local time zone. */
function toLocalInputValue(milliseconds: number): string {
  const date = new Date(milliseconds)
  return new Date(milliseconds - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
