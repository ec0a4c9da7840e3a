import { useState } from 'preact/hooks'
import { useAction } from '../api/action.ts'
import { serverNow } from '../api/server-clock.ts'
import { slipway } from '../api/slipway.ts'
import { dayAndTime } from '../app/time-words.ts'
import { Button } from '../kit/button.tsx'
import { Choice, TextField } from '../kit/field.tsx'
import { Trouble } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { TimeLeft, useNow } from '../kit/time.tsx'
import { say } from '../kit/toast.tsx'
import type { SettingsProps } from './settings-view.tsx'

const HOUR = 3600
const DAY = 24 * HOUR

/** Seconds from now, by what a person calls them. */
const SPANS = [
  { value: 'hour', name: 'In an hour', seconds: HOUR },
  { value: 'day', name: 'In a day', seconds: DAY },
  { value: 'week', name: 'In a week', seconds: 7 * DAY },
  { value: 'month', name: 'In 30 days', seconds: 30 * DAY },
] as const

/** Seconds that the server takes: a minute, and a year. */
const LEAST = 60
const MOST = 365 * DAY

/** How long the site stays. */
export function Lifetime({ site, onChanged }: SettingsProps) {
  const { slug, expiresAt } = site
  const [choice, choose] = useState('as-it-is')
  const [date, setDate] = useState('')
  const now = useNow(10_000)
  const set = useAction(async () => {
    const ttlSeconds = secondsOf(choice, date, serverNow())
    if (ttlSeconds === undefined) return
    const changed = await slipway.setMetadata(slug, { ttlSeconds })
    onChanged(changed)
    choose((now) => (now === choice ? 'as-it-is' : now))
    setDate((now) => (now === date ? '' : now))
    say(changed.expiresAt ? `It goes on ${dayAndTime(changed.expiresAt)}.` : 'It stays for good.')
  })
  const seconds = secondsOf(choice, date, now)
  const wrong = choice === 'date' && date !== '' ? wrongWith(seconds) : undefined
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
            It goes on {dayAndTime(expiresAt)}, in <TimeLeft until={expiresAt} over="a moment" />.
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
            min={local(now + LEAST * 1000)}
            max={local(now + MOST * 1000)}
            onWrite={setDate}
            wrong={wrong}
          />
        )}
        {ready && <p role="status">{outcome(seconds, now)}</p>}
        <Trouble failing={set.failing} />
        <div class="choices">
          <Button busy={set.busy || !ready}>Set time to live</Button>
        </div>
      </form>
    </Panel>
  )
}

function choicesFor(expiresAt: string | null) {
  return [
    { value: 'as-it-is', name: expiresAt ? `On ${dayAndTime(expiresAt)}, as it is` : 'Never, as it is' },
    ...(expiresAt ? [{ value: 'never', name: 'Never' }] : []),
    ...SPANS,
    { value: 'date', name: 'On a date' },
  ]
}

/** As the API wants it: null for never, undefined where nothing is chosen. */
function secondsOf(choice: string, date: string, now: number): number | null | undefined {
  if (choice === 'never') return null
  if (choice !== 'date') return SPANS.find(({ value }) => value === choice)?.seconds
  const then = new Date(date).getTime()
  return Number.isNaN(then) ? undefined : Math.ceil((then - now) / 1000)
}

function wrongWith(seconds: number | null | undefined): string | undefined {
  if (seconds == null) return 'This is no date.'
  if (seconds < LEAST) return 'This is past. Choose a moment at least a minute from now.'
  return seconds > MOST ? 'Choose a moment within a year from now.' : undefined
}

function outcome(seconds: number | null | undefined, now: number): string {
  if (seconds == null) return 'It stays until you delete it.'
  const then = dayAndTime(new Date(now + seconds * 1000).toISOString())
  return `It goes on ${then}, with all its versions, and its address is never given out again.`
}

/** A moment as a field for dates wants it: "2026-11-28T18:05", in this machine's zone. */
function local(milliseconds: number): string {
  const date = new Date(milliseconds)
  return new Date(milliseconds - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
